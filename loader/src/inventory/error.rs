//! [`InventoryError`]: an object of the kernel that cannot be found or read.

use super::selection::{ObjectSelection, ProgramTag};
use crate::sys::{Errno, InfoError, ObjectKind};
use core_relo::Escaped;
use std::path::PathBuf;

/// The reason why an object of the kernel cannot be found or read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InventoryError {
    /// The kernel does not list the objects of a kind.
    #[error("running kernel: cannot list {kind}s: {errno}")]
    List {
        /// The kind.
        kind: ObjectKind,
        /// The kernel's error.
        errno: Errno,
    },
    /// The kernel does not open an object.
    #[error("running kernel: cannot open id {id} of {kind}s: {errno}")]
    Open {
        /// The kind of the object.
        kind: ObjectKind,
        /// Its id.
        id: u32,
        /// The kernel's error.
        errno: Errno,
    },
    /// The properties of an object cannot be read.
    #[error("{kind} {id}: {}", error.problem())]
    Info {
        /// The kind of the object.
        kind: ObjectKind,
        /// Its id.
        id: u32,
        /// The error.
        error: InfoError,
    },
    /// No object fits a selection.
    #[error("no {kind} fits {selection}")]
    NotFound {
        /// The kind.
        kind: ObjectKind,
        /// The selection.
        selection: ObjectSelection,
    },
    /// Several objects fit a selection, where one is expected.
    #[error("{} {kind}s fit {selection}, expected one: ids {ids:?}", ids.len())]
    Several {
        /// The kind.
        kind: ObjectKind,
        /// The selection.
        selection: ObjectSelection,
        /// The ids of the objects.
        ids: Vec<u32>,
    },
    /// An object was removed after it was found.
    #[error("{kind} {id}: is gone")]
    Gone {
        /// The kind.
        kind: ObjectKind,
        /// Its id.
        id: u32,
    },
    /// Only programs have a tag.
    #[error("{}: a {kind} has no tag", ObjectSelection::Tag(*tag))]
    NoTag {
        /// The kind.
        kind: ObjectKind,
        /// The tag.
        tag: ProgramTag,
    },
    /// A pin cannot be opened.
    #[error("{}: cannot open the pin: {errno}", Escaped(path.display()))]
    Pin {
        /// The path of the pin.
        path: PathBuf,
        /// The kernel's error.
        errno: Errno,
    },
    /// A pin cannot be created.
    #[error("{}: cannot create the pin: {errno}", Escaped(path.display()))]
    CreatePin {
        /// The path of the pin.
        path: PathBuf,
        /// The kernel's error.
        errno: Errno,
    },
    /// A pin cannot be removed.
    #[error("{}: cannot remove the pin: {errno}", Escaped(path.display()))]
    RemovePin {
        /// The path of the pin.
        path: PathBuf,
        /// The kernel's error.
        errno: Errno,
    },
    /// A pin is that of an object of another kind.
    #[error("{}: is a pin of a {found}, expected a {expected}", Escaped(path.display()))]
    PinKind {
        /// The path of the pin.
        path: PathBuf,
        /// The kind of the pinned object.
        found: ObjectKind,
        /// The kind that was selected.
        expected: ObjectKind,
    },
}

core_relo::debug_as_message!(InventoryError);

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\x1b[31m";

    /// A terminal must not run the control characters in the path of a pin, or in the name of an object.
    #[test]
    fn text_of_selections_is_escaped() {
        let (path, errno, kind) = (PathBuf::from(TEXT), Errno::ENOENT, ObjectKind::Map);
        let not_found = |selection| InventoryError::NotFound { kind, selection };
        for error in [
            InventoryError::Pin { path: path.clone(), errno },
            InventoryError::CreatePin { path: path.clone(), errno },
            InventoryError::RemovePin { path: path.clone(), errno },
            InventoryError::PinKind { path: path.clone(), found: ObjectKind::Link, expected: kind },
            not_found(ObjectSelection::Pin(path)),
            not_found(ObjectSelection::Name(TEXT.into())),
        ] {
            let text = error.to_string();
            assert!(text.contains(r"a\u{1b}[31m"), "{text:?}");
        }
    }

    #[test]
    fn a_tag_is_printed_as_the_kernel_prints_it() {
        let error = InventoryError::NoTag { kind: ObjectKind::Map, tag: [0, 17, 34, 51, 68, 85, 102, 119] };
        assert_eq!(error.to_string(), "the tag 0011223344556677: a map has no tag");
    }
}
