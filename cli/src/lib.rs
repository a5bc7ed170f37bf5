//! `core-relo`: on which kernels will this BPF object load, and if not, why?
//!
//! Words in, words out: arguments to `args`, what they mean to `app`, one file a command in `cmd`; what decides is the
//! engine. Exit 0: all resolved; 1: something did not; 2: could not tell.

mod app;
mod args;
mod args_gen;
mod args_kernel;
mod args_load;
mod cmd;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod interrupt;
mod json;
mod json_btf;
mod json_check;
mod json_value;
mod kernel;
mod line;
mod output;
mod printer;
mod render;
mod signals;
mod threads;

use std::process::ExitCode;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    app::init_panics();
    let args = args::Args::from_process().unwrap_or_else(|error| error.exit());
    app::init_log(args.verbose);
    if let Err(e) = signals::report_file_size_limit() {
        return app::end_with_failure(&e.into());
    }
    match app::run(&args) {
        Ok(exit) => exit.into(),
        // Whoever read the output has gone: nothing to say, and the answer was not delivered.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => app::Exit::Unknown.into(),
        Err(e) => app::cannot_write(&e),
    }
}
