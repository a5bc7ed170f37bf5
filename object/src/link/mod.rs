//! One program's instructions, put together from the function itself and the subprograms it needs.
//!
//! A program takes along each function it calls, or whose address it takes, once, in the order in which they are met; calls are
//! made to lead to the copies. Those functions may lie in any section, and be programs themselves. References to maps, data and
//! externs stay open: they are `Linked::refs`.

mod error;
mod exception;
pub(crate) mod externs;
mod info;
pub(crate) mod maps;
pub(crate) mod refs;
#[cfg(test)]
mod tests;

use crate::internal::InternalError;
pub use error::LinkError;

use crate::{
    elf::text,
    index::{ProgramIndex, SectionIndex},
    internal::Invariant as _,
    limits,
    object::{
        Linkage, Object, Program, TEXT,
        calls::{leads_to, starting_at},
    },
};
use core_relo::{
    Text,
    insn::{INSN_BYTES, Insn, LD_IMM64},
};
use exception::Callbacks;
use externs::ExternEntry;
use info::InfoTable;
use maps::MapTable;
use refs::{Ref, Refs};
use std::collections::HashMap;

/// `BPF_PSEUDO_FUNC`, of a 64-bit load.
const PSEUDO_FUNC: u8 = 4;

/// An object's parts, ready to be put together: for all its programs once.
#[derive(Debug)]
pub(crate) struct ProgramParts<'o, 'd> {
    object: &'o Object<'d>,
    pub(crate) externs: Vec<ExternEntry<'d>>,
    pub(crate) maps: MapTable<'o, 'd>,
    refs: Refs,
    functions: InfoTable<1>,
    lines: InfoTable<3>,
    callbacks: Callbacks<'o>,
}

/// A program with its subprograms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The instructions.
    pub(crate) insns: Vec<Insn>,
    /// The references of instructions that are open.
    pub(crate) refs: Vec<(u32, Ref)>,
    /// Records of functions: instruction, type.
    pub(crate) func_info: Vec<[u32; 2]>,
    /// Records of lines: instruction, file, text, position.
    pub(crate) line_info: Vec<[u32; 4]>,
    /// The functions that the instructions come from, in order.
    pub(crate) pieces: Vec<Piece>,
}

/// A function's copy in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The first instruction in the program.
    pub start: u32,
    /// The function.
    pub function: ProgramIndex,
}

impl<'o, 'd> ProgramParts<'o, 'd> {
    /// Finds maps, externs and references, and checks what libbpf checks when it opens an object.
    pub(crate) fn collect(object: &'o Object<'d>) -> Result<Self, LinkError> {
        if let Some(p) = object.programs().iter().find(|p| !p.is_subprogram && p.linkage == Linkage::Static) {
            return Err(LinkError::StaticProgram { section: text(p.section), function: text(p.name) });
        }
        let externs = externs::collect(object)?;
        let maps = MapTable::collect(object, externs::config_size(&externs) > 0)?;
        let refs = Refs::collect(object, &maps, &externs)?;
        let (functions, lines) = match (object.btf(), object.ext()) {
            (Some(btf), Some(ext)) => (InfoTable::functions(btf, ext), InfoTable::lines(btf, ext)),
            _ => (InfoTable::default(), InfoTable::default()),
        };
        let callbacks = Callbacks::collect(object);
        Ok(Self { object, externs, maps, refs, functions, lines, callbacks })
    }

    /// Puts together a program. `code` are the code sections' bytes, relocated; `callbacks` says whether the kernel knows
    /// exception callbacks.
    ///
    /// libbpf: `bpf_object__relocate_calls`, `bpf_prog_assign_exc_cb`.
    pub(crate) fn link(
        &self,
        code: &[impl AsRef<[u8]>],
        program: ProgramIndex,
        callbacks: bool,
    ) -> Result<Linked, LinkError> {
        let main = self.function(program)?;
        let mut linking = Linking { parts: self, code, main, out: Linked::default(), at: HashMap::new() };
        linking.append(program)?;
        linking.follow(program)?;
        if callbacks
            && let Some(callback) = self.callbacks.find(self.object, main)?
            && !linking.at.contains_key(&callback)
        {
            linking.append(callback)?;
            linking.follow(callback)?;
        }
        linking.records()?;
        Ok(linking.out)
    }

    fn function(&self, function: ProgramIndex) -> Result<&'o Program<'d>, InternalError> {
        self.object.programs().get(function.0).invariant("a function to link is one of the object's")
    }

