//! struct_ops maps: structs of programs that a kernel subsystem calls (libbpf: `bpf_map__init_kern_struct_ops`).
//!
//! A table's struct is matched with the kernel's struct of the same essential name, member by member. Values are copied to the
//! kernel's offset of the member. A program is loaded for the member that refers to the program.

use super::{
    LoadPlanError,
    kernel_structs::{KernelStruct, KernelStructs},
    ksyms::Modules,
    map_plan::ProgramSlot,
    settings::MapSettings,
    target_kernel::TargetKernel,
};
use crate::{
    elf::text,
    index::{MapIndex, ModuleIndex, ProgramIndex, SectionIndex},
    internal::Invariant as _,
    limits,
    link::maps::{MapSource, MapTable, StructOps},
    object::{Object, Program, ProgramType, Reloc, SymbolLocation},
};
use alloc::collections::BTreeMap;
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind, Member, Type},
};
use std::collections::HashMap;

/// A table in the kernel's layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelTable {
    /// The kernel's type of the map's value.
    pub(super) value_type: TypeId,
    /// The size of `value_type` in bytes.
    pub(super) value_size: u32,
    /// The module whose BTF has `value_type`. `None` for the kernel itself.
    pub(super) module: Option<ModuleIndex>,
    /// The map's value without the descriptors of the programs.
    pub(super) value: Vec<u8>,
    /// The programs in the value.
    pub(super) programs: Vec<ProgramSlot>,
}

/// The member that a struct_ops program is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberSlot {
    /// The kernel's struct of the member.
    pub(super) ty: TypeId,
    /// The index of the member in the struct.
    pub(super) member: u32,
    /// The module whose BTF has the struct. `None` for the kernel itself.
    pub(super) module: Option<ModuleIndex>,
}

/// All tables of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct StructOpsTables {
    /// The tables that are created, by map.
    pub(super) by_map: HashMap<MapIndex, KernelTable>,
    /// The member of each program in a created table.
    pub(super) slots: HashMap<ProgramIndex, MemberSlot>,
    /// Whether a program of a table is loaded: at least one of the tables with the program is created.
    pub(super) autoload: HashMap<ProgramIndex, bool>,
}

/// A table in the object's layout.
struct LocalTable<'l> {
    name: &'l [u8],
    table: StructOps<'l, 'l>,
    data: Vec<u8>,
    /// The programs by member index.
    programs: BTreeMap<u32, ProgramIndex>,
}

impl LocalTable<'_> {
    /// Sets the program of a member, or empties the member. Returns the previous program.
    fn replace_program(
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
        let found = members.find(|m| m.name.as_bytes() == member.as_bytes());
        let found = found.ok_or_else(|| fail("does not exist, but the settings have a program for it"))?;
        if !is_function_pointer(btf, found.ty) {
            return Err(fail("is not a function pointer, but the settings have a program for it"));
        }
        let Some(program) = program else {
            let pointer = self.data.get_mut(byte_offset(&found)..).and_then(|rest| rest.get_mut(..8));
            if let Some(pointer) = pointer {
                pointer.fill(0);
            }
            return Ok(self.programs.remove(&found.index));
        };
        let is_match = |p: &Program<'_>| p.name() == program.as_bytes() && is_struct_ops(p);
        let index = object.programs().iter().position(is_match).ok_or_else(|| {
            fail(&format!("cannot hold `{program}`, which is not a program of a section `struct_ops`"))
        })?;
        Ok(self.programs.insert(found.index, ProgramIndex(index)))
    }
}

