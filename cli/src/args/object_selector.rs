//! The options that select a program, map or link, and those that several commands share.

use super::object_name::parse_name;
use crate::{format::Format, kernel_objects::select::Selector, text::hex};
use clap::{Arg, Args, ValueHint};
use core_relo_loader::inventory::{ObjectSelection, ProgramTag};
use std::path::PathBuf;

/// The selection of maps or links: one of an id, a name and a pin
#[derive(Clone, Debug, Default, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ObjectSelector {
    /// The object with this id; short for --id
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) positional_id: Option<u32>,
    /// The object with this id
    #[arg(long, value_name = "N")]
    pub(crate) id: Option<u32>,
    /// All objects with this name. The map of a data section also has the section's name, such as `.rodata`
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: Option<String>,
    /// The object pinned at this path
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) pinned: Option<PathBuf>,
}

/// The selection of programs: one of an id, a name, a pin and a tag
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(crate) struct ProgramSelector {
    #[command(flatten)]
    object: ObjectSelector,
    /// All programs with this tag, the hash of their instructions
    #[arg(long, value_name = "TAG", value_parser = parse_tag, group = "ObjectSelector")]
    tag: Option<ProgramTag>,
}

impl Selector for ObjectSelector {
    fn selection(&self) -> Option<ObjectSelection> {
        let Self { positional_id, id, name, pinned } = self;
        let id = id.or(*positional_id).map(ObjectSelection::Id);
        let name = || name.clone().map(ObjectSelection::Name);
        id.or_else(name).or_else(|| pinned.clone().map(ObjectSelection::Pin))
    }
}

impl Selector for ProgramSelector {
    fn selection(&self) -> Option<ObjectSelection> {
        self.tag.map(ObjectSelection::Tag).or_else(|| self.object.selection())
    }
}

/// Changes the help of `--name` for a command that takes one object.
pub(super) fn one_name(name: Arg) -> Arg {
    name.help("The object with this name; several are an error. The map of a data section also has the section's name, such as `.rodata`")
}

/// Changes the help of `--name` for a command that shows links.
pub(super) fn link_name(name: Arg) -> Arg {
    name.help("All links of programs with this name")
}

/// Changes the help of `--name` for a command that takes one link.
pub(super) fn one_link_name(name: Arg) -> Arg {
    name.help("The link of the program with this name; several are an error")
}

/// Changes the help of `--name` for a command that takes one program.
pub(super) fn one_program_name(name: Arg) -> Arg {
    name.help("The program with this name; several are an error")
}

/// Changes the help of `--tag` for a command that takes one program.
pub(super) fn one_tag(tag: Arg) -> Arg {
    tag.help("The program with this tag, the hash of its instructions; several are an error")
}

/// Parses the id of a program, map or link.
pub(super) fn parse_id(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "expected an id (a number); use --name for a name, --pinned for a pin".to_owned())
}

/// Parses the tag of a program: 16 hexadecimal digits.
pub(super) fn parse_tag(text: &str) -> Result<ProgramTag, &'static str> {
    let bytes = hex::parse(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or("expected a tag of 16 hexadecimal digits, as `prog show` prints it")
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(mut_group("ObjectSelector", |group| group.required(false)))]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(mut_group("ObjectSelector", |group| group.required(false)))]
pub(crate) struct ProgramShowArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// One object that a command changes
#[derive(Debug, Args)]
#[command(mut_arg("name", one_name))]
pub(crate) struct ObjectChangeArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The options for printing elements
#[derive(Clone, Debug, Args)]
pub(crate) struct ElementArgs {
    /// Print keys and values as bytes
    #[arg(long)]
    pub(crate) hex: bool,
    /// Print the type of each member
    #[arg(long)]
    pub(crate) types: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
