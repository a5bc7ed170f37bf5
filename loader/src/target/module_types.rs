//! The modules of the running kernel: which there are, and the types of each, read when somebody looks for one it may have.

use super::file;
use crate::sys::{self, Errno};
use alloc::sync::Arc;
use core_relo::{
    Data,
    btf::{Btf, ModuleFilter},
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
    /// None: it was unloaded before it was read.
    bytes: OnceLock<Option<Data<'static>>>,
    /// None: there is nothing, or it is damaged.
    btf: OnceLock<Option<Arc<Btf<'static>>>>,
}

impl ModuleTypes {
    fn new(name: String, id: u32, main: &Arc<Btf<'static>>) -> Self {
        Self { name, id, main: Arc::clone(main), bytes: OnceLock::new(), btf: OnceLock::new() }
    }

    /// That somebody else read.
    pub(super) fn given(name: String, main: &Arc<Btf<'static>>, btf: Arc<Btf<'static>>) -> Self {
        Self { btf: OnceLock::from(Some(btf)), ..Self::new(name, 0, main) }
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
                file::trust_order(btf);
            }
            parsed.inspect_err(|e| log::warn!("module {}: its BTF is not read: {e}", self.name)).ok()
        };
        Ok(self.btf.get_or_init(|| bytes.and_then(parse).map(Arc::new)).as_ref())
    }

    /// Its types, if it may have what a module_filter is for.
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
        let read = match sys::btf_fd_by_id(self.id) {
            Ok(fd) => Some(Data::from(sys::btf_bytes(&fd)?)),
            Err(Errno(libc::ENOENT)) => None,
            Err(errno) => return Err(errno),
        };
        Ok(self.bytes.get_or_init(|| read).as_ref())
    }
}

/// The modules that have BTF, in the order in which they were loaded (libbpf: `load_module_btfs`): `known` ones as they are.
///
/// The kernel gives ids one after the other, and an old one only when all have been given: one that is known is the same.
pub(super) fn running(
    main: &Arc<Btf<'static>>,
    known: &[Arc<ModuleTypes>],
) -> Result<Vec<Arc<ModuleTypes>>, Errno> {
    let mut found = Vec::new();
    let mut id = 0;
    loop {
        id = match sys::next_btf_id(id) {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(found),
            // As libbpf: without CAP_SYS_ADMIN there are no modules, and most programs do not need any.
            Err(errno @ Errno(libc::EPERM)) => {
                log::info!("types of modules are left out: {errno} (that needs CAP_SYS_ADMIN)");
                return Ok(found);
            }
            Err(errno) => return Err(errno),
        };
        if let Some(module) = known.iter().find(|module| module.id == id) {
            found.push(Arc::clone(module));
            continue;
        }
        let fd = match sys::btf_fd_by_id(id) {
            // It was unloaded just now.
            Err(Errno(libc::ENOENT)) => continue,
            other => other?,
        };
        if sys::btf_info(&fd)?.kernel_btf == 0 {
            continue;
        }
        let name = sys::btf_name(&fd)?;
        if name != "vmlinux" {
            found.push(Arc::new(ModuleTypes::new(name, id, main)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian, Name,
        btf::{Builder, Kind},
    };

    fn kernel() -> Arc<Btf<'static>> {
        let mut b = Builder::new(Endian::Little);
        b.int("int", 4, Builder::SIGNED);
        Arc::new(Btf::parse(b.finish()).unwrap())
    }

    fn read(name: &str, bytes: Option<Vec<u8>>, main: &Arc<Btf<'static>>) -> ModuleTypes {
        let module = ModuleTypes::new(name.to_owned(), 7, main);
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
    fn a_module_that_is_gone_or_damaged_has_no_types() {
        let main = kernel();
        for bytes in [None, Some(b"\x9f\xeb\x01".to_vec())] {
            let module = read("m", bytes, &main);
            let mut module_filter = ModuleFilter::new(&main, [Name::new(b"own")]);
            assert!(module.btf_for(&mut module_filter).unwrap().is_none() && module.btf().unwrap().is_none());
        }
    }
}
