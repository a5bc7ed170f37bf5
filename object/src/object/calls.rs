//! Calls between functions, and the subprograms that lie outside of `.text`.

use super::{Linkage, Object, Place, Program, SecDef, TEXT};
use crate::index::{ProgramIndex, SectionIndex};
use core_relo::{
    btf::Kind,
    insn::{INSN_BYTES, Insn, LD_IMM64},
};
use std::collections::{HashMap, HashSet};

/// The code of a call.
pub(crate) const CALL: u8 = 0x85;
/// `BPF_PSEUDO_CALL`, of a call.
pub(crate) const PSEUDO_CALL: u8 = 1;
/// The prefix of a tag that names a program's exception callback.
pub(crate) const EXCEPTION_CALLBACK: &[u8] = b"exception_callback:";

/// The symbol of an instruction's relocation: its section, and its offset there in bytes.
pub(crate) type Base = (SectionIndex, u64);

/// Whether an instruction calls a function of the object (libbpf: `insn_is_subprog_call`).
pub(crate) const fn is_subprogram_call(insn: Insn) -> bool {
    insn.code == CALL && insn.src == PSEUDO_CALL && insn.dst == 0 && insn.off == 0
}

/// The instruction that a call leads to, or whose address a 64-bit load takes: section, and number in the section.
///
/// Calls within a section need no relocation. libbpf: `bpf_object__reloc_code`, which knows no section but `.text`.
pub(crate) fn leads_to(
    insn: Insn,
    (section, at): (SectionIndex, u32),
    base: Option<Base>,
) -> Option<(SectionIndex, i64)> {
    let imm = i64::from(insn.imm);
    // A symbol's value is any number. At the end of all numbers no function begins, so that the call is refused.
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    match base {
        Some((to, byte)) if is_subprogram_call(insn) => {
            Some((to, signed(byte / 8).saturating_add(imm).saturating_add(1)))
        }
        Some((to, byte)) if insn.code == LD_IMM64 => {
            Some((to, signed(byte).saturating_add(imm).div_euclid(8)))
        }
        None if is_subprogram_call(insn) => {
            Some((section, i64::from(at).saturating_add(imm).saturating_add(1)))
        }
        _ => None,
    }
}

/// Returns the functions that begin at an instruction, in order.
pub(crate) fn starting_at<'p, 'd>(
    programs: &'p [Program<'d>],
    (section, insn): (SectionIndex, i64),
) -> impl Iterator<Item = (ProgramIndex, &'p Program<'d>)> {
    let key = |p: &Program<'_>| (p.section_index, i64::from(p.start.0));
    let from = programs.partition_point(|p| key(p) < (section, insn));
    let at_insn = move |(_, p): &(usize, &Program<'_>)| key(p) == (section, insn);
    let found = programs.iter().enumerate().skip(from).take_while(at_insn);
    found.map(|(function, p)| (ProgramIndex(function), p))
}

/// The function around an instruction.
pub(crate) fn around<'p, 'd>(
    programs: &'p [Program<'d>],
    section: SectionIndex,
    insn: u32,
) -> Option<&'p Program<'d>> {
    let after = programs.partition_point(|p| (p.section_index, p.start.0) <= (section, insn));
    let before = after.checked_sub(1).and_then(|at| programs.get(at));
    before.filter(|p| {
        p.section_index == section && insn.checked_sub(p.start.0).is_some_and(|within| within < p.len)
    })
}

/// The functions outside of `.text` that are subprograms all the same: those that could be no program, for they are static or
/// their section's name says no type, and that another function calls, takes the address of, or names as its exception callback.
///
/// libbpf refuses objects with such references, so no object that it opens has any.
pub(super) fn subprograms(object: &Object<'_>) -> Vec<ProgramIndex> {
    let programs = object.programs();
    let mut known = HashMap::new();
    let mut is_candidate = |p: &Program<'_>| {
        let mut says_a_type =
            || *known.entry(p.section_index).or_insert_with(|| SecDef::find(p.section_name()).is_some());
        p.section != TEXT && (p.linkage == Linkage::Static || !says_a_type())
    };
    let candidates: Vec<bool> = programs.iter().map(&mut is_candidate).collect();
    if !candidates.contains(&true) {
        return Vec::new();
    }
    let mut found = HashSet::new();
    let bases = bases(object);
    for (section, code) in object.code_indices().iter().zip(object.code_sections()) {
        for (raw, at) in code.code.chunks_exact(INSN_BYTES).zip(0u32..) {
            let Some(raw) = raw.first_chunk() else { continue };
            let insn = Insn::decode(object.endian(), *raw);
            let base = match bases.get(&(*section, at)) {
                Some(None) => continue,
                other => other.copied().flatten(),
            };
            let Some(to) = leads_to(insn, (*section, at), base) else { continue };
            let mut functions = starting_at(programs, to).peekable();
            let Some((_, function)) = functions.peek().copied() else { continue };
            let is_other = |by: &Program<'_>| (by.section_index, by.start) != (to.0, function.start);
            if around(programs, *section, at).is_some_and(is_other) {
                found.extend(functions.map(|(function, _)| function));
            }
        }
    }
    let named = callbacks(object);
    found.extend(ProgramIndex::enumerate(programs).filter(|(_, p)| named.contains(p.name)).map(|(at, _)| at));
    found.into_iter().filter(|function| candidates.get(function.0) == Some(&true)).collect()
}

/// What the relocations of code give its instructions, by section and instruction; nothing for what is not in the object.
fn bases(object: &Object<'_>) -> HashMap<(SectionIndex, u32), Option<Base>> {
    let of_code = object.relocs.iter().filter(|r| object.code_indices.binary_search(&r.target()).is_ok());
    let relocs = of_code.flat_map(|r| r.iter(&object.elf, &object.symbols)).filter_map(Result::ok);
    let base = |reloc: super::Reloc<'_>| {
        let at = u32::try_from(reloc.offset / 8).ok()?;
        let base = match reloc.symbol.place {
            Place::Section(section) => Some((section, reloc.symbol.value)),
            _ => None,
        };
        Some(((reloc.section_index, at), base))
    };
    relocs.filter_map(base).collect()
}

/// The functions that tags name as exception callbacks.
fn callbacks<'o>(object: &'o Object<'_>) -> HashSet<&'o [u8]> {
    let Some(btf) = object.btf() else { return HashSet::new() };
    let tags = btf.types().filter(|t| t.kind() == Kind::DeclTag && t.component_index() == Some(-1));
    tags.filter_map(|tag| tag.name().as_bytes().strip_prefix(EXCEPTION_CALLBACK)).collect()
}
