//! Completion by the shell: commands, options, and the ids and names of objects in the running kernel.
//!
//! The script of `core-relo completions SHELL` runs this command with [`VARIABLE`], and the words of the user's line as arguments.

use super::Args;
use crate::kernel_objects::{kind::Kind, names::object_label, object};
use clap::CommandFactory as _;
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::Shells,
};
use std::{env, ffi::OsStr, io};

/// The environment variable that contains the name of the asking shell.
const VARIABLE: &str = "CORE_RELO_COMPLETE";

pub(super) const HELP: &str = "Examples:
  core-relo completions bash > ~/.local/share/bash-completion/completions/core-relo
  core-relo completions zsh > ~/.zfunc/_core-relo
  core-relo completions fish > ~/.config/fish/completions/core-relo.fish

The script calls `core-relo`, which must be in PATH. It completes commands and options, and for those who may list them (root) also the ids and
names of programs, maps, links and BTFs in the running kernel.";

/// Answers a request of the shell's completion script, and ends the process. Returns if there is no request.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(Args::command).var(VARIABLE).complete();
}

/// Writes the script for a shell.
pub(crate) fn write_script(shell: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| io::Error::other("the shell has no script"))?;
    completer.write_registration(VARIABLE, "core-relo", "core-relo", "core-relo", out)
}

/// Completes ids of objects.
pub(super) fn ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| complete(current, true, false))
}

/// Completes names of objects.
pub(super) fn names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| complete(current, false, true))
}

/// Completes ids and names of objects.
pub(super) fn ids_and_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| complete(current, true, true))
}

/// Returns the ids or names that begin with `current`. Empty for a user who may not list the objects: a completion reports no errors.
fn complete(current: &OsStr, has_ids: bool, has_names: bool) -> Vec<CompletionCandidate> {
    let (Some(kind), Some(current)) = (kind_of_command(), current.to_str()) else { return Vec::new() };
    let objects = object::list(kind).unwrap_or_default();
    let mut candidates = Vec::new();
    for object in objects {
        let id = object.id.to_string();
        let Ok(Some(fd)) = object.open() else { continue };
        let label = object_label(kind, &fd);
        if has_ids && id.starts_with(current) {
            candidates.push(CompletionCandidate::new(&id).help(Some(label.clone().into())));
        }
        // The shell gets the names as words of its line.
        let is_word = label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        if has_names && !label.is_empty() && is_word && label.starts_with(current) {
            candidates.push(CompletionCandidate::new(label).help(Some(format!("id {id}").into())));
        }
    }
    candidates
}

/// Returns the kind of objects of the command in the user's line: the first of its words that names a kind.
fn kind_of_command() -> Option<Kind> {
    let mut words = env::args_os().skip_while(|word| word != "--").skip(2);
    words.find_map(|word| match word.to_str()? {
        "prog" => Some(Kind::Prog),
        "map" | "struct_ops" => Some(Kind::Map),
        "link" | "iter" => Some(Kind::Link),
        "btf" => Some(Kind::Btf),
        _ => None,
    })
}
