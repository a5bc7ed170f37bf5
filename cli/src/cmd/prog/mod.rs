//! `prog`: the programs in the running kernel.

mod attach;
mod dump;
mod facts;
mod jited;
mod messages;
mod profile;
mod run;
#[cfg(feature = "sign")]
mod sign;
mod stats;
mod stream;
mod tracelog;

use super::{kernel_facts, object_change};
use crate::{args::kernel_objects::ProgCommand, console::Console, error::CommandResult};
use core_relo_loader::inventory::ObjectKind;
use facts::ProgramFacts;

pub(crate) fn run(console: &mut Console<'_>, command: &ProgCommand) -> CommandResult {
    match command {
        ProgCommand::List(args) => Ok(kernel_facts::list::<ProgramFacts>(console, args.format)?),
        ProgCommand::Show(args) => kernel_facts::show::<ProgramFacts>(console, &args.selector, args.format),
        ProgCommand::Dump(args) => dump::run(console, args),
        ProgCommand::Attach(args) => attach::attach(console, args),
        ProgCommand::Detach(args) => attach::detach(console, args),
        ProgCommand::Run(args) => run::run(console, args),
        ProgCommand::Profile(args) => profile::run(console, args),
        ProgCommand::Stats(args) => stats::run(console, args),
        ProgCommand::Tracelog(args) => tracelog::run(console, args),
        ProgCommand::Stream(args) => stream::run(console, args),
        #[cfg(feature = "sign")]
        ProgCommand::Sign(args) => sign::run(console, args),
        #[cfg(not(feature = "sign"))]
        ProgCommand::Sign(_) => {
            let bad = crate::error::BadInput::new(
                "prog sign",
                "this build of core-relo cannot sign: it lacks the feature `sign`",
            );
            let help =
                "build it with `--features sign`, or sign with openssl: see `core-relo gen loader --help`";
            Err(bad.help(help).into())
        }
        ProgCommand::Pin(args) => {
            Ok(object_change::pin(console, ObjectKind::Program, args.program.split(), args.format)?)
        }
    }
}
