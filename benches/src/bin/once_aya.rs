//! Runs one job with aya-obj.

use core_relo_bench::{once, peer::aya::Aya};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(|target, objects| Ok(Aya::new(target, objects)))
}
