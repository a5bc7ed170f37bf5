//! Plans the programs of a load.

use super::{
    LoadPlanError, arg_ctx,
    attach_target::{self, AttachPlan},
    host::Host,
    ksyms::{Modules, Resolved},
    map_plan::{MapPlan, MapRole},
    settings::ProgramSettings,
    struct_ops::Tables,
};
use crate::{
    elf::{key, text},
    features::Feature,
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    limits,
    link::{FunctionCopy, LinkedProgram, ProgramLinker, externs::ExternBinding, refs::RefTarget},
    object::{AttachType, DataSection, MapType, Object, Program, ProgramType, SecDef},
};
use core_relo::{
    Endian,
    btf::Editor,
    insn::{Insn, LD_IMM64},
};
use std::collections::HashMap;

/// The index of the kernel's own BTF in the array of descriptors.
const KERNEL_BTF: i16 = 0;
/// `BPF_F_SLEEPABLE`.
const SLEEPABLE: u32 = 1 << 4;
/// `BPF_F_XDP_HAS_FRAGS`.
const XDP_FRAGS: u32 = 1 << 5;

/// Values of a 64-bit load's source register, which give the meaning of its immediate.
mod pseudo {
    pub(super) const MAP_FD: u8 = 1;
    pub(super) const MAP_VALUE: u8 = 2;
    pub(super) const BTF_ID: u8 = 3;
    /// Of a call.
    pub(super) const KFUNC_CALL: u8 = 2;
}

/// The helper number of the call that replaces a load of map 0, if the map is not created; map 1 has the next number, and so on.
///
/// No kernel has such helpers (libbpf: `POISON_LDIMM64_MAP_BASE`).
pub const POISON_MAP: i32 = 2_001_000_000;
/// The helper number of the call that replaces a call of extern 0, a kfunc that the kernel lacks; extern 1 has the next number.
///
/// No kernel has such helpers (libbpf: `POISON_CALL_KFUNC_BASE`).
pub const POISON_KFUNC: i32 = 2_002_000_000;

/// The plan of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProgramPlan {
    /// The program's function in the object.
    pub function: ProgramIndex,
    /// The name.
    pub name: String,
    /// The name the kernel is given, of which it keeps 15 bytes.
    pub kernel_name: Vec<u8>,
    /// Its section's name, without `?`.
    pub section: String,
    /// What the section's name says; none if the program's type was set to another than that.
    pub sec_def: Option<&'static SecDef>,
    /// Its type.
    pub program_type: ProgramType,
    /// Its expected attach type, as the kernel's number; of a struct_ops program the member's number.
    pub attach_type: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// The network device it is for, 0 for none.
    pub ifindex: u32,
    /// Its instructions, in the machine's byte order; what [`fixups`](Self::fixups) names is 0.
    pub insns: Vec<u8>,
    /// Instructions that take a descriptor.
    pub fixups: Vec<Fixup>,
    /// `struct bpf_func_info`.
    pub func_info: Vec<u8>,
    /// `struct bpf_line_info`.
    pub line_info: Vec<u8>,
    /// The attach target.
    pub attach: AttachPlan,
    /// Whether it is attached with all others.
    pub autoattach: bool,
    /// The verifier's log level.
    pub log_level: u32,
    /// The functions that the instructions come from, in order.
    pub functions: Vec<FunctionCopy>,
}

/// An instruction that takes a descriptor once there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixup {
    /// The instruction.
    pub insn: u32,
    /// The owner of the descriptor.
    pub target: FixupTarget,
}

/// The owner of a descriptor that an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum FixupTarget {
    /// A map of the plan, in the first half of a 64-bit load.
    Map(MapIndex),
    /// A module's BTF, in the second half.
    Module(ModuleIndex),
}

