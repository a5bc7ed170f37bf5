//! Enumerations of 32-bit and 64-bit values.

use super::check_no_flag;
use crate::{
    format::Kind,
    ids::TypeId,
    kernel_check::{
        checker::{Checker, Part},
        name::NameUse,
        records::Record,
        rule::BtfRule,
    },
};

impl<'d> Checker<'d> {
    /// Checks an ENUM or ENUM64 (kernel: `btf_enum_check_meta`, `btf_enum64_check_meta`).
    pub(super) fn check_enum(&mut self, id: TypeId, record: Record<'d>) {
        let flag_is_allowed = record.kind() == Kind::Enum64 || self.rules.enum_flag;
        let flag = if flag_is_allowed { Ok(()) } else { check_no_flag(record) };
        let size = match record.third {
            1 | 2 | 4 | 8 => Ok(()),
            found => Err(BtfRule::EnumSize { found }),
        };
        let name = self.check_optional_identifier(record.name_offset).map_err(BtfRule::Name);
        self.report_first(id, record, [flag, size, name]);
        for (index, name) in record.enumerator_names() {
            let check = self
                .check_name_offset(name)
                .and_then(|()| self.check_name(name, NameUse::Identifier).map_err(BtfRule::Name));
            if let Err(rule) = check {
                self.report(id, record, Part::Enumerator(index, name), rule);
            }
        }
    }
}
