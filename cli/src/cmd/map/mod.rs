//! `map`: the maps in the running kernel.

mod dump;
mod facts;

use super::kernel_facts;
use crate::{args::kernel_objects::MapCommand, console::Console};
use facts::MapFacts;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &MapCommand) -> io::Result<()> {
    match command {
        MapCommand::List(args) => kernel_facts::list::<MapFacts>(console, args.format),
        MapCommand::Show(args) => kernel_facts::show::<MapFacts>(console, &args.selector, args.format),
        MapCommand::Dump(args) => dump::run(console, args),
    }
}
