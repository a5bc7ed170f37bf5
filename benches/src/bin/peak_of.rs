//! Runs a program and prints its peak memory: see [`child::peak_kib`].

use core_relo_bench::child;
use std::process::ExitCode;

fn main() -> ExitCode {
    match child::report_peak(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