/// Everything that programs are planned from.
pub(super) struct Planning<'p, 'o, 'd> {
    pub(super) object: &'o Object<'d>,
    pub(super) parts: &'p ProgramLinker<'o, 'd>,
    pub(super) host: &'p Host,
    pub(super) externs: &'p [Resolved],
    pub(super) struct_ops: &'p Tables,
    pub(super) log_level: u32,
    /// Places in the kernel's array of descriptors, of the modules whose functions are called; 0 is nobody's.
    pub(super) fd_array: Vec<ModuleIndex>,
    /// The section of jump targets.
    pub(super) jump_targets: Option<&'o DataSection<'d>>,
    /// Tables of jump targets that are maps already: by program, place and size.
    pub(super) jump_tables: HashMap<(ProgramIndex, u64, u64), MapIndex>,
    /// Bytes of all of them.
    pub(super) jump_bytes: u64,
    /// The tags `arg:ctx` in the object's BTF.
    pub(super) context_tags: arg_ctx::Tags,
}

impl Planning<'_, '_, '_> {
    /// Plans a program. The program's jump tables are appended to `maps`.
    pub(super) fn plan_program(
        &mut self,
        function: ProgramIndex,
        code: &[Vec<u8>],
        settings: &ProgramSettings,
        maps: &mut Vec<MapPlan>,
        modules: &mut Modules,
        edit: &mut Option<Editor>,
    ) -> Result<ProgramPlan, LoadPlanError> {
        let program = self.object.programs().get(function.0);
        let program = program.invariant("a selected program is one of the object's")?;
        let mut kind = self.kind(program, function, settings)?;
        kind.attach = self.attach(program, function, settings, &mut kind, modules)?;
        let callbacks = self.host.features.has(Feature::BtfDeclTag);
        let mut linked = self.parts.link(code, function, callbacks)?;
        let fixups = self.fill(function, &mut linked, maps)?;
        self.old_helpers(&mut linked.insns);
        if let (Some(btf), Some(edit), false) =
            (self.object.btf(), edit.as_mut(), self.host.features.has(Feature::ArgCtxTag))
        {
            arg_ctx::fix(btf, edit, &self.context_tags, kind.program_type, &mut linked.func_info);
        }
        let has_info = self.host.features.has(Feature::BtfFunc);
        let name = key(program.name);
        Ok(ProgramPlan {
            function,
            kernel_name: if self.host.features.has(Feature::Names) {
                program.name.to_vec()
            } else {
                Vec::new()
            },
            name,
            section: key(program.section_name()),
            sec_def: kind.def,
            program_type: kind.program_type,
            attach_type: kind.attach_type,
            flags: kind.flags | settings.flags,
            ifindex: settings.ifindex,
            insns: linked.insns.iter().flat_map(|i| i.encode(Endian::native())).collect(),
            fixups,
            func_info: if has_info { bytes(&linked.func_info) } else { Vec::new() },
            line_info: if has_info { bytes(&linked.line_info) } else { Vec::new() },
            attach: kind.attach,
            autoattach: settings.autoattach.unwrap_or(true),
            log_level: settings.log_level.unwrap_or(self.log_level),
            functions: linked.functions,
        })
    }

    /// Type, attach type and flags (libbpf: `bpf_object_init_progs`, `libbpf_prepare_prog_load`).
    fn kind(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
    ) -> Result<Kind, LoadPlanError> {
        let fail = |what: String| LoadPlanError::Program { program: text(program.name), what: what.into() };
        // What a section says of one type is not true of another (libbpf: `bpf_program__set_type`).
        let is_kept = |d: &&SecDef| settings.program_type.is_none_or(|set| set == d.program_type);
        let def = program.sec_def().filter(is_kept);
        let program_type = settings.program_type.or(def.map(|d| d.program_type)).ok_or_else(|| {
            let section = text(program.section);
            fail(format!("section `{section}` says no program type: give one before loading, or name the section SEC(\"kprobe/…\"), SEC(\"xdp\") or the like"))
        })?;
        let mut attach_type = settings.attach_type.or(def.and_then(|d| d.attach_type));
        let mut flags = 0;
        if let Some(def) = def {
            if def.flags.attach_type_is_optional() && !self.host.features.has(Feature::ExpectedAttachType) {
                attach_type = None;
            }
            if def.flags.is_sleepable() {
                flags |= SLEEPABLE;
            }
            if def.flags.has_xdp_frags() && program_type == ProgramType::Xdp {
                flags |= XDP_FRAGS;
            }
            if def.flags.is_usdt() && self.host.features.has(Feature::UprobeMulti) {
                attach_type = Some(AttachType::TraceUprobeMulti);
            }
        }
        let slot = self.struct_ops.slots.get(&function);
        if program_type == ProgramType::StructOps && slot.is_none() {
            return Err(fail("no struct_ops map that is created refers to it".into()));
        }
        if program_type != ProgramType::StructOps && slot.is_some() {
            return Err(fail("a struct_ops map refers to it, but its type was set to another".into()));
        }
        let number = slot.map_or_else(|| attach_type.map_or(0, AttachType::number), |slot| slot.member);
        Ok(Kind {
            def,
            program_type,
            known: attach_type,
            attach_type: number,
            flags,
            attach: AttachPlan::default(),
        })
    }

    fn attach(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
        kind: &mut Kind,
        modules: &mut Modules,
    ) -> Result<AttachPlan, LoadPlanError> {
        if let Some(slot) = self.struct_ops.slots.get(&function) {
            return Ok(AttachPlan { type_id: Some(slot.ty), module: slot.module, program: None });
        }
        let needs = kind.def.is_some_and(|d| d.flags.needs_attach_btf());
        if !needs && settings.attach_to.is_none() {
            return Ok(AttachPlan::default());
        }
        let target = SecDef::target(program.section_name());
        let types = (kind.program_type, kind.known);
        attach_target::find(program.name, types, target, settings.attach_to.as_ref(), self.host, modules)
    }

    /// Writes what references come to (libbpf: `bpf_object__relocate_data`).
    fn fill(
        &mut self,
        function: ProgramIndex,
        linked: &mut LinkedProgram,
        maps: &mut Vec<MapPlan>,
    ) -> Result<Vec<Fixup>, LoadPlanError> {
        let mut fixups = Vec::new();
        let refs = core::mem::take(&mut linked.refs);
        for (insn, found) in refs {
            let mut fix = |target| fixups.push(Fixup { insn, target });
            let table = match found {
                RefTarget::JumpTable { offset, size } => {
                    Some(self.jump_table(function, linked, insn, (offset, size), maps)?)
                }
                _ => None,
            };
            let slot = usize::try_from(insn).ok().and_then(|at| linked.insns.get_mut(at..));
            let slot = slot.filter(|slot| !slot.is_empty());
            let slot = slot.invariant("a reference is of an instruction of the program")?;
            match found {
                RefTarget::Function { .. } => {}
                RefTarget::Map(map) if is_created(maps, map) => {
                    set_load(slot, pseudo::MAP_FD, 0, None);
                    fix(FixupTarget::Map(map));
                }
                RefTarget::Data { map, offset } if is_created(maps, map) => {
                    let own = slot.first().map_or(0, |i| i.imm);
                    // The verifier takes 32 bits, whose upper half reaches into an arena.
                    let offset = low32(offset).wrapping_add(low32(data_offset(maps, map)?));
                    set_load(slot, pseudo::MAP_VALUE, 0, Some(own.wrapping_add(offset)));
                    fix(FixupTarget::Map(map));
                }
                RefTarget::Map(map) | RefTarget::Data { map, .. } => {
                    poison(slot.get_mut(..2), poison_number(POISON_MAP, map.0));
                }
                RefTarget::JumpTable { .. } => {
                    set_load(slot, pseudo::MAP_VALUE, 0, None);
                    if let Some(first) = slot.first_mut() {
                        first.off = 0;
                    }
                    fix(FixupTarget::Map(table.invariant("a jump table that is referred to is a map")?));
                }
                RefTarget::Extern(n) => {
                    let is_load = slot.first().is_some_and(|i| i.code == LD_IMM64);
                    if let Some(target) = self.extern_ref(n, slot, is_load, maps)? {
                        fix(target);
                    }
                }
            }
        }
        Ok(fixups)
    }

    fn extern_ref(
        &mut self,
        n: ExternIndex,
        slot: &mut [Insn],
        is_load: bool,
        maps: &[MapPlan],
    ) -> Result<Option<FixupTarget>, LoadPlanError> {
        let entry = self.parts.externs.get(n.0).invariant("a reference is to a known extern")?;
        let resolved = *self.externs.get(n.0).invariant("each extern is resolved")?;
        Ok(match (is_load, entry.binding, resolved) {
            (true, ExternBinding::Config(config), _) => {
                let map = self.parts.maps.kconfig.invariant("configuration values have a map")?;
                if is_created(maps, map) {
                    set_load(slot, pseudo::MAP_VALUE, 0, Some(low32(config.offset.into())));
                    return Ok(Some(FixupTarget::Map(map)));
                }
                poison(slot.get_mut(..2), poison_number(POISON_MAP, map.0));
                None
            }
            (true, _, Resolved::Typed { id, module }) => {
                set_load(slot, pseudo::BTF_ID, id.0.cast_signed(), Some(0));
                module.map(FixupTarget::Module)
            }
            (true, _, Resolved::Address(address)) => {
                let source = slot.first().map_or(0, |i| i.src);
                set_load(slot, source, low32(address), Some(low32(address >> 32)));
                None
            }
            (true, _, Resolved::Missing | Resolved::Incompatible) => {
                let source = slot.first().map_or(0, |i| i.src);
                set_load(slot, source, 0, Some(0));
                None
            }
            (false, _, Resolved::Typed { id, module }) => {
                let place = match module {
                    Some(module) => self.fd_array_index(module)?,
                    None => KERNEL_BTF,
                };
                if let Some(call) = slot.first_mut() {
                    call.src = pseudo::KFUNC_CALL;
                    call.imm = id.0.cast_signed();
                    call.off = place;
                }
                None
            }
            (false, ..) => {
                poison(slot.get_mut(..1), poison_number(POISON_KFUNC, n.0));
                None
            }
        })
    }

    /// Returns a module's index in the array of descriptors, in which 0 is the kernel's.
    fn fd_array_index(&mut self, module: ModuleIndex) -> Result<i16, LoadPlanError> {
        let known = self.fd_array.iter().position(|m| *m == module);
        let at = known.unwrap_or(self.fd_array.len());
        if known.is_none() {
            self.fd_array.push(module);
        }
        let index = at.checked_add(1).and_then(|index| i16::try_from(index).ok());
        index.ok_or(LoadPlanError::TooManyModules { limit: i16::MAX })
    }

    /// The map of a program's jump table: the targets, counted from the program's start (libbpf: `create_jt_map`).
    fn jump_table(
        &mut self,
        function: ProgramIndex,
        linked: &LinkedProgram,
        insn: u32,
        (offset, size): (u64, u64),
        maps: &mut Vec<MapPlan>,
    ) -> Result<MapIndex, LoadPlanError> {
        if let Some(known) = self.jump_tables.get(&(function, offset, size)) {
            return Ok(*known);
        }
        let fail = |what: &str| LoadPlanError::Map { map: ".jumptables".into(), what: what.into() };
        let section = self.jump_targets.ok_or_else(|| fail("the object has no such section"))?;
        let (start, end) =
            (offset, offset.checked_add(size).ok_or_else(|| fail("a table reaches past the end"))?);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let raw = range.and_then(|(start, end)| section.bytes.get(start..end));
        let raw = raw.ok_or_else(|| fail("a table reaches past the end"))?;
        if !offset.is_multiple_of(8) || !size.is_multiple_of(8) || size == 0 {
            return Err(fail("tables begin and end at multiples of 8 bytes"));
        }
        let total = size.checked_mul(2).and_then(|bytes| self.jump_bytes.checked_add(bytes));
        let total = total.filter(|total| *total <= limits::DATA_BYTES);
        self.jump_bytes = total.ok_or_else(|| fail("the tables of all programs together are too large"))?;
        let after = linked.functions.partition_point(|p| p.start <= insn);
        let piece = after.checked_sub(1).and_then(|at| linked.functions.get(at));
        let piece = piece.and_then(|p| Some((p.start, self.object.programs().get(p.function.0)?)));
        let (piece, code) = piece.ok_or_else(|| fail("its instruction belongs to no function"))?;
        let mut data = Vec::new();
        for target in raw.chunks_exact(8) {
            let byte = self.object.endian().u64(target, 0).invariant("a chunk of 8 bytes holds a number")?;
            let within = (byte / 8).checked_sub(code.start.0.into());
            let moved = within.and_then(|w| u32::try_from(w.checked_add(piece.into())?).ok());
            let moved = moved.ok_or_else(|| fail("a target lies outside of its function"))?;
            // struct bpf_insn_array_value: where the target is, then what the verifier fills in.
            for word in [moved, 0, 0, 0] {
                Endian::native().put_u32(&mut data, word);
            }
        }
        let at = MapIndex(maps.len());
        let entries =
            u32::try_from(size / 8).invariant("a table within the limit has less than 2^32 targets")?;
        maps.push(MapPlan {
            name: String::from(".jumptables"),
            kernel_name: b".jumptables".to_vec(),
            role: MapRole::JumpTable,
            map_type: MapType::InsnArray.number(),
            key_size: 4,
            value_size: 16,
            max_entries: entries,
            autocreate: true,
            data,
            ..MapPlan::default()
        });
        self.jump_tables.insert((function, offset, size), at);
        Ok(at)
    }

    /// Helpers that tell kernel memory from user memory, for kernels that do not (libbpf: `bpf_object__sanitize_prog`).
    fn old_helpers(&self, insns: &mut [Insn]) {
        const PROBE_READ: i32 = 4;
        const PROBE_READ_STR: i32 = 45;
        let is_helper = |i: &Insn| i.code == 0x85 && i.src == 0 && i.dst == 0 && matches!(i.imm, 112..=115);
        if !insns.iter().any(is_helper) || self.host.features.has(Feature::ProbeReadKernel) {
            return;
        }
        for insn in insns.iter_mut().filter(|i| is_helper(i)) {
            insn.imm = if matches!(insn.imm, 112 | 113) { PROBE_READ } else { PROBE_READ_STR };
        }
    }
}

