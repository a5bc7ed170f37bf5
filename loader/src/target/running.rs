//! The BTF of the running kernel and its modules, shared by all loads of the process.

use super::kernel;
use crate::sys::{self, Errno};
use alloc::sync::{Arc, Weak};
use core_relo::{Data, btf::Btf};
use core_relo_object::target::{KernelBtf, KernelBtfCache, KernelModule, ReadKernelBtf, TargetError};
use std::sync::{Mutex, PoisonError};

/// The running kernel, whose BTF comes from sysfs and bpf(2).
#[derive(Debug)]
struct RunningKernelBtf;

impl ReadKernelBtf for RunningKernelBtf {
    fn read_kernel(&self) -> Result<Btf<'static>, TargetError> {
        kernel()?.parse(None)
    }

    /// libbpf: `load_module_btfs`. The kernel gives ids one after the other, and an old id only when all have
    /// been given: a known id is of the same module.
    fn list_modules(&self, known: &dyn Fn(u32) -> Option<String>) -> Result<Vec<KernelModule>, Errno> {
        let mut found = Vec::new();
        let mut id = 0;
        loop {
            id = match sys::ObjectKind::Btf.next_id(id) {
                Ok(Some(next)) => next,
                Ok(None) => return Ok(found),
                // As libbpf: without CAP_SYS_ADMIN there are no modules, and most programs do not need any.
                Err(errno @ Errno(libc::EPERM)) => {
                    log::info!("types of modules are left out: {errno} (that needs CAP_SYS_ADMIN)");
                    return Ok(found);
                }
                Err(errno) => return Err(errno),
            };
            if let Some(name) = known(id) {
                found.push(KernelModule { name, id });
                continue;
            }
            let fd = match sys::ObjectKind::Btf.open(id) {
                // It was unloaded just now.
                Err(Errno(libc::ENOENT)) => continue,
                other => other?,
            };
            if sys::BtfInfo::query(&fd)?.kernel_btf == 0 {
                continue;
            }
            let name = sys::btf_name(&fd)?;
            if name != "vmlinux" {
                found.push(KernelModule { name, id });
            }
        }
    }

    fn read_module(&self, id: u32) -> Result<Option<Data<'static>>, Errno> {
        match sys::ObjectKind::Btf.open(id) {
            Ok(fd) => Ok(Some(Data::from(sys::btf_bytes(&fd)?))),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns the BTF of the running kernel, read on demand.
///
/// All callers share the parsed BTF of the kernel and its modules as long as one caller holds it. Each caller
/// lists the modules anew, because modules come and go.
pub fn running_kernel_btf() -> Arc<KernelBtf> {
    static SHARED: Mutex<Weak<KernelBtfCache>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = shared.upgrade().unwrap_or_else(|| Arc::new(KernelBtfCache::new(Arc::new(RunningKernelBtf))));
    *shared = Arc::downgrade(&cache);
    Arc::new(KernelBtf::from_cache(cache))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::btf::Kind;
    use core_relo_test_support::skip;

    #[test]
    fn the_running_kernels_types_are_shared_while_they_are_held() {
        let first = running_kernel_btf();
        let Ok(vmlinux) = first.vmlinux() else { return skip!(Btf, "this kernel has no BTF") };
        assert!(Arc::ptr_eq(vmlinux, running_kernel_btf().vmlinux().unwrap()));
        let task = first.find_in_vmlinux(b"task_struct", Kind::Struct).unwrap();
        assert!(task.is_some());
        assert!(first.find_in_vmlinux(b"no_such_struct_anywhere", Kind::Struct).unwrap().is_none());
        let (modules, second) = (first.modules().unwrap(), running_kernel_btf());
        for (module, other) in modules.iter().zip(second.modules().unwrap()).filter(|(a, b)| a.id == b.id) {
            assert!(Arc::ptr_eq(module, other), "{}", module.name);
        }
    }
}
