//! Calls between functions, and subprograms outside of `.text`.

use super::{Linkage, Object, Program, SecDef, SymbolLocation, TEXT};
use crate::index::{ProgramIndex, SectionIndex};
use core_relo::{
    btf::Kind,
    insn::{INSN_BYTES, Insn, LD_IMM64},
};
use hashbrown::{HashMap, HashSet};

/// The prefix of declaration tags that name a program's exception callback.
pub(crate) const EXCEPTION_CALLBACK: &[u8] = b"exception_callback:";

/// The symbol of a relocation: its section, and its offset there in bytes.
pub(crate) type SymbolAddress = (SectionIndex, u64);

/// Returns whether an instruction calls a subprogram (libbpf: `insn_is_subprog_call`).
pub(crate) const fn is_subprogram_call(insn: Insn) -> bool {
    insn.is_function_call() && insn.dst == 0 && insn.off == 0
}

/// Returns the section and index of the instruction that an instruction calls, or whose address it loads;
/// `None` for other instructions (libbpf: `bpf_object__reloc_code`, which supports `.text` only).
///
/// Calls within a section need no relocation, and so have no symbol.
pub(crate) fn call_target(
    insn: Insn,
    (section, index): (SectionIndex, u32),
    symbol: Option<SymbolAddress>,
) -> Option<(SectionIndex, i64)> {
    let imm = i64::from(insn.imm);
    // A damaged symbol may have any value. Where a sum saturates, no function begins, and linking refuses the
    // call.
    let signed = |offset: u64| i64::try_from(offset).unwrap_or(i64::MAX);
    let add = i64::saturating_add;
    match symbol {
        Some((to, offset)) if is_subprogram_call(insn) => Some((to, add(add(signed(offset / 8), imm), 1))),
        Some((to, offset)) if insn.code == LD_IMM64 => Some((to, add(signed(offset), imm).div_euclid(8))),
        None if is_subprogram_call(insn) => Some((section, add(add(index.into(), imm), 1))),
        _ => None,
    }
}

/// Returns the functions that begin at an instruction, in order.
pub(crate) fn functions_starting_at<'p, 'd>(
    programs: &'p [Program<'d>],
    (section, insn): (SectionIndex, i64),
) -> impl Iterator<Item = (ProgramIndex, &'p Program<'d>)> {
    let key = |p: &Program<'_>| (p.section_index, i64::from(p.start().0));
    let first = programs.partition_point(|p| key(p) < (section, insn));
    let at_insn = move |(_, p): &(usize, &Program<'_>)| key(p) == (section, insn);
    let functions = programs.iter().enumerate().skip(first).take_while(at_insn);
    functions.map(|(function, p)| (ProgramIndex(function), p))
}

/// Returns the function that contains an instruction.
pub(crate) fn function_containing<'p, 'd>(
    programs: &'p [Program<'d>],
    section: SectionIndex,
    insn: u32,
) -> Option<&'p Program<'d>> {
    let after = programs.partition_point(|p| (p.section_index, p.start().0) <= (section, insn));
    let last = after.checked_sub(1).and_then(|position| programs.get(position));
    last.filter(|p| p.section_index == section && p.contains(insn))
}

/// Finds the functions outside of `.text` that are subprograms.
///
/// These functions cannot be programs, since they are static or their section's name implies no program type.
/// Another function calls them, loads their address, or names them as its exception callback. libbpf refuses
/// objects with such references.
pub(super) fn find_subprograms(object: &Object<'_>) -> Vec<ProgramIndex> {
    let programs = object.programs();
    let mut typed_sections = HashMap::new();
    let mut is_candidate = |p: &Program<'_>| {
        let mut has_type = || {
            *typed_sections.entry(p.section_index).or_insert_with(|| SecDef::find(p.section_name()).is_some())
        };
        p.section != TEXT && (p.linkage == Linkage::Static || !has_type())
    };
    let candidates: Vec<bool> = programs.iter().map(&mut is_candidate).collect();
    if !candidates.contains(&true) {
        return Vec::new();
    }
    let mut subprograms = HashSet::new();
    let symbols = relocation_symbols(object);
    for (section, code) in object.code_indices().iter().zip(object.code_sections()) {
        for (raw, index) in code.code.chunks_exact(INSN_BYTES).zip(0u32..) {
            let Some(raw) = raw.first_chunk() else { continue };
            let insn = Insn::decode(object.endian(), *raw);
            let symbol = match symbols.get(&(*section, index)) {
                Some(None) => continue,
                other => other.copied().flatten(),
            };
            let Some(target) = call_target(insn, (*section, index), symbol) else { continue };
            let mut functions = functions_starting_at(programs, target).peekable();
            let Some((_, function)) = functions.peek().copied() else { continue };
            let is_other =
                |caller: &Program<'_>| (caller.section_index, caller.start()) != (target.0, function.start());
            if function_containing(programs, *section, index).is_some_and(is_other) {
                subprograms.extend(functions.map(|(function, _)| function));
            }
        }
    }
    let callbacks = exception_callbacks(object);
    let named = ProgramIndex::enumerate(programs).filter(|(_, p)| callbacks.contains(p.name()));
    subprograms.extend(named.map(|(function, _)| function));
    subprograms.into_iter().filter(|function| candidates.get(function.0) == Some(&true)).collect()
}

/// Returns the symbols of code relocations by section and instruction; `None` for a symbol outside of the
/// object.
fn relocation_symbols(object: &Object<'_>) -> HashMap<(SectionIndex, u32), Option<SymbolAddress>> {
    let code_relocs = object.relocs.iter().filter(|r| object.code_indices.binary_search(&r.target()).is_ok());
    let relocs = code_relocs.flat_map(|r| r.iter(&object.elf, &object.symbols)).filter_map(Result::ok);
    let symbol = |reloc: super::Reloc<'_>| {
        let index = u32::try_from(reloc.offset / 8).ok()?;
        let symbol = match reloc.symbol.location {
            SymbolLocation::Section(section) => Some((section, reloc.symbol.value)),
            _ => None,
        };
        Some(((reloc.section_index, index), symbol))
    };
    relocs.filter_map(symbol).collect()
}

/// Returns the names of exception callbacks in declaration tags.
fn exception_callbacks<'o>(object: &'o Object<'_>) -> HashSet<&'o [u8]> {
    let Some(btf) = object.btf() else { return HashSet::new() };
    let tags = btf.types().filter(|t| t.kind() == Kind::DeclTag && t.component_index() == Some(-1));
    tags.filter_map(|tag| tag.name().as_bytes().strip_prefix(EXCEPTION_CALLBACK)).collect()
}
