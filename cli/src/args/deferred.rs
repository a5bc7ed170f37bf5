//! Arguments that are described only for the command that a command line names: describing those of all
//! commands takes longer than most commands do.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, builder::CommandExt};
use std::ops::Deref;

/// The arguments of a command, which [`with_arguments`] describes.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

/// The function that adds the arguments to the description of a command.
#[derive(Clone, Copy, Debug)]
struct Arguments(fn(Command) -> Command);

impl CommandExt for Arguments {}

/// Adds the arguments of a command to its description. The command keeps its own help.
pub(super) fn with_arguments(command: Command) -> Command {
    let Some(Arguments(add)) = command.get::<Arguments>().copied() else { return command };
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    let command = add(command);
    let command = if let Some(about) = about { command.about(about) } else { command };
    if let Some(about) = long_about { command.long_about(about) } else { command }
}

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.add(Arguments(T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.add(Arguments(T::augment_args_for_update))
    }
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.add(Arguments(T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.add(Arguments(T::augment_subcommands_for_update))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
