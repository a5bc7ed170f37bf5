//! Tables of programs that a kernel subsystem calls (libbpf: `bpf_map__init_kern_struct_ops`).
//!
//! A table's struct is matched with the kernel's of the same essential name, member by member: values are copied to where the
//! kernel has them, programs are loaded for the member they stand in.

use super::{
    LoadPlanError,
    host::Host,
    kernel_structs::{KernelStruct, KernelStructs},
    ksyms::Modules,
    map_plan::ProgramSlot,
    settings::MapSettings,
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

/// A table as the kernel wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// The kernel's type of the map's value, and its size.
    pub(super) value_type: TypeId,
    pub(super) value_size: u32,
    /// The module the type is in, among the plan's.
    pub(super) module: Option<ModuleIndex>,
    /// The map's value without the programs.
    pub(super) value: Vec<u8>,
    /// The programs in the value.
    pub(super) programs: Vec<ProgramSlot>,
}

/// The member that a struct_ops program is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The kernel's struct.
    pub(super) ty: TypeId,
    /// The member.
    pub(super) member: u32,
    pub(super) module: Option<ModuleIndex>,
}

/// All tables of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// By map; those that are not created are left out.
    pub(super) by_map: HashMap<MapIndex, Table>,
    /// By program.
    pub(super) slots: HashMap<ProgramIndex, Slot>,
    /// Whether a program that stands in a table is to be loaded: if it stands in one that is created.
    pub(super) autoload: HashMap<ProgramIndex, bool>,
}

/// A table as the object has it.
struct Local<'l> {
    name: &'l [u8],
    table: StructOps<'l, 'l>,
    data: Vec<u8>,
    /// Programs by member.
    programs: BTreeMap<u32, ProgramIndex>,
}

impl Local<'_> {
    /// Another program, or none, for a member; gives the one that stood there.
    fn replace(
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
        let found = found.ok_or_else(|| fail("does not exist, and was to get a program"))?;
        if !is_function_pointer(btf, found.ty) {
            return Err(fail("was to get a program, but is no pointer to a function"));
        }
        let Some(program) = program else {
            if let Some(pointer) = self.data.get_mut(byte(&found)..).and_then(|rest| rest.get_mut(..8)) {
                pointer.fill(0);
            }
            return Ok(self.programs.remove(&found.index));
        };
        let is_it = |p: &Program<'_>| p.name == program.as_bytes() && is_struct_ops(p);
        let place = object.programs().iter().position(is_it).ok_or_else(|| {
            fail(&format!("was to get `{program}`, which is no program of a section `struct_ops`"))
        })?;
        Ok(self.programs.insert(found.index, ProgramIndex(place)))
    }
}

/// Matches every table that is created. `changed` gives what a caller changed of a table.
pub(super) fn resolve<'s>(
    object: &Object<'_>,
    maps: &MapTable<'_, '_>,
    host: &Host,
    modules: &mut Modules,
    created: impl Fn(MapIndex) -> bool,
    changed: impl Fn(MapIndex) -> Option<&'s MapSettings>,
) -> Result<Tables, LoadPlanError> {
    let mut out = Tables::default();
    let Some(btf) = object.btf() else { return Ok(out) };
    let mut references = References::new(object);
    let mut structs = KernelStructs::new(host);
    let mut members = 0usize;
    for (at, entry) in MapIndex::enumerate(&maps.entries) {
        let MapSource::StructOps(table) = entry.source else { continue };
        // Tables of no size may share a place, and a type of any number of members.
        let ty = btf.ty(table.ty).invariant("a struct_ops map's type was found in the BTF")?;
        let total = members.checked_add(ty.members().len());
        if let Some(total) = total.filter(|total| *total <= limits::STRUCT_OPS_MEMBERS) {
            members = total;
        } else {
            let what = format!("the struct_ops maps have more than {} members", limits::STRUCT_OPS_MEMBERS);
            return Err(LoadPlanError::Map { map: text(entry.name), what: what.into() });
        }
        let mut local = local(&mut references, btf, entry.name, table)?;
        if let Some(settings) = changed(at) {
            if let Some(data) = &settings.data {
                local.data.clone_from(data);
            }
            for (member, program) in &settings.programs {
                let displaced = local.replace(btf, object, member, program.as_deref())?;
                displaced.map(|program| out.autoload.entry(program).or_default());
            }
        }
        for program in local.programs.values() {
            *out.autoload.entry(*program).or_default() |= created(at);
        }
        if created(at) {
            let table = matched(btf, &local, &mut structs, modules, &mut out.slots)?;
            out.by_map.insert(at, table);
        }
    }
    Ok(out)
}

