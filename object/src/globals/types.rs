//! An object's types, kept for as long as its variables are read and set.

use alloc::sync::Arc;
use core::fmt;
use core_relo::{ByteSize, Data, btf::Btf};
use std::sync::OnceLock;

/// The types of an object that may be gone; parsed when they are first asked for.
#[derive(Clone, Default)]
pub struct ObjectTypes(Option<Arc<Kept>>);

struct Kept {
    bytes: Data<'static>,
    btf: OnceLock<Option<Btf<'static>>>,
}

impl ObjectTypes {
    /// Keeps a copy of an object's BTF.
    pub(crate) fn new(btf: Option<&Btf<'_>>) -> Self {
        let kept = |btf: &Btf<'_>| Kept { bytes: btf.as_bytes().to_vec().into(), btf: OnceLock::new() };
        Self(btf.map(|btf| Arc::new(kept(btf))))
    }

    /// Returns the types; none if the object has no BTF.
    pub fn btf(&self) -> Option<&Btf<'static>> {
        let kept = self.0.as_deref()?;
        let parse = || {
            let mut btf = Btf::parse(kept.bytes.clone()).ok()?;
            btf.set_pointer_size(ByteSize(8));
            Some(btf)
        };
        kept.btf.get_or_init(parse).as_ref()
    }
}

impl fmt::Debug for ObjectTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectTypes({:?})", self.0.as_ref().map(|kept| &kept.bytes))
    }
}
