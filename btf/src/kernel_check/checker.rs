//! The state of a check: the records, the rules, and the violations found so far.

use super::{
    name::{NameError, NameUse},
    records::{Record, Records},
    rule::BtfRule,
    rules::KernelBtfRules,
    violation::{BtfPlace, BtfViolation, BtfViolations, Element, ViolatingType},
};
use crate::ids::{StrOffset, TypeId};

/// The state of a check.
pub(super) struct Checker<'d> {
    pub(super) records: Records<'d>,
    pub(super) rules: KernelBtfRules,
    pub(super) violations: BtfViolations,
    /// Whether the record that is being checked has a violation that another name would not mend.
    pub(super) is_structural: bool,
    /// Whether any record has such a violation.
    pub(super) has_structural: bool,
}

/// The part of a record that a violation names, without its name.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Whole,
    Member(u32, StrOffset),
    Enumerator(u32, StrOffset),
    Parameter(u32, StrOffset),
    Entry(u32, TypeId),
}

impl<'d> Checker<'d> {
    /// Adds a violation of the rule by a part of a type.
    pub(super) fn report(&mut self, id: TypeId, record: Record<'d>, part: Part, rule: BtfRule) {
        let Self { records, violations, is_structural, has_structural, .. } = self;
        *is_structural |= !matches!(rule, BtfRule::Name(_));
        *has_structural |= *is_structural;
        violations.push(|| {
            let ty = ViolatingType::new(id, record.kind(), records.name(record.name_offset));
            let element = |index, name| Element::new(index, records.name(name));
            let place = match part {
                Part::Whole => BtfPlace::Whole,
                Part::Member(index, name) => BtfPlace::Member(element(index, name)),
                Part::Enumerator(index, name) => BtfPlace::Enumerator(element(index, name)),
                Part::Parameter(index, name) => BtfPlace::Parameter(element(index, name)),
                Part::Entry(index, variable) => {
                    let name = records.get(variable).map_or(StrOffset(0), |variable| variable.name_offset);
                    BtfPlace::Entry(element(index, name))
                }
            };
            BtfViolation { ty: Some(ty), place, rule }
        });
    }

    /// Checks that there is a string at an offset (kernel: `btf_name_offset_valid`).
    pub(super) fn check_name_offset(&self, at: StrOffset) -> Result<(), BtfRule> {
        self.records.strings_from(at).map(|_| ()).ok_or(BtfRule::NameOffset { offset: at.0 })
    }

    /// Checks a name. Offset 0 is no name; the string at another offset must not be empty.
    pub(super) fn check_name(&self, at: StrOffset, name_use: NameUse) -> Result<(), NameError> {
        if at.0 == 0 {
            return Err(NameError::Missing);
        }
        let strings = self.records.strings_from(at).ok_or(NameError::NoString { offset: at.0 })?;
        // Names of a hostile BTF share a long string, of which one byte too many is enough.
        let strings = strings.get(..=self.rules.name_bytes).unwrap_or(strings);
        if self.rules.begins_with_name(strings, name_use) {
            return Ok(());
        }
        let len = strings.iter().position(|byte| *byte == 0).unwrap_or(strings.len());
        let (name, _) = strings.split_at(len);
        self.rules.check_name(name, name_use)
    }

    /// Checks an identifier that may be missing.
    pub(super) fn check_optional_identifier(&self, at: StrOffset) -> Result<(), NameError> {
        if at.0 == 0 { Ok(()) } else { self.check_name(at, NameUse::Identifier) }
    }
}
