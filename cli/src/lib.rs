//! `core-relo`: on which kernels will this BPF object load, and if not, why?
//!
//! Words in, words out: arguments to [`args`], what they mean to [`app`], one file a command in [`cmd`]; what decides is the
//! engine. Exit 0: all resolved; 1: something did not; 2: could not tell.

mod app;
mod args;
mod args_gen;
mod args_kernel;
mod args_load;
mod cmd;
mod error;
mod input;
mod interrupt;
mod json;
mod json_btf;
mod json_check;
mod json_value;
mod kernel;
mod output;
mod plain;
mod render;
mod signals;

use clap::Parser as _;
use std::process::ExitCode;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let args = args::Args::parse();
    app::init_log(args.verbose);
    let (out, err) = (app::stdout(&args), app::stderr(args.color));
    match app::run(&args, out, err) {
        Ok(exit) => exit.into(),
        // Whoever read the output has gone: nothing to say, and the answer was not delivered.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => app::Exit::Unknown.into(),
        Err(e) => app::cannot_write(&e),
    }
}