/// Programs that stand in a table, from its relocations (libbpf: `bpf_object__collect_st_ops_relos`).
fn local<'l>(
    references: &mut References<'l, '_>,
    btf: &Btf<'_>,
    name: &'l [u8],
    table: StructOps<'l, 'l>,
) -> Result<Local<'l>, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
    let start = usize::try_from(table.offset).ok();
    let end = start.and_then(|start| start.checked_add(usize::try_from(table.size).ok()?));
    let data = start.zip(end).and_then(|(start, end)| table.section.bytes.get(start..end));
    let data = data.ok_or_else(|| fail("it reaches past its section".into()))?.to_vec();
    let ty = btf.ty(table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
    let mut programs = BTreeMap::new();
    let (relocs, functions) = references.of_table(table)?;
    let mut members = HashMap::new();
    for member in ty.members().filter(|_| !relocs.is_empty()) {
        members.entry(u64::from(member.bit_offset.0)).or_insert(member);
    }
    for reloc in relocs {
        let within = reloc.offset.checked_sub(table.offset.into());
        let within = within.invariant("a table's relocations lie within the table")?;
        let member = within.checked_mul(8).and_then(|bits| members.get(&bits));
        let member = member
            .ok_or_else(|| fail(format!("byte {within} refers to a function, and no member is there")))?;
        let symbol = text(reloc.symbol.name);
        if !is_function_pointer(btf, member.ty) {
            return Err(fail(format!(
                "member `{}` refers to `{symbol}`, but is no pointer to a function",
                member.name
            )));
        }
        let SymbolLocation::Section(section) = reloc.symbol.location else {
            return Err(fail(format!(
                "member `{}` refers to `{symbol}`, which is not defined here",
                member.name
            )));
        };
        let program = functions.get(&(section, reloc.symbol.value)).copied().ok_or_else(|| {
            fail(format!(
                "member `{}` refers to `{symbol}`, which is no program of a section `struct_ops`",
                member.name
            ))
        })?;
        programs.insert(member.index, program);
    }
    Ok(Local { name, table, data, programs })
}

/// Programs by section and byte.
type Functions = HashMap<(SectionIndex, u64), ProgramIndex>;

/// The relocations of struct_ops sections, read once for each section.
struct References<'o, 'd> {
    object: &'o Object<'d>,
    /// Relocations of a section, by place.
    sections: HashMap<SectionIndex, Vec<Reloc<'d>>>,
    /// Programs of sections `struct_ops`.
    programs: Functions,
}

impl<'o, 'd> References<'o, 'd> {
    fn new(object: &'o Object<'d>) -> Self {
        let programs = ProgramIndex::enumerate(object.programs()).filter(|(_, p)| is_struct_ops(p));
        // A function lies within its section, whose size fits 32 bits.
        let place = |p: &Program<'_>| (p.section_index, u64::from(p.start.0).saturating_mul(8));
        let programs = programs.map(|(at, p)| (place(p), at)).collect();
        Self { object, sections: HashMap::new(), programs }
    }

