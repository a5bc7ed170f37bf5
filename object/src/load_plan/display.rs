//! `Display` of a plan: the dry run of a load.

use super::{
    maps::{MapPlan, MapRole, SlotPlan},
    plan::LoadPlan,
    programs::{FixupTarget, ProgramPlan},
};
use crate::{
    index::{MapIndex, ModuleIndex, ProgramIndex},
    object::{AttachType, ProgramType},
};
use alloc::borrow::Cow;
use core::fmt;
use core_relo::Escaped;
use hashbrown::HashSet;

/// The repairs that a dry run lists.
const SHOWN_REPAIRS: usize = 8;

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
        for repair in self.repairs().iter().take(SHOWN_REPAIRS) {
            writeln!(f, "repaired: {repair}")?;
        }
        if let Some(more @ 1..) = self.repair_count().checked_sub(SHOWN_REPAIRS) {
            writeln!(f, "repaired: {more} more")?;
        }
        for pointer in &self.null_pointers.listed {
            writeln!(f, "warning: {pointer}")?;
        }
        if let Some(more @ 1..) = self.null_pointers.count.checked_sub(self.null_pointers.listed.len()) {
            writeln!(f, "warning: {more} more pointers stay null")?;
        }
        for module in &self.modules {
            writeln!(f, "btf of module {}", Escaped(&module.name))?;
        }
        for map in &self.maps {
            self.fmt_map(f, map)?;
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
    /// Formats the line of a map.
    fn fmt_map(&self, f: &mut fmt::Formatter<'_>, map: &MapPlan) -> fmt::Result {
        write!(f, "map {}: ", Escaped(map.name()))?;
        if !map.autocreate() {
            return writeln!(f, "not created");
        }
        fmt_definition(f, map)?;
        if let Some(inner) = map.inner() {
            f.write_str(", of maps (")?;
            fmt_definition(f, inner)?;
            f.write_str(")")?;
        }
        for (key, slot) in map.slots() {
            let name = match slot {
                SlotPlan::Map(index) => self.map_name(*index),
                SlotPlan::Program(index) => self.program_name(*index).into(),
            };
            write!(f, ", [{key}] = {}", Escaped(name))?;
        }
        if map.role().is_frozen() {
            f.write_str(", frozen")?;
        }
        if map.role() == MapRole::StructOps {
            let names: Vec<_> = map.programs().iter().map(|slot| self.program_name(slot.program())).collect();
            write!(f, ", programs {}", Escaped(&names.join(", ")))?;
        }
        if map.reuse().is_some() {
            f.write_str(", reused")?;
        }
        match map.pin() {
            Some(path) => writeln!(f, ", pinned at {}", Escaped(path.display())),
            None => writeln!(f),
        }
    }

    /// Formats the line of a program.
    fn fmt_program(&self, f: &mut fmt::Formatter<'_>, program: &ProgramPlan) -> fmt::Result {
        let program_type = program.program_type();
        let type_name = program_type.name().trim_start_matches("BPF_PROG_TYPE_").to_ascii_lowercase();
        write!(f, "program {}: {type_name}", Escaped(program.name()))?;
        if program.attach_type() != 0 {
            // The number of a struct_ops program is that of a member.
            let is_member = program_type == ProgramType::StructOps;
            match AttachType::from_number(program.attach_type()).filter(|_| !is_member) {
                Some(known) => {
                    write!(f, " ({})", known.name().trim_start_matches("BPF_").to_ascii_lowercase())?;
                }
                None => write!(f, " (member {})", program.attach_type())?,
            }
        }
        let insns = program.insns().len() / 8;
        write!(f, ", section {}, {insns} instructions", Escaped(program.section()))?;
        if !program.subprograms().is_empty() {
            write!(f, " with {} subprograms", program.subprograms().len())?;
        }
        let module = program.attach().module().map(|module| Escaped(self.module_name(module)));
        match (program.attach().type_id(), module) {
            (Some(ty), Some(module)) => write!(f, ", attaches to type {ty} of {module}")?,
            (Some(ty), None) => write!(f, ", attaches to type {ty}")?,
            (None, Some(module)) => write!(f, ", attaches to functions of {module}")?,
            (None, None) => {}
        }
        if program.flags() != 0 {
            write!(f, ", flags {:#x}", program.flags())?;
        }
        let (mut used_maps, mut seen) = (Vec::new(), HashSet::new());
        for fixup in program.fixups() {
            if let FixupTarget::Map(index) = fixup.target() {
                let name = self.map_name(index);
                if seen.insert(name.clone()) {
                    used_maps.push(name);
                }
            }
        }
        if !used_maps.is_empty() {
            write!(f, ", uses {}", Escaped(&used_maps.join(", ")))?;
        }
        writeln!(f)
    }

    /// Returns the name of a map of the plan.
    fn map_name(&self, index: MapIndex) -> Cow<'_, str> {
        // `Display` has no other way to report a broken invariant.
        self.map(index).map_or_else(|broken| broken.to_string().into(), |map| map.name().into())
    }

    /// Returns the name of a module of the plan.
    fn module_name(&self, index: ModuleIndex) -> Cow<'_, str> {
        self.module(index)
            .map_or_else(|broken| broken.to_string().into(), |module| module.name.as_str().into())
    }

    /// Returns the name of a program, if the program is loaded.
    fn program_name(&self, function: ProgramIndex) -> &str {
        self.program(function).map_or("(not loaded)", ProgramPlan::name)
    }
}

/// Formats the type of a map, its sizes and its flags.
fn fmt_definition(f: &mut fmt::Formatter<'_>, map: &MapPlan) -> fmt::Result {
    match map.known_type() {
        Some(known) => {
            write!(f, "{}", known.name().trim_start_matches("BPF_MAP_TYPE_").to_ascii_lowercase())?;
        }
        None => write!(f, "type {}", map.map_type())?,
    }
    write!(f, ", key {}, value {}, entries {}", map.key_size(), map.value_size(), map.max_entries())?;
    if map.map_flags() != 0 {
        write!(f, ", flags {:#x}", map.map_flags())?;
    }
    if map.map_extra() != 0 {
        write!(f, ", extra {:#x}", map.map_extra())?;
    }
    Ok(())
}
