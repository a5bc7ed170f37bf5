//! The names of programs by their ids. Each is read once.

use crate::kernel_objects::{btf_cache::BtfCache, kind::Kind, names::full_program_name};
use core_relo_loader::sys;
use std::collections::BTreeMap;

/// What a list of attachments shows of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramName {
    /// `None` if the program is gone.
    pub(crate) name: Option<String>,
    /// The kernel function that an LSM or tracing program is attached to.
    pub(crate) attach_btf_name: Option<String>,
}

/// The names of programs that were asked for before.
#[derive(Debug, Default)]
pub(crate) struct ProgramNames {
    by_id: BTreeMap<u32, ProgramName>,
    btfs: BtfCache,
}

impl ProgramNames {
    /// Returns the name of a program.
    pub(crate) fn get(&mut self, id: u32) -> ProgramName {
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

    fn read(&mut self, id: u32) -> Result<ProgramName, sys::Errno> {
        let fd = Kind::Prog.open(id)?;
        let info = sys::prog_info(&fd)?;
        let attach_btf_name = self.btfs.type_name(info.attach_btf_obj_id, info.attach_btf_id);
        Ok(ProgramName { name: Some(full_program_name(&fd, &info)), attach_btf_name })
    }
}
