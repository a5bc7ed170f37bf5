//! `gen header`: prints the header `core_relo.h`.

use crate::{
    args::gen_header::GenHeaderArgs,
    console::Console,
    error::{CommandResult, escape_path},
    output,
    text::{line::Line, style},
};
use core_relo_build::CORE_RELO_H;

pub(crate) fn run(console: &mut Console<'_>, args: &GenHeaderArgs) -> CommandResult {
    output::write(&args.output, CORE_RELO_H.as_bytes())?;
    if args.output.as_os_str() == "-" {
        return Ok(());
    }
    Ok(console.out.line(
        Line::new().styled(style::GOOD, "written").text(format_args!(": {}", escape_path(&args.output))),
    )?)
}
