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

pub use error::LinkError;

use crate::{
    elf::text,
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
pub(crate) struct Parts<'o, 'd> {
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
    /// What instructions still refer to.
    pub(crate) refs: Vec<(u32, Ref)>,
    /// Records of functions: instruction, type.
    pub(crate) func_info: Vec<[u32; 2]>,
    /// Records of lines: instruction, file, text, position.
    pub(crate) line_info: Vec<[u32; 4]>,
    /// Where the instructions come from, in order.
    pub(crate) pieces: Vec<Piece>,
}

/// A function's copy in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it begins in the program.
    pub(crate) start: u32,
    /// The function's number among the object's programs.
    pub(crate) function: usize,
}

impl<'o, 'd> Parts<'o, 'd> {
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
        program: usize,
        callbacks: bool,
    ) -> Result<Linked, LinkError> {
        let Some(main) = self.object.programs().get(program) else { return Ok(Linked::default()) };
        let mut linking = Linking { parts: self, code, main, out: Linked::default(), at: HashMap::new() };
        linking.append(program)?;
        linking.follow(program)?;
        if callbacks
            && let Some(callback) = self.callbacks.of(self.object, main)?
            && !linking.at.contains_key(&callback)
        {
            linking.append(callback)?;
            linking.follow(callback)?;
        }
        linking.records()?;
        Ok(linking.out)
    }

    /// Whose relocations take part in a load of these programs, by place: theirs, subprograms', and those of programs that they
    /// call though they are not loaded themselves.
    ///
    /// Where a call leads nowhere is for [`link`](Self::link) to say.
    pub(crate) fn taking_part(&self, loaded: &[bool]) -> Vec<bool> {
        let functions = self.object.programs();
        let mut reached = loaded.to_vec();
        if reached.contains(&false) && self.may_call_programs() {
            self.reach(&mut reached);
        }
        reached.iter().zip(functions).map(|(reached, p)| *reached || p.is_subprogram).collect()
    }

    /// Adds to functions, by place, those that they call, and so on.
    fn reach(&self, reached: &mut [bool]) {
        let functions = self.object.programs();
        let mut open: Vec<usize> = (0..).zip(&*reached).filter(|(_, is)| **is).map(|(at, _)| at).collect();
        // More than that is refused when it is linked.
        let mut left = index(limits::PROGRAM_INSNS).saturating_mul(open.len()).min(limits::OBJECT_INSNS);
        while let Some(p) = open.pop().and_then(|at| functions.get(at)) {
            let Some(rest) = left.checked_sub(index(p.len)) else { break };
            left = rest;
            let section = self.object.code_indices().binary_search(&p.section_index).ok();
            let code = section.and_then(|at| self.object.code_sections().get(at)).map_or(&[][..], |s| s.code);
            let insns = code.chunks_exact(INSN_BYTES).skip(p.start.index()).take(index(p.len));
            for (raw, within) in insns.zip(0..) {
                let Some(raw) = raw.first_chunk() else { continue };
                let to = self.target(p, within, Insn::decode(self.object.endian(), *raw));
                let Some(callee) = to.and_then(|to| self.function_at(to)) else { continue };
                if reached.get_mut(callee).is_some_and(|is| !core::mem::replace(is, true)) {
                    open.push(callee);
                }
            }
        }
    }

    /// Whether there could be a call of a function outside of `.text`: by a relocation, or within a section of several functions.
    fn may_call_programs(&self) -> bool {
        let mut sections = self.object.code_indices().iter().zip(self.object.code_sections());
        sections.any(|(index, s)| s.name != TEXT && (s.functions.len() > 1 || self.refs.lead_to(*index)))
    }

    /// Where an instruction of a function leads, if it calls a function or takes the address of one: section, instruction.
    fn target(&self, p: &Program<'_>, within: u32, insn: Insn) -> Option<(u32, i64)> {
        let at = (p.section_index, p.start.0.saturating_add(within));
        match self.refs.at(at.0, at.1) {
            None => leads_to(insn, at, None),
            Some(Ref::Function { section, offset }) => leads_to(insn, at, Some((section, offset))),
            Some(_) => None,
        }
    }

    /// The function that begins there; the last one of several (libbpf: `find_prog_by_sec_insn`).
    fn function_at(&self, to: (u32, i64)) -> Option<usize> {
        let (first, functions) = starting_at(self.object.programs(), to);
        Some(first.saturating_add(functions.len().checked_sub(1)?))
    }

    fn section_name(&self, section: u32) -> Text {
        let at = self.object.code_indices().binary_search(&section).ok();
        text(at.and_then(|at| self.object.code_sections().get(at)).map_or(&[][..], |s| s.name))
    }
}

