//! `btf`: types as text, JSON or C, values, differences, written and minimal BTF, archives of it, and the BTF
//! in the running kernel.

mod check;
mod diff;
mod dump;
mod encode;
mod facts;
mod find;
pub(super) mod header;
mod ids;
mod layout;
mod minimise;
mod offset;
mod print;
pub(super) mod read;
mod users;
mod which;
mod write;

use super::kernel_facts;
use crate::{args::btf::BtfCommand, console::Console, error::CommandResult};
use facts::BtfFacts;

/// The help of commands whose output is raw BTF.
const HELP_RAW_BTF: &str = "the output is raw BTF: give it a name of its own with -o";

pub(crate) fn run(console: &mut Console<'_>, command: &BtfCommand) -> CommandResult {
    match command {
        BtfCommand::Dump(args) => dump::run(console, args),
        BtfCommand::Print(args) => print::run(console, args),
        BtfCommand::Check(args) => check::run(console, args),
        BtfCommand::Diff(args) => diff::run(console, args),
        BtfCommand::Find(args) => find::run(console, args),
        BtfCommand::Layout(args) => layout::run(console, args),
        BtfCommand::Offset(args) => offset::run(console, args),
        BtfCommand::Min(args) => minimise::run(console, args),
        BtfCommand::Which(args) => which::run(console, args),
        BtfCommand::Write(command) => write::run(console, command),
        BtfCommand::Ids(args) => ids::run(console, args),
        BtfCommand::List(args) => Ok(kernel_facts::list::<BtfFacts>(console, args.format)?),
        BtfCommand::Show(args) => kernel_facts::show::<BtfFacts>(console, &args.selector, args.format),
    }
}