/// The type of a program and what follows from it.
struct Kind {
    def: Option<&'static SecDef>,
    program_type: ProgramType,
    known: Option<AttachType>,
    attach_type: u32,
    flags: u32,
    attach: AttachPlan,
}

fn is_created(maps: &[MapPlan], map: MapIndex) -> bool {
    maps.get(map.0).is_some_and(|m| m.autocreate)
}

/// Returns where the variables of a map begin in the map's memory, in bytes.
fn data_offset(maps: &[MapPlan], map: MapIndex) -> Result<u64, InternalError> {
    maps.get(map.0).map(|m| m.data_offset).invariant("a reference is to a planned map")
}

/// Sets a 64-bit load's source and halves.
fn set_load(slot: &mut [Insn], source: u8, first: i32, second: Option<i32>) {
    if let [a, b, ..] = slot {
        (a.src, a.imm) = (source, first);
        b.imm = second.unwrap_or(b.imm);
    }
}

/// Makes instructions calls of a helper that no kernel has: harmless as long as nothing reaches them.
fn poison(slots: Option<&mut [Insn]>, imm: i32) {
    for insn in slots.into_iter().flatten() {
        *insn = Insn { code: 0x85, dst: 0, src: 0, off: 0, imm };
    }
}

/// Returns the number of the helper that stands for item `n`; items beyond the last number share it.
fn poison_number(base: i32, n: usize) -> i32 {
    const LAST: i32 = 999_999;
    base.saturating_add(i32::try_from(n).map_or(LAST, |n| n.min(LAST)))
}

/// Returns the low 32 bits.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the upper half is cut off on purpose"
)]
const fn low32(v: u64) -> i32 {
    (v as u32).cast_signed()
}

fn bytes<const N: usize>(records: &[[u32; N]]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in records.iter().flatten() {
        Endian::native().put_u32(&mut out, *word);
    }
    out
}
