//! The BTFs in the running kernel that programs and maps refer to. Each is read once.

use crate::{
    sys::{self, BtfInfo},
    target,
};
use alloc::{collections::BTreeMap, sync::Arc};
use core::cell::OnceCell;
use core_relo::{TypeId, btf::Btf};
use std::os::fd::AsFd;

/// BTFs by their ids. `None` is a BTF that cannot be read.
#[derive(Debug, Default)]
pub struct BtfCache {
    by_id: BTreeMap<u32, Option<Arc<Btf<'static>>>>,
    kernel: OnceCell<Option<Arc<Btf<'static>>>>,
}

impl BtfCache {
    /// Returns the running kernel's own BTF.
    pub fn kernel(&mut self) -> Option<Arc<Btf<'static>>> {
        let kernel = self.kernel.get_or_init(|| {
            let parsed = target::kernel().and_then(|file| file.parse(None));
            parsed.map_err(|e| log::info!("the kernel has no BTF: {e}")).ok().map(Arc::new)
        });
        kernel.clone()
    }

    /// Returns the BTF with this id: a program's, the kernel's, a module's.
    pub fn get(&mut self, id: u32) -> Option<Arc<Btf<'static>>> {
        if id == 0 {
            return None;
        }
        if let Some(cached) = self.by_id.get(&id) {
            return cached.clone();
        }
        let btf = self.read(id);
        self.by_id.insert(id, btf.clone());
        btf
    }

    fn read(&mut self, id: u32) -> Option<Arc<Btf<'static>>> {
        let fd = sys::ObjectKind::Btf.open(id).map_err(|e| log::info!("BTF {id}: {e}")).ok()?;
        let info = BtfInfo::query(&fd).ok()?;
        if info.kernel_btf == 0 {
            return parse_program_btf(id, &fd).map(Arc::new);
        }
        if sys::btf_name(&fd).is_ok_and(|name| name == "vmlinux") {
            return self.kernel();
        }
        let bytes = sys::btf_bytes(&fd).ok()?;
        Btf::parse_split(bytes, self.kernel()?).map_err(|e| log::info!("BTF {id}: {e}")).ok().map(Arc::new)
    }

    /// Returns the name of a type, unless it is anonymous.
    pub fn type_name(&mut self, btf: u32, ty: u32) -> Option<String> {
        let btf = self.get(btf)?;
        let name = btf.ty(TypeId(ty))?.name();
        (!name.is_empty()).then(|| name.to_string())
    }
}

/// Reads the BTF of a program or map.
pub(super) fn program_btf(id: u32) -> Option<Btf<'static>> {
    let fd = sys::ObjectKind::Btf.open(id).map_err(|e| log::info!("BTF {id}: {e}")).ok()?;
    parse_program_btf(id, &fd)
}

fn parse_program_btf(id: u32, fd: &impl AsFd) -> Option<Btf<'static>> {
    let bytes = sys::btf_bytes(fd).map_err(|e| log::info!("BTF {id}: {e}")).ok()?;
    Btf::parse(bytes).map_err(|e| log::info!("BTF {id}: {e}")).ok()
}
