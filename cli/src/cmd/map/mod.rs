//! `map`: the maps in the running kernel, and their elements.

mod changed;
mod create;
mod dump;
mod element;
mod events;
mod facts;
mod getnext;
mod lookup;
mod operand;
mod queue;
mod words;
mod write;

use super::{kernel_facts, object_change};
use crate::{args::kernel_objects::MapCommand, console::Console, error::CommandResult};
use core_relo_loader::inventory::ObjectKind;
use facts::MapFacts;

pub(crate) use facts::{MapElementType, short_text, value_type};

pub(crate) fn run(console: &mut Console<'_>, command: &MapCommand) -> CommandResult {
    match command {
        MapCommand::List(args) => Ok(kernel_facts::list::<MapFacts>(console, args.format)?),
        MapCommand::Show(args) => kernel_facts::show::<MapFacts>(console, &args.selector, args.format),
        MapCommand::Dump(args) => dump::run(console, args),
        MapCommand::Lookup(args) => lookup::run(console, args),
        MapCommand::Getnext(args) => getnext::run(console, args),
        MapCommand::Update(args) => Ok(write::update(console, args)?),
        MapCommand::Delete(args) => Ok(write::delete(console, args)?),
        MapCommand::Peek(args) => Ok(queue::peek(console, args)?),
        MapCommand::Push(args) => Ok(queue::push(console, args)?),
        MapCommand::Pop(args) => Ok(queue::pop(console, args)?),
        MapCommand::Events(args) => events::run(console, args),
        MapCommand::Freeze(args) => Ok(write::freeze(console, args)?),
        MapCommand::Pin(args) => {
            object_change::pin(console, ObjectKind::Map, args.object.split(), args.format)
        }
        MapCommand::Create(args) => create::run(console, args),
    }
}
