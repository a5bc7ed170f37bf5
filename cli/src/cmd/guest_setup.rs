//! Creates guests, and reports guests that do not run.

use crate::{
    args::guest::GuestArgs,
    console::Console,
    error::BadInput,
    guest::limits::MAX_BOOT_SECONDS,
    text::{line::Line, style::DIM},
};
use core_relo_vm::{Arch, Guest, VmError};
use std::{io, time::Duration};

/// The time limit of a boot and of a command, in seconds.
const BASE_SECONDS: u64 = 300;
/// The time limit that each program to load adds, in seconds. Without KVM, the verifier takes about a second
/// for a large program.
const PROGRAM_SECONDS: u64 = 2;

/// Creates a guest that runs this executable, or the one that the user gives. The default time limit grows
/// with the number of programs to load.
pub(crate) fn new_guest(args: &GuestArgs, arch: Arch, program_count: usize) -> Result<Guest, VmError> {
    let mut guest = match &args.guest_binary {
        Some(path) => Guest::new(arch, path)?,
        None => Guest::with_current_executable(arch)?,
    };
    guest.set_time_limit(args.timeout.map_or_else(|| default_time_limit(program_count), Duration::from_secs));
    Ok(guest)
}

fn default_time_limit(program_count: usize) -> Duration {
    // More programs than the largest limit has seconds get the largest limit.
    let program_count = u64::try_from(program_count).unwrap_or(MAX_BOOT_SECONDS).min(MAX_BOOT_SECONDS);
    Duration::from_secs((BASE_SECONDS + PROGRAM_SECONDS * program_count).min(MAX_BOOT_SECONDS))
}

/// Reports that a guest does not run, with the end of its console.
pub(crate) fn report_failure(console: &mut Console<'_>, error: &VmError) -> io::Result<()> {
    console.report_error(&bad_input(error))?;
    console_lines(error).into_iter().try_for_each(|line| console.err.line(line))
}

/// Returns the error for a guest that does not run.
pub(crate) fn bad_input(error: &VmError) -> BadInput {
    match error {
        VmError::NoQemu(arch) => BadInput::new(arch.qemu(), "not installed")
            .help(format!("install the package {} (Debian, Ubuntu)", arch.qemu_package())),
        VmError::ForeignExecutable { expected, .. } => BadInput::new("vm", error).help(format!(
            "build core-relo for the kernel's architecture, and give it with --guest-binary PATH: \
                 cargo build --release -p core-relo-cli --target {}",
            expected.rust_target()
        )),
        VmError::NoBoot { timed_out: Some(_), .. } => {
            BadInput::new("vm", error).help("give the kernel more time with --timeout SECONDS")
        }
        VmError::MissingLibrary { .. } => {
            BadInput::new("vm", error).help("name the library's directory in LD_LIBRARY_PATH")
        }
        VmError::KernelNotStarted { kernel, program, reason } => {
            BadInput::for_path(kernel, format_args!("{program}: {reason}"))
        }
        VmError::File { path, reason } => BadInput::for_path(path, reason),
        _ => BadInput::new("vm", error),
    }
}

/// Returns the end of the console of a kernel that does not boot.
pub(crate) fn console_lines(error: &VmError) -> Vec<Line> {
    match error {
        VmError::NoBoot { console, .. } => {
            console.lines().map(|line| Line::new().text("  ").styled(DIM, line)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_grows_with_the_number_of_programs() {
        let seconds = |program_count| default_time_limit(program_count).as_secs();
        assert_eq!([seconds(0), seconds(351), seconds(usize::MAX)], [300, 1002, 86400]);
    }
}
