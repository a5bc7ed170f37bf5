//! `btf`: types as text or JSON, and the BTF in the running kernel.

mod dump;
mod list;

use crate::{args::btf::BtfCommand, console::Console};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &BtfCommand) -> io::Result<()> {
    match command {
        BtfCommand::Dump(args) => dump::run(console, args),
        BtfCommand::List(args) => list::list(console, args),
        BtfCommand::Show(args) => list::show(console, args),
    }
}