/// Matches every table that is created with the kernel's struct.
pub(super) fn resolve<'s>(
    object: &Object<'_>,
    maps: &MapTable<'_, '_>,
    kernel: &TargetKernel,
    modules: &mut Modules,
    is_created: impl Fn(MapIndex) -> bool,
    settings_of: impl Fn(MapIndex) -> Option<&'s MapSettings>,
) -> Result<StructOpsTables, LoadPlanError> {
    let mut out = StructOpsTables::default();
    let Some(btf) = object.btf() else { return Ok(out) };
    let mut relocs = TableRelocs::new(object);
    let mut structs = KernelStructs::new(kernel);
    let mut members = 0usize;
    for (map, entry) in MapIndex::enumerate(&maps.entries) {
        let MapSource::StructOps(table) = entry.source else { continue };
        // Any number of empty tables can share an offset and a type with many members, so the work is limited.
        let ty = btf.ty(table.ty).invariant("a struct_ops map's type was found in the BTF")?;
        let total = members.checked_add(ty.members().len());
        if let Some(total) = total.filter(|total| *total <= limits::STRUCT_OPS_MEMBERS) {
            members = total;
        } else {
            let limit = limits::STRUCT_OPS_MEMBERS;
            let what = format!("the struct_ops maps have too many members: expected at most {limit}");
            return Err(LoadPlanError::Map { map: text(entry.name), what: what.into() });
        }
        let mut local = read_table(&mut relocs, btf, entry.name, table)?;
        if let Some(settings) = settings_of(map) {
            if let Some(data) = &settings.data {
                local.data.clone_from(data);
            }
            for (member, program) in &settings.programs {
                let previous = local.replace_program(btf, object, member, program.as_deref())?;
                previous.map(|program| out.autoload.entry(program).or_default());
            }
        }
        for program in local.programs.values() {
            *out.autoload.entry(*program).or_default() |= is_created(map);
        }
        if is_created(map) {
            let table = match_table(btf, &local, &mut structs, modules, &mut out.slots)?;
            out.by_map.insert(map, table);
        }
    }
    Ok(out)
}

/// Reads a table of the object. The table's relocations give its programs (libbpf: `bpf_object__collect_st_ops_relos`).
fn read_table<'l>(
    table_relocs: &mut TableRelocs<'l, '_>,
    btf: &Btf<'_>,
    name: &'l [u8],
    table: StructOps<'l, 'l>,
) -> Result<LocalTable<'l>, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
    let start = usize::try_from(table.offset).ok();
    let end = start.and_then(|start| start.checked_add(usize::try_from(table.size).ok()?));
    let data = start.zip(end).and_then(|(start, end)| table.section.bytes.get(start..end));
    let data = data.ok_or_else(|| fail("it extends past the end of its section".into()))?.to_vec();
    let ty = btf.ty(table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
    let mut programs = BTreeMap::new();
    let (relocs, functions) = table_relocs.find(table)?;
    let mut members = HashMap::new();
    for member in ty.members().filter(|_| !relocs.is_empty()) {
        members.entry(u64::from(member.bit_offset.0)).or_insert(member);
    }
    for reloc in relocs {
        let within = reloc.offset.checked_sub(table.offset.into());
        let within = within.invariant("a table's relocations lie within the table")?;
        let member = within.checked_mul(8).and_then(|bits| members.get(&bits));
        let member = member
            .ok_or_else(|| fail(format!("no member begins at byte {within}, which refers to a function")))?;
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
        let program = functions.get(&(section, reloc.symbol.value)).copied().ok_or_else(|| {
            fail(format!(
                "member `{}` refers to `{symbol}`, which is not a program of a section `struct_ops`",
                member.name
            ))
        })?;
        programs.insert(member.index, program);
    }
    Ok(LocalTable { name, table, data, programs })
}

/// Programs by section and byte offset.
type ProgramsByOffset = HashMap<(SectionIndex, u64), ProgramIndex>;

/// The relocations of struct_ops sections. Each section is read once.
struct TableRelocs<'o, 'd> {
    object: &'o Object<'d>,
    /// The relocations of each section that was read, sorted by offset.
    sections: HashMap<SectionIndex, Vec<Reloc<'d>>>,
    /// The programs of sections `struct_ops`.
    programs: ProgramsByOffset,
}

