//! Which functions others refer to, and so which are subprograms though they do not lie in `.text`.

use super::{Linkage, Object, Place, Program, SecDef, TEXT};
use core_relo::{
    btf::Kind,
    insn::{INSN_BYTES, Insn, LD_IMM64},
};
use std::collections::{HashMap, HashSet};

/// The code of a call.
pub(crate) const CALL: u8 = 0x85;
/// `BPF_PSEUDO_CALL`, of a call.
pub(crate) const PSEUDO_CALL: u8 = 1;
/// What the name of a tag begins with that names a program's exception callback.
pub(crate) const EXCEPTION_CALLBACK: &[u8] = b"exception_callback:";

/// What a relocation gives an instruction: a section, and a place in it in bytes.
pub(crate) type Base = (u32, u64);

/// Whether an instruction calls a function of the object (libbpf: `insn_is_subprog_call`).
pub(crate) const fn is_subprogram_call(insn: Insn) -> bool {
    insn.code == CALL && insn.src == PSEUDO_CALL && insn.dst == 0 && insn.off == 0
}

/// The instruction that a call leads to, or whose address a 64-bit load takes: section, and number in the section.
///
/// Calls within a section need no relocation. libbpf: `bpf_object__reloc_code`, which knows no section but `.text`.
pub(crate) fn leads_to(insn: Insn, (section, at): (u32, u32), base: Option<Base>) -> Option<(u32, i64)> {
    let imm = i64::from(insn.imm);
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

/// The functions, in order of section and place, that begin at an instruction.
pub(crate) fn starting_at<'p, 'd>(
    programs: &'p [Program<'d>],
    (section, insn): (u32, i64),
) -> (usize, &'p [Program<'d>]) {
    let key = |p: &Program<'_>| (p.section_index, i64::from(p.start.0));
    let from = programs.partition_point(|p| key(p) < (section, insn));
    let to = programs.partition_point(|p| key(p) <= (section, insn));
    (from, programs.get(from..to).unwrap_or_default())
}

/// The function around an instruction.
pub(crate) fn around<'p, 'd>(
    programs: &'p [Program<'d>],
    section: u32,
    insn: u32,
) -> Option<&'p Program<'d>> {
    let after = programs.partition_point(|p| (p.section_index, p.start.0) <= (section, insn));
    let before = after.checked_sub(1).and_then(|at| programs.get(at));
    before.filter(|p| p.section_index == section && insn < p.start.0.saturating_add(p.len))
}

/// The functions outside of `.text` that are subprograms all the same: those that could be no program, for they are static or
/// their section's name says no type, and that another function calls, takes the address of, or names as its exception callback.
///
/// libbpf refuses objects with such references, so no object that it opens has any.
pub(super) fn subprograms(object: &Object<'_>) -> Vec<usize> {
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
            let (first, functions) = starting_at(programs, to);
            let Some(function) = functions.first() else { continue };
            let is_other = |by: &Program<'_>| (by.section_index, by.start) != (to.0, function.start);
            if around(programs, *section, at).is_some_and(is_other) {
                found.extend((first..).take(functions.len()));
            }
        }
    }
    let named = callbacks(object);
    found.extend((0..).zip(programs).filter(|(_, p)| named.contains(p.name)).map(|(at, _)| at));
    found.into_iter().filter(|at| candidates.get(*at).copied().unwrap_or_default()).collect()
}

/// What the relocations of code give its instructions, by section and instruction; nothing for what is not in the object.
fn bases(object: &Object<'_>) -> HashMap<(u32, u32), Option<Base>> {
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