    /// Returns the bytes of a code section among `code`, which has one entry for each code section.
    fn code_of<'c, C: AsRef<[u8]>>(
        &self,
        code: &'c [C],
        section: SectionIndex,
    ) -> Result<&'c [u8], InternalError> {
        let at = self.object.code_indices().binary_search(&section);
        let at = at.invariant("a function lies in a code section")?;
        Ok(code.get(at).invariant("there is code for each code section")?.as_ref())
    }

    /// Returns, for each function, whether its relocations belong to the programs being loaded: the programs themselves, all
    /// subprograms, and the programs that are called though they are not loaded.
    ///
    /// [`link`](Self::link) refuses a call that leads to no function.
    pub(crate) fn select_functions(&self, loaded: &[bool]) -> Vec<bool> {
        let functions = self.object.programs();
        let mut reached = loaded.to_vec();
        if reached.contains(&false) && self.may_call_programs() {
            self.reach(&mut reached);
        }
        reached.iter().zip(functions).map(|(reached, p)| *reached || p.is_subprogram).collect()
    }

    /// Extends a set of functions to the transitive closure of their calls.
    fn reach(&self, reached: &mut [bool]) {
        let functions = self.object.programs();
        let selected = ProgramIndex::enumerate(&*reached).filter(|(_, is_reached)| **is_reached);
        let mut open: Vec<ProgramIndex> = selected.map(|(function, _)| function).collect();
        // Linking refuses more instructions than that, so that a product beyond all numbers is right to end at the limit.
        let mut left = index(limits::PROGRAM_INSNS).saturating_mul(open.len()).min(limits::OBJECT_INSNS);
        while let Some(p) = open.pop().and_then(|at| functions.get(at.0)) {
            let Some(rest) = left.checked_sub(index(p.len)) else { break };
            left = rest;
            let section = self.object.code_indices().binary_search(&p.section_index).ok();
            let code = section.and_then(|at| self.object.code_sections().get(at)).map_or(&[][..], |s| s.code);
            let insns = code.chunks_exact(INSN_BYTES).skip(p.start.index()).take(index(p.len));
            for (raw, within) in insns.zip(0..) {
                let Some(raw) = raw.first_chunk() else { continue };
                let to = self.target(p, within, Insn::decode(self.object.endian(), *raw));
                let Some(callee) = to.and_then(|to| self.function_at(to)) else { continue };
                if reached.get_mut(callee.0).is_some_and(|is| !core::mem::replace(is, true)) {
                    open.push(callee);
                }
            }
        }
    }

    /// Returns whether a function outside of `.text` may be called: by a relocation, or within a section of several functions.
    fn may_call_programs(&self) -> bool {
        let mut sections = self.object.code_indices().iter().zip(self.object.code_sections());
        sections.any(|(index, s)| s.name != TEXT && (s.functions.len() > 1 || self.refs.has_calls_to(*index)))
    }

    /// Returns the section and the instruction that an instruction calls, or whose address it takes.
    fn target(&self, p: &Program<'_>, within: u32, insn: Insn) -> Option<(SectionIndex, i64)> {
        let at = (p.section_index, p.start.0.checked_add(within)?);
        match self.refs.at(at.0, at.1) {
            None => leads_to(insn, at, None),
            Some(Ref::Function { section, offset }) => leads_to(insn, at, Some((section, offset))),
            Some(_) => None,
        }
    }

    /// Finds the function that begins at an instruction; the last one of several (libbpf: `find_prog_by_sec_insn`).
    fn function_at(&self, to: (SectionIndex, i64)) -> Option<ProgramIndex> {
        starting_at(self.object.programs(), to).last().map(|(function, _)| function)
    }

    fn section_name(&self, section: SectionIndex) -> Text {
        let at = self.object.code_indices().binary_search(&section).ok();
        text(at.and_then(|at| self.object.code_sections().get(at)).map_or(&[][..], |s| s.name))
    }
}

/// A program that is being linked.
struct Linking<'l, 'o, 'd, C> {
    parts: &'l ProgramParts<'o, 'd>,
    code: &'l [C],
    main: &'l Program<'d>,
    out: Linked,
    /// The first instruction of each function's copy, as far as there are copies.
    at: HashMap<ProgramIndex, u32>,
}

