//! Completion by the shell.
//!
//! | file | contents |
//! |---|---|
//! | `line` | the user's line up to the word that is completed |
//! | `values` | the values of each kind of argument: ids and names of objects in the running kernel, attach points and so on |
//! | `kernel_specs` | specifications of kernels |
//! | `script` | the scripts for the shells |
//!
//! The script of `core-relo completions SHELL` runs this command with [`VARIABLE`], and the words of the
//! user's line as arguments.

#[cfg(feature = "fetch")]
mod kernel_specs;
mod line;
mod script;
mod values;

pub(crate) use script::write_script;

use super::{Args, bpftool_words::has_option};
use crate::settings::NameKind;
use clap::Command;
use clap_complete::{CompleteEnv, engine::ArgValueCompleter};
use line::Line;
use std::{env, ffi::OsString, process, sync::Arc};
use values::{Completer, Values};

/// The environment variable that contains the name of the asking shell.
const VARIABLE: &str = "CORE_RELO_COMPLETE";

/// The environment variable with the place of the word that is completed. Without it, it is the last word.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

pub(super) const HELP: &str = "Examples:
  core-relo completions bash > ~/.local/share/bash-completion/completions/core-relo
  core-relo completions zsh > ~/.zfunc/_core-relo
  core-relo completions fish > ~/.config/fish/completions/core-relo.fish

The script calls `core-relo`, which must be in PATH. It completes commands, options and paths, and these values:
  ids and names of programs, maps, links and BTFs, and tags of programs, in the running kernel, for
    users who may list them (root); also after bpftool's words, such as `prog show id`
  names of features and program types (`feature`), metrics (`prog profile`), interfaces (`net list`)
  kinds of attach points, with their interfaces, cgroups, network namespaces and maps
  names of programs, maps and variables in the object of the line, for settings of user space
    (`--max-entries`, `--program-type` and the like), and names of types
  releases of distributions, words of specifications, and fetched kernels (`--kernels`)
Keys and values of maps are not completed. `link update` completes the link only.";

/// The completed arguments by the names of their fields. `name` is completed only in commands with `--id`:
/// others use it for new names.
const ARGUMENTS: [(&str, Values); 26] = [
    ("positional_id", Values::Ids),
    ("id", Values::Ids),
    ("kernel_id", Values::Ids),
    ("name", Values::Names),
    ("tag", Values::Tags),
    ("words", Values::ObjectAndWords),
    ("programs", Values::Objects),
    ("map", Values::Map),
    ("inner_map", Values::Map),
    ("reuse_map", Values::ReusedMap),
    ("to", Values::AttachPoint),
    ("from", Values::AttachPoint),
    ("attach_to", Values::AttachRequest),
    ("device", Values::Interface),
    ("names", Values::Feature),
    ("program_type", Values::ProgramType),
    ("set", Values::Setting(NameKind::Global)),
    ("set_type", Values::SetType),
    ("attach_target", Values::Setting(NameKind::Program)),
    ("autoload", Values::Setting(NameKind::Program)),
    ("max_entries", Values::Setting(NameKind::Map)),
    ("key_size", Values::Setting(NameKind::Map)),
    ("value_size", Values::Setting(NameKind::Map)),
    ("inner_definition", Values::InnerMap),
    ("without_map", Values::Setting(NameKind::Map)),
    ("ksym", Values::Setting(NameKind::Symbol)),
];

/// The completed arguments of fetched kernels.
#[cfg(feature = "fetch")]
const KERNEL_ARGUMENTS: [(&str, Values); 2] =
    [("kernels", Values::KernelSpec), ("specs", Values::KernelSpec)];

/// The completed arguments of fetched kernels, which this build does not have.
#[cfg(not(feature = "fetch"))]
const KERNEL_ARGUMENTS: [(&str, Values); 0] = [];

/// Answers a request of the shell's completion script, and ends the process. Returns if there is no request.
/// `feature_names` returns the names that `feature` knows.
pub(crate) fn answer_shell(feature_names: fn() -> Vec<String>) {
    if env::var_os(VARIABLE).is_none() {
        return;
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    let mut line = Line::default();
    if let Some(literal) = words.iter().position(|word| word == "--") {
        let mut typed = words.split_off(literal + 1);
        let index = env::var(INDEX).ok().and_then(|index| index.parse().ok());
        let index = index.unwrap_or_else(|| typed.len().saturating_sub(1));
        typed.truncate(index + 1);
        line = Line::read(&mut typed, index, &Args::described_command());
        words.append(&mut typed);
    }
    let line = Arc::new(line);
    let command =
        || with_completers(Args::described_command(), &|values| Completer::new(values, &line, feature_names));
    let dir = env::current_dir().ok();
    let is_answered = CompleteEnv::with_factory(command).var(VARIABLE).try_complete(words, dir.as_deref());
    if is_answered.unwrap_or_else(|error| error.exit()) {
        process::exit(0);
    }
}

/// Adds the completion of values to the arguments of a command and its subcommands.
fn with_completers(command: Command, completer: &dyn Fn(Values) -> Completer) -> Command {
    let selects_objects = has_option(&command, "id");
    let command = command.mut_subcommands(|subcommand| with_completers(subcommand, completer));
    command.mut_args(|arg| {
        let mut known = ARGUMENTS.iter().chain(&KERNEL_ARGUMENTS);
        let values = known.find(|(field, _)| arg.get_id() == field).map(|(_, values)| *values);
        match values.filter(|values| *values != Values::Names || selects_objects) {
            Some(values) => arg.add(ArgValueCompleter::new(completer(values))),
            None => arg,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the arguments of a command and its subcommands.
    fn fields(command: &Command, all: &mut Vec<String>) {
        all.extend(command.get_arguments().map(|arg| arg.get_id().to_string()));
        command.get_subcommands().for_each(|subcommand| fields(subcommand, all));
    }

    #[test]
    fn completed_arguments_exist() {
        let mut all = Vec::new();
        fields(&Args::described_command(), &mut all);
        for (field, _) in ARGUMENTS.into_iter().chain(KERNEL_ARGUMENTS) {
            assert!(all.iter().any(|name| name == field), "{field}");
        }
    }
}
