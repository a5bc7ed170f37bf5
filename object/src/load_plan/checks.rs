//! The errors that every plan of an object has, whatever the kernel.

use super::{error::LoadPlanError, externs, maps};
use crate::{
    elf::text,
    index::MapIndex,
    link::{MapSource, ProgramLinker},
    object::{DataKind, ProgramType},
};

impl ProgramLinker<'_, '_> {
    /// Returns the error that every plan of the object with the default settings has, if it has one. The
    /// other errors of plans depend on the kernel, or are those of [`SentBtf::new`](super::SentBtf::new),
    /// [`initial_elements`](Self::initial_elements), [`struct_ops_tables`](Self::struct_ops_tables), of
    /// [`link`](Self::link) and [`check_jump_tables`](Self::check_jump_tables), which belong to one program.
    pub fn check_plan(&self) -> Result<(), LoadPlanError> {
        externs::contents_size(&self.externs)?;
        maps::check_maps(&self.maps)?;
        self.check_struct_ops_programs()
    }

    /// Refuses programs of struct_ops maps whose sections name another program type.
    fn check_struct_ops_programs(&self) -> Result<(), LoadPlanError> {
        for (map, table) in self.struct_ops_tables()? {
            if table_is_optional(self, map) {
                continue;
            }
            for index in table.programs() {
                let program = self.object().programs().get(index.0);
                let other = program
                    .filter(|p| p.sec_def().is_some_and(|def| def.program_type != ProgramType::StructOps));
                if let Some(program) = other {
                    return Err(LoadPlanError::Program {
                        program: text(program.name()),
                        what: OTHER_TYPE.into(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The error of a program of another type than struct_ops that a struct_ops map has.
pub(super) const OTHER_TYPE: &str = "a struct_ops map refers to it, but its type is not struct_ops";

fn table_is_optional(linker: &ProgramLinker<'_, '_>, map: MapIndex) -> bool {
    linker.maps().get(map.0).is_some_and(|entry| match entry.source {
        MapSource::StructOps(map) => matches!(map.section.kind, DataKind::StructOps { optional: true, .. }),
        _ => false,
    })
}
