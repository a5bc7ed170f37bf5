//! Runs one job with core-relo, without the loader's code.

use core_relo_bench::{once, peer::ours::Ours};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(|target, objects| Ok(Ours::new(target, objects)))
}
