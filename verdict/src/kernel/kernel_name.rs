//! A name to look up in a kernel.

use core::ops::Deref;
use core_relo::{
    Name, ShortName,
    btf::{Kind, TypeQuery},
};

/// The place of a name and its kind in a [`NameQuery`](super::NameQuery).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NameId {
    pub(super) position: usize,
    pub(super) kind: Kind,
}

/// A name and a kind to look up in a kernel. Only a [`NameQuery`](super::NameQuery) creates names, so that a
/// kernel is searched for each name before the name is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelName {
    pub(super) name: Box<[u8]>,
    pub(super) id: NameId,
}

impl KernelName {
    pub(super) fn insert(types: &mut TypeQuery, name: &[u8], kind: Kind) -> Self {
        Self { name: name.into(), id: NameId { position: types.insert(name, kind), kind } }
    }

    /// Returns the name for a message.
    pub(super) fn shortened(&self) -> ShortName<'_> {
        Name::new(self).shortened()
    }
}

impl Deref for KernelName {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.name
    }
}

impl From<&KernelName> for NameId {
    fn from(name: &KernelName) -> Self {
        name.id
    }
}
