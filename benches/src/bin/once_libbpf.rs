//! Runs one job with libbpf.

use core_relo_bench::{once, peer::libbpf::Libbpf};
use std::process::ExitCode;

fn main() -> ExitCode {
    once::main(Libbpf::new)
}
