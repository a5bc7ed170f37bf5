//! `net list`: the programs on network interfaces and in the network namespace.

mod attachment;
mod collect;

use crate::{
    args::attachments::{NetCommand, NetListArgs},
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::text,
    text::table::AlignedTable,
};
use attachment::COLUMNS;

pub(crate) fn run(console: &mut Console<'_>, command: &NetCommand) -> CommandResult {
    let NetCommand::List(args) = command;
    let attachments = device(args).and_then(collect::collect)?;
    if args.format == Format::Json {
        return Ok(attachments.iter().try_for_each(|attachment| console.out.json(attachment))?);
    }
    let mut table = AlignedTable::new();
    text::header(&mut table, COLUMNS);
    attachments.iter().for_each(|attachment| table.row(attachment.cells()));
    Ok(text::write_table(&mut console.out, &mut table, attachments.len(), "no programs are attached")?)
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
