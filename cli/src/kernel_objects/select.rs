//! The objects that the user selects: by id, by name, by tag, by pin.

use crate::{
    error::{BadInput, escape_path},
    kernel_objects::error::hint,
    text::hex,
};
use core_relo::explain::suggest_word;
use core_relo_loader::{
    Errno, Hint,
    inventory::{self, InventoryError, KernelObject, ObjectKind, ObjectSelection, object_name},
};
use std::{collections::BTreeSet, os::fd::OwnedFd, path::Path};

/// Arguments that select objects.
pub(crate) trait Selector {
    /// Returns the selection. `None` selects all objects, where the arguments are optional.
    fn selection(&self) -> Option<ObjectSelection>;

    /// Returns the name of the command whose `list` shows the objects of a kind.
    fn command(&self, kind: ObjectKind) -> &'static str {
        command(kind)
    }
}

impl Selector for ObjectSelection {
    fn selection(&self) -> Option<ObjectSelection> {
        Some(self.clone())
    }
}

/// Returns the name of the subcommand for the objects of a kind.
pub(crate) fn command(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Program => "prog",
        ObjectKind::Map => "map",
        ObjectKind::Link => "link",
        ObjectKind::Btf => "btf",
    }
}

/// Returns the selected objects, at least one. Several objects may have the same name or tag.
pub(crate) fn select(kind: ObjectKind, selector: &dyn Selector) -> Result<Vec<KernelObject>, BadInput> {
    let command = selector.command(kind);
    let Some(selection) = selector.selection() else {
        let what = "nothing is selected, expected an id, a name or a pin";
        return Err(BadInput::new(kind.to_string(), what).help(lists_them(command)));
    };
    inventory::find(kind, &selection).map_err(|error| explain(error, command))
}

/// Returns the selected objects, or all objects of the kind if nothing is selected.
pub(crate) fn select_or_all(
    kind: ObjectKind,
    selector: &dyn Selector,
) -> Result<Vec<KernelObject>, BadInput> {
    if selector.selection().is_none() { Ok(inventory::list(kind)?) } else { select(kind, selector) }
}

/// Opens the selected object, and returns its id. Several objects of a name are an error, because a change is
/// meant for one.
pub(crate) fn select_one(kind: ObjectKind, selector: &dyn Selector) -> Result<(u32, OwnedFd), BadInput> {
    match selector.selection() {
        Some(selection) => {
            open_one(kind, &selection).map_err(|error| explain_one(error, &selection, selector.command(kind)))
        }
        None => {
            Err(select(kind, selector).err().unwrap_or_else(|| BadInput::new(kind.to_string(), "is gone")))
        }
    }
}

fn open_one(kind: ObjectKind, selection: &ObjectSelection) -> Result<(u32, OwnedFd), InventoryError> {
    let object = inventory::find_one(kind, selection)?;
    let id = object.id();
    Ok((id, object.open()?.ok_or(InventoryError::Gone { kind, id })?))
}

fn lists_them(command: &str) -> String {
    format!("`core-relo {command} list` lists them")
}

/// Returns the text of a selection, as the user wrote it.
fn selection_text(kind: ObjectKind, selection: &ObjectSelection) -> String {
    match selection {
        ObjectSelection::Name(name) => escape_path(Path::new(name)),
        ObjectSelection::Tag(tag) => hex::digits(tag),
        _ => kind.to_string(),
    }
}

/// Creates the error of a selection that must fit one object.
fn explain_one(error: InventoryError, selection: &ObjectSelection, command: &str) -> BadInput {
    match error {
        InventoryError::Several { kind, ids, .. } => {
            let property = if matches!(selection, ObjectSelection::Tag(_)) { "tag" } else { "name" };
            let listed: Vec<_> = ids.iter().map(u32::to_string).collect();
            let what = format!(
                "{} {kind}s have this {property}, expected one: ids {}",
                ids.len(),
                listed.join(", ")
            );
            BadInput::new(selection_text(kind, selection), what).help("select it by its id")
        }
        InventoryError::Gone { kind, id } => {
            BadInput::new(selection_text(kind, selection), format_args!("{kind} {id} is gone"))
        }
        other => explain(other, command),
    }
}

/// Creates the error of a selection, with the command that lists the objects.
fn explain(error: InventoryError, command: &str) -> BadInput {
    let InventoryError::NotFound { kind, ref selection } = error else {
        return match error {
            InventoryError::Pin { path, errno } => pin_error(&path, errno, command),
            other => other.into(),
        };
    };
    let bad = match selection {
        ObjectSelection::Id(id) => BadInput::new(format!("id {id}"), format_args!("no such {kind}")),
        ObjectSelection::Name(name) if name.is_empty() => {
            BadInput::new(kind.to_string(), "the name is empty, expected an id, a name or a pin")
        }
        ObjectSelection::Name(name) => match nearest_name(kind, name) {
            Ok(nearest) => {
                BadInput::new(escape_path(Path::new(name)), format!("no {kind} of this name{nearest}"))
            }
            Err(e) => return e.into(),
        },
        ObjectSelection::Tag(tag) => BadInput::new(hex::digits(tag), "no program has this tag"),
        other => BadInput::new(kind.to_string(), format_args!("no {kind} fits {other}")),
    };
    bad.help(lists_them(command))
}

