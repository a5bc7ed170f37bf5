//! `Display` of a plan: the dry run of a load.

use super::{FixupTarget, LoadPlan, MapPlan, MapRole, ProgramPlan, SlotPlan};
use crate::{index::ProgramIndex, object::AttachType};
use core::fmt;
use core_relo::Escaped;
use std::collections::{HashMap, HashSet};

impl fmt::Display for LoadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(errno) = self.probe_error {
            writeln!(
                f,
                "(the features of the running kernel could not be probed: {errno}: planned for a kernel with every feature)"
            )?;
        }
        if let Some(btf) = &self.btf {
            writeln!(f, "btf: {} bytes", btf.len())?;
        }
        for module in &self.modules {
            writeln!(f, "btf of module {}", Escaped(&module.name))?;
        }
        let names = self.programs.iter().map(|p| (p.function, p.name.as_str())).collect();
        for map in &self.maps {
            self.fmt_map(f, map, &names)?;
        }
        for program in &self.programs {
            self.fmt_program(f, program)?;
        }
        for skipped in &self.skipped {
            writeln!(f, "program {}: not loaded ({})", Escaped(&skipped.program), Escaped(skipped.reason))?;
        }
        Ok(())
    }
}

impl LoadPlan {
    /// Formats the line of a map. `names` has the names of the programs, by function.
    fn fmt_map(
        &self,
        f: &mut fmt::Formatter<'_>,
        map: &MapPlan,
        names: &HashMap<ProgramIndex, &str>,
    ) -> fmt::Result {
        let program_name = |function| names.get(function).copied().unwrap_or("(not loaded)");
        write!(f, "map {}: ", Escaped(&map.name))?;
        if !map.autocreate {
            return writeln!(f, "not created");
        }
        match map.known_type() {
            Some(known) => {
                write!(f, "{}", known.name().trim_start_matches("BPF_MAP_TYPE_").to_ascii_lowercase())?;
            }
            None => write!(f, "type {}", map.map_type)?,
        }
        write!(f, ", key {}, value {}, entries {}", map.key_size, map.value_size, map.max_entries)?;
        if map.map_flags != 0 {
            write!(f, ", flags {:#x}", map.map_flags)?;
        }
        if map.map_extra != 0 {
            write!(f, ", extra {:#x}", map.map_extra)?;
        }
        if let Some(inner) = &map.inner {
            write!(f, ", of maps of type {}, value {}", inner.map_type, inner.value_size)?;
        }
        for (key, slot) in &map.slots {
            match slot {
                SlotPlan::Map(at) => {
                    write!(f, ", [{key}] = {}", Escaped(self.maps.get(at.0).map_or("?", |m| &m.name)))?;
                }
                SlotPlan::Program(at) => write!(f, ", [{key}] = {}", Escaped(program_name(at)))?,
            }
        }
        if map.role.is_frozen() {
            f.write_str(", frozen")?;
        }
        if map.role == MapRole::StructOps {
            let names: Vec<_> = map.programs.iter().map(|slot| program_name(&slot.program)).collect();
            write!(f, ", programs {}", Escaped(&names.join(", ")))?;
        }
        if map.reuse.is_some() {
            f.write_str(", reused")?;
        }
        match &map.pin {
            Some(path) => writeln!(f, ", pinned at {}", Escaped(path.display())),
            None => writeln!(f),
        }
    }

    /// Formats the line of a program.
    fn fmt_program(&self, f: &mut fmt::Formatter<'_>, program: &ProgramPlan) -> fmt::Result {
        let kind = program.program_type.name().trim_start_matches("BPF_PROG_TYPE_").to_ascii_lowercase();
        write!(f, "program {}: {kind}", Escaped(&program.name))?;
        if program.attach_type != 0 {
            match AttachType::from_number(program.attach_type).filter(|_| kind != "struct_ops") {
                Some(known) => {
                    write!(f, " ({})", known.name().trim_start_matches("BPF_").to_ascii_lowercase())?;
                }
                None => write!(f, " (member {})", program.attach_type)?,
            }
        }
        write!(f, ", section {}, {} instructions", Escaped(&program.section), program.insns.len() / 8)?;
        if program.functions.len() > 1 {
            // The first piece is the program itself.
            write!(f, " with {} subprograms", program.functions.len().saturating_sub(1))?;
        }
        if let Some(ty) = program.attach.type_id {
            write!(f, ", attaches to type {ty}")?;
            if let Some(module) = program.attach.module.and_then(|m| self.modules.get(m.0)) {
                write!(f, " of {}", Escaped(&module.name))?;
            }
        }
        if program.flags != 0 {
            write!(f, ", flags {:#x}", program.flags)?;
        }
        let (mut used_maps, mut seen) = (Vec::new(), HashSet::new());
        for fixup in &program.fixups {
            if let FixupTarget::Map(at) = fixup.target
                && let Some(map) = self.maps.get(at.0)
                && seen.insert(&map.name)
            {
                used_maps.push(map.name.as_str());
            }
        }
        if !used_maps.is_empty() {
            write!(f, ", uses {}", Escaped(&used_maps.join(", ")))?;
        }
        writeln!(f)
    }
}
