//! The names of programs by their ids. Each is read once.

use super::{btf_cache::BtfCache, names::full_program_name};
use crate::sys::{Errno, ObjectKind, ProgramInfo};
use alloc::collections::BTreeMap;

/// The names of a program and of its target.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProgramName {
    /// The name of the program. `None` if the program is gone.
    pub name: Option<String>,
    /// The kernel function that an LSM or tracing program is attached to.
    pub attach_btf_name: Option<String>,
}

/// The names of programs that were asked for before.
#[derive(Debug, Default)]
pub struct ProgramNames {
    by_id: BTreeMap<u32, ProgramName>,
    btfs: BtfCache,
}

impl ProgramNames {
    /// Returns the name of a program.
    pub fn get(&mut self, id: u32) -> ProgramName {
        if let Some(known) = self.by_id.get(&id) {
            return known.clone();
        }
        let name = self.read(id).unwrap_or_else(|errno| {
            log::info!("program {id}: no name: {errno}");
            ProgramName::default()
        });
        self.by_id.insert(id, name.clone());
        name
    }

    fn read(&mut self, id: u32) -> Result<ProgramName, Errno> {
        let fd = ObjectKind::Program.open(id)?;
        let info = ProgramInfo::query(&fd)?;
        let attach_btf_name = self.btfs.type_name(info.attach_btf_obj_id, info.attach_btf_id);
        Ok(ProgramName { name: Some(full_program_name(&fd, &info)), attach_btf_name })
    }
}
