//! The BTF of a kernel module, read and parsed on demand.

use super::{order::trust_kernel_order, source::ReadKernelBtf};
use crate::errno::Errno;
use alloc::sync::Arc;
use core_relo::{
    Data,
    btf::{Btf, ModuleFilter},
};
use std::sync::OnceLock;

/// The BTF of a kernel module, read when a plan looks for a type that the module may have.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModuleBtf {
    /// The module's name.
    pub name: String,
    /// The kernel's id of the module's BTF; 0 if the BTF did not come from the running kernel.
    pub id: u32,
    main: Arc<Btf<'static>>,
    /// The reader of the BTF; none if the BTF was parsed by the caller.
    source: Option<Arc<dyn ReadKernelBtf>>,
    /// The raw BTF; none if the module was unloaded before the read.
    bytes: OnceLock<Option<Data<'static>>>,
    /// The parsed BTF; none if the module was unloaded, or if its BTF is damaged.
    btf: OnceLock<Option<Arc<Btf<'static>>>>,
}

impl ModuleBtf {
    /// Creates a module of the running kernel. `source` reads the module's BTF, which is split BTF on top of `main`, on demand.
    pub fn new(name: String, id: u32, main: &Arc<Btf<'static>>, source: Arc<dyn ReadKernelBtf>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::new());
        Self { name, id, main: Arc::clone(main), source: Some(source), bytes, btf }
    }

    /// Creates a module from parsed BTF.
    pub(super) fn from_btf(name: String, main: &Arc<Btf<'static>>, btf: Arc<Btf<'static>>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::from(Some(btf)));
        Self { name, id: 0, main: Arc::clone(main), source: None, bytes, btf }
    }

    /// Returns the module's BTF, parsed at the first call; none if the module was unloaded before, or if its BTF is damaged.
    pub fn btf(&self) -> Result<Option<&Arc<Btf<'static>>>, Errno> {
        if let Some(known) = self.btf.get() {
            return Ok(known.as_ref());
        }
        let bytes = self.bytes()?.cloned();
        let parse = |bytes| {
            let mut parsed = Btf::parse_split(bytes, Arc::clone(&self.main));
            if let Ok(btf) = &mut parsed {
                trust_kernel_order(btf);
            }
            parsed.inspect_err(|e| log::warn!("module {}: BTF ignored: {e}", self.name)).ok()
        };
        Ok(self.btf.get_or_init(|| bytes.and_then(parse).map(Arc::new)).as_ref())
    }

    /// Returns the module's BTF, if it may contain a name of the filter.
    pub(super) fn btf_for(
        &self,
        module_filter: &mut ModuleFilter<'_, '_>,
    ) -> Result<Option<&Arc<Btf<'static>>>, Errno> {
        if let Some(known) = self.btf.get() {
            return Ok(known.as_ref());
        }
        match self.bytes()? {
            Some(bytes) if module_filter.may_contain(bytes) => self.btf(),
            _ => Ok(None),
        }
    }

    fn bytes(&self) -> Result<Option<&Data<'static>>, Errno> {
        if let Some(known) = self.bytes.get() {
            return Ok(known.as_ref());
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

    /// A source that is never used, since the tests set the bytes.
    #[derive(Debug)]
    struct NoKernel;

    impl ReadKernelBtf for NoKernel {
        fn read_kernel(&self) -> Result<Btf<'static>, TargetError> {
            panic!("the kernel's own BTF is given")
        }

        fn list_modules(&self, _: &dyn Fn(u32) -> Option<String>) -> Result<Vec<KernelModule>, Errno> {
            panic!("no modules are listed")
        }

        fn read_module(&self, _: u32) -> Result<Option<Data<'static>>, Errno> {
            panic!("the module's bytes are set")
        }
    }

    fn kernel() -> Arc<Btf<'static>> {
        let mut b = Builder::new(Endian::Little);
        b.int("int", 4, Builder::SIGNED);
        Arc::new(Btf::parse(b.finish()).unwrap())
    }

    fn module_of(name: &str, bytes: Option<Vec<u8>>, main: &Arc<Btf<'static>>) -> ModuleBtf {
        let module = ModuleBtf::new(name.to_owned(), 7, main, Arc::new(NoKernel));
        module.bytes.set(bytes.map(Data::from)).unwrap();
        module
    }

    #[test]
    fn a_module_is_parsed_when_it_may_have_the_name() {
        let main = kernel();
        let mut b = Builder::split(&main);
        b.structure("own", 4, &[]);
        let module = module_of("m", Some(b.finish()), &main);
        let find = |name: &'static str| {
            let mut module_filter = ModuleFilter::new(&main, [Name::new(name.as_bytes())]);
            module
                .btf_for(&mut module_filter)
                .unwrap()
                .and_then(|btf| btf.find_own(name.as_bytes(), Kind::Struct))
        };
        assert!(find("other").is_none() && module.btf.get().is_none());
        assert!(find("own").is_some() && module.btf.get().is_some());
        assert!(find("other").is_none() && module.btf().unwrap().is_some());
    }

    #[test]
    fn an_unloaded_or_damaged_module_has_no_btf() {
        let main = kernel();
        for bytes in [None, Some(b"\x9f\xeb\x01".to_vec())] {
            let module = module_of("m", bytes, &main);
            let mut module_filter = ModuleFilter::new(&main, [Name::new(b"own")]);
            assert!(module.btf_for(&mut module_filter).unwrap().is_none() && module.btf().unwrap().is_none());
        }
    }
}
