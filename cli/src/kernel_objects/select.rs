//! The objects that the user selects: by id, by name, by tag, by pin.

use crate::{
    error::{BadInput, escape_path},
    kernel_objects::{
        error::{refused, unreadable},
        kind::Kind,
        names::{has_name, object_label},
        object::{KernelObject, list},
        pins,
    },
    text::hex,
    words::suggestion,
};
use core_relo_loader::{
    Hint,
    sys::{self, Errno},
};
use std::{
    collections::BTreeSet,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// The kernel's hash of a program's instructions.
pub(crate) type ProgramTag = [u8; 8];

/// The property that selects objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectSelection {
    Id(u32),
    Name(String),
    Pin(PathBuf),
    /// Only programs have a tag.
    Tag(ProgramTag),
}

/// Arguments that select objects.
pub(crate) trait Selector {
    /// Returns the selection. `None` selects all objects, where the arguments are optional.
    fn selection(&self) -> Option<ObjectSelection>;

    /// Returns the name of the command whose `list` shows the objects of a kind.
    fn command(&self, kind: Kind) -> &'static str {
        kind.command()
    }
}

impl Selector for ObjectSelection {
    fn selection(&self) -> Option<ObjectSelection> {
        Some(self.clone())
    }
}

/// Returns the selected objects, at least one. Several objects may have the same name or tag.
pub(crate) fn select(kind: Kind, selector: &dyn Selector) -> Result<Vec<KernelObject>, BadInput> {
    let command = selector.command(kind);
    let help = format!("`core-relo {command} list` lists them");
    match selector.selection() {
        Some(ObjectSelection::Id(id)) => match kind.open(id) {
            Ok(fd) => Ok(vec![KernelObject::from_fd(kind, id, fd)]),
            Err(e) if e == Errno::ENOENT => {
                Err(BadInput::new(format!("id {id}"), format_args!("no such {}", kind.noun())).help(help))
            }
            Err(e) => Err(refused(kind, &format!("open id {id} of"), e)),
        },
        Some(ObjectSelection::Pin(path)) => Ok(vec![open_pin(kind, command, &path)?]),
        Some(ObjectSelection::Tag(tag)) => with_tag(kind, tag, &help),
        Some(ObjectSelection::Name(name)) => with_name(kind, &name, help),
        None => {
            Err(BadInput::new(kind.noun(), "nothing is selected, expected an id, a name or a pin").help(help))
        }
    }
}

/// Returns the objects of a kind with this name, at least one.
fn with_name(kind: Kind, name: &str, help: String) -> Result<Vec<KernelObject>, BadInput> {
    if name.is_empty() {
        return Err(
            BadInput::new(kind.noun(), "the name is empty, expected an id, a name or a pin").help(help)
        );
    }
    let mut objects = Vec::new();
    for object in list(kind)? {
        let id = object.id;
        // The descriptor is closed at once, because many objects may have the name.
        if object.open()?.is_some_and(|fd| has_name(kind, &fd, name)) {
            objects.push(KernelObject::new(kind, id));
        }
    }
    if objects.is_empty() {
        let what = format!("no {} of this name{}", kind.noun(), nearest_name(kind, name)?);
        return Err(BadInput::new(escape_path(Path::new(name)), what).help(help));
    }
    Ok(objects)
}

/// Returns the end of an error about an unknown name: a suggestion, if an object has a similar name.
fn nearest_name(kind: Kind, unknown: &str) -> Result<String, BadInput> {
    let mut names = BTreeSet::new();
    for object in list(kind)? {
        names.extend(object.open()?.map(|fd| object_label(kind, &fd)).filter(|name| !name.is_empty()));
    }
    Ok(suggestion(unknown, names.iter().map(String::as_str)))
}

/// Returns the programs with this tag, at least one.
fn with_tag(kind: Kind, tag: ProgramTag, help: &str) -> Result<Vec<KernelObject>, BadInput> {
    if kind != Kind::Prog {
        let bad = BadInput::new("tag", format_args!("a {} has no tag", kind.noun()));
        return Err(bad.help("use an id, --name or --pinned"));
    }
    let mut found = Vec::new();
    for object in list(kind)? {
        let id = object.id;
        let Some(program) = object.open()? else { continue };
        let info = sys::prog_info(&program).map_err(|e| unreadable(kind, id, "its info", e))?;
        if info.tag == tag {
            found.push(KernelObject::new(kind, id));
        }
    }
    if found.is_empty() {
        return Err(BadInput::new(hex::digits(&tag), "no program has this tag").help(help.to_owned()));
    }
    Ok(found)
}

/// Returns the selected objects, or all objects of the kind if nothing is selected.
pub(crate) fn select_or_all(kind: Kind, selector: &dyn Selector) -> Result<Vec<KernelObject>, BadInput> {
    if selector.selection().is_none() { list(kind) } else { select(kind, selector) }
}

