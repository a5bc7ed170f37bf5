//! `prog`: the programs in the running kernel.

mod dump;
mod facts;
mod jited;

use super::kernel_facts;
use crate::{args::kernel_objects::ProgCommand, console::Console};
use facts::ProgramFacts;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &ProgCommand) -> io::Result<()> {
    match command {
        ProgCommand::List(args) => kernel_facts::list::<ProgramFacts>(console, args.format),
        ProgCommand::Show(args) => kernel_facts::show::<ProgramFacts>(console, &args.selector, args.format),
        ProgCommand::Dump(args) => dump::run(console, args),
    }
}
