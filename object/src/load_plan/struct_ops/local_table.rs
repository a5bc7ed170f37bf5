//! The struct_ops tables of an object: their values and programs.

use super::member::{byte_offset, is_function_pointer};
use crate::{
    elf::text,
    index::{MapIndex, ProgramIndex, SectionIndex},
    internal::Invariant as _,
    limits,
    link::{
        ProgramLinker,
        maps::{MapSource, StructOps},
    },
    load_plan::{error::LoadPlanError, program_offsets::ProgramOffsets},
    object::{Object, Program, ProgramType, Reloc, SymbolLocation},
};
use alloc::collections::BTreeMap;
use core_relo::{
    ByteOffset, ByteSize,
    btf::{Btf, Type},
};
use hashbrown::HashMap;

/// A struct_ops table of an object, in the object's layout.
#[derive(Clone, Debug)]
pub struct StructOpsTable<'l> {
    /// The map's name.
    pub(super) name: &'l [u8],
    /// The variable of the object.
    pub(super) table: StructOps<'l, 'l>,
    /// The bytes of the struct. Pointers to programs are 0.
    pub(super) data: Vec<u8>,
    /// The programs by member index.
    pub(super) programs: BTreeMap<u32, ProgramIndex>,
}

impl StructOpsTable<'_> {
    /// Returns the programs, in the order of their members.
    pub fn programs(&self) -> impl Iterator<Item = ProgramIndex> {
        self.programs.values().copied()
    }

    /// Returns the programs with the names of their members. `btf` is the object's.
    pub fn members<'b>(&self, btf: &'b Btf<'_>) -> impl Iterator<Item = (&'b [u8], ProgramIndex)> {
        let members = btf.ty(self.table.ty).into_iter().flat_map(Type::members);
        members
            .filter_map(|member| Some((member.name.as_bytes(), self.programs.get(&member.index).copied()?)))
    }

    /// Replaces the table's values. Programs stay.
    pub fn set_data(&mut self, data: Vec<u8>) {
        self.data = data;
    }

    /// Sets the program of a member, or empties the member. Returns the previous program.
    ///
    /// # Errors
    ///
    /// The struct has no such member, the member is no function pointer, or the program is no struct_ops
    /// program.
    pub fn replace_program(
        &mut self,
        btf: &Btf<'_>,
        object: &Object<'_>,
        member: &str,
        program: Option<&str>,
    ) -> Result<Option<ProgramIndex>, LoadPlanError> {
        let fail = |what: &str| LoadPlanError::Map {
            map: text(self.name),
            what: format!("member `{member}` {what}").into(),
        };
        let mut members = btf.ty(self.table.ty).into_iter().flat_map(Type::members);
        let slot = members.find(|m| m.name.as_bytes() == member.as_bytes());
        let slot = slot.ok_or_else(|| fail("does not exist, but the settings have a program for it"))?;
        if !is_function_pointer(btf, slot.ty) {
            return Err(fail("is not a function pointer, but the settings have a program for it"));
        }
        let Some(program) = program else {
            let start = byte_offset(&slot);
            // Matching the table with the kernel's struct refuses a member past the table's end.
            if let Some(pointer) = start.checked_add(8).and_then(|end| self.data.get_mut(start..end)) {
                pointer.fill(0);
            }
            return Ok(self.programs.remove(&slot.index));
        };
        let is_match = |p: &Program<'_>| p.name() == program.as_bytes() && is_struct_ops(p);
        let index = object.programs().iter().position(is_match).ok_or_else(|| {
            fail(&format!("cannot hold `{program}`, which is not a program of a section `struct_ops`"))
        })?;
        Ok(self.programs.insert(slot.index, ProgramIndex(index)))
    }
}

