//! Linking of programs with their subprograms.
//!
//! A linked program begins with its own function. Each function that it calls, or whose address it loads, is
//! copied once, in the order of the first reference. Calls lead to the copies. Subprograms may lie in any
//! section, and may be programs themselves. References to maps, data and externs stay unresolved, in
//! `LinkedProgram::refs`.

mod error;
mod exception;
pub(crate) mod externs;
mod held_programs;
mod info;
mod info_check;
mod info_copy;
mod info_lookup;
pub(crate) mod maps;
pub(crate) mod refs;
#[cfg(test)]
mod tests;
mod undefined;
mod undefined_check;

pub use error::LinkError;
pub use externs::{ConfigSlot, ConfigType, ExternBinding, ExternEntry};
pub use held_programs::HeldPrograms;
pub use info_check::{InfoForms, SentTypes};
pub use maps::{MapEntry, MapSource, StructOps};
pub use refs::RefTarget;
pub use undefined::{Undefined, UndefinedUse};

use crate::{
    elf::text,
    index::{MapIndex, ProgramIndex, SectionIndex, to_usize},
    internal::{InternalError, Invariant as _},
    limits,
    object::{
        Object, Program, TEXT,
        calls::{call_target, functions_starting_at},
    },
};
use core_relo::{
    Text, TypeId,
    btf::{Kind, Type},
    insn::{INSN_BYTES, Insn, LD_IMM64, opcode, pseudo},
};
use exception::ExceptionCallbacks;
use hashbrown::HashMap;
use info::InfoTable;
use info_lookup::SortedInfo;
use maps::MapTable;
use refs::RefTable;

/// A linker of an object's programs, with the tables that all programs share.
#[derive(Debug)]
pub struct ProgramLinker<'o, 'd> {
    object: &'o Object<'d>,
    pub(crate) externs: Vec<ExternEntry<'d>>,
    pub(crate) maps: MapTable<'o, 'd>,
    refs: RefTable,
    func_info: InfoTable<1>,
    line_info: InfoTable<3>,
    callbacks: ExceptionCallbacks<'o>,
    /// The DATASECs of the object's BTF.
    pub(crate) sections: Vec<Type<'o>>,
}

/// A program with its subprograms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkedProgram {
    /// The instructions.
    pub insns: Vec<Insn>,
    /// The unresolved references, by instruction.
    pub refs: Vec<(u32, RefTarget)>,
    /// The `func_info` records: instruction, type.
    pub func_info: Vec<[u32; 2]>,
    /// The `line_info` records: instruction, file, text, position.
    pub line_info: Vec<[u32; 4]>,
    /// The form of the records in the object.
    pub info_forms: InfoForms,
    /// The functions that the instructions are copied from, in order.
    pub functions: Vec<FunctionCopy>,
    /// The first instruction of the exception callback, if a declaration tag names one.
    pub exception_callback: Option<u32>,
    /// The records by instruction, if they are in another order.
    sorted_info: Option<Box<SortedInfo>>,
}

/// A function's copy in a linked program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionCopy {
    /// The index of the first instruction in the program.
    pub start: u32,
    /// The function.
    pub function: ProgramIndex,
}

impl<'o, 'd> ProgramLinker<'o, 'd> {
    /// Collects the maps, externs and references of an object, with the checks of libbpf's
    /// `bpf_object__open`, except for those that other loaders do not have: static functions are programs,
    /// too.
    pub fn collect(object: &'o Object<'d>) -> Result<Self, LinkError> {
        let externs = externs::collect(object)?;
        let maps = MapTable::collect(object, externs::config_size(&externs)? > 0)?;
        let refs = RefTable::collect(object, &maps, &externs)?;
        let (func_info, line_info) = match (object.btf(), object.ext()) {
            (Some(btf), Some(ext)) => (InfoTable::functions(btf, ext), InfoTable::lines(btf, ext)),
            _ => (InfoTable::default(), InfoTable::default()),
        };
        let (mut callbacks, mut sections) = (ExceptionCallbacks::default(), Vec::new());
        if let Some(btf) = object.btf() {
            for ty in btf.types() {
                match ty.kind() {
                    Kind::DeclTag => callbacks.add(btf, ty),
                    Kind::Datasec => sections.push(ty),
                    _ => {}
                }
            }
        }
        callbacks.index_subprograms(object);
        Ok(Self { object, externs, maps, refs, func_info, line_info, callbacks, sections })
    }

