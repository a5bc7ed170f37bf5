//! One job by aya-obj, and nothing else.

use core_relo_bench::{once, peer::aya::Aya};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(|target, objects| Ok(Aya::new(target, objects)))
}
