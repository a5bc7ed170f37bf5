//! `map`: the maps in the running kernel.

mod dump;
mod list;

use crate::{args::kernel_objects::MapCommand, console::Console};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &MapCommand) -> io::Result<()> {
    match command {
        MapCommand::List(args) => list::list(console, args),
        MapCommand::Show(args) => list::show(console, args),
        MapCommand::Dump(args) => dump::run(console, args),
    }
}
