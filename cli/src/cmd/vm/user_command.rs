//! `vm --command`: the user's own loader on other kernels.

use crate::{
    args::{format::Format, vm::VmArgs},
    console::{Console, ExitStatus},
    error::BadInput,
    guest::setup::{new_guest, report_failure},
    json::vm as json,
};
use core_relo_vm::{Guest, GuestOutput, KernelImage, VmError, guest::GuestEnd};
use std::{
    env, io,
    path::{Path, absolute},
};

pub(crate) fn run(console: &mut Console<'_>, args: &VmArgs) -> io::Result<()> {
    for path in &args.kernel {
        let prepared = KernelImage::open(path).and_then(|kernel| {
            let mut guest = new_guest(&args.guest, kernel.arch(), 0)?;
            prepare(&mut guest, args)?;
            Ok((guest, kernel))
        });
        let (guest, kernel) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                report_failure(console, &error)?;
                continue;
            }
        };
        match boot(console, &guest, &kernel)? {
            Ok(output) => report(console, path, &output)?,
            Err(error) => report_failure(console, &error)?,
        }
    }
    Ok(())
}

/// Adds the command, and the files at their paths on this system.
fn prepare(guest: &mut Guest, args: &VmArgs) -> Result<(), VmError> {
    let file_error =
        |path: &Path, error: io::Error| VmError::File { path: path.to_path_buf(), reason: error.to_string() };
    let dir = env::current_dir().map_err(|error| file_error(Path::new("."), error))?;
    guest.set_working_dir(&dir);
    for path in args.objects.iter().chain(&args.file) {
        let guest_path = absolute(path).map_err(|error| file_error(path, error))?;
        guest.add_path(path, &guest_path)?;
    }
    match args.command.split_first() {
        Some((binary, arguments)) => guest.add_command(Path::new(binary), arguments),
        None => Ok(()),
    }
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
fn report(console: &mut Console<'_>, kernel: &Path, output: &GuestOutput) -> io::Result<()> {
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
            console.report_error_on_stderr(&BadInput::for_path(
                kernel,
                "the kernel crashed; its console ends with:",
            ))?;
            text.lines().try_for_each(|line| console.err.line(format_args!("  {line}")))?;
        }
        (end @ GuestEnd::TimedOut(_), _) => {
            let bad =
                BadInput::for_path(kernel, end).help("give the command more time with --timeout SECONDS");
            console.report_error_on_stderr(&bad)?;
        }
        (end, _) => console.report_error_on_stderr(&BadInput::for_path(kernel, end))?,
    }
    Ok(())
}
