//! `link`: the links in the running kernel.

mod facts;
mod write;

use super::{kernel_facts, object_change};
use crate::{args::kernel_objects::LinkCommand, console::Console, error::CommandResult};
use core_relo_loader::inventory::ObjectKind;
use facts::LinkFacts;

pub(crate) fn run(console: &mut Console<'_>, command: &LinkCommand) -> CommandResult {
    match command {
        LinkCommand::List(args) => Ok(kernel_facts::list::<LinkFacts>(console, args.format)?),
        LinkCommand::Show(args) => kernel_facts::show::<LinkFacts>(console, &args.selector, args.format),
        LinkCommand::Pin(args) => {
            Ok(object_change::pin(console, ObjectKind::Link, args.object.split(), args.format)?)
        }
        LinkCommand::Detach(args) => Ok(write::detach(console, args)?),
        LinkCommand::Update(args) => Ok(write::update(console, args)?),
    }
}
