//! Plans the programs of a load.

use super::{
    LoadPlanError, arg_ctx,
    attach_target::{self, AttachPlan},
    ksyms::{Modules, ResolvedExtern},
    map_plan::{MapPlan, MapRole},
    settings::ProgramSettings,
    struct_ops::StructOpsTables,
    target_kernel::TargetKernel,
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

/// The index of the kernel's own BTF in the `fd_array`.
const KERNEL_BTF: i16 = 0;
/// `BPF_F_SLEEPABLE`.
const SLEEPABLE: u32 = 1 << 4;
/// `BPF_F_XDP_HAS_FRAGS`.
const XDP_FRAGS: u32 = 1 << 5;

/// Values of an instruction's source register (`BPF_PSEUDO_*`). They give the meaning of the immediate of a 64-bit load.
mod pseudo {
    pub(super) const MAP_FD: u8 = 1;
    pub(super) const MAP_VALUE: u8 = 2;
    pub(super) const BTF_ID: u8 = 3;
    /// The source register of a call.
    pub(super) const KFUNC_CALL: u8 = 2;
}

/// The first helper number for poisoned references to maps (libbpf: `POISON_LDIMM64_MAP_BASE`).
///
/// A reference to map `n` that is not created becomes a call of helper `POISON_MAP + n`. No kernel has such a helper.
pub const POISON_MAP: i32 = 2_001_000_000;
/// The first helper number for poisoned calls of kfuncs (libbpf: `POISON_CALL_KFUNC_BASE`).
///
/// A call of extern `n`, a kfunc that the kernel lacks, becomes a call of helper `POISON_KFUNC + n`. No kernel has such a helper.
pub const POISON_KFUNC: i32 = 2_002_000_000;

/// The plan of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProgramPlan {
    /// The program's function in the object.
    pub function: ProgramIndex,
    /// The name of the program.
    pub name: String,
    /// The name in the kernel, which keeps the first 15 bytes.
    pub kernel_name: Vec<u8>,
    /// The name of the program's section, without `?`.
    pub section: String,
    /// The definition that the section name matches. `None` for an unknown section name, and if the settings have another program
    /// type.
    pub sec_def: Option<&'static SecDef>,
    /// The program type.
    pub program_type: ProgramType,
    /// The kernel's number of the expected attach type. For a struct_ops program this is the index of the member.
    pub attach_type: u32,
    /// `BPF_F_*` flags.
    pub flags: u32,
    /// The network device that the program is offloaded or bound to, 0 for none.
    pub ifindex: u32,
    /// The instructions, in the machine's byte order. The fields that [`fixups`](Self::fixups) fills are 0.
    pub insns: Vec<u8>,
    /// The instructions that need a descriptor.
    pub fixups: Vec<Fixup>,
    /// The records of `struct bpf_func_info`.
    pub func_info: Vec<u8>,
    /// The records of `struct bpf_line_info`.
    pub line_info: Vec<u8>,
    /// The attach target.
    pub attach: AttachPlan,
    /// Whether attaching all programs also attaches this program.
    pub autoattach: bool,
    /// The verifier's log level.
    pub log_level: u32,
    /// The functions that the instructions are from, in order.
    pub functions: Vec<FunctionCopy>,
}

/// An instruction into which the loader writes a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixup {
    /// The index of the instruction in the program.
    pub insn: u32,
    /// The object that the descriptor refers to.
    pub target: FixupTarget,
}

/// The object that the descriptor in an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum FixupTarget {
    /// A map of the plan. The descriptor is in the first half of a 64-bit load.
    Map(MapIndex),
    /// A module's BTF. The descriptor is in the second half of a 64-bit load.
    Module(ModuleIndex),
}

/// The planner of an object's programs.
pub(super) struct ProgramPlanner<'p, 'o, 'd> {
    pub(super) object: &'o Object<'d>,
    pub(super) parts: &'p ProgramLinker<'o, 'd>,
    pub(super) kernel: &'p TargetKernel,
    pub(super) externs: &'p [ResolvedExtern],
    pub(super) struct_ops: &'p StructOpsTables,
    pub(super) log_level: u32,
    /// The modules whose kfuncs are called, see [`LoadPlan::fd_array`](super::LoadPlan::fd_array).
    pub(super) fd_array: Vec<ModuleIndex>,
    /// The section of jump targets.
    pub(super) jump_targets: Option<&'o DataSection<'d>>,
    /// The maps of jump tables, by program, offset in the section, and size in bytes.
    pub(super) jump_tables: HashMap<(ProgramIndex, u64, u64), MapIndex>,
    /// The size of all maps of jump tables in bytes.
    pub(super) jump_bytes: u64,
    /// The tags `arg:ctx` in the object's BTF.
    pub(super) context_tags: arg_ctx::ContextTags,
}