impl<'o, 'd> TableRelocs<'o, 'd> {
    fn new(object: &'o Object<'d>) -> Self {
        let programs = ProgramIndex::enumerate(object.programs()).filter(|(_, p)| is_struct_ops(p));
        // A product of 32 bits and 8 does not saturate.
        let offset = |p: &Program<'_>| (p.section_index, u64::from(p.start().0).saturating_mul(8));
        let programs = programs.map(|(index, p)| (offset(p), index)).collect();
        Self { object, sections: HashMap::new(), programs }
    }

    /// Returns the relocations of a table, sorted by offset, and the programs that they can refer to.
    fn find(&mut self, table: StructOps<'_, '_>) -> Result<(&[Reloc<'d>], &ProgramsByOffset), LoadPlanError> {
        let section = table.section.section_index;
        if !self.sections.contains_key(&section) {
            let mut all = self.object.elf_relocs_of(section).collect::<Result<Vec<_>, _>>()?;
            all.sort_by_key(|r| r.offset);
            self.sections.insert(section, all);
        }
        let all = self.sections.get(&section).invariant("a section's relocations were read")?;
        let start = u64::from(table.offset);
        let is_within = |r: &Reloc<'_>| r.offset.checked_sub(start).is_some_and(|at| at < table.size.into());
        let (_, rest) = all.split_at(all.partition_point(|r| r.offset < start));
        let (found, _) = rest.split_at(rest.partition_point(is_within));
        Ok((found, &self.programs))
    }
}

/// Returns whether a program is a struct_ops program.
fn is_struct_ops(program: &Program<'_>) -> bool {
    program.sec_def().is_some_and(|d| d.program_type == ProgramType::StructOps)
}

/// Returns whether a type is a pointer to a function.
fn is_function_pointer(btf: &Btf<'_>, id: TypeId) -> bool {
    let pointer = btf.strip(id).ok().filter(|t| t.kind() == Kind::Ptr);
    let target = pointer.and_then(Type::target).and_then(|target| btf.strip(target).ok());
    target.is_some_and(|t| t.kind() == Kind::FuncProto)
}

/// Converts a table to the layout of the kernel's struct.
fn match_table<'l>(
    btf: &'l Btf<'_>,
    local: &LocalTable<'_>,
    structs: &mut KernelStructs<'_, 'l>,
    modules: &mut Modules,
    slots: &mut HashMap<ProgramIndex, MemberSlot>,
) -> Result<KernelTable, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: text(local.name), what: what.into() };
    let ty = btf.ty(local.table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
    let kernel = structs.find(local.name, ty.name().essential(), modules)?;
    let mut table = KernelTable {
        value_type: kernel.value.id(),
        value_size: kernel.value.size_or_type(),
        module: kernel.module,
        value: structs.zeroed_value(local.name, &kernel)?,
        programs: Vec::new(),
    };
    let data_offset = byte_offset(&kernel.data);
    for member in ty.members() {
        let m = MemberPair { btf, kernel: &kernel, member, map: local.name };
        let program = local.programs.get(&member.index).copied();
        match m.locate(&local.data, program.is_some())? {
            // The member is zero, and the kernel does not have it.
            None => {}
            Some((from, to, size)) if m.is_pointer()? => {
                let Some(program) = program else {
                    let bytes = range(&local.data, from, size);
                    let bytes = bytes.invariant("a member lies within its table")?;
                    if bytes.iter().any(|b| *b != 0) {
                        return Err(m.fail("it is a pointer other than 0 without a program"));
                    }
                    continue;
                };
                m.check_function_pointer(&to)?;
                let slot = MemberSlot { ty: kernel.inner.id(), member: to.index, module: kernel.module };
                if *slots.entry(program).or_insert(slot) != slot {
                    return Err(m.fail("its program is also in another table, for another member"));
                }
                let offset = data_offset.checked_add(byte_offset(&to));
                let offset =
                    offset.ok_or_else(|| m.fail("the kernel's member lies past the end of the struct"))?;
                table.programs.push(ProgramSlot { offset, program });
            }
            Some((from, to, size)) => {
                let start = data_offset.checked_add(byte_offset(&to));
                let end = start.and_then(|start| start.checked_add(size));
                let target = start.zip(end).and_then(|(start, end)| table.value.get_mut(start..end));
                match (target, range(&local.data, from, size)) {
                    (Some(target), Some(bytes)) => target.copy_from_slice(bytes),
                    _ => return Err(m.fail("it extends past the end of the struct")),
                }
            }
        }
    }
    Ok(table)
}

