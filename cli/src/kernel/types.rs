//! The BTF that programs and maps refer to, each read once.

use core_relo::{TypeId, btf::Btf};
use core_relo_loader::{sys, target};
use std::{collections::BTreeMap, sync::Arc};

/// BTFs by their ids.
#[derive(Debug, Default)]
pub(crate) struct Types {
    by_id: BTreeMap<u32, Option<Arc<Btf<'static>>>>,
    kernel: Option<Option<Arc<Btf<'static>>>>,
}

impl Types {
    /// The running kernel's own types.
    pub(crate) fn kernel(&mut self) -> Option<Arc<Btf<'static>>> {
        let kernel = self.kernel.get_or_insert_with(|| {
            let parsed = target::kernel().and_then(|file| file.parse_validated(None));
            parsed.map_err(|e| log::info!("no types of the kernel: {e}")).ok().map(Arc::new)
        });
        kernel.clone()
    }

    /// The BTF of an id: a program's, the kernel's, a module's.
    pub(crate) fn get(&mut self, id: u32) -> Option<Arc<Btf<'static>>> {
        if id == 0 {
            return None;
        }
        if let Some(known) = self.by_id.get(&id) {
            return known.clone();
        }
        let found = self.read(id);
        self.by_id.insert(id, found.clone());
        found
    }

    fn read(&mut self, id: u32) -> Option<Arc<Btf<'static>>> {
        let fd = sys::btf_fd_by_id(id).map_err(|e| log::info!("BTF {id}: {e}")).ok()?;
        let info = sys::btf_info(&fd).ok()?;
        if info.kernel_btf == 0 {
            return program_btf(id).ok().map(Arc::new);
        }
        if sys::btf_name(&fd).is_ok_and(|name| name == "vmlinux") {
            return self.kernel();
        }
        let bytes = sys::btf_bytes(&fd).ok()?;
        Btf::parse_split(bytes, self.kernel()?).map_err(|e| log::info!("BTF {id}: {e}")).ok().map(Arc::new)
    }

    /// The name of a type, if there is one.
    pub(crate) fn name(&mut self, btf: u32, ty: u32) -> Option<String> {
        let btf = self.get(btf)?;
        let name = btf.ty(TypeId(ty))?.name();
        (!name.is_empty()).then(|| name.to_string())
    }
}

/// The BTF of an id, if it stands alone.
pub(crate) fn program_btf(id: u32) -> Result<Btf<'static>, String> {
    let said = |e: sys::Errno| e.to_string();
    let fd = sys::btf_fd_by_id(id).map_err(said)?;
    let bytes = sys::btf_bytes(&fd).map_err(said)?;
    Btf::parse(bytes).map_err(|e| e.to_string())
}