impl ProgramPlanner<'_, '_, '_> {
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
        let ty = self.resolve_type(program, function, settings)?;
        let attach = self.find_attach_target(program, function, settings, &ty, modules)?;
        let callbacks = self.kernel.features.has(Feature::BtfDeclTag);
        let mut linked = self.parts.link(code, function, callbacks)?;
        let fixups = self.resolve_refs(function, &mut linked, maps)?;
        self.replace_probe_read_helpers(&mut linked.insns);
        if let (Some(btf), Some(edit), false) =
            (self.object.btf(), edit.as_mut(), self.kernel.features.has(Feature::ArgCtxTag))
        {
            let func_info = &mut linked.func_info;
            arg_ctx::fix_func_info(btf, edit, &self.context_tags, ty.program_type, func_info)?;
        }
        let has_func_info = self.kernel.features.has(Feature::BtfFunc);
        let name = key(program.name());
        Ok(ProgramPlan {
            function,
            kernel_name: if self.kernel.features.has(Feature::Names) {
                program.name().to_vec()
            } else {
                Vec::new()
            },
            name,
            section: key(program.section_name()),
            sec_def: ty.sec_def,
            program_type: ty.program_type,
            attach_type: ty.attach_type_number,
            flags: ty.flags | settings.flags,
            ifindex: settings.ifindex,
            insns: linked.insns.iter().flat_map(|i| i.encode(Endian::native())).collect(),
            fixups,
            func_info: if has_func_info { encode_records(&linked.func_info) } else { Vec::new() },
            line_info: if has_func_info { encode_records(&linked.line_info) } else { Vec::new() },
            attach,
            autoattach: settings.autoattach.unwrap_or(true),
            log_level: settings.log_level.unwrap_or(self.log_level),
            functions: linked.functions,
        })
    }

    /// Returns the type, the attach type and the flags of a program (libbpf: `bpf_object_init_progs`, `libbpf_prepare_prog_load`).
    fn resolve_type(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
    ) -> Result<ResolvedType, LoadPlanError> {
        let fail = |what: String| LoadPlanError::Program { program: text(program.name()), what: what.into() };
        // A section's definition is only valid for its own program type (libbpf: `bpf_program__set_type`).
        let is_valid = |d: &&SecDef| settings.program_type.is_none_or(|ty| ty == d.program_type);
        let sec_def = program.sec_def().filter(is_valid);
        let program_type = settings.program_type.or(sec_def.map(|d| d.program_type)).ok_or_else(|| {
            let section = text(program.section);
            fail(format!("section `{section}` has no known program type: set the type before loading, or name the section SEC(\"kprobe/…\"), SEC(\"xdp\") or the like"))
        })?;
        let mut attach_type = settings.attach_type.or(sec_def.and_then(|d| d.attach_type));
        let mut flags = 0;
        if let Some(sec_def) = sec_def {
            let is_optional = sec_def.flags.attach_type_is_optional();
            if is_optional && !self.kernel.features.has(Feature::ExpectedAttachType) {
                attach_type = None;
            }
            if sec_def.flags.is_sleepable() {
                flags |= SLEEPABLE;
            }
            if sec_def.flags.has_xdp_frags() && program_type == ProgramType::Xdp {
                flags |= XDP_FRAGS;
            }
            if sec_def.flags.is_usdt() && self.kernel.features.has(Feature::UprobeMulti) {
                attach_type = Some(AttachType::TraceUprobeMulti);
            }
        }
        let slot = self.struct_ops.slots.get(&function);
        if program_type == ProgramType::StructOps && slot.is_none() {
            return Err(fail("no struct_ops map that is created refers to it".into()));
        }
        if program_type != ProgramType::StructOps && slot.is_some() {
            return Err(fail("a struct_ops map refers to it, but its type is not struct_ops".into()));
        }
        let attach_type_number = match slot {
            Some(slot) => slot.member,
            None => attach_type.map_or(0, AttachType::number),
        };
        Ok(ResolvedType { sec_def, program_type, attach_type, attach_type_number, flags })
    }

    /// Finds the attach target of a program, if the program needs a target.
    fn find_attach_target(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
        ty: &ResolvedType,
        modules: &mut Modules,
    ) -> Result<AttachPlan, LoadPlanError> {
        if let Some(slot) = self.struct_ops.slots.get(&function) {
            return Ok(AttachPlan { type_id: Some(slot.ty), module: slot.module, program: None });
        }
        let needs_target = ty.sec_def.is_some_and(|d| d.flags.needs_attach_btf());
        if !needs_target && settings.attach_to.is_none() {
            return Ok(AttachPlan::default());
        }
        let target = SecDef::target(program.section_name());
        let types = (ty.program_type, ty.attach_type);
        attach_target::find(program.name(), types, target, settings.attach_to.as_ref(), self.kernel, modules)
    }

    /// Resolves the references of a program, and returns the instructions that need a descriptor (libbpf:
    /// `bpf_object__relocate_data`).
    fn resolve_refs(
        &mut self,
        function: ProgramIndex,
        linked: &mut LinkedProgram,
        maps: &mut Vec<MapPlan>,
    ) -> Result<Vec<Fixup>, LoadPlanError> {
        let mut fixups = Vec::new();
        let refs = core::mem::take(&mut linked.refs);
        for (insn, reference) in refs {
            let mut fix = |target| fixups.push(Fixup { insn, target });
            let table = match reference {
                RefTarget::JumpTable { offset, size } => {
                    Some(self.jump_table(function, linked, insn, (offset, size), maps)?)
                }
                _ => None,
            };
            let slot = usize::try_from(insn).ok().and_then(|at| linked.insns.get_mut(at..));
            let slot = slot.filter(|slot| !slot.is_empty());
            let slot = slot.invariant("a reference is at an instruction of the program")?;
            match reference {
                RefTarget::Function { .. } => {}
                RefTarget::Map(map) if is_created(maps, map) => {
                    set_load(slot, pseudo::MAP_FD, 0, None);
                    fix(FixupTarget::Map(map));
                }
                RefTarget::Data { map, offset } if is_created(maps, map) => {
                    let addend = slot.first().invariant("a reference has an instruction")?.imm;
                    // The offset is an unsigned number of 32 bits: in an arena it can exceed `i32::MAX`.
                    let offset = low32(offset).wrapping_add(low32(data_offset(maps, map)?));
                    set_load(slot, pseudo::MAP_VALUE, 0, Some(addend.wrapping_add(offset)));
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
                    if let Some(target) = self.resolve_extern(n, slot, is_load, maps)? {
                        fix(target);
                    }
                }
            }
        }
        Ok(fixups)
    }

    /// Resolves a reference to an extern: a 64-bit load of its address or value, or a call. Returns the target of the descriptor,
    /// if the instruction needs a descriptor.
    fn resolve_extern(
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
            (true, _, ResolvedExtern::Typed { id, module }) => {
                set_load(slot, pseudo::BTF_ID, id.0.cast_signed(), Some(0));
                module.map(FixupTarget::Module)
            }
            (true, _, ResolvedExtern::Address(address)) => {
                let source = slot.first().invariant("a reference has an instruction")?.src;
                set_load(slot, source, low32(address), Some(low32(address >> 32)));
                None
            }
            (true, _, ResolvedExtern::Missing | ResolvedExtern::Incompatible) => {
                let source = slot.first().invariant("a reference has an instruction")?.src;
                set_load(slot, source, 0, Some(0));
                None
            }
            (false, _, ResolvedExtern::Typed { id, module }) => {
                let fd_index = match module {
                    Some(module) => self.fd_array_index(module)?,
                    None => KERNEL_BTF,
                };
                if let Some(call) = slot.first_mut() {
                    call.src = pseudo::KFUNC_CALL;
                    call.imm = id.0.cast_signed();
                    call.off = fd_index;
                }
                None
            }
            (false, ..) => {
                poison(slot.get_mut(..1), poison_number(POISON_KFUNC, n.0));
                None
            }
        })
    }

    /// Returns a module's index in the kernel's `fd_array`, in which 0 is the kernel's own BTF. Adds the module on the first call.
    fn fd_array_index(&mut self, module: ModuleIndex) -> Result<i16, LoadPlanError> {
        let known = self.fd_array.iter().position(|m| *m == module);
        let position = known.unwrap_or(self.fd_array.len());
        if known.is_none() {
            self.fd_array.push(module);
        }
        let index = position.checked_add(1).and_then(|index| i16::try_from(index).ok());
        index.ok_or(LoadPlanError::TooManyModules { limit: i16::MAX })
    }

    /// Returns the map of a program's jump table, and plans the map on the first call (libbpf: `create_jt_map`). The map's targets
    /// are instruction offsets from the program's start.
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
        let past_end = || fail("a table extends past the end of the section");
        let (start, end) = (offset, offset.checked_add(size).ok_or_else(past_end)?);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let raw = range.and_then(|(start, end)| section.bytes.get(start..end));
        let raw = raw.ok_or_else(past_end)?;
        if !offset.is_multiple_of(8) || !size.is_multiple_of(8) || size == 0 {
            return Err(fail("a table is empty, or does not begin and end at a multiple of 8 bytes"));
        }
        let total = size.checked_mul(2).and_then(|bytes| self.jump_bytes.checked_add(bytes));
        let total = total.filter(|total| *total <= limits::DATA_BYTES);
        self.jump_bytes = total.ok_or_else(|| fail("the tables of all programs together are too large"))?;
        let after = linked.functions.partition_point(|p| p.start <= insn);
        let piece = after.checked_sub(1).and_then(|at| linked.functions.get(at));
        let piece = piece.and_then(|p| Some((p.start, self.object.programs().get(p.function.0)?)));
        let (piece_start, code) =
            piece.ok_or_else(|| fail("the instruction that refers to a table is in no function"))?;
        let mut data = Vec::new();
        for chunk in raw.chunks_exact(8) {
            let byte = self.object.endian().u64(chunk, 0).invariant("a chunk of 8 bytes holds a number")?;
            let within = (byte / 8).checked_sub(code.start().0.into());
            let target = within.and_then(|w| u32::try_from(w.checked_add(piece_start.into())?).ok());
            let target = target.ok_or_else(|| fail("a target lies outside of its function"))?;
            // struct bpf_insn_array_value: the target's offset, then fields that the verifier fills.
            for word in [target, 0, 0, 0] {
                Endian::native().put_u32(&mut data, word);
            }
        }
        let map = MapIndex(maps.len());
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
        self.jump_tables.insert((function, offset, size), map);
        Ok(map)
    }

    /// Replaces calls of `bpf_probe_read_{kernel,user}{,_str}` by `bpf_probe_read{,_str}` for kernels that lack these helpers
    /// (libbpf: `bpf_object__sanitize_prog`).
    fn replace_probe_read_helpers(&self, insns: &mut [Insn]) {
        const PROBE_READ: i32 = 4;
        const PROBE_READ_STR: i32 = 45;
        let is_helper = |i: &Insn| i.code == 0x85 && i.src == 0 && i.dst == 0 && matches!(i.imm, 112..=115);
        if !insns.iter().any(is_helper) || self.kernel.features.has(Feature::ProbeReadKernel) {
            return;
        }
        for insn in insns.iter_mut().filter(|i| is_helper(i)) {
            insn.imm = if matches!(insn.imm, 112 | 113) { PROBE_READ } else { PROBE_READ_STR };
        }
    }
}

