//! The rules for instructions that a linked program breaks.

use super::{
    insn_rules::{LeftToLoader, broken_rule, is_usual},
    instructions::decoded,
    need::{Need, NeedTable},
    site::Site,
    structure,
};
use crate::{kernel::InsnRule, limits, linked_code::usize_of};
use core_relo::insn::Insn;
use core_relo_object::{link::LinkedProgram, object::SecDef};

/// Returns the instructions of a program that break rules. `records` are the instructions that CO-RE
/// relocations change.
pub(super) fn broken_rule_sites(
    code: &LinkedProgram,
    records: &[(u32, usize)],
    def: Option<&SecDef>,
    table: &mut NeedTable,
) -> Vec<Site> {
    let program_type = def.map(|def| def.program_type);
    let unusual = decoded(&code.insns).filter(|(_, insn)| !is_usual(*insn));
    let by_encoding = unusual.filter_map(|(at, insn)| {
        // Few instructions break a rule, so that only these are looked up.
        let second = insn.is_ld_imm64().then(|| second_half(code, at)).flatten();
        let none = LeftToLoader { has_reference: false, has_relocation: false };
        broken_rule(insn, second, none, program_type)?;
        let left = LeftToLoader {
            has_reference: structure::has_reference(code, at),
            has_relocation: records.binary_search_by_key(&at, |(insn, _)| *insn).is_ok(),
        };
        Some((at, broken_rule(insn, second, left, program_type)?))
    });
    let broken = by_encoding.take(limits::BROKEN_RULES).chain(structure::broken_rules(code));
    broken.map(|(insn, rule)| site(insn, rule, table)).collect()
}

fn site(insn: u32, rule: InsnRule, table: &mut NeedTable) -> Site {
    Site { insn, need: table.add(Need::InsnRule(rule)) }
}

fn second_half(code: &LinkedProgram, at: u32) -> Option<Insn> {
    code.insns.get(usize_of(at.checked_add(1)?)).copied()
}
