//! The differences between the BTFs of two kernels, by meaning.
//!
//! Types are compared by name and kind, because the ids of two BTFs have nothing in common. Anonymous types
//! are compared by their content. The work is linear in the size of both BTFs, apart from sorting names.

mod changes;
mod compare;
mod fields;
mod items;
mod shape;
#[cfg(test)]
mod tests;
mod uses;

pub use changes::{
    Change, ChangeKind, Details, Enumerator, EnumeratorChange, Member, MemberChange, Side, TypeSide,
};
pub use compare::{Filter, diff};
pub use items::ItemKind;
pub use uses::ObjectUses;
