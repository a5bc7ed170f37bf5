//! Creates guests, and reports guests that do not run.

use crate::{
    args::guest::GuestArgs,
    console::Console,
    error::BadInput,
    text::{line::Line, style::DIM},
};
use core_relo_vm::{Arch, Guest, VmError};
use std::{io, time::Duration};

/// Creates a guest that runs this executable, or the one that the user gives.
pub(crate) fn new_guest(args: &GuestArgs, arch: Arch) -> Result<Guest, VmError> {
    let mut guest = match &args.guest_binary {
        Some(path) => Guest::new(arch, path)?,
        None => Guest::with_current_executable(arch)?,
    };
    guest.set_time_limit(Duration::from_secs(args.timeout));
    Ok(guest)
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
        VmError::ForeignExecutable { .. } => BadInput::new("vm", error)
            .help("give a build of core-relo for the kernel's architecture with --guest-binary PATH"),
        VmError::MissingLibrary { .. } => {
            BadInput::new("vm", error).help("name the library's directory in LD_LIBRARY_PATH")
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
