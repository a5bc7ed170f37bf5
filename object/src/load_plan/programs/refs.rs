//! Resolves the references of linked programs to maps, externs and jump tables (libbpf:
//! `bpf_object__relocate_data`).

use super::{
    jump_tables::{JumpTable, JumpTables},
    plan::{Fixup, FixupTarget},
    poison::{kfunc_poison, map_poison},
};
use crate::{
    elf::{key, text},
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    link::{
        LinkedProgram, ProgramLinker,
        externs::{ExternBinding, ExternEntry},
        refs::RefTarget,
    },
    load_plan::{
        error::LoadPlanError,
        externs::ResolvedExtern,
        late_binding::{KernelSymbol, KernelSymbolKind, SymbolRef},
        maps::MapPlan,
    },
    object::Object,
};
use core_relo::{
    Name,
    insn::{Insn, LD_IMM64, pseudo},
};

/// The index of the kernel's own BTF in the `fd_array`.
const KERNEL_BTF: i16 = 0;

/// The resolver of all references of an object.
pub(super) struct RefResolver<'p, 'o, 'd> {
    object: &'o Object<'d>,
    linker: &'p ProgramLinker<'o, 'd>,
    externs: &'p [ResolvedExtern],
    /// The modules whose kfuncs are called, see [`LoadPlan::fd_array`](crate::load_plan::LoadPlan::fd_array).
    fd_array: Vec<ModuleIndex>,
    jump_tables: JumpTables<'o, 'd>,
    /// The references of the current program to symbols that the kernel finds by name.
    symbol_refs: Vec<SymbolRef>,
}

impl<'p, 'o, 'd> RefResolver<'p, 'o, 'd> {
    pub(super) fn new(
        object: &'o Object<'d>,
        linker: &'p ProgramLinker<'o, 'd>,
        externs: &'p [ResolvedExtern],
    ) -> Self {
        Self {
            object,
            linker,
            externs,
            fd_array: Vec::new(),
            jump_tables: JumpTables::new(object),
            symbol_refs: Vec::new(),
        }
    }

    /// Returns the modules whose kfuncs are called.
    pub(super) fn into_fd_array(self) -> Vec<ModuleIndex> {
        self.fd_array
    }

    /// Returns the references to symbols that the kernel finds by name, of the program that was resolved
    /// last.
    pub(super) fn take_symbol_refs(&mut self) -> Vec<SymbolRef> {
        core::mem::take(&mut self.symbol_refs)
    }

    /// Resolves the references of a program. Returns the instructions that need a descriptor. Appends the
    /// maps of the program's jump tables to `maps`.
    pub(super) fn resolve(
        &mut self,
        program: ProgramIndex,
        linked: &mut LinkedProgram,
        maps: &mut Vec<MapPlan>,
    ) -> Result<Vec<Fixup>, LoadPlanError> {
        let mut fixups = Vec::new();
        for (insn, reference) in core::mem::take(&mut linked.refs) {
            let target = match reference {
                // The linker has resolved references to functions.
                RefTarget::Function { .. } => None,
                RefTarget::JumpTable { offset, size } => {
                    let table = JumpTable { program, offset, size };
                    let map = self.jump_tables.find_or_plan(table, linked, insn, maps)?;
                    let (first, _) = self.load_halves(program, linked, insn)?;
                    (first.src, first.imm, first.off) = (pseudo::MAP_VALUE, 0, 0);
                    Some(FixupTarget::Map(map))
                }
                RefTarget::Map(map) => {
                    let (first, second) = self.load_halves(program, linked, insn)?;
                    if planned_map(maps, map)?.autocreate() {
                        (first.src, first.imm) = (pseudo::MAP_FD, 0);
                        Some(FixupTarget::Map(map))
                    } else {
                        let poison = map_poison(map)?;
                        (*first, *second) = (poison, poison);
                        None
                    }
                }
                RefTarget::Data { map, offset } => {
                    let halves = self.load_halves(program, linked, insn)?;
                    let addend = halves.0.imm;
                    load_value(halves, maps, map, low32(offset).wrapping_add(addend))?
                }
                RefTarget::Extern(index) => self.resolve_extern(index, program, linked, insn, maps)?,
            };
            fixups.extend(target.map(|target| Fixup::new(insn, target)));
        }
        Ok(fixups)
    }

