//! Runs one job with core-relo, including the load job.

use core_relo_bench::{once, peer::ours::Ours};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(|target, objects| Ok(Ours::new(target, objects).with_load()))
}
