//! What `cargo xtask bench` runs. Peak memory and instructions are those of the small programs beside it: `bin/once_*.rs`.

use core_relo_bench::{
    args::{self, Args},
    growth, table,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Who reads only the first lines ends this, without a panic.
    // SAFETY: the default action, set before anything else is done.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let done = args::parse(std::env::args_os().skip(1)).and_then(|args| match args {
        Args::Table(args) => table::run(&args),
        Args::Growth(args) => growth::run(&args),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