/// Returns the end of an error about an unknown name: a suggestion, if an object has a similar name.
fn nearest_name(kind: ObjectKind, unknown: &str) -> Result<String, InventoryError> {
    let mut names = BTreeSet::new();
    for object in inventory::list(kind)? {
        names.extend(object.open()?.map(|fd| object_name(kind, &fd)).filter(|name| !name.is_empty()));
    }
    Ok(suggest_word(unknown, names.iter().map(String::as_str)))
}

/// Creates the error of a pin that cannot be opened.
fn pin_error(path: &Path, errno: Errno, command: &str) -> BadInput {
    let bad = match errno {
        Errno::ENOENT => BadInput::for_path(path, "no such pin"),
        _ => BadInput::for_path(path, format_args!("cannot open the pin: {errno}")),
    };
    if let (Errno::ENOENT | Errno::EPERM | Errno::EINVAL, Some(hint)) = (errno, Hint::missing_bpffs(path)) {
        return bad.help(hint.0);
    }
    let has_dots = path.file_name().is_some_and(|name| name.as_encoded_bytes().contains(&b'.'));
    match errno {
        Errno::ENOENT => bad.help(format!("`core-relo {command} list` lists the pins")),
        Errno::EPERM if has_dots => {
            bad.help("the name of a pin has no dots: loaders pin `.rodata` as `_rodata`")
        }
        Errno::EPERM | Errno::EINVAL | Errno::EACCES => {
            bad.help("is it a pin, below a mounted bpffs such as /sys/fs/bpf, and may this user read it?")
        }
        _ => bad,
    }
}

impl From<InventoryError> for BadInput {
    fn from(error: InventoryError) -> Self {
        let errno = match &error {
            InventoryError::List { errno, .. }
            | InventoryError::Open { errno, .. }
            | InventoryError::Pin { errno, .. } => Some(*errno),
            InventoryError::Info { error, .. } => Some(error.errno()),
            _ => None,
        };
        let bad = match error {
            InventoryError::List { kind, errno } => {
                Self::new("running kernel", format_args!("cannot list {kind}s: {errno}"))
            }
            InventoryError::Open { kind, id, errno } => {
                Self::new("running kernel", format_args!("cannot open id {id} of {kind}s: {errno}"))
            }
            InventoryError::Info { kind, id, error } => Self::new(format!("{kind} {id}"), error.problem()),
            InventoryError::NoTag { kind, .. } => {
                Self::new("tag", format_args!("a {kind} has no tag")).help("use an id, --name or --pinned")
            }
            InventoryError::Pin { path, errno } => {
                Self::for_path(&path, format_args!("cannot open the pin: {errno}"))
            }
            InventoryError::PinKind { path, found, expected } => {
                Self::for_path(&path, format_args!("is a pin of a {found}, expected a {expected}"))
            }
            InventoryError::Gone { kind, id } => Self::new(format!("{kind} {id}"), "is gone"),
            other => Self::new("running kernel", other),
        };
        match errno.and_then(hint) {
            Some(help) => bad.help(help),
            None => bad,
        }
    }
}

/// Parses the words that select an object: an id, a name or the path of a pin, or with bpftool's words
/// `id N`, `name NAME` or `pinned PATH`.
pub(crate) fn parse_selector(kind: ObjectKind, words: &[String]) -> Result<ObjectSelection, String> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    match *texts {
        [word] => Ok(selection_from_word(word)),
        ["id", text] => match text.parse() {
            Ok(id) => Ok(ObjectSelection::Id(id)),
            Err(_no_number) => Err(format!("`{text}`: expected the id of a {kind}")),
        },
        ["name", name] => Ok(ObjectSelection::Name(name.to_owned())),
        ["pinned", path] => Ok(ObjectSelection::Pin(path.into())),
        _ => Err(format!("expected the id, the name or the pin of a {kind}")),
    }
}

/// Returns the selection that one word makes: a number is an id, a text with a slash the path of a pin, any
/// other text a name.
pub(crate) fn selection_from_word(word: &str) -> ObjectSelection {
    if let Ok(id) = word.parse() {
        return ObjectSelection::Id(id);
    }
    if word.contains('/') {
        ObjectSelection::Pin(word.into())
    } else {
        ObjectSelection::Name(word.to_owned())
    }
}
