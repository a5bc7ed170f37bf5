//! The lines of `btf diff`: one for each declaration that differs.

use core_relo_verdict::btf_diff::{Change, Details, EnumeratorChange, Member, MemberChange, Side, TypeSide};
use serde::Serialize;

/// A declaration that differs.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeJson<'c> {
    kind: &'static str,
    name: &'c str,
    change: &'static str,
    old: Option<TypeJson<'c>>,
    new: Option<TypeJson<'c>>,
    members: Vec<MemberChangeJson<'c>>,
    enumerators: Vec<EnumeratorChangeJson<'c>>,
}

/// A declaration in one BTF.
#[derive(Debug, Serialize)]
struct TypeJson<'c> {
    declaration: &'c str,
    size: Option<u32>,
}

/// A member that differs.
#[derive(Debug, Serialize)]
struct MemberChangeJson<'c> {
    name: &'c str,
    change: &'static str,
    old: Option<MemberJson<'c>>,
    new: Option<MemberJson<'c>>,
}

/// A member in one BTF.
#[derive(Debug, Serialize)]
struct MemberJson<'c> {
    declaration: &'c str,
    bit_offset: u64,
    bits: Option<u64>,
    bitfield: bool,
}

/// An enumerator that differs.
#[derive(Debug, Serialize)]
struct EnumeratorChangeJson<'c> {
    name: &'c str,
    change: &'static str,
    old: Option<i128>,
    new: Option<i128>,
}

impl<'c> ChangeJson<'c> {
    pub(crate) fn new(change: &'c Change) -> Self {
        let (mut members, mut enumerators) = (Vec::new(), Vec::new());
        match &change.details {
            Details::Members(changes) => members.extend(changes.iter().map(MemberChangeJson::new)),
            Details::Enumerators(changes) => {
                enumerators.extend(changes.iter().map(EnumeratorChangeJson::new));
            }
            _ => {}
        }
        let Side { old, new } = &change.declaration;
        Self {
            kind: change.kind.word(),
            name: &change.name,
            change: change.change.word(),
            old: old.as_ref().map(TypeJson::new),
            new: new.as_ref().map(TypeJson::new),
            members,
            enumerators,
        }
    }
}

impl<'c> TypeJson<'c> {
    fn new(side: &'c TypeSide) -> Self {
        Self { declaration: &side.text, size: side.size }
    }
}

impl<'c> MemberChangeJson<'c> {
    fn new(change: &'c MemberChange) -> Self {
        let Side { old, new } = &change.member;
        Self {
            name: &change.name,
            change: change.change.word(),
            old: old.as_ref().map(MemberJson::new),
            new: new.as_ref().map(MemberJson::new),
        }
    }
}

impl<'c> MemberJson<'c> {
    fn new(member: &'c Member) -> Self {
        let Member { text, bit_offset, bits, is_bitfield, .. } = member;
        Self { declaration: text, bit_offset: *bit_offset, bits: *bits, bitfield: *is_bitfield }
    }
}

impl<'c> EnumeratorChangeJson<'c> {
    fn new(change: &'c EnumeratorChange) -> Self {
        Self {
            name: &change.name,
            change: change.change.word(),
            old: change.value.old.map(|old| old.value),
            new: change.value.new.map(|new| new.value),
        }
    }
}
