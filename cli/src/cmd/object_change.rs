//! Changes of programs, maps and links: pins, and the report on a change.

use crate::{
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    kernel_objects::{
        error::object_name,
        select::{Selector, command, select_one},
    },
    text::{line::Line, style},
};
use core_relo_loader::{
    Errno, Hint,
    inventory::{self, ObjectKind},
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd, path::Path};

/// A change of an object, and its JSON line.
#[derive(Serialize)]
pub(super) struct ObjectChange {
    /// `prog`, `map` or `link`.
    kind: &'static str,
    id: u32,
    /// The change: `pinned`, `detached` and so on.
    change: &'static str,
    pin: Option<String>,
    /// The new program of a link.
    prog_id: Option<u32>,
    /// The new struct_ops map of a link.
    map_id: Option<u32>,
    /// The object in messages.
    #[serde(skip)]
    name: String,
    /// A note about the object, printed on stderr.
    #[serde(skip)]
    note: Option<String>,
}

impl ObjectChange {
    pub(super) fn new(kind: ObjectKind, id: u32, change: &'static str) -> Self {
        let name = object_name(kind, id, "");
        Self { kind: command(kind), id, change, pin: None, prog_id: None, map_id: None, name, note: None }
    }

    /// Adds the object's name.
    pub(super) fn named(mut self, kind: ObjectKind, name: &str) -> Self {
        self.name = object_name(kind, self.id, name);
        self
    }

    pub(super) fn pin(mut self, path: &Path) -> Self {
        self.pin = Some(escape_path(path));
        self
    }

    /// Adds the program or map that a link has now.
    pub(super) fn content(mut self, kind: ObjectKind, id: u32) -> Self {
        match kind {
            ObjectKind::Map => self.map_id = Some(id),
            _ => self.prog_id = Some(id),
        }
        self
    }

    /// Adds a note about the object.
    pub(super) fn note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    pub(super) fn write(&self, console: &mut Console<'_>, format: Format) -> io::Result<()> {
        console.report_change(format, self, &self.line())?;
        let Some(note) = &self.note else { return Ok(()) };
        console.note(&format!("{}: {note}", self.name))
    }

    fn line(&self) -> Line {
        let mut line = Line::new().styled(style::GOOD, self.change).text(format_args!(": {}", self.name));
        if let Some(path) = &self.pin {
            line = line.text(format_args!(": {path}"));
        }
        for (kind, id) in [(ObjectKind::Program, self.prog_id), (ObjectKind::Map, self.map_id)] {
            if let Some(id) = id {
                line = line.text(format_args!(": {}", object_name(kind, id, "")));
            }
        }
        line
    }
}

/// Opens the one object that is selected, calls `change` with its id, its descriptor and the words after it,
/// and reports the change.
pub(super) fn open_and_change(
    console: &mut Console<'_>,
    kind: ObjectKind,
    selected: Result<(impl Selector, &[String]), BadInput>,
    format: Format,
    change: impl FnOnce(u32, &OwnedFd, &[String]) -> Result<ObjectChange, BadInput>,
) -> CommandResult {
    let (selector, words) = selected?;
    let (id, fd) = select_one(kind, &selector)?;
    Ok(change(id, &fd, words)?.write(console, format)?)
}

/// `prog pin`, `map pin` and `link pin`.
pub(super) fn pin(
    console: &mut Console<'_>,
    kind: ObjectKind,
    selected: Result<(impl Selector, &[String]), BadInput>,
    format: Format,
) -> CommandResult {
    open_and_change(console, kind, selected, format, |id, fd, words| {
        let [path] = words else {
            let bad = BadInput::new(object_name(kind, id, ""), "expected one path for the pin");
            return Err(bad.help(format!("core-relo {} pin {id} /sys/fs/bpf/NAME", command(kind))));
        };
        let path = Path::new(path);
        inventory::pin_in_new_directory(fd, path).map_err(|e| pin_refusal(path, e))?;
        Ok(ObjectChange::new(kind, id, "pinned").pin(path))
    })
}

/// Returns the error of a pin that the kernel refuses.
pub(super) fn pin_refusal(path: &Path, e: Errno) -> BadInput {
    let bad = BadInput::for_path(path, format_args!("cannot pin it: {e}"));
    if let (Errno::ENOENT | Errno::EPERM | Errno::EINVAL, Some(hint)) = (e, Hint::missing_bpffs(path)) {
        return bad.help(hint.0);
    }
    let has_dots = path.file_name().is_some_and(|name| name.as_encoded_bytes().contains(&b'.'));
    match e {
        Errno::EPERM if has_dots => bad.help("names on a bpffs have no dots"),
        Errno::EPERM | Errno::EINVAL => bad.help("is it on a mounted bpffs, such as /sys/fs/bpf?"),
        Errno::ENOENT => {
            bad.help("only the last directory of the path is created, create the others first: mkdir -p")
        }
        Errno::EEXIST => bad.help("another object is pinned there: rm removes the pin"),
        _ => bad,
    }
}
