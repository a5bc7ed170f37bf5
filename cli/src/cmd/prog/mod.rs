//! `prog`: the programs in the running kernel.

mod dump;
mod list;

use crate::{args::kernel_objects::ProgCommand, console::Console};
use std::io;

pub(crate) fn run(console: &mut Console<'_>, command: &ProgCommand) -> io::Result<()> {
    match command {
        ProgCommand::List(args) => list::list(console, args),
        ProgCommand::Show(args) => list::show(console, args),
        ProgCommand::Dump(args) => dump::run(console, args),
    }
}
