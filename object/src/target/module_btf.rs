//! The BTF of a kernel module, read and parsed on first use.

use super::{order::trust_kernel_order, source::ReadKernelBtf};
use crate::errno::Errno;
use alloc::sync::Arc;
use core_relo::{
    Data,
    btf::{Btf, ModuleFilter},
};
use std::sync::OnceLock;

/// The BTF of a kernel module. The BTF is read on the first lookup that the kernel's own BTF cannot answer,
/// and parsed if it may contain the name.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModuleBtf {
    /// The module's name.
    pub name: String,
    /// The id of the BTF in the kernel (`bpf_btf_info.id`); 0 if the caller parsed the BTF.
    pub id: u32,
    /// The base of the module's split BTF: the kernel's own BTF.
    base: Arc<Btf<'static>>,
    /// The reader of the BTF; `None` if the caller parsed the BTF.
    source: Option<Arc<dyn ReadKernelBtf>>,
    /// The bytes of the BTF; `None` if the module was unloaded before the read.
    bytes: OnceLock<Option<Data<'static>>>,
    /// The parsed BTF; `None` if the module was unloaded before the read, or its BTF is damaged.
    btf: OnceLock<Option<Arc<Btf<'static>>>>,
}

/// The BTF of a module behind a filter.
#[derive(Clone, Copy, Debug)]
pub(super) enum FilteredBtf<'m> {
    /// The module may have a name of the filter.
    Accepted(&'m Arc<Btf<'static>>),
    /// The module has no name of the filter.
    Excluded,
    /// The module was unloaded before the read, or its BTF is damaged.
    Unread,
}

impl ModuleBtf {
    /// Creates the BTF of a module of the running kernel, without reading it.
    ///
    /// `source` reads the BTF by `id`. The BTF is split BTF on top of `base`, the kernel's own BTF.
    pub fn new(name: String, id: u32, base: &Arc<Btf<'static>>, source: Arc<dyn ReadKernelBtf>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::new());
        Self { name, id, base: Arc::clone(base), source: Some(source), bytes, btf }
    }

    /// Creates the BTF of a module from parsed BTF.
    pub(super) fn from_btf(name: String, base: &Arc<Btf<'static>>, btf: Arc<Btf<'static>>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::from(Some(btf)));
        Self { name, id: 0, base: Arc::clone(base), source: None, bytes, btf }
    }

    /// Returns the module's BTF, read and parsed at the first call.
    ///
    /// Returns `None` if the module was unloaded before the read, or its BTF is damaged. Returns the kernel's
    /// error number if the read fails.
    pub fn btf(&self) -> Result<Option<&Arc<Btf<'static>>>, Errno> {
        if let Some(cached) = self.btf.get() {
            return Ok(cached.as_ref());
        }
        let bytes = self.bytes()?.cloned();
        let parse = |bytes| {
            let mut parsed = Btf::parse_split(bytes, Arc::clone(&self.base));
            if let Ok(btf) = &mut parsed {
                trust_kernel_order(btf);
            }
            parsed.inspect_err(|e| log::warn!("module {}: BTF ignored: {e}", self.name)).ok()
        };
        Ok(self.btf.get_or_init(|| bytes.and_then(parse).map(Arc::new)).as_ref())
    }

    /// Returns the module's BTF if it may contain a name of the filter. Returns BTF that is already parsed in
    /// any case.
    pub(super) fn filtered_btf(
        &self,
        module_filter: &mut ModuleFilter<'_, '_>,
    ) -> Result<FilteredBtf<'_>, Errno> {
        if self.btf.get().is_none() && self.bytes()?.is_some_and(|bytes| !module_filter.may_contain(bytes)) {
            return Ok(FilteredBtf::Excluded);
        }
        Ok(self.btf()?.map_or(FilteredBtf::Unread, FilteredBtf::Accepted))
    }

    fn bytes(&self) -> Result<Option<&Data<'static>>, Errno> {
        if let Some(cached) = self.bytes.get() {
            return Ok(cached.as_ref());
        }
        let bytes = match &self.source {
            Some(source) => source.read_module(self.id)?,
            None => None,
        };
        Ok(self.bytes.get_or_init(|| bytes).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{KernelModule, TargetError},
        *,
    };
    use core_relo::{
        Endian, Name,
        btf::{Builder, Kind},
    };

    /// A reader that is never called, because the tests set the bytes.
    #[derive(Debug)]
    struct UnusedReader;

    impl ReadKernelBtf for UnusedReader {
        fn read_kernel(&self) -> Result<Btf<'static>, TargetError> {
            panic!("the test has the kernel's own BTF")
        }

        fn list_modules(&self, _: &dyn Fn(u32) -> Option<String>) -> Result<Vec<KernelModule>, Errno> {
            panic!("the test lists no modules")
        }

        fn read_module(&self, _: u32) -> Result<Option<Data<'static>>, Errno> {
            panic!("the test has set the module's bytes")
        }
    }

    fn kernel() -> Arc<Btf<'static>> {
        let mut b = Builder::new(Endian::Little);
        b.int("int", 4, Builder::SIGNED);
        Arc::new(Btf::parse(b.finish()).unwrap())
    }

    fn module_with_bytes(name: &str, bytes: Option<Vec<u8>>, base: &Arc<Btf<'static>>) -> ModuleBtf {
        let module = ModuleBtf::new(name.to_owned(), 7, base, Arc::new(UnusedReader));
        module.bytes.set(bytes.map(Data::from)).unwrap();
        module
    }

    #[test]
    fn a_module_is_parsed_if_it_may_contain_the_name() {
        let base = kernel();
        let mut b = Builder::split(&base);
        b.structure("own", 4, &[]);
        let module = module_with_bytes("m", Some(b.finish()), &base);
        let find = |name: &'static str| {
            let mut module_filter = ModuleFilter::new(&base, [Name::new(name.as_bytes())]);
            match module.filtered_btf(&mut module_filter).unwrap() {
                FilteredBtf::Accepted(btf) => btf.find_own(name.as_bytes(), Kind::Struct),
                FilteredBtf::Excluded => None,
                FilteredBtf::Unread => panic!("the module is not damaged"),
            }
        };
        assert!(find("other").is_none() && module.btf.get().is_none());
        assert!(find("own").is_some() && module.btf.get().is_some());
        assert!(find("other").is_none() && module.btf().unwrap().is_some());
    }

    #[test]
    fn an_unloaded_or_damaged_module_has_no_btf() {
        let base = kernel();
        for bytes in [None, Some(b"\x9f\xeb\x01".to_vec())] {
            let module = module_with_bytes("m", bytes, &base);
            let mut module_filter = ModuleFilter::new(&base, [Name::new(b"own")]);
            // The module does not count as searched.
            let filtered = module.filtered_btf(&mut module_filter).unwrap();
            assert!(matches!(filtered, FilteredBtf::Unread) && module.btf().unwrap().is_none());
        }
    }
}