impl<C: AsRef<[u8]>> Linking<'_, '_, '_, C> {
    /// Copies a function to the end.
    fn append(&mut self, function: ProgramIndex) -> Result<(), LinkError> {
        let object = self.parts.object;
        let p = self.parts.function(function)?;
        let start = u32::try_from(self.out.insns.len()).ok();
        let start =
            start.filter(|start| start.checked_add(p.len).is_some_and(|end| end <= limits::PROGRAM_INSNS));
        let start = start.ok_or_else(|| LinkError::TooLong {
            program: text(self.main.name),
            limit: limits::PROGRAM_INSNS,
        })?;
        let bytes = self.parts.code_of(self.code, p.section_index)?;
        let insns = bytes.chunks_exact(INSN_BYTES).skip(p.start.index()).take(index(p.len));
        let decode = |raw: &[u8]| Some(Insn::decode(object.endian(), *raw.first_chunk()?));
        self.out.insns.extend(insns.filter_map(decode));
        if self.out.insns.len().checked_sub(index(start)) != Some(index(p.len)) {
            return Err(InternalError { invariant: "a function lies within its section's code" }.into());
        }
        self.out.pieces.push(Piece { start, function });
        self.at.insert(function, start);
        for (insn, found) in self.parts.refs.within(p.section_index, p.start.0, p.len) {
            let moved = insn.checked_sub(p.start.0).and_then(|within| within.checked_add(start));
            let moved = moved.invariant("a function's references lie within the function")?;
            self.out.refs.push((moved, *found));
        }
        Ok(())
    }

    /// Follows the calls of a function that was appended, and of those that are appended on the way, depth first.
    fn follow(&mut self, function: ProgramIndex) -> Result<(), LinkError> {
        let mut stack = vec![(function, 0u32)];
        while let Some((function, next)) = stack.pop() {
            let p = *self.parts.function(function)?;
            let start = self.start_of(function)?;
            for within in next..p.len {
                // `append` checked that the function's end is within the limit.
                let at = start.checked_add(within).invariant("a copy ends within the program's limit")?;
                let insn = self.out.insns.get(index(at)).copied();
                let insn = insn.invariant("a followed function is copied whole")?;
                let Some(callee) = self.callee(&p, within, insn)? else { continue };
                let known = self.at.get(&callee).copied();
                if known.is_none() {
                    self.append(callee)?;
                }
                let distance = call_distance(at, self.start_of(callee)?)?;
                let insn = self.out.insns.get_mut(index(at)).invariant("a copied instruction stays")?;
                insn.imm = distance;
                if insn.code == LD_IMM64 {
                    insn.src = PSEUDO_FUNC;
                }
                if known.is_none() {
                    // `within` is less than the function's length.
                    stack.push((function, within.saturating_add(1)));
                    stack.push((callee, 0));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the first instruction of a function's copy.
    fn start_of(&self, function: ProgramIndex) -> Result<u32, InternalError> {
        self.at.get(&function).copied().invariant("a function is copied before a call leads to it")
    }

    /// Returns the function that an instruction calls, or whose address it takes.
    fn callee(&self, p: &Program<'_>, within: u32, insn: Insn) -> Result<Option<ProgramIndex>, LinkError> {
        let Some((to, target)) = self.parts.target(p, within, insn) else { return Ok(None) };
        let found = self.parts.function_at((to, target));
        found.map(Some).ok_or_else(|| LinkError::Call {
            program: text(self.main.name),
            section: text(p.section),
            insn: p.start.0.saturating_add(within),
            to: self.parts.section_name(to),
            target,
        })
    }

    /// Records of functions and lines, moved with them (libbpf: `reloc_prog_func_and_line_info`).
    ///
    /// If the program itself has none, its subprograms' are left out; if it has, each of them has to have one.
    fn records(&mut self) -> Result<(), LinkError> {
        let parts = self.parts;
        for (n, piece) in self.out.pieces.iter().enumerate() {
            let p = parts.function(piece.function)?;
            let moved = |at: u32| {
                let moved = at.checked_sub(p.start.0).and_then(|within| within.checked_add(piece.start));
                moved.invariant("a function's records lie within the function")
            };
            let missing =
                |what| LinkError::Info { program: text(self.main.name), function: text(p.name), what };
            let functions = parts.functions.within(p.section, p.start.0, p.len);
            if n == 0 || !self.out.func_info.is_empty() {
                if n > 0 && functions.is_empty() {
                    return Err(missing("func_info"));
                }
                for (at, [ty]) in functions {
                    self.out.func_info.push([moved(*at)?, *ty]);
                }
            }
            let lines = parts.lines.within(p.section, p.start.0, p.len);
            if n == 0 || !self.out.line_info.is_empty() {
                if n > 0 && lines.is_empty() {
                    return Err(missing("line_info"));
                }
                for (at, [file, line, position]) in lines {
                    self.out.line_info.push([moved(*at)?, *file, *line, *position]);
                }
            }
        }
        Ok(())
    }
}

/// Returns the immediate of a call at one instruction that leads to another.
fn call_distance(from: u32, to: u32) -> Result<i32, InternalError> {
    let next = i64::from(from).checked_add(1);
    let distance = next.and_then(|next| i64::from(to).checked_sub(next));
    let distance = distance.and_then(|distance| i32::try_from(distance).ok());
    distance.invariant("a program's limit keeps its calls within 32 bits")
}

/// Widens an instruction's number to an index. Hosts have at least 32 bits.
fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