    /// Links a program (libbpf: `bpf_object__relocate_calls`, `bpf_prog_assign_exc_cb`).
    ///
    /// `code` holds the bytes of each code section after CO-RE relocation.
    pub fn link(&self, code: &[impl AsRef<[u8]>], program: ProgramIndex) -> Result<LinkedProgram, LinkError> {
        let mut state = self.link_calls(code, program)?;
        if let Some(callback) = self.callbacks.find(self.object, state.main)? {
            if !state.starts.contains_key(&callback) {
                state.append(callback)?;
                state.append_callees(callback)?;
            }
            state.out.exception_callback = state.starts.get(&callback).copied();
        }
        state.finish()
    }

    /// Links a program for a kernel without exception callbacks.
    pub fn link_without_callback(
        &self,
        code: &[impl AsRef<[u8]>],
        program: ProgramIndex,
    ) -> Result<LinkedProgram, LinkError> {
        self.link_calls(code, program)?.finish()
    }

    /// Links a program with the functions that it calls.
    fn link_calls<'l, C: AsRef<[u8]>>(
        &'l self,
        code: &'l [C],
        program: ProgramIndex,
    ) -> Result<LinkState<'l, 'o, 'd, C>, LinkError> {
        let main = self.function(program)?;
        let mut state =
            LinkState { linker: self, code, main, out: LinkedProgram::default(), starts: HashMap::new() };
        state.append(program)?;
        state.append_callees(program)?;
        Ok(state)
    }

    /// Returns whether a linked program's `func_info` and BTF declare a function as global, so that the
    /// kernel checks the function by itself (kernel: `subprog_is_global`). The symbol does not decide: the
    /// kernel does not see it. libbpf declares functions with hidden symbols as static.
    pub fn is_global(&self, linked: &LinkedProgram, copy: FunctionCopy) -> bool {
        /// `BTF_FUNC_GLOBAL`.
        const GLOBAL: u32 = 1;
        let function = self.object.programs().get(copy.function.0);
        let is_hidden = function.is_some_and(|function| function.is_subprogram && function.is_hidden);
        linked.function_type(copy.start).zip(self.object.btf()).is_some_and(|(ty, btf)| {
            let ty = btf.ty(TypeId(ty)).filter(|ty| ty.kind() == Kind::Func);
            !is_hidden && ty.and_then(Type::linkage) == Some(GLOBAL)
        })
    }

    /// Returns the object.
    pub fn object(&self) -> &'o Object<'d> {
        self.object
    }

    /// Returns the externs, configuration values first.
    pub fn externs(&self) -> &[ExternEntry<'d>] {
        &self.externs
    }

    /// Returns the maps in libbpf's order.
    pub fn maps(&self) -> &[MapEntry<'o, 'd>] {
        &self.maps.entries
    }

    /// Returns the DATASECs of the object. That of a section with data is the type of the map's value.
    pub fn datasecs(&self) -> &[Type<'o>] {
        &self.sections
    }

    /// Returns the map of configuration values, if the object has one.
    pub fn kconfig_map(&self) -> Option<MapIndex> {
        self.maps.kconfig
    }

    fn function(&self, function: ProgramIndex) -> Result<&'o Program<'d>, InternalError> {
        self.object.programs().get(function.0).invariant("a function to link belongs to the object")
    }

    /// Returns the bytes of a code section. `code` has one entry for each code section.
    fn section_code<'c, C: AsRef<[u8]>>(
        &self,
        code: &'c [C],
        section: SectionIndex,
    ) -> Result<&'c [u8], InternalError> {
        let position = self.object.code_indices().binary_search(&section);
        let position = position.invariant("a function lies in a code section")?;
        Ok(code.get(position).invariant("there is code for each code section")?.as_ref())
    }

    /// Returns, for each function, whether its relocations belong to the programs being loaded. These are the
    /// loaded programs, all subprograms, and programs that loaded programs call.
    ///
    /// A call that leads to no function is ignored here, and refused by [`link`](Self::link).
    pub(crate) fn select_functions(&self, loaded: &[bool]) -> Result<Vec<bool>, InternalError> {
        let functions = self.object.programs();
        let mut reached = loaded.to_vec();
        if reached.contains(&false) && self.may_call_programs() {
            self.extend_to_callees(&mut reached)?;
        }
        Ok(reached.iter().zip(functions).map(|(reached, p)| *reached || p.is_subprogram).collect())
    }

    /// Returns the first loaded program that is, or calls, one of the functions for which `is_sought` returns
    /// true. A program that is too long to be linked is an error, as not all of its calls are visited.
    pub(crate) fn find_caller(
        &self,
        loaded: &[bool],
        mut is_sought: impl FnMut(ProgramIndex) -> Result<bool, InternalError>,
    ) -> Result<Option<ProgramIndex>, LinkError> {
        // The functions that the programs so far reach: none of them is sought.
        let mut reached = vec![false; loaded.len()];
        for (program, _) in ProgramIndex::enumerate(loaded).filter(|(_, is_loaded)| **is_loaded) {
            if reached.get_mut(program.0).is_none_or(|is_reached| core::mem::replace(is_reached, true)) {
                continue;
            }
            let mut is_found = is_sought(program)?;
            let visit = &mut |callee| {
                is_found |= is_sought(callee)?;
                Ok(())
            };
            let is_complete = self.visit_callees(vec![program], &mut reached, visit)?;
            if is_found {
                return Ok(Some(program));
            }
            if !is_complete {
                let program = text(self.function(program)?.name());
                return Err(LinkError::TooLong { program, limit: limits::PROGRAM_INSNS });
            }
        }
        Ok(None)
    }

    /// Returns the targets of a function's references.
    pub(crate) fn references(
        &self,
        function: ProgramIndex,
    ) -> Result<impl Iterator<Item = RefTarget>, InternalError> {
        let p = self.function(function)?;
        let refs = self.refs.in_range(p.section_index, p.start().0, p.insn_count());
        Ok(refs.map(|(_, target)| *target))
    }

    /// Extends a set of functions to the transitive closure of their calls.
    fn extend_to_callees(&self, reached: &mut [bool]) -> Result<(), InternalError> {
        let selected = ProgramIndex::enumerate(&*reached).filter(|(_, is_reached)| **is_reached);
        let pending = selected.map(|(function, _)| function).collect();
        // Linking refuses the programs of an incomplete set, and names the program.
        self.visit_callees(pending, reached, &mut |_| Ok(())).map(|_is_complete| ())
    }

    /// Visits the functions that the functions in `pending` call, directly or not, and that are not `reached`
    /// yet. Returns whether all are visited: false if they have more instructions than linking accepts.
    fn visit_callees(
        &self,
        mut pending: Vec<ProgramIndex>,
        reached: &mut [bool],
        visit: &mut dyn FnMut(ProgramIndex) -> Result<(), InternalError>,
    ) -> Result<bool, InternalError> {
        // Linking refuses more instructions than this.
        let program_limit = to_usize(limits::PROGRAM_INSNS).checked_mul(pending.len());
        let mut insns_left = program_limit
            .map_or(limits::OBJECT_INSNS, |program_limit| program_limit.min(limits::OBJECT_INSNS));
        while let Some(function) = pending.pop() {
            let p = self.function(function)?;
            let Some(rest) = insns_left.checked_sub(to_usize(p.insn_count())) else {
                return Ok(false);
            };
            insns_left = rest;
            for callee in self.callees(function)? {
                if reached.get_mut(callee.0).is_some_and(|is_reached| !core::mem::replace(is_reached, true)) {
                    visit(callee)?;
                    pending.push(callee);
                }
            }
        }
        Ok(true)
    }

    /// Returns the functions that a function calls, or whose addresses it loads, in order of the
    /// instructions.
    pub(crate) fn callees(
        &self,
        function: ProgramIndex,
    ) -> Result<impl Iterator<Item = ProgramIndex>, InternalError> {
        let p = self.function(function)?;
        let position = self.object.code_indices().binary_search(&p.section_index);
        let position = position.invariant("a function lies in a code section")?;
        let section = self.object.code_sections().get(position);
        let code = section.invariant("there is code for each code section")?.code;
        let (insns, _) = code.as_chunks::<INSN_BYTES>();
        let insns = insns.iter().skip(p.start().index()).take(to_usize(p.insn_count()));
        Ok(insns.zip(0..).filter_map(|(raw, insn_index)| {
            let target = self.target(p, insn_index, Insn::decode(self.object.endian(), *raw))?;
            self.function_at(target)
        }))
    }

    /// Returns whether a function outside of `.text` may be called, either through a relocation or within its
    /// section.
    pub(crate) fn may_call_programs(&self) -> bool {
        let mut sections = self.object.code_indices().iter().zip(self.object.code_sections());
        sections.any(|(index, s)| s.name != TEXT && (s.functions.len() > 1 || self.refs.has_calls_to(*index)))
    }

    /// Returns the section and index of the instruction that an instruction calls, or whose address it loads.
    fn target(&self, p: &Program<'_>, insn_index: u32, insn: Insn) -> Option<(SectionIndex, i64)> {
        // Only these have a reference that leads to a function, and most instructions are others.
        if !matches!(insn.code, opcode::CALL | LD_IMM64) {
            return None;
        }
        let position = (p.section_index, p.start().0.checked_add(insn_index)?);
        match self.refs.find(position.0, position.1) {
            None => call_target(insn, position, None),
            Some(RefTarget::Function { section, offset }) => {
                call_target(insn, position, Some((section, offset)))
            }
            Some(_) => None,
        }
    }

    /// Finds the function that begins at an instruction, or the last of several (libbpf:
    /// `find_prog_by_sec_insn`).
    fn function_at(&self, insn: (SectionIndex, i64)) -> Option<ProgramIndex> {
        functions_starting_at(self.object.programs(), insn).last().map(|(function, _)| function)
    }

    /// Returns the name of a code section for a message.
    fn section_name(&self, section: SectionIndex) -> Result<Text, InternalError> {
        let position = self.object.code_indices().binary_search(&section).ok();
        let section = position.and_then(|position| self.object.code_sections().get(position));
        Ok(text(section.invariant("calls lead to code sections")?.name))
    }
}

