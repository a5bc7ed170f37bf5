//! Violations: the type, the place in its record, and the rule.

use super::rule::BtfRule;
use crate::{format::Kind, ids::TypeId, limits, name::Name};
use alloc::{boxed::Box, vec::Vec};
use core::fmt;

/// A violation of one of the kernel's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BtfViolation {
    /// The type, or `None` for a violation in the header or in the strings.
    pub ty: Option<ViolatingType>,
    /// The part of the type's record.
    pub place: BtfPlace,
    /// The rule.
    pub rule: BtfRule,
}

/// A type that violates a rule.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViolatingType {
    /// The type's id.
    pub id: TypeId,
    /// The type's kind.
    pub kind: Kind,
    name: Box<[u8]>,
}

/// The part of a type's record that violates a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BtfPlace {
    /// The type itself, or the header.
    Whole,
    /// A member of a struct or union.
    Member(Element),
    /// An enumerator.
    Enumerator(Element),
    /// A parameter of a FUNC_PROTO.
    Parameter(Element),
    /// An entry of a DATASEC.
    Entry(Element),
}

/// An element of a type's record.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Element {
    /// The element's index in the record.
    pub index: u32,
    name: Box<[u8]>,
}

/// Violations of the kernel's rules, in the order in which the kernel finds them: a kernel reports the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations<V> {
    list: Vec<V>,
    omitted: usize,
}

/// The violations of a BTF.
pub type BtfViolations = Violations<BtfViolation>;

impl<V> Default for Violations<V> {
    fn default() -> Self {
        Self { list: Vec::new(), omitted: 0 }
    }
}

impl<V> Violations<V> {
    /// Returns the violations, at most [`limits::KERNEL_VIOLATIONS`].
    pub fn list(&self) -> &[V] {
        &self.list
    }

    /// Returns the violation that the kernel reports.
    pub fn first(&self) -> Option<&V> {
        self.list.first()
    }

    /// Returns the number of violations that are not in the list.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Returns whether the kernel accepts what was checked.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a violation to the list, or counts it if the list is full.
    #[expect(clippy::arithmetic_side_effects, reason = "data has fewer violations than bits")]
    pub fn push(&mut self, violation: impl FnOnce() -> V) {
        if self.list.len() < limits::KERNEL_VIOLATIONS {
            self.list.push(violation());
        } else {
            self.omitted += 1;
        }
    }
}

impl BtfViolations {
    /// Returns the violation of a rule by the header.
    pub(super) fn of_header(rule: BtfRule) -> Self {
        Self { list: Vec::from([BtfViolation { ty: None, place: BtfPlace::Whole, rule }]), omitted: 0 }
    }
}

impl BtfViolation {
    /// Returns the words of the kernel's log, without values. `None` if the kernel logs nothing.
    pub const fn kernel_message(&self) -> Option<&'static str> {
        self.rule.kernel_message()
    }
}

impl ViolatingType {
    pub(super) fn new(id: TypeId, kind: Kind, name: Name<'_>) -> Self {
        Self { id, kind, name: beginning(name) }
    }

    /// Returns the type's name, of a long name the beginning.
    pub fn name(&self) -> Name<'_> {
        Name::new(&self.name)
    }
}

impl Element {
    /// Creates the element of this index, and keeps the beginning of its name.
    pub fn new(index: u32, name: Name<'_>) -> Self {
        Self { index, name: beginning(name) }
    }

    /// Returns the element's name, of a long name the beginning. An entry of a DATASEC has the name of its
    /// variable.
    pub fn name(&self) -> Name<'_> {
        Name::new(&self.name)
    }
}

/// Returns the part of a name that a message shows, and one byte more, so that the message marks a longer
/// name.
fn beginning(name: Name<'_>) -> Box<[u8]> {
    let bytes = name.as_bytes();
    bytes.get(..=limits::NAME_BYTES).unwrap_or(bytes).into()
}

impl fmt::Display for BtfViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ty) = &self.ty {
            write!(f, "type [{}] {}", ty.id, ty.kind)?;
            if !ty.name.is_empty() {
                write!(f, " `{}`", ty.name().shortened())?;
            }
            write!(f, "{}: ", self.place)?;
        }
        self.rule.fmt(f)
    }
}

impl fmt::Display for BtfPlace {
    /// Writes the place after its type: `, member 2 `flags``. The type itself is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, element) = match self {
            Self::Whole => return Ok(()),
            Self::Member(element) => ("member", element),
            Self::Enumerator(element) => ("enumerator", element),
            Self::Parameter(element) => ("parameter", element),
            Self::Entry(element) => ("entry", element),
        };
        write!(f, ", {what} {}", element.index)?;
        if !element.name.is_empty() {
            write!(f, " `{}`", element.name().shortened())?;
        }
        Ok(())
    }
}

impl fmt::Debug for ViolatingType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {} '{}'", self.id, self.kind, self.name())
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.index, self.name())
    }
}
