//! Plans the maps of jump tables (libbpf: `create_jt_map`).

use crate::{
    index::{MapIndex, ProgramIndex},
    internal::Invariant as _,
    limits,
    link::{LinkedProgram, ProgramLinker, RefTarget},
    load_plan::{error::LoadPlanError, maps::MapPlan},
    object::{DataKind, DataSection, Object},
};
use core_relo::Endian;
use hashbrown::HashMap;

/// The size of a target in the section `.jumptables`, in bytes.
const TARGET_BYTES: u64 = 8;

/// A jump table of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct JumpTable {
    pub(super) program: ProgramIndex,
    /// The offset in the section, in bytes.
    pub(super) offset: u64,
    /// The size in bytes.
    pub(super) size: u64,
}

/// The planned jump tables of an object.
pub(super) struct JumpTables<'o, 'd> {
    object: &'o Object<'d>,
    /// The section of jump targets.
    section: Option<&'o DataSection<'d>>,
    /// The maps of the tables that are planned.
    maps: HashMap<JumpTable, MapIndex>,
    /// The size of all maps of jump tables in bytes.
    total_bytes: u64,
}

impl<'o, 'd> JumpTables<'o, 'd> {
    pub(super) fn new(object: &'o Object<'d>) -> Self {
        let section = object.data_sections().iter().find(|s| s.kind == DataKind::JumpTables);
        Self { object, section, maps: HashMap::new(), total_bytes: 0 }
    }

    /// Returns the map of a jump table that an instruction refers to. Plans the map on the first call.
    pub(super) fn find_or_plan(
        &mut self,
        table: JumpTable,
        linked: &LinkedProgram,
        insn: u32,
        maps: &mut Vec<MapPlan>,
    ) -> Result<MapIndex, LoadPlanError> {
        if let Some(planned) = self.maps.get(&table) {
            return Ok(*planned);
        }
        let map = MapIndex(maps.len());
        maps.push(self.plan_map(table, linked, insn)?);
        self.maps.insert(table, map);
        Ok(map)
    }

    /// Plans the map of a jump table. The map's targets are instruction offsets from the program's start.
    fn plan_map(
        &mut self,
        JumpTable { offset, size, .. }: JumpTable,
        linked: &LinkedProgram,
        insn: u32,
    ) -> Result<MapPlan, LoadPlanError> {
        let section = self.section.ok_or_else(|| fail("the object has no such section"))?;
        let past_end = || fail("a table extends past the end of the section");
        let end = offset.checked_add(size).ok_or_else(past_end)?;
        let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        let bytes = range.and_then(|(start, end)| section.bytes.get(start..end)).ok_or_else(past_end)?;
        if !offset.is_multiple_of(TARGET_BYTES) || !size.is_multiple_of(TARGET_BYTES) || size == 0 {
            return Err(fail("a table is empty, or does not begin and end at a multiple of 8 bytes"));
        }
        // A target has 16 bytes in the map.
        let total = size.checked_mul(2).and_then(|bytes| self.total_bytes.checked_add(bytes));
        let total = total.filter(|total| *total <= limits::DATA_BYTES);
        self.total_bytes = total.ok_or_else(|| fail("the tables of all programs together are too large"))?;
        // Targets lie in the function of the instruction, and move with the function's copy.
        let end = linked.functions.partition_point(|copy| copy.start <= insn);
        let copy = linked.functions.get(..end).and_then(<[_]>::last);
        let copy = copy.and_then(|copy| Some((copy.start, self.object.programs().get(copy.function.0)?)));
        let (copy_start, function) =
            copy.ok_or_else(|| fail("the instruction that refers to a table is in no function"))?;
        let mut data = Vec::new();
        for target in bytes.chunks_exact(8) {
            let byte = self.object.endian().u64(target, 0).invariant("a chunk of 8 bytes holds a number")?;
            let insn = (byte / 8).checked_sub(function.start().0.into());
            let target = insn.and_then(|insn| u32::try_from(insn.checked_add(copy_start.into())?).ok());
            let target = target.ok_or_else(|| fail("a target lies outside of its function"))?;
            // struct bpf_insn_array_value: the target's offset, then fields that the verifier fills.
            for word in [target, 0, 0, 0] {
                Endian::native().put_u32(&mut data, word);
            }
        }
        let targets = u32::try_from(size / TARGET_BYTES);
        let targets = targets.invariant("a table within the limit has less than 2^32 targets")?;
        Ok(MapPlan::for_jump_table(targets, data))
    }
}

impl ProgramLinker<'_, '_> {
    /// Refuses the malformed jump tables of a program.
    pub fn check_jump_tables(
        &self,
        program: ProgramIndex,
        linked: &LinkedProgram,
    ) -> Result<(), LoadPlanError> {
        let mut tables = JumpTables::new(self.object());
        if tables.section.is_none() {
            return Ok(());
        }
        let mut maps = Vec::new();
        for (insn, target) in &linked.refs {
            if let RefTarget::JumpTable { offset, size } = *target {
                tables.find_or_plan(JumpTable { program, offset, size }, linked, *insn, &mut maps)?;
            }
        }
        Ok(())
    }
}

/// Creates the error for a malformed jump table.
fn fail(what: &'static str) -> LoadPlanError {
    LoadPlanError::Map { map: ".jumptables".into(), what: what.into() }
}
