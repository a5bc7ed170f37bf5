//! One job by core-relo, which may be loading, and nothing else.

use core_relo_bench::{once, peer::ours::Ours};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(|target, objects| Ok(Ours::new(target, objects).that_loads()))
}
