//! `btf`: types and values as text or JSON, the differences between types, and the BTF in the running kernel.

mod diff;
mod dump;
mod facts;
mod print;
mod read;

use super::kernel_facts;
use crate::{args::btf::BtfCommand, console::Console};
use facts::BtfFacts;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &BtfCommand) -> io::Result<()> {
    match command {
        BtfCommand::Dump(args) => dump::run(console, args),
        BtfCommand::Print(args) => print::run(console, args),
        BtfCommand::Diff(args) => diff::run(console, args),
        BtfCommand::List(args) => kernel_facts::list::<BtfFacts>(console, args.format),
        BtfCommand::Show(args) => {
            kernel_facts::show::<BtfFacts>(console, &(&args.selector).into(), args.format)
        }
    }
}
