//! The BTF of the running kernel and its modules, shared by all loads of the process.

use super::kernel;
use crate::sys::{self, Errno};
use alloc::sync::{Arc, Weak};
use core_relo::{Data, btf::Btf};
use core_relo_object::target::{KernelTypes, ModuleTypes, ReadKernelBtf, TargetError, TypesCache};
use std::sync::{Mutex, PoisonError};

/// The running kernel, whose BTF comes from sysfs and bpf(2).
#[derive(Debug)]
struct RunningKernelBtf;

impl ReadKernelBtf for RunningKernelBtf {
    fn read_kernel(&self) -> Result<Btf<'static>, TargetError> {
        kernel()?.parse_validated(None)
    }

    fn list_modules(
        &self,
        main: &Arc<Btf<'static>>,
        known: &[Arc<ModuleTypes>],
    ) -> Result<Vec<Arc<ModuleTypes>>, Errno> {
        list_modules(main, known)
    }

    fn read_module(&self, id: u32) -> Result<Option<Data<'static>>, Errno> {
        match sys::btf_fd_by_id(id) {
            Ok(fd) => Ok(Some(Data::from(sys::btf_bytes(&fd)?))),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns the running kernel's types.
///
/// All callers share the parsed BTF of the kernel and its modules as long as one caller holds it. Each caller lists the modules
/// anew, because modules come and go.
pub fn running_types() -> Arc<KernelTypes> {
    static SHARED: Mutex<Weak<TypesCache>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = shared.upgrade().unwrap_or_else(|| Arc::new(TypesCache::new(Arc::new(RunningKernelBtf))));
    *shared = Arc::downgrade(&cache);
    Arc::new(KernelTypes::from_cache(cache))
}

/// Lists the modules with BTF in load order (libbpf: `load_module_btfs`). Modules in `known` are reused.
///
/// The kernel assigns ids in cyclic order, so a known id means the same module.
fn list_modules(
    main: &Arc<Btf<'static>>,
    known: &[Arc<ModuleTypes>],
) -> Result<Vec<Arc<ModuleTypes>>, Errno> {
    let mut modules = Vec::new();
    let mut id = 0;
    loop {
        id = match sys::next_btf_id(id) {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(modules),
            // As libbpf: without CAP_SYS_ADMIN the list is empty. Most programs need no modules.
            Err(errno @ Errno(libc::EPERM)) => {
                log::info!("types of modules are left out: {errno} (listing them needs CAP_SYS_ADMIN)");
                return Ok(modules);
            }
            Err(errno) => return Err(errno),
        };
        if let Some(module) = known.iter().find(|module| module.id == id) {
            modules.push(Arc::clone(module));
            continue;
        }
        let fd = match sys::btf_fd_by_id(id) {
            // The module was unloaded in the meantime.
            Err(Errno(libc::ENOENT)) => continue,
            other => other?,
        };
        if sys::btf_info(&fd)?.kernel_btf == 0 {
            continue;
        }
        let name = sys::btf_name(&fd)?;
        if name != "vmlinux" {
            modules.push(Arc::new(ModuleTypes::new(name, id, main, Arc::new(RunningKernelBtf))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::btf::Kind;

    #[test]
    fn the_running_kernels_types_are_shared_while_they_are_held() {
        let first = running_types();
        let Ok(main) = first.main() else { return println!("SKIP: this kernel has no BTF") };
        assert!(Arc::ptr_eq(main, running_types().main().unwrap()));
        let task = first.find(b"task_struct", Kind::Struct, false).unwrap();
        assert!(task.is_some_and(|t| t.module.is_none()));
        assert!(first.find(b"no_such_struct_anywhere", Kind::Struct, false).unwrap().is_none());
        let (modules, second) = (first.modules().unwrap(), running_types());
        for (module, other) in modules.iter().zip(second.modules().unwrap()).filter(|(a, b)| a.id == b.id) {
            assert!(Arc::ptr_eq(module, other), "{}", module.name);
        }
    }
}
