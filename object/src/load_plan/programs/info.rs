//! Repairs the `func_info` and `line_info` of a program that the kernel would refuse.

use crate::{
    elf::text,
    index::to_usize,
    link::{LinkedProgram, SentTypes},
    load_plan::repair::{Repair, RepairKind, Repairs},
};
use core_relo::{
    TypeId,
    btf::{KernelBtfRules, Kind},
};

/// Leaves out the records that the kernel would refuse, or all of a kind, if it would refuse the rest. libbpf
/// sends them all.
pub(super) fn repair_info(
    program: &[u8],
    linked: &mut LinkedProgram,
    types: SentTypes<'_>,
    rules: &KernelBtfRules,
    repairs: &mut Repairs,
) {
    // The first repair is one of the func_info, if it needs one.
    for _ in [RepairKind::FuncInfo, RepairKind::LineInfo] {
        let violations = linked.known_info_violations(types, rules);
        let Some(violation) = violations.list().iter().find(|violation| violation.rule.is_repairable())
        else {
            return;
        };
        let starts = linked.function_starts(rules);
        let (kind, before, after) = if violation.place.is_line_info() {
            let before = linked.line_info.len();
            linked.line_info = repaired_lines(linked, types, &starts);
            (RepairKind::LineInfo, before, linked.line_info.len())
        } else {
            let before = linked.func_info.len();
            linked.func_info = repaired_functions(&linked.func_info, types, &starts);
            (RepairKind::FuncInfo, before, linked.func_info.len())
        };
        repairs.add(|| Repair {
            kind,
            place: format!("program `{}`", text(program)).into(),
            problem: violation.to_string().into(),
            replacement: match after {
                0 => format!("a program without {}", kind.name()).into(),
                _ => format!("{after} of {before} records").into(),
            },
        });
    }
}

/// Returns a record for each function that begins at `starts`, or none if a function has none.
fn repaired_functions(records: &[[u32; 2]], types: SentTypes<'_>, starts: &[u32]) -> Vec<[u32; 2]> {
    let is_function = |ty: u32| types.btf.ty(TypeId(ty)).is_some_and(|ty| ty.kind() == Kind::Func);
    let is_valid = |record: &&[u32; 2]| {
        let [insn, ty] = **record;
        starts.binary_search(&insn).is_ok() && is_function(ty)
    };
    let mut records: Vec<_> = records.iter().filter(is_valid).copied().collect();
    records.sort_by_key(|[insn, _]| *insn);
    records.dedup_by_key(|[insn, _]| *insn);
    if records.len() == starts.len() { records } else { Vec::new() }
}

/// Returns the records that the kernel accepts, in order, or none if the first instruction of a function has
/// none.
fn repaired_lines(linked: &LinkedProgram, types: SentTypes<'_>, starts: &[u32]) -> Vec<[u32; 4]> {
    let is_valid = |record: &&[u32; 4]| {
        let [insn, file, line, _] = **record;
        // The second half of a 64-bit load has the opcode 0.
        let is_insn = linked.insns.get(to_usize(insn)).is_some_and(|insn| insn.code != 0);
        is_insn && file < types.string_bytes && line < types.string_bytes
    };
    let mut records: Vec<_> = linked.line_info.iter().filter(is_valid).copied().collect();
    records.sort_by_key(|[insn, ..]| *insn);
    records.dedup_by_key(|[insn, ..]| *insn);
    let has_line = |start: &u32| records.binary_search_by_key(start, |[insn, ..]| *insn).is_ok();
    if starts.iter().all(has_line) { records } else { Vec::new() }
}
