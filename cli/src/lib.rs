//! The command `core-relo`: checks whether BPF objects fit the types of kernels, explains why not, and loads
//! objects.
//!
//! `args` parses the arguments, `dispatch` calls a command of `cmd` and reports its error. Commands read
//! files through `input` and print through `console::Console`, as `text` or as `json`. The engine and the
//! loader decide everything else.

mod args;
mod attach_point;
mod budget;
mod byte_count;
mod cmd;
mod console;
mod describe;
mod diagnostics;
mod dispatch;
mod error;
mod events;
mod fetched;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod input;
mod json;
mod kernel_objects;
mod long_double;
mod output;
mod plan_error;
mod policy;
mod process;
mod progress;
mod settings;
mod text;
mod type_name;
mod words;

use console::ExitStatus;
use core_relo_loader::standard_streams;
use error::BadInput;
use process::signals;
use rustix::io::Errno;
use std::{io, process::ExitCode};
use text::{line::Line, log_command::is_read_by_runner, printer::Printer};

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    // In a guest of `vm`, this process may be the first one.
    core_relo_vm::run_as_init();
    diagnostics::init_panic_hook();
    #[cfg(feature = "completions")]
    args::completion::answer_shell(cmd::feature::feature_names);
    if let Err(e) = output::keep_stdout_closed() {
        diagnostics::report(&BadInput::new("stdout", e));
        return ExitStatus::Error.into();
    }
    let args = match args::Args::from_process() {
        Ok(args) => args,
        Err(error) => return print_usage(&error),
    };
    diagnostics::init_log(args.verbose);
    if let Err(e) = signals::catch_file_size_signal() {
        diagnostics::report(&e.into());
        return ExitStatus::Error.into();
    }
    core_relo_kernels::stream::interrupt_waits(signals::has_arrived);
    match dispatch::run(&args, None) {
        Ok(exit) => exit.into(),
        Err(e) => {
            diagnostics::report(&BadInput::new("stdout", e));
            ExitStatus::Error.into()
        }
    }
}

/// Prints the message of clap. In the log of a CI job, an error has no commands of the runner and no styles:
/// it quotes the arguments, whose control characters are escaped already.
fn print_message(error: &clap::Error) -> io::Result<()> {
    if !error.use_stderr() || !is_read_by_runner() {
        return error.print();
    }
    let mut err = io::stderr();
    let mut printer = Printer::new(&mut err, false);
    error.render().to_string().lines().try_for_each(|line| printer.line(Line::new().formatted(line)))
}

/// Prints help, the version, or an error of the command line.
fn print_usage(error: &clap::Error) -> ExitCode {
    match print_message(error) {
        // The standard library's stream ignores that it is closed.
        Ok(()) if !error.use_stderr() && standard_streams::is_stdout_closed_at_start() => {
            diagnostics::report(&BadInput::new("stdout", io::Error::from(Errno::BADF)));
            ExitStatus::Error.into()
        }
        Err(e) if !error.use_stderr() && e.kind() != io::ErrorKind::BrokenPipe => {
            diagnostics::report(&BadInput::new("stdout", e));
            ExitStatus::Error.into()
        }
        _ if error.use_stderr() => ExitStatus::Error.into(),
        _ => ExitStatus::Success.into(),
    }
}
