//! The BTF of an object, kept while the object's variables are read and set.

use alloc::sync::Arc;
use core::fmt;
use core_relo::{ByteSize, Data, btf::Btf};
use std::sync::OnceLock;

/// A copy of an object's BTF that outlives the object, parsed at the first use.
#[derive(Clone, Default)]
pub struct ObjectTypes(Option<Arc<BtfCopy>>);

struct BtfCopy {
    bytes: Data<'static>,
    btf: OnceLock<Option<Btf<'static>>>,
}

impl ObjectTypes {
    /// Copies an object's BTF.
    pub(crate) fn new(btf: Option<&Btf<'_>>) -> Self {
        let copy = |btf: &Btf<'_>| BtfCopy { bytes: btf.as_bytes().to_vec().into(), btf: OnceLock::new() };
        Self(btf.map(|btf| Arc::new(copy(btf))))
    }

    /// Returns the BTF; `None` if the object has none.
    pub fn btf(&self) -> Option<&Btf<'static>> {
        let copy = self.0.as_deref()?;
        let parse = || {
            let mut btf = Btf::parse(copy.bytes.clone()).ok()?;
            btf.set_pointer_size(ByteSize(8));
            Some(btf)
        };
        copy.btf.get_or_init(parse).as_ref()
    }
}

impl fmt::Debug for ObjectTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectTypes({:?})", self.0.as_ref().map(|copy| &copy.bytes))
    }
}