/// The state of linking one program.
struct LinkState<'l, 'o, 'd, C> {
    linker: &'l ProgramLinker<'o, 'd>,
    code: &'l [C],
    main: &'l Program<'d>,
    out: LinkedProgram,
    /// The index of the first instruction of each function's copy.
    starts: HashMap<ProgramIndex, u32>,
}

impl<C: AsRef<[u8]>> LinkState<'_, '_, '_, C> {
    /// Returns the program with the records of its functions.
    fn finish(mut self) -> Result<LinkedProgram, LinkError> {
        self.copy_records()?;
        Ok(self.out)
    }

    /// Appends a copy of a function.
    fn append(&mut self, function: ProgramIndex) -> Result<(), LinkError> {
        let object = self.linker.object;
        let p = self.linker.function(function)?;
        let start = u32::try_from(self.out.insns.len()).ok();
        let start = start.filter(|start| {
            start.checked_add(p.insn_count()).is_some_and(|end| end <= limits::PROGRAM_INSNS)
        });
        let start = start.ok_or_else(|| LinkError::TooLong {
            program: text(self.main.name()),
            limit: limits::PROGRAM_INSNS,
        })?;
        let bytes = self.linker.section_code(self.code, p.section_index)?;
        let insns = bytes.chunks_exact(INSN_BYTES).skip(p.start().index()).take(to_usize(p.insn_count()));
        let decode = |raw: &[u8]| Some(Insn::decode(object.endian(), *raw.first_chunk()?));
        self.out.insns.extend(insns.filter_map(decode));
        if self.out.insns.len().checked_sub(to_usize(start)) != Some(to_usize(p.insn_count())) {
            return Err(InternalError::new("a function lies within its section's code").into());
        }
        self.out.functions.push(FunctionCopy { start, function });
        self.starts.insert(function, start);
        for (insn, target) in self.linker.refs.in_range(p.section_index, p.start().0, p.insn_count()) {
            let moved = insn.checked_sub(p.start().0).and_then(|index| index.checked_add(start));
            let moved = moved.invariant("a function's references lie within the function")?;
            self.out.refs.push((moved, *target));
        }
        Ok(())
    }

    /// Appends the functions that an appended function calls, depth first, and sets the distances of the
    /// calls.
    fn append_callees(&mut self, function: ProgramIndex) -> Result<(), LinkError> {
        let mut stack = vec![(function, 0u32)];
        while let Some((function, next)) = stack.pop() {
            let p = *self.linker.function(function)?;
            let start = self.copy_start(function)?;
            for local_index in next..p.insn_count() {
                // `append` checked that the function's end is within the limit.
                let insn_index =
                    start.checked_add(local_index).invariant("a copy ends within the program's limit")?;
                let insn = self.out.insns.get(to_usize(insn_index)).copied();
                let insn = insn.invariant("an appended function is copied whole")?;
                let Some(callee) = self.callee(&p, local_index, insn)? else { continue };
                let known = self.starts.get(&callee).copied();
                if known.is_none() {
                    self.append(callee)?;
                }
                let distance = call_distance(insn_index, self.copy_start(callee)?)?;
                let insn =
                    self.out.insns.get_mut(to_usize(insn_index)).invariant("a copied instruction stays")?;
                insn.imm = distance;
                if insn.code == LD_IMM64 {
                    insn.src = pseudo::FUNC;
                }
                if known.is_none() {
                    let next = local_index
                        .checked_add(1)
                        .invariant("an instruction's index is less than a `u32`")?;
                    stack.push((function, next));
                    stack.push((callee, 0));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the index of the first instruction of a function's copy.
    fn copy_start(&self, function: ProgramIndex) -> Result<u32, InternalError> {
        self.starts.get(&function).copied().invariant("a function is copied before a call leads to it")
    }

    /// Returns the function that an instruction calls, or whose address it loads.
    fn callee(
        &self,
        p: &Program<'_>,
        insn_index: u32,
        insn: Insn,
    ) -> Result<Option<ProgramIndex>, LinkError> {
        let Some((section_index, target)) = self.linker.target(p, insn_index, insn) else { return Ok(None) };
        if let Some(callee) = self.linker.function_at((section_index, target)) {
            return Ok(Some(callee));
        }
        let insn = p.start().0.checked_add(insn_index).invariant("a function lies within its section")?;
        let (program, section) = (text(self.main.name()), text(p.section));
        Err(LinkError::Call { program, section, insn, to: self.linker.section_name(section_index)?, target })
    }
}

/// Returns the immediate of a call at instruction `from` to instruction `to`.
fn call_distance(from: u32, to: u32) -> Result<i32, InternalError> {
    let next = i64::from(from).checked_add(1);
    let distance = next.and_then(|next| i64::from(to).checked_sub(next));
    let distance = distance.and_then(|distance| i32::try_from(distance).ok());
    distance.invariant("the instruction limit keeps call distances within 32 bits")
}
