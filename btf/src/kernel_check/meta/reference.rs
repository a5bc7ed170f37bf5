//! Types that refer to one type: pointers, typedefs, modifiers, forward declarations, functions and tags.

use super::{check_id, check_no_elements, check_no_flag};
use crate::{
    endian::signed32,
    format::Kind,
    ids::TypeId,
    kernel_check::{
        checker::Checker,
        name::{NameError, NameUse},
        records::Record,
        rule::BtfRule,
    },
};

/// The linkage of a static function.
const STATIC: u32 = 0;
/// The linkage of a global function.
const GLOBAL: u32 = 1;

impl<'d> Checker<'d> {
    /// Checks a PTR, TYPEDEF, modifier or TYPE_TAG (kernel: `btf_ref_type_check_meta`).
    pub(super) fn check_reference(&mut self, id: TypeId, record: Record<'d>) {
        let kind = record.kind();
        let flag_is_allowed = kind == Kind::TypeTag && self.rules.tag_flag;
        let flag = if flag_is_allowed { Ok(()) } else { check_no_flag(record) };
        let found = TypeId(record.third);
        let target = check_id(found, true).map_err(|reason| BtfRule::TypeId { found, reason });
        let name = match kind {
            Kind::Typedef => self.check_name(record.name_offset, NameUse::Identifier),
            // The text of a tag may have any characters.
            Kind::TypeTag if self.records.name(record.name_offset).is_empty() => Err(NameError::Missing),
            Kind::TypeTag => Ok(()),
            _ if record.name_offset.0 != 0 => Err(NameError::Unexpected),
            _ => Ok(()),
        };
        let results = [check_no_elements(record), flag, target, name.map_err(BtfRule::Name)];
        self.report_first(id, record, results);
    }

    /// Checks a FWD, whose flag may be set (kernel: `btf_fwd_check_meta`).
    pub(super) fn check_forward(&mut self, id: TypeId, record: Record<'d>) {
        let target = match record.third {
            0 => Ok(()),
            found => Err(BtfRule::TypeNotZero { found: TypeId(found) }),
        };
        let name = self.check_name(record.name_offset, NameUse::Identifier).map_err(BtfRule::Name);
        self.report_first(id, record, [check_no_elements(record), target, name]);
    }

    /// Checks a FUNC, whose number of elements is its linkage (kernel: `btf_func_check_meta`).
    pub(super) fn check_func(&mut self, id: TypeId, record: Record<'d>) {
        let name = self.check_name(record.name_offset, NameUse::Identifier).map_err(BtfRule::Name);
        let linkage = match record.info.vlen() {
            STATIC | GLOBAL => Ok(()),
            found => Err(BtfRule::FuncLinkage { found }),
        };
        self.report_first(id, record, [name, linkage, check_no_flag(record)]);
    }

    /// Checks a FUNC_PROTO (kernel: `btf_func_proto_check_meta`).
    pub(super) fn check_func_proto(&mut self, id: TypeId, record: Record<'d>) {
        let name = match record.name_offset.0 {
            0 => Ok(()),
            _ => Err(BtfRule::Name(NameError::Unexpected)),
        };
        self.report_first(id, record, [name, check_no_flag(record)]);
    }

    /// Checks a DECL_TAG, whose text may have any characters (kernel: `btf_decl_tag_check_meta`).
    pub(super) fn check_decl_tag(&mut self, id: TypeId, record: Record<'d>) {
        let is_empty = self.records.name(record.name_offset).is_empty();
        let value = if is_empty { Err(BtfRule::TagValue) } else { Ok(()) };
        let flag = if self.rules.tag_flag { Ok(()) } else { check_no_flag(record) };
        let component = match signed32(record.linkage_or_component()) {
            found if found < -1 => Err(BtfRule::Component { found, components: 0 }),
            _ => Ok(()),
        };
        self.report_first(id, record, [value, check_no_elements(record), flag, component]);
    }
}