    /// Returns the relocations of a table, in order of their offsets, and the programs they may refer to.
    fn of_table(&mut self, table: StructOps<'_, '_>) -> Result<(&[Reloc<'d>], &Functions), LoadPlanError> {
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

fn is_struct_ops(program: &Program<'_>) -> bool {
    program.sec_def().is_some_and(|d| d.program_type == ProgramType::StructOps)
}

fn is_function_pointer(btf: &Btf<'_>, id: TypeId) -> bool {
    let pointer = btf.strip(id).ok().filter(|t| t.kind() == Kind::Ptr);
    let to = pointer.and_then(Type::target).and_then(|to| btf.strip(to).ok());
    to.is_some_and(|t| t.kind() == Kind::FuncProto)
}

/// Matches a table with the kernel's struct.
fn matched<'l>(
    btf: &'l Btf<'_>,
    local: &Local<'_>,
    structs: &mut KernelStructs<'_, 'l>,
    modules: &mut Modules,
    slots: &mut HashMap<ProgramIndex, Slot>,
) -> Result<Table, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: text(local.name), what: what.into() };
    let ty = btf.ty(local.table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
    let kernel = structs.find(local.name, ty.name().essential(), modules)?;
    let mut table = Table {
        value_type: kernel.value.id(),
        value_size: kernel.value.size_or_type(),
        module: kernel.module,
        value: structs.value(local.name, &kernel)?,
        programs: Vec::new(),
    };
    let data_offset = byte(&kernel.data);
    for member in ty.members() {
        let m = MemberPair { btf, kernel: &kernel, member, map: local.name };
        let program = local.programs.get(&member.index).copied();
        match m.place(&local.data, program.is_some())? {
            // Zero, and unknown to the kernel.
            None => {}
            Some((from, to, size)) if m.is_pointer()? => {
                let Some(program) = program else {
                    let bytes = range(&local.data, from, size);
                    let bytes = bytes.invariant("a member lies within its table")?;
                    if bytes.iter().any(|b| *b != 0) {
                        return Err(m.fail("it is a pointer that is not 0, and no program stands there"));
                    }
                    continue;
                };
                m.must_be_function(&to)?;
                let slot = Slot { ty: kernel.inner.id(), member: to.index, module: kernel.module };
                if *slots.entry(program).or_insert(slot) != slot {
                    return Err(m.fail("its program stands in two tables at different places"));
                }
                let offset = data_offset.checked_add(byte(&to));
                let offset = offset.ok_or_else(|| m.fail("the kernel's member lies past the struct"))?;
                table.programs.push(ProgramSlot { offset, program });
            }
            Some((from, to, size)) => {
                let start = data_offset.checked_add(byte(&to));
                let end = start.and_then(|start| start.checked_add(size));
                let room = start.zip(end).and_then(|(start, end)| table.value.get_mut(start..end));
                match (room, range(&local.data, from, size)) {
                    (Some(room), Some(bytes)) => room.copy_from_slice(bytes),
                    _ => return Err(m.fail("it reaches past the struct")),
                }
            }
        }
    }
    Ok(table)
}

/// Returns the offset of a member, in bytes. Hosts have at least 32 bits.
fn byte(member: &Member<'_>) -> usize {
    usize::try_from(member.bit_offset.0 / 8).unwrap_or(usize::MAX)
}

/// Returns `size` bytes from an offset on.
fn range(bytes: &[u8], start: usize, size: usize) -> Option<&[u8]> {
    bytes.get(start..start.checked_add(size)?)
}

/// A member of the object's struct beside the kernel's struct.
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

    /// Where the member's bytes are, the kernel's member of the name, and the size of both; none if the kernel has none and
    /// nothing is in it here.
    fn place(
        &self,
        data: &[u8],
        has_program: bool,
    ) -> Result<Option<(usize, Member<'m>, usize)>, LoadPlanError> {
        let size = self.btf.size_of(self.member.ty).map_err(|e| self.fail(e))?;
        let size = usize::try_from(size.0).invariant("hosts have addresses of at least 32 bits")?;
        let from = byte(&self.member);
        let bytes = range(data, from, size).ok_or_else(|| self.fail("it reaches past the struct"))?;
        let Some(to) = self.kernel.members.get(self.member.name.as_bytes()).copied() else {
            if has_program || bytes.iter().any(|b| *b != 0) {
                let of = Name::new(self.kernel.inner.name().as_bytes());
                return Err(self.fail(format_args!(
                    "the kernel's struct {of} has no such member, and it is not 0 here"
                )));
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
                "it is {} here, {} in the kernel",
                local.kind(),
                target.kind()
            )));
        }
        if local.kind() != Kind::Ptr {
            let there = self.kernel.btf().size_of(to.ty).map_err(|e| self.fail(e))?;
            if usize::try_from(there.0) != Ok(size) {
                return Err(self.fail(format_args!("it has {size} bytes here, {there} in the kernel")));
            }
        }
        Ok(Some((from, to, size)))
    }

    fn is_pointer(&self) -> Result<bool, LoadPlanError> {
        Ok(self.btf.strip(self.member.ty).map_err(|e| self.fail(e))?.kind() == Kind::Ptr)
    }

    fn must_be_function(&self, to: &Member<'_>) -> Result<(), LoadPlanError> {
        if is_function_pointer(self.kernel.btf(), to.ty) {
            Ok(())
        } else {
            Err(self.fail("the kernel's is no pointer to a function"))
        }
    }
}
