//! The types of a kernel module, read when a plan looks for a type that the module may have.

use super::{order::trust_kernel_order, types::ReadKernelBtf};
use crate::errno::Errno;
use alloc::sync::Arc;
use core_relo::{
    Data,
    btf::{Btf, Sieve},
};
use std::sync::OnceLock;

/// A module's types.
#[derive(Debug)]
#[non_exhaustive]
pub struct ModuleTypes {
    /// The module's name.
    pub name: String,
    /// The kernel's id of its BTF; 0 if it did not come from the running kernel.
    pub id: u32,
    main: Arc<Btf<'static>>,
    /// Reads the BTF; none if the types were given.
    source: Option<Arc<dyn ReadKernelBtf>>,
    /// None: it was unloaded before it was read.
    bytes: OnceLock<Option<Data<'static>>>,
    /// None: there is nothing, or it is damaged.
    btf: OnceLock<Option<Arc<Btf<'static>>>>,
}

impl ModuleTypes {
    /// A module of the running kernel whose BTF `source` reads when it is needed, split from the kernel's own BTF.
    pub fn new(name: String, id: u32, main: &Arc<Btf<'static>>, source: Arc<dyn ReadKernelBtf>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::new());
        Self { name, id, main: Arc::clone(main), source: Some(source), bytes, btf }
    }

    /// A module whose types are parsed already.
    pub(super) fn from_btf(name: String, main: &Arc<Btf<'static>>, btf: Arc<Btf<'static>>) -> Self {
        let (bytes, btf) = (OnceLock::new(), OnceLock::from(Some(btf)));
        Self { name, id: 0, main: Arc::clone(main), source: None, bytes, btf }
    }

    /// Its types, split from the kernel's, parsed when they are first asked for; none if it was unloaded before, or if its BTF
    /// is damaged.
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
            parsed.inspect_err(|e| log::warn!("module {}: its BTF is not read: {e}", self.name)).ok()
        };
        Ok(self.btf.get_or_init(|| bytes.and_then(parse).map(Arc::new)).as_ref())
    }

    /// Its types, if it may have what a sieve is for.
    pub(super) fn btf_for(&self, sieve: &mut Sieve<'_, '_>) -> Result<Option<&Arc<Btf<'static>>>, Errno> {
        if let Some(known) = self.btf.get() {
            return Ok(known.as_ref());
        }
        match self.bytes()? {
            Some(bytes) if sieve.passes(bytes) => self.btf(),
            _ => Ok(None),
        }
    }

    fn bytes(&self) -> Result<Option<&Data<'static>>, Errno> {
        if let Some(known) = self.bytes.get() {
            return Ok(known.as_ref());
        }
        let read = match &self.source {
            Some(source) => source.read_module(self.id)?,
            None => None,
        };
        Ok(self.bytes.get_or_init(|| read).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::TargetError, *};
    use core_relo::{
        Endian, Name,
        btf::{Builder, Kind},
    };

    /// A source that is never asked, since the tests set the bytes.
    #[derive(Debug)]
    struct NoKernel;

    impl ReadKernelBtf for NoKernel {
        fn read_kernel(&self) -> Result<Btf<'static>, TargetError> {
            panic!("the kernel's own BTF is given")
        }

        fn list_modules(
            &self,
            _: &Arc<Btf<'static>>,
            _: &[Arc<ModuleTypes>],
        ) -> Result<Vec<Arc<ModuleTypes>>, Errno> {
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

    fn read(name: &str, bytes: Option<Vec<u8>>, main: &Arc<Btf<'static>>) -> ModuleTypes {
        let module = ModuleTypes::new(name.to_owned(), 7, main, Arc::new(NoKernel));
        module.bytes.set(bytes.map(Data::from)).unwrap();
        module
    }

    #[test]
    fn a_module_is_parsed_when_it_may_have_what_is_looked_for() {
        let main = kernel();
        let mut b = Builder::split(&main);
        b.structure("own", 4, &[]);
        let module = read("m", Some(b.finish()), &main);
        let find = |name: &'static str| {
            let mut sieve = Sieve::new(&main, [Name::new(name.as_bytes())]);
            module.btf_for(&mut sieve).unwrap().and_then(|btf| btf.find_own(name.as_bytes(), Kind::Struct))
        };
        assert!(find("other").is_none() && module.btf.get().is_none());
        assert!(find("own").is_some() && module.btf.get().is_some());
        assert!(find("other").is_none() && module.btf().unwrap().is_some());
    }

    #[test]
    fn a_module_that_is_gone_or_damaged_has_no_types() {
        let main = kernel();
        for bytes in [None, Some(b"\x9f\xeb\x01".to_vec())] {
            let module = read("m", bytes, &main);
            let mut sieve = Sieve::new(&main, [Name::new(b"own")]);
            assert!(module.btf_for(&mut sieve).unwrap().is_none() && module.btf().unwrap().is_none());
        }
    }
}
