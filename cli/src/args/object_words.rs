//! The arguments of the commands that select an object by words or options and take further words: pins,
//! `link update`, and the `map` commands with keys.

use super::{
    object_name::parse_name,
    object_selector::{parse_id, parse_tag},
};
use crate::{error::BadInput, format::Format};
use clap::{Args, ValueHint};
use core_relo_loader::inventory::{ObjectSelection, ProgramTag};
use std::path::PathBuf;

const PIN_HELP: &str = "Examples:
  core-relo prog pin 7 /sys/fs/bpf/handle_exec
  core-relo map pin --name counts /sys/fs/bpf/counts
  core-relo link pin 3 /sys/fs/bpf/exec_link

The path is on a bpffs. The pin's directory is created if its parent exists. `rm` removes the pin.";
const UPDATE_HELP: &str = "Examples:
  core-relo link update 3 42
  core-relo link update --pinned /sys/fs/bpf/exec_link /sys/fs/bpf/handle_exec_2

The new program is given by its id, its name or the path of its pin; for a link of struct_ops, it is a map.";

/// A map or link, and words after it
#[derive(Clone, Debug, Args)]
pub(crate) struct ObjectWords {
    /// The object's id, unless an option selects the object, and the words that follow it
    #[arg(value_name = "ID_AND_WORDS", allow_negative_numbers = true)]
    words: Vec<String>,
    /// The object with this id
    #[arg(long, value_name = "N", group = "object")]
    id: Option<u32>,
    /// The object with this name. The map of a data section also has the section's name, such as `.rodata`
    #[arg(long, value_name = "NAME", value_parser = parse_name, group = "object")]
    name: Option<String>,
    /// The object pinned at this path
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, group = "object")]
    pinned: Option<PathBuf>,
}

/// A program, and words after it
#[derive(Clone, Debug, Args)]
pub(crate) struct ProgramWords {
    #[command(flatten)]
    object: ObjectWords,
    /// The program with this tag
    #[arg(long, value_name = "TAG", value_parser = parse_tag, group = "object")]
    tag: Option<ProgramTag>,
}

impl ObjectWords {
    /// Returns the selection of the object, and the words after it. Without an option, the first word is the
    /// object's id.
    pub(crate) fn split(&self) -> Result<(ObjectSelection, &[String]), BadInput> {
        self.split_or("an id, --name or --pinned")
    }

    /// Splits the words. Without a selection, the error names what is expected.
    fn split_or(&self, expected: &str) -> Result<(ObjectSelection, &[String]), BadInput> {
        let Self { id, name, pinned, words } = self;
        let name = || name.clone().map(ObjectSelection::Name);
        let option =
            id.map(ObjectSelection::Id).or_else(name).or_else(|| pinned.clone().map(ObjectSelection::Pin));
        if let Some(selection) = option {
            return Ok((selection, words));
        }
        let (first, rest) = words
            .split_first()
            .ok_or_else(|| BadInput::new("ID", format_args!("nothing is selected, expected {expected}")))?;
        let id = parse_id(first).map_err(|what| BadInput::new(first, what))?;
        Ok((ObjectSelection::Id(id), rest))
    }
}

impl ProgramWords {
    /// Returns the selection of the program, and the words after it. Without an option, the first word is the
    /// program's id.
    pub(crate) fn split(&self) -> Result<(ObjectSelection, &[String]), BadInput> {
        match self.tag {
            Some(tag) => Ok((ObjectSelection::Tag(tag), &self.object.words)),
            None => self.object.split_or("an id, --name, --tag or --pinned"),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = PIN_HELP)]
#[command(
    override_usage = "core-relo <map|link> pin [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> <NEW_PATH>"
)]
pub(crate) struct PinArgs {
    #[command(flatten)]
    pub(crate) object: ObjectWords,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = PIN_HELP)]
#[command(
    override_usage = "core-relo prog pin [OPTIONS] <ID|--id N|--name NAME|--tag TAG|--pinned PATH> <NEW_PATH>"
)]
pub(crate) struct ProgramPinArgs {
    #[command(flatten)]
    pub(crate) program: ProgramWords,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
#[command(
    override_usage = "core-relo link update [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> <PROGRAM>..."
)]
pub(crate) struct LinkUpdateArgs {
    #[command(flatten)]
    pub(crate) object: ObjectWords,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
