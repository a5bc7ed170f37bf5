//! Marks: parts of the kernel's BTF that came with a change to the kernel.

use super::KernelVersion;
use core::fmt;

/// A part of the kernel's BTF that came with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A function. Compilers inline functions, so a missing function proves nothing.
    Function(&'static str),
    /// A member of a struct. A struct without the member proves that the change is missing.
    Member(&'static str, &'static str),
    /// A member of the struct that a member of a struct is or points to. A struct without the first member, or an inner struct without
    /// the second, proves that the change is missing.
    InnerMember(&'static str, &'static str, &'static str),
    /// An enumerator of an enum. An enum without the enumerator proves that the change is missing.
    Enumerator(&'static str, &'static str),
}

/// A change to the kernel: the mainline release, and the marks of which every kernel with the change has at least one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) release: KernelVersion,
    pub(super) marks: &'static [Mark],
}

impl Change {
    pub(super) const fn new(major: u8, minor: u8, marks: &'static [Mark]) -> Self {
        Self { release: KernelVersion::release(major, minor), marks }
    }
}

/// The presence of a mark in a kernel's BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkPresence {
    /// The BTF has the mark.
    Found,
    /// The BTF has the struct or enum, without the mark.
    Missing,
    /// The BTF lacks the function, struct or enum.
    NotDecided,
}

impl Mark {
    /// Returns the text of the evidence that the mark is missing.
    pub(super) fn absence(self) -> String {
        match self {
            Self::Function(function) => format!("no FUNC {function}"),
            Self::Member(composite, member) => format!("struct {composite} has no {member}"),
            Self::InnerMember(composite, member, inner) => {
                format!("struct {composite} has no {member}.{inner}")
            }
            Self::Enumerator(name, enumerator) => format!("enum {name} has no {enumerator}"),
        }
    }
}

/// The text of the evidence that the mark is there.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(function) => write!(f, "FUNC {function}"),
            Self::Member(composite, member) => write!(f, "struct {composite} has {member}"),
            Self::InnerMember(composite, member, inner) => {
                write!(f, "struct {composite} has {member}.{inner}")
            }
            Self::Enumerator(name, enumerator) => write!(f, "enum {name} has {enumerator}"),
        }
    }
}