/// Returns the offset of a member, in bytes. An offset always fits, since hosts have addresses of at least 32 bits.
fn byte_offset(member: &Member<'_>) -> usize {
    usize::try_from(member.bit_offset.0 / 8).unwrap_or(usize::MAX)
}

/// Returns the `size` bytes at an offset.
fn range(bytes: &[u8], start: usize, size: usize) -> Option<&[u8]> {
    bytes.get(start..start.checked_add(size)?)
}

/// A member of the object's struct, and the kernel's struct in which it is looked up.
struct MemberPair<'m> {
    btf: &'m Btf<'m>,
    kernel: &'m KernelStruct<'m>,
    member: Member<'m>,
    map: &'m [u8],
}

impl<'m> MemberPair<'m> {
    #[cold]
    fn fail(&self, what: impl core::fmt::Display) -> LoadPlanError {
        LoadPlanError::Map {
            map: text(self.map),
            what: format!("member `{}`: {what}", self.member.name).into(),
        }
    }

    /// Returns the member's byte offset, the kernel's member of the same name, and the size of the member in bytes. Returns `None`
    /// for a member that is zero and that the kernel does not have.
    fn locate(
        &self,
        data: &[u8],
        has_program: bool,
    ) -> Result<Option<(usize, Member<'m>, usize)>, LoadPlanError> {
        let size = self.btf.size_of(self.member.ty).map_err(|e| self.fail(e))?;
        let size = usize::try_from(size.0).invariant("hosts have addresses of at least 32 bits")?;
        let from = byte_offset(&self.member);
        let bytes = range(data, from, size);
        let bytes = bytes.ok_or_else(|| self.fail("it extends past the end of the struct"))?;
        let Some(to) = self.kernel.members.get(self.member.name.as_bytes()).copied() else {
            if has_program || bytes.iter().any(|b| *b != 0) {
                let name = Name::new(self.kernel.inner.name().as_bytes());
                return Err(
                    self.fail(format_args!("it is not 0, and the kernel's struct {name} has no such member"))
                );
            }
            return Ok(None);
        };
        if self.member.bitfield_bits != 0 || to.bitfield_bits != 0 {
            return Err(self.fail("bitfields are not supported"));
        }
        let local = self.btf.strip(self.member.ty).map_err(|e| self.fail(e))?;
        let target = self.kernel.btf().strip(to.ty).map_err(|e| self.fail(e))?;
        if local.kind() != target.kind() {
            return Err(self.fail(format_args!(
                "wrong kind: {}, expected {} as in the kernel",
                local.kind(),
                target.kind()
            )));
        }
        if local.kind() != Kind::Ptr {
            let expected = self.kernel.btf().size_of(to.ty).map_err(|e| self.fail(e))?;
            if usize::try_from(expected.0) != Ok(size) {
                return Err(
                    self.fail(format_args!("wrong size: {size} bytes, expected {expected} as in the kernel"))
                );
            }
        }
        Ok(Some((from, to, size)))
    }

    /// Returns whether the object's member is a pointer.
    fn is_pointer(&self) -> Result<bool, LoadPlanError> {
        Ok(self.btf.strip(self.member.ty).map_err(|e| self.fail(e))?.kind() == Kind::Ptr)
    }

    /// Checks that the kernel's member is a function pointer.
    fn check_function_pointer(&self, to: &Member<'_>) -> Result<(), LoadPlanError> {
        if is_function_pointer(self.kernel.btf(), to.ty) {
            Ok(())
        } else {
            Err(self.fail("the kernel's member is not a function pointer"))
        }
    }
}