    /// Resolves a reference to an extern: a 64-bit load of its address or value, or a call. Returns the
    /// target of the descriptor, if the instruction needs a descriptor.
    fn resolve_extern(
        &mut self,
        index: ExternIndex,
        program: ProgramIndex,
        linked: &mut LinkedProgram,
        insn: u32,
        maps: &[MapPlan],
    ) -> Result<Option<FixupTarget>, LoadPlanError> {
        let entry = self.linker.externs.get(index.0).invariant("a reference is to a known extern")?;
        let resolved = *self.externs.get(index.0).invariant("each extern is resolved")?;
        if resolved == ResolvedExtern::Late {
            return self.leave_to_kernel(index, entry, program, linked, insn);
        }
        let first = insn_at(linked, insn)?;
        if first.code != LD_IMM64 {
            *first = match resolved {
                ResolvedExtern::Typed { id, module } => {
                    let fd_index = module.map_or(Ok(KERNEL_BTF), |module| self.fd_array_index(module))?;
                    Insn { src: pseudo::KFUNC_CALL, imm: id.0.cast_signed(), off: fd_index, ..*first }
                }
                _ => kfunc_poison(index)?,
            };
            return Ok(None);
        }
        let halves = self.load_halves(program, linked, insn)?;
        if let ExternBinding::Config(config) = entry.binding {
            let map = self.linker.maps.kconfig.invariant("configuration values have a map")?;
            return Ok(load_value(halves, maps, map, low32(config.offset.into()))?);
        }
        let (first, second) = halves;
        match resolved {
            ResolvedExtern::Typed { id, module } => {
                (first.src, first.imm, second.imm) = (pseudo::BTF_ID, id.0.cast_signed(), 0);
                return Ok(module.map(FixupTarget::Module));
            }
            ResolvedExtern::Address(address) => {
                (first.imm, second.imm) = (low32(address), low32(address >> 32));
            }
            ResolvedExtern::Missing | ResolvedExtern::Incompatible | ResolvedExtern::Late => {
                (first.imm, second.imm) = (0, 0);
            }
        }
        Ok(None)
    }

    /// Leaves a reference to the kernel, which finds the symbol by name when a loader program is executed.
    /// The instruction is that of a weak extern that the kernel lacks.
    fn leave_to_kernel(
        &mut self,
        index: ExternIndex,
        entry: &ExternEntry<'_>,
        program: ProgramIndex,
        linked: &mut LinkedProgram,
        insn: u32,
    ) -> Result<Option<FixupTarget>, LoadPlanError> {
        let (name, kind) = match entry.binding {
            ExternBinding::Function(_) => {
                (Name::new(entry.name).essential().as_bytes(), KernelSymbolKind::Function)
            }
            ExternBinding::Variable(_) => (entry.name, KernelSymbolKind::Variable),
            ExternBinding::Address | ExternBinding::Config(_) => (entry.name, KernelSymbolKind::Address),
        };
        let first = insn_at(linked, insn)?;
        if first.code == LD_IMM64 {
            let (first, second) = self.load_halves(program, linked, insn)?;
            (first.src, first.imm, second.imm) = (0, 0, 0);
        } else {
            *first = kfunc_poison(index)?;
        }
        let symbol = KernelSymbol { name: key(name), kind, is_weak: entry.is_weak };
        self.symbol_refs.push(SymbolRef { insn, symbol });
        Ok(None)
    }

    /// Returns a module's index in the kernel's `fd_array`, in which 0 is the kernel's own BTF. Adds the
    /// module on the first call.
    fn fd_array_index(&mut self, module: ModuleIndex) -> Result<i16, LoadPlanError> {
        if !self.fd_array.contains(&module) {
            self.fd_array.push(module);
        }
        let mut indices = (1..=i16::MAX).zip(&self.fd_array);
        let index = indices.find(|(_, known)| **known == module);
        index.map(|(index, _)| index).ok_or(LoadPlanError::TooManyModules { limit: i16::MAX })
    }

    /// Returns the two instructions of a 64-bit load. In a malformed object the second instruction may be
    /// missing.
    fn load_halves<'l>(
        &self,
        program: ProgramIndex,
        linked: &'l mut LinkedProgram,
        insn: u32,
    ) -> Result<(&'l mut Insn, &'l mut Insn), LoadPlanError> {
        let start = usize::try_from(insn).ok();
        match start.and_then(|start| linked.insns.get_mut(start..)) {
            Some([first, second, ..]) => Ok((first, second)),
            Some([_first]) => {
                let program = self.object.programs().get(program.0);
                let program = program.invariant("a selected program is one of the object's")?;
                let what = format!("insn {insn} is a 64-bit load without its second half").into();
                Err(LoadPlanError::Program { program: text(program.name()), what })
            }
            _ => Err(InternalError::new("a reference is at an instruction of the program").into()),
        }
    }
}

/// Returns an instruction of a program.
fn insn_at(linked: &mut LinkedProgram, insn: u32) -> Result<&mut Insn, InternalError> {
    let insn = usize::try_from(insn).ok().and_then(|insn| linked.insns.get_mut(insn));
    insn.invariant("a reference is at an instruction of the program")
}

/// Changes a 64-bit load to load the address of a byte of a map's value, or poisons the load if the map is
/// not created. Returns the target of the descriptor, if the load needs a descriptor.
fn load_value(
    (first, second): (&mut Insn, &mut Insn),
    maps: &[MapPlan],
    map: MapIndex,
    offset: i32,
) -> Result<Option<FixupTarget>, InternalError> {
    let plan = planned_map(maps, map)?;
    if !plan.autocreate() {
        let poison = map_poison(map)?;
        (*first, *second) = (poison, poison);
        return Ok(None);
    }
    (first.src, first.imm) = (pseudo::MAP_VALUE, 0);
    // The offset is an unsigned number of 32 bits: in an arena it can exceed `i32::MAX`.
    second.imm = low32(plan.data_offset()).wrapping_add(offset);
    Ok(Some(FixupTarget::Map(map)))
}

/// Returns the plan of a map that an instruction refers to.
fn planned_map(maps: &[MapPlan], map: MapIndex) -> Result<&MapPlan, InternalError> {
    maps.get(map.0).invariant("a reference is to a planned map")
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
