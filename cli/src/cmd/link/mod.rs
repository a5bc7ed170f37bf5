//! `link`: the links in the running kernel.

mod facts;
mod write;

use super::{kernel_facts, object_change};
use crate::{args::kernel_objects::LinkCommand, console::Console, kernel_objects::kind::Kind};
use facts::LinkFacts;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &LinkCommand) -> io::Result<()> {
    match command {
        LinkCommand::List(args) => kernel_facts::list::<LinkFacts>(console, args.format),
        LinkCommand::Show(args) => kernel_facts::show::<LinkFacts>(console, &args.selector, args.format),
        LinkCommand::Pin(args) => object_change::pin(console, Kind::Link, args.object.split(), args.format),
        LinkCommand::Detach(args) => write::detach(console, args),
        LinkCommand::Update(args) => write::update(console, args),
    }
}
