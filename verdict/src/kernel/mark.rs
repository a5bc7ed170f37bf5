//! Marks: parts of the kernel's BTF that came with a change to the kernel.

use super::{
    KernelVersion,
    fixed_names::{Enum, Func, Struct},
};
use core::fmt;

/// A part of the kernel's BTF that came with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A function. Compilers inline functions, so a missing function proves nothing.
    Function(Func),
    /// A member of a struct. A struct without the member proves that the change is missing.
    Member(Struct, &'static str),
    /// A member of the struct that a member of a struct is or points to. A struct without the first member,
    /// or an inner struct without the second, proves that the change is missing.
    InnerMember(Struct, &'static str, &'static str),
    /// An enumerator of an enum. An enum without the enumerator proves that the change is missing.
    Enumerator(Enum, &'static str),
}

/// A change to the kernel: the mainline release, and the marks of which every kernel with the change has at
/// least one.
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
        self.text("no ", "has no")
    }

    fn text(self, no: &str, has: &str) -> String {
        match self {
            Self::Function(function) => format!("{no}FUNC {function}"),
            Self::Member(composite, member) => format!("struct {composite} {has} {member}"),
            Self::InnerMember(composite, member, inner) => {
                format!("struct {composite} {has} {member}.{inner}")
            }
            Self::Enumerator(name, enumerator) => format!("enum {name} {has} {enumerator}"),
        }
    }
}

/// The text of the evidence that the mark is there.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("", "has"))
    }
}
