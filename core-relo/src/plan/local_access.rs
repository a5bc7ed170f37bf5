//! The object's side of a relocation, prepared for many targets.

use crate::{
    Endian,
    btf::Btf,
    limits,
    resolve::{AccessPattern, AccessValue, KeyPart, RelocationValueError, access_value},
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
    /// The id under which matches are cached, or `None` if the access is not worth caching.
    pub(super) id: Option<AccessId>,
    pub(super) value: Result<AccessValue, RelocationValueError>,
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

/// The id of an access, for all objects. Accesses with equal keys have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AccessId(usize);

/// A table of ids of accesses. The ids do not depend on the type ids of the objects.
#[derive(Debug, Default)]
pub(super) struct AccessInterner<'o> {
    ids: HashMap<Box<[KeyPart<'o>]>, AccessId>,
    /// The key of the latest access. Its memory is reused.
    key: Vec<KeyPart<'o>>,
}

impl<'o> AccessInterner<'o> {
    /// Returns the id of an access. Returns `None` for an access that is not worth caching.
    fn intern(&mut self, endian: Endian, pattern: AccessPattern<'o>) -> Option<AccessId> {
        self.key.clear();
        pattern.write_key(endian, &mut self.key)?;
        if let Some(id) = self.ids.get(&*self.key) {
            return Some(*id);
        }
        // The cache has no room for even one match of each further access.
        if self.ids.len() >= limits::SHARED_MATCHES {
            return None;
        }
        let id = AccessId(self.ids.len());
        self.ids.insert(self.key.as_slice().into(), id);
        Some(id)
    }
}
