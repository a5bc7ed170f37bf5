//! Structs and unions: names and offsets of members.

use super::check_id;
use crate::{
    format::Kind,
    ids::TypeId,
    kernel_check::{
        checker::{Checker, Part},
        records::{RawMember, Record},
        rule::BtfRule,
    },
};

impl<'d> Checker<'d> {
    /// Checks a STRUCT or UNION (kernel: `btf_struct_check_meta`).
    pub(super) fn check_composite(&mut self, id: TypeId, record: Record<'d>) {
        let name = self.check_optional_identifier(record.name_offset).map_err(BtfRule::Name);
        self.report_first(id, record, [name]);
        let mut previous = 0;
        for (index, member) in record.members(0) {
            let found = member.bit_offset(record.info.kflag());
            if let Err(rule) = self.check_member(record, member, previous) {
                self.report(id, record, Part::Member(index, member.name), rule);
            }
            previous = found;
        }
    }

    /// Checks a member; `previous` is the offset of the member before it.
    fn check_member(&self, record: Record<'d>, member: RawMember, previous: u32) -> Result<(), BtfRule> {
        self.check_name_offset(member.name)?;
        self.check_optional_identifier(member.name).map_err(BtfRule::Name)?;
        check_id(member.ty, false).map_err(|reason| BtfRule::TypeId { found: member.ty, reason })?;
        let found = member.bit_offset(record.info.kflag());
        let is_union = record.kind() == Kind::Union;
        if (is_union && found != 0) || previous > found {
            return Err(BtfRule::MemberOrder { found, previous, is_union });
        }
        let size = record.third;
        if found.div_ceil(8) > size {
            return Err(BtfRule::MemberBeyond { found, size });
        }
        Ok(())
    }
}
