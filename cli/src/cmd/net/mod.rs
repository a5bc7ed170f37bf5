//! `net list`: the programs on network interfaces and in the network namespace.

mod attachment;
mod collect;

use crate::{
    args::attachments::{NetCommand, NetListArgs},
    cmd::rows::Rows,
    console::Console,
    error::{BadInput, CommandResult},
};
use attachment::{COLUMNS, NetAttachment};

pub(crate) fn run(console: &mut Console<'_>, command: &NetCommand) -> CommandResult {
    let NetCommand::List(args) = command;
    let attachments = device(args).and_then(collect::collect)?;
    let rows = Rows { columns: COLUMNS, rows: &attachments, placeholder: "no programs are attached" };
    Ok(rows.write(console, args.format, NetAttachment::cells)?)
}

/// Returns the name of the selected interface: `NAME` or `dev NAME`.
fn device(args: &NetListArgs) -> Result<Option<&str>, BadInput> {
    let words: Vec<&str> = args.device.iter().map(String::as_str).collect();
    match *words {
        [] => Ok(None),
        [name] | ["dev", name] => Ok(Some(name)),
        [word, ..] => {
            let bad = BadInput::new(word, "unknown word before the name of an interface, expected `dev`");
            Err(bad.help("core-relo net list dev eth0"))
        }
    }
}
