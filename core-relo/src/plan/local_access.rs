//! The object's side of a relocation, prepared for many targets.

use crate::{
    btf::Btf,
    endian::Endian,
    limits,
    resolve::{AccessPattern, AccessValue, KeyPart, ValueError, access_value},
    spec::Spec,
};
use alloc::{boxed::Box, vec::Vec};
use hashbrown::HashMap;

/// The local access of a record, with its value in the object.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalAccess<'o> {
    pub(super) endian: Endian,
    pub(super) btf: &'o Btf<'o>,
    pub(super) spec: &'o Spec,
    /// The number under which matches are cached, if the access is worth it.
    pub(super) id: Option<AccessId>,
    pub(super) value: Result<AccessValue, ValueError>,
}

impl<'o> LocalAccess<'o> {
    pub(super) fn new(
        endian: Endian,
        btf: &'o Btf<'o>,
        spec: &'o Spec,
        interner: &mut AccessInterner<'o>,
    ) -> Self {
        let id = interner.intern(endian, AccessPattern::new(btf, spec));
        Self { endian, btf, spec, id, value: access_value(endian, btf, spec) }
    }
}

/// The number of an access among those of all objects. Accesses with equal keys have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AccessId(usize);

/// A table that numbers accesses, whatever the ids of their types in their objects.
#[derive(Debug, Default)]
pub(super) struct AccessInterner<'o> {
    ids: HashMap<Box<[KeyPart<'o>]>, AccessId>,
    /// The key of the latest access. Its memory is reused.
    key: Vec<KeyPart<'o>>,
}

impl<'o> AccessInterner<'o> {
    /// Returns the number of an access. Returns `None` for an access that is not worth caching.
    fn intern(&mut self, endian: Endian, pattern: AccessPattern<'o>) -> Option<AccessId> {
        self.key.clear();
        pattern.write_key(endian, &mut self.key)?;
        if let Some(id) = self.ids.get(&*self.key) {
            return Some(*id);
        }
        // Of more accesses not even one match each would be cached.
        if self.ids.len() >= limits::SHARED_MATCHES {
            return None;
        }
        let id = AccessId(self.ids.len());
        self.ids.insert(self.key.as_slice().into(), id);
        Some(id)
    }
}
