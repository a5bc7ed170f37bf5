//! `kernels`: the kernels of distributions, listed, fetched, shown, removed, exported, pinned.

mod export;
mod fetch;
mod list;
mod remove;
mod show;
mod update;

use crate::{args::kernels::KernelsCommand, console::Console, error::CommandResult};

pub(crate) fn run(console: &mut Console<'_>, command: &KernelsCommand) -> CommandResult {
    match command {
        KernelsCommand::List(args) => list::run(console, args),
        KernelsCommand::Fetch(args) => fetch::run(console, args),
        KernelsCommand::Show(args) => show::run(console, args),
        KernelsCommand::Remove(args) => remove::run(console, args),
        KernelsCommand::Export(args) => export::run(console, args),
        KernelsCommand::Update(args) => update::run(console, args),
    }
}