/// The type of a program, from its section name and its settings.
struct ResolvedType {
    sec_def: Option<&'static SecDef>,
    program_type: ProgramType,
    attach_type: Option<AttachType>,
    /// See [`ProgramPlan::attach_type`].
    attach_type_number: u32,
    /// The `BPF_F_*` flags of the section name.
    flags: u32,
}

/// Returns whether a map of the plan is created.
fn is_created(maps: &[MapPlan], map: MapIndex) -> bool {
    maps.get(map.0).is_some_and(|m| m.autocreate)
}

/// Returns the offset of a map's variables in the map's memory, in bytes.
fn data_offset(maps: &[MapPlan], map: MapIndex) -> Result<u64, InternalError> {
    maps.get(map.0).map(|m| m.data_offset).invariant("a reference is to a planned map")
}

/// Sets the source register and the immediates of a 64-bit load. `None` leaves the second immediate.
fn set_load(slot: &mut [Insn], source: u8, first: i32, second: Option<i32>) {
    if let [a, b, ..] = slot {
        (a.src, a.imm) = (source, first);
        b.imm = second.unwrap_or(b.imm);
    }
}

/// Poisons instructions: each becomes a call of a helper that no kernel has. The verifier accepts unreachable poisoned instructions.
fn poison(slots: Option<&mut [Insn]>, imm: i32) {
    for insn in slots.into_iter().flatten() {
        *insn = Insn { code: 0x85, dst: 0, src: 0, off: 0, imm };
    }
}

/// Returns the helper number of the poisoned item `n`. All items above the last number share that number.
fn poison_number(base: i32, n: usize) -> i32 {
    const LAST: i32 = 999_999;
    // The bases are far below `i32::MAX`: nothing saturates.
    base.saturating_add(i32::try_from(n).map_or(LAST, |n| n.min(LAST)))
}

/// Returns the low 32 bits.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the upper half is dropped on purpose"
)]
const fn low32(v: u64) -> i32 {
    (v as u32).cast_signed()
}

/// Encodes records of words in the machine's byte order.
fn encode_records<const N: usize>(records: &[[u32; N]]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in records.iter().flatten() {
        Endian::native().put_u32(&mut out, *word);
    }
    out
}