/// Reads a table of the object. The table's relocations give its programs (libbpf:
/// `bpf_object__collect_st_ops_relos`).
fn read_table<'l>(
    table_relocs: &mut TableRelocs<'l, '_>,
    btf: &Btf<'_>,
    name: &'l [u8],
    table: StructOps<'l, 'l>,
) -> Result<StructOpsTable<'l>, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
    let start = ByteOffset(table.offset).index();
    let end = start.checked_add(ByteSize(table.size).index());
    let data = end.and_then(|end| table.section.bytes.get(start..end));
    let data = data.ok_or_else(|| fail("it extends past the end of its section".into()))?.to_vec();
    let ty = btf.ty(table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
    let mut programs = BTreeMap::new();
    let (relocs, functions) = table_relocs.find(table)?;
    let mut members = HashMap::new();
    for member in ty.members().filter(|_| !relocs.is_empty()) {
        members.entry(u64::from(member.bit_offset.0)).or_insert(member);
    }
    for reloc in relocs {
        let offset = reloc.offset.checked_sub(table.offset.into());
        let offset = offset.invariant("a table's relocations lie within the table")?;
        let member = offset.checked_mul(8).and_then(|bits| members.get(&bits));
        let member = member
            .ok_or_else(|| fail(format!("no member begins at byte {offset}, which refers to a function")))?;
        let symbol = text(reloc.symbol.name);
        if !is_function_pointer(btf, member.ty) {
            return Err(fail(format!(
                "member `{}` refers to `{symbol}`, but is not a function pointer",
                member.name
            )));
        }
        let SymbolLocation::Section(section) = reloc.symbol.location else {
            return Err(fail(format!(
                "member `{}` refers to `{symbol}`, which the object does not define",
                member.name
            )));
        };
        let program = functions.find(section, reloc.symbol.value).ok_or_else(|| {
            fail(format!(
                "member `{}` refers to `{symbol}`, which is not a program of a section `struct_ops`",
                member.name
            ))
        })?;
        programs.insert(member.index, program);
    }
    Ok(StructOpsTable { name, table, data, programs })
}

impl ProgramLinker<'_, '_> {
    /// Returns the tables of the struct_ops maps, by map. Fails if libbpf would not open the object.
    pub fn struct_ops_tables(&self) -> Result<Vec<(MapIndex, StructOpsTable<'_>)>, LoadPlanError> {
        let mut tables = Vec::new();
        let Some(btf) = self.object().btf() else { return Ok(tables) };
        // Most objects have no such map, and are asked for their tables on each kernel.
        if !self.maps().iter().any(|entry| matches!(entry.source, MapSource::StructOps(_))) {
            return Ok(tables);
        }
        let mut relocs = TableRelocs::new(self.object());
        let mut member_count = 0usize;
        for (map, entry) in MapIndex::enumerate(self.maps()) {
            let MapSource::StructOps(table) = entry.source else { continue };
            // Any number of empty tables can share an offset and a type with many members, so the work is
            // limited.
            let ty = btf.ty(table.ty).invariant("a struct_ops map's type was found in the BTF")?;
            let total = member_count.checked_add(ty.members().len());
            member_count = total.filter(|total| *total <= limits::STRUCT_OPS_MEMBERS).ok_or_else(|| {
                let limit = limits::STRUCT_OPS_MEMBERS;
                let what = format!("the struct_ops maps have too many members: expected at most {limit}");
                LoadPlanError::Map { map: text(entry.name), what: what.into() }
            })?;
            tables.push((map, read_table(&mut relocs, btf, entry.name, table)?));
        }
        Ok(tables)
    }
}

/// The relocations of struct_ops sections. Each section is read once.
struct TableRelocs<'o, 'd> {
    object: &'o Object<'d>,
    /// The relocations of each section that was read, sorted by offset.
    sections: HashMap<SectionIndex, Vec<Reloc<'d>>>,
    /// The programs of sections `struct_ops`.
    programs: ProgramOffsets,
}

impl<'o, 'd> TableRelocs<'o, 'd> {
    fn new(object: &'o Object<'d>) -> Self {
        let programs = ProgramOffsets::new(object, is_struct_ops);
        Self { object, sections: HashMap::new(), programs }
    }

    /// Returns the relocations of a table, sorted by offset, and the programs that they can refer to.
    fn find(&mut self, table: StructOps<'_, '_>) -> Result<(&[Reloc<'d>], &ProgramOffsets), LoadPlanError> {
        let section = table.section.section_index;
        if !self.sections.contains_key(&section) {
            let mut all = self.object.elf_relocs_of(section).collect::<Result<Vec<_>, _>>()?;
            all.sort_by_key(|r| r.offset);
            self.sections.insert(section, all);
        }
        let all = self.sections.get(&section).invariant("a section's relocations were read")?;
        let start = u64::from(table.offset);
        let is_within =
            |r: &Reloc<'_>| r.offset.checked_sub(start).is_some_and(|offset| offset < table.size.into());
        let (_, following) = all.split_at(all.partition_point(|r| r.offset < start));
        let (relocs, _) = following.split_at(following.partition_point(is_within));
        Ok((relocs, &self.programs))
    }
}

/// Returns whether a program is a struct_ops program.
fn is_struct_ops(program: &Program<'_>) -> bool {
    program.sec_def().is_some_and(|d| d.program_type == ProgramType::StructOps)
}
