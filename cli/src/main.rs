//! The command `core-relo`; everything it does is in the library beside it, so that fuzz targets can reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    core_relo_cli::main()
}
