//! The command `core-relo`. Its code is in the library of this package, which the fuzz targets use as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    core_relo_cli::main()
}