/// Parses the words that select an object: an id, a name or the path of a pin, or with bpftool's words `id N`, `name NAME` or
/// `pinned PATH`.
pub(crate) fn parse_selector(kind: Kind, words: &[String]) -> Result<ObjectSelection, String> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    match *texts {
        [word] => Ok(selection_from_word(word)),
        ["id", text] => match text.parse() {
            Ok(id) => Ok(ObjectSelection::Id(id)),
            Err(_no_number) => Err(format!("`{text}`: expected the id of a {}", kind.noun())),
        },
        ["name", name] => Ok(ObjectSelection::Name(name.to_owned())),
        ["pinned", path] => Ok(ObjectSelection::Pin(path.into())),
        _ => Err(format!("expected the id, the name or the pin of a {}", kind.noun())),
    }
}

/// Returns the selection that one word makes: a number is an id, a text with a slash the path of a pin, any other text a name.
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

/// Opens the selected object, and returns its id. Several objects of a name are an error, because a change is meant for one.
pub(crate) fn select_one(kind: Kind, selector: &dyn Selector) -> Result<(u32, OwnedFd), BadInput> {
    let mut objects = select(kind, selector)?;
    let ids: Vec<String> = objects.iter().map(|object| object.id.to_string()).collect();
    let name = || match selector.selection() {
        Some(ObjectSelection::Name(name)) => escape_path(Path::new(&name)),
        Some(ObjectSelection::Tag(tag)) => hex::digits(&tag),
        _ => kind.noun().into(),
    };
    let object = objects.pop().filter(|_| objects.is_empty()).ok_or_else(|| {
        let property =
            if matches!(selector.selection(), Some(ObjectSelection::Tag(_))) { "tag" } else { "name" };
        let what = format!(
            "{} {}s have this {property}, expected one: ids {}",
            ids.len(),
            kind.noun(),
            ids.join(", ")
        );
        BadInput::new(name(), what).help("select it by its id")
    })?;
    let id = object.id;
    let gone = || BadInput::new(name(), format_args!("{} {id} is gone", kind.noun()));
    Ok((id, object.open()?.ok_or_else(gone)?))
}

fn open_pin(kind: Kind, command: &str, path: &Path) -> Result<KernelObject, BadInput> {
    let refused = |errno: Errno| {
        let bad = match errno {
            Errno::ENOENT => BadInput::for_path(path, "no such pin"),
            _ => BadInput::for_path(path, format_args!("cannot open the pin: {errno}")),
        };
        if let (Errno::ENOENT | Errno::EPERM | Errno::EINVAL, Some(hint)) = (errno, Hint::missing_bpffs(path))
        {
            return bad.help(hint.0);
        }
        match errno {
            Errno::ENOENT => bad.help(format!("`core-relo {command} list` lists the pins")),
            Errno::EPERM if loader_pin(path).is_some() => {
                bad.help("the name of a pin has no dots: loaders pin `.rodata` as `_rodata`")
            }
            Errno::EPERM | Errno::EINVAL | Errno::EACCES => {
                bad.help("is it a pin, below a mounted bpffs such as /sys/fs/bpf, and may this user read it?")
            }
            _ => bad,
        }
    };
    let (pinned_kind, fd) = open_with_loader_name(path).map_err(refused)?;
    if let Some(pinned_kind) = pinned_kind
        && pinned_kind != kind
    {
        let what = format!("is a pin of a {}, expected a {}", pinned_kind.noun(), kind.noun());
        return Err(BadInput::for_path(path, what));
    }
    let id = kind.id(&fd).map_err(refused)?;
    Ok(KernelObject::from_fd(kind, id, fd))
}

/// Opens a pin. If the name has dots, which a bpffs refuses, opens the pin under the name that loaders give it.
fn open_with_loader_name(path: &Path) -> Result<(Option<Kind>, OwnedFd), Errno> {
    pins::open(path).or_else(|errno| {
        let Some(pin) = loader_pin(path) else { return Err(errno) };
        let opened = pins::open(&pin).map_err(|_no_such_pin| errno)?;
        log::info!("{}: opened as {}", escape_path(path), escape_path(&pin));
        Ok(opened)
    })
}

/// Returns the path at which loaders pin a map whose name has dots: with `_` for each dot, as `sanitize_pin_path` of libbpf does.
/// Returns `None` if the name has no dots.
fn loader_pin(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    name.contains('.').then(|| path.with_file_name(name.replace('.', "_")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn pins_have_no_dots() {
        let pin = |path: &str| loader_pin(Path::new(path)).map(|pin| pin.display().to_string());
        assert_eq!(pin("/sys/fs/bpf/v1.0/.rodata.a"), Some("/sys/fs/bpf/v1.0/_rodata_a".into()));
        assert_eq!(pin("/sys/fs/bpf/v1.0/counts"), None);
    }
}
