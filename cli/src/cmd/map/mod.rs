//! `map`: the maps in the running kernel, and their elements.

mod dump;
mod element;
mod facts;
mod lookup;

use super::kernel_facts;
use crate::{args::kernel_objects::MapCommand, console::Console};
use facts::MapFacts;
use std::io;

pub(crate) use element::{LINE_BYTES, print};

pub(crate) fn run(console: &mut Console<'_>, command: &MapCommand) -> io::Result<()> {
    match command {
        MapCommand::List(args) => kernel_facts::list::<MapFacts>(console, args.format),
        MapCommand::Show(args) => kernel_facts::show::<MapFacts>(console, &args.selector, args.format),
        MapCommand::Dump(args) => dump::run(console, args),
        MapCommand::Lookup(args) => lookup::run(console, args),
    }
}