/// A program half put together.
struct Linking<'l, 'o, 'd, C> {
    parts: &'l Parts<'o, 'd>,
    code: &'l [C],
    main: &'l Program<'d>,
    out: Linked,
    /// Where each function's copy begins, if it has one yet.
    at: HashMap<usize, u32>,
}

impl<C: AsRef<[u8]>> Linking<'_, '_, '_, C> {
    /// Copies a function to the end.
    fn append(&mut self, function: usize) -> Result<(), LinkError> {
        let object = self.parts.object;
        let Some(p) = object.programs().get(function) else { return Ok(()) };
        let start = u32::try_from(self.out.insns.len()).unwrap_or(u32::MAX);
        if start.saturating_add(p.len) > limits::PROGRAM_INSNS {
            return Err(LinkError::TooLong { program: text(self.main.name), limit: limits::PROGRAM_INSNS });
        }
        let section = object.code_indices().binary_search(&p.section_index).ok();
        let bytes = section.and_then(|at| self.code.get(at)).map_or(&[][..], AsRef::as_ref);
        let insns = bytes.chunks_exact(INSN_BYTES).skip(p.start.index()).take(index(p.len));
        let decode = |raw: &[u8]| Some(Insn::decode(object.endian(), *raw.first_chunk()?));
        self.out.insns.extend(insns.filter_map(decode));
        self.out.pieces.push(Piece { start, function });
        self.at.insert(function, start);
        for (insn, found) in self.parts.refs.within(p.section_index, p.start.0, p.len) {
            let within = insn.saturating_sub(p.start.0).saturating_add(start);
            self.out.refs.push((within, *found));
        }
        Ok(())
    }

    /// Follows the calls of a function that was appended, and of those that are appended on the way, depth first.
    fn follow(&mut self, function: usize) -> Result<(), LinkError> {
        let mut stack = vec![(function, 0u32)];
        while let Some((function, next)) = stack.pop() {
            let Some(p) = self.parts.object.programs().get(function).copied() else { continue };
            let start = self.at.get(&function).copied().unwrap_or_default();
            for within in next..p.len {
                let at = start.saturating_add(within);
                let Some(insn) = self.out.insns.get(index(at)).copied() else { break };
                let Some(callee) = self.callee(&p, within, insn)? else { continue };
                let known = self.at.get(&callee).copied();
                if known.is_none() {
                    self.append(callee)?;
                }
                let to = self.at.get(&callee).copied().unwrap_or_default();
                let distance = i64::from(to).saturating_sub(i64::from(at)).saturating_sub(1);
                if let Some(insn) = self.out.insns.get_mut(index(at)) {
                    insn.imm = i32::try_from(distance).unwrap_or_default();
                    if insn.code == LD_IMM64 {
                        insn.src = PSEUDO_FUNC;
                    }
                }
                if known.is_none() {
                    stack.push((function, within.saturating_add(1)));
                    stack.push((callee, 0));
                    break;
                }
            }
        }
        Ok(())
    }

    /// The function that an instruction calls or takes the address of.
    fn callee(&self, p: &Program<'_>, within: u32, insn: Insn) -> Result<Option<usize>, LinkError> {
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
            let Some(p) = parts.object.programs().get(piece.function) else { continue };
            let moved = |at: u32| at.saturating_sub(p.start.0).saturating_add(piece.start);
            let missing =
                |what| LinkError::Info { program: text(self.main.name), function: text(p.name), what };
            let functions = parts.functions.within(p.section, p.start.0, p.len);
            if n == 0 || !self.out.func_info.is_empty() {
                if n > 0 && functions.is_empty() {
                    return Err(missing("func_info"));
                }
                self.out.func_info.extend(functions.iter().map(|(at, [ty])| [moved(*at), *ty]));
            }
            let lines = parts.lines.within(p.section, p.start.0, p.len);
            if n == 0 || !self.out.line_info.is_empty() {
                if n > 0 && lines.is_empty() {
                    return Err(missing("line_info"));
                }
                self.out.line_info.extend(
                    lines.iter().map(|(at, [file, line, position])| [moved(*at), *file, *line, *position]),
                );
            }
        }
        Ok(())
    }
}

/// Widens an instruction's number to an index.
fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
