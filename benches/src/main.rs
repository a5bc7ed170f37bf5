//! The program of `cargo xtask bench`. It measures peak memory and instructions with the programs
//! `bin/once_*.rs`.

use core_relo_bench::{
    args::{self, Args},
    growth, ring, table,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A closed standard output, as with `head`, ends the program without a panic.
    // SAFETY: the default action is set before any other code runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let result = args::parse(std::env::args_os().skip(1)).and_then(|args| match args {
        Args::Table(args) => table::run(&args),
        Args::Growth(args) => growth::run(&args),
        Args::Ring(args) => ring::run(&args),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
