//! `vm --command`: the user's own loader on other kernels.

use super::json;
use crate::{
    args::vm::VmArgs,
    cmd::{
        check::boot::{name_of, open_image},
        guest_setup::{new_guest, report_failure},
    },
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    format::Format,
};
use core_relo_kernels::KernelSelection;
use core_relo_vm::{Arch, Guest, GuestOutput, KernelImage, VmError, guest::GuestEnd};
use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf, absolute},
};

/// Runs the command of the user on kernels.
pub(crate) fn run(console: &mut Console<'_>, args: &VmArgs, kernels: &KernelSelection) -> CommandResult {
    let Some((name, arguments)) = args.command.split_first() else { return Ok(()) };
    let Some(binary) = find_binary(Path::new(name), env::var_os("PATH").as_deref()) else {
        let bad = BadInput::for_path(Path::new(name), "no such file or directory");
        return Err(bad.help("expected the path of an executable, or its name in PATH").into());
    };
    // Kernels of the same architecture share a guest, and its error.
    let mut guests = Vec::<(Arch, Option<Guest>)>::new();
    for source in &kernels.sources {
        let image = match open_image(source) {
            Ok(image) => image,
            Err(error) => {
                report_failure(console, &error)?;
                continue;
            }
        };
        let kernel = &image.kernel;
        let known = guests.iter().find(|(arch, _)| *arch == kernel.arch()).map(|(_, guest)| guest.clone());
        let guest = match known {
            Some(guest) => guest,
            None => {
                let prepared = new_guest(&args.guest, kernel.arch(), 0)
                    .and_then(|guest| prepare(guest, args, (&binary, arguments)));
                let guest = match prepared {
                    Ok(guest) => Some(guest),
                    Err(error) => {
                        report_failure(console, &error)?;
                        None
                    }
                };
                guests.push((kernel.arch(), guest.clone()));
                guest
            }
        };
        let Some(guest) = guest else { continue };
        match boot(console, &guest, kernel)? {
            Ok(output) => report(console, &name_of(source), &output)?,
            Err(error) => report_failure(console, &error)?,
        }
    }
    Ok(())
}

/// Adds the command, and the files at their paths on this system.
fn prepare(
    mut guest: Guest,
    args: &VmArgs,
    (binary, arguments): (&Path, &[OsString]),
) -> Result<Guest, VmError> {
    let dir = env::current_dir().map_err(|error| VmError::file(Path::new("."), &error))?;
    guest.set_working_dir(&dir);
    for path in args.objects.iter().chain(&args.file) {
        let guest_path = absolute(path).map_err(|error| VmError::file(path, &error))?;
        guest.add_path(path, &guest_path)?;
    }
    guest.add_command(binary, arguments)?;
    Ok(guest)
}

/// Finds the executable of a command. A name without a slash is looked up in `PATH`, as a shell does, then in
/// the working directory.
fn find_binary(name: &Path, search_path: Option<&OsStr>) -> Option<PathBuf> {
    let is_bare = !name.as_os_str().as_bytes().contains(&b'/');
    let dirs = search_path.filter(|_| is_bare).map(env::split_paths).into_iter().flatten();
    let is_executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let found = dirs.map(|dir| dir.join(name)).find(is_executable);
    found.or_else(|| name.exists().then(|| name.to_path_buf()))
}

/// Boots the kernel. In text, the lines of the command are printed as they come.
fn boot(
    console: &mut Console<'_>,
    guest: &Guest,
    kernel: &KernelImage,
) -> io::Result<Result<GuestOutput, VmError>> {
    let mut printed = Ok(());
    let output = guest.boot(kernel, &mut |line| {
        if console.format == Format::Text && printed.is_ok() {
            printed = console.out.line(line).and_then(|()| console.out.flush());
        }
    });
    printed.map(|()| output)
}

/// Prints the standard error of the command, and takes over its exit status.
fn report(console: &mut Console<'_>, kernel: &str, output: &GuestOutput) -> io::Result<()> {
    if console.format == Format::Json {
        console.out.json(&json::CommandOutcome::new(kernel, output))?;
    } else {
        output.stderr.lines().try_for_each(|line| console.err.line(line))?;
    }
    match (&output.end, output.exit_codes().last()) {
        (GuestEnd::Complete, Some(0)) => {}
        (GuestEnd::Complete, Some(code)) => {
            console.raise_exit(u8::try_from(*code).map_or(ExitStatus::Error, ExitStatus::Command));
        }
        (GuestEnd::Crashed(text), _) => {
            let bad = BadInput::new(kernel, "the kernel crashed; its console ends with:");
            console.report_error_on_stderr(&bad)?;
            text.lines().try_for_each(|line| console.err.line(format_args!("  {line}")))?;
        }
        (end @ GuestEnd::TimedOut(_), _) => {
            let bad = BadInput::new(kernel, end).help("give the command more time with --timeout SECONDS");
            console.report_error_on_stderr(&bad)?;
        }
        (end, _) => console.report_error_on_stderr(&BadInput::new(kernel, end))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::fs::{self, Permissions};

    #[test]
    fn a_bare_name_is_looked_up_in_path() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my-loader");
        fs::write(&file, "").unwrap();
        let search_path = Some(dir.path().as_os_str());
        let name = Path::new("my-loader");
        assert_eq!(find_binary(name, search_path), None, "the file is not executable");
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_binary(name, search_path), Some(file));
        assert_eq!(find_binary(Path::new("./my-loader"), search_path), None);
        assert_eq!(find_binary(Path::new("Cargo.toml"), None), Some("Cargo.toml".into()));
    }
}
