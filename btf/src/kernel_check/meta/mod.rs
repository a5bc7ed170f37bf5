//! Rules for each record by itself (kernel: `btf_check_all_metas`).

mod composite;
mod enumeration;
mod primitive;
mod reference;
mod section;

use super::{
    checker::{Checker, Part},
    records::{COMMON_BYTES, Record},
    rule::{BtfRule, TypeIdError},
    violation::{BtfPlace, BtfViolation},
};
use crate::{
    format::Kind,
    ids::{TypeId, to_u32},
    limits,
};
use alloc::vec::Vec;

/// The bits of the info word that the kernel knows: 16 bits of elements, 5 bits of kind, and the flag.
const INFO_BITS: u32 = 0x9f00_ffff;
/// The bits that a kernel without FLOAT knows: 4 bits of kind.
const INFO_BITS_WITHOUT_FLOAT: u32 = 0x8f00_ffff;

/// A record that was checked by itself.
struct CheckedRecord {
    kind: Kind,
    /// The length in bytes.
    len: u32,
}

impl<'d> Checker<'d> {
    /// Finds and checks all records. Returns which types violate a rule, by index. A type with a wrong name
    /// can be resolved all the same.
    ///
    /// The search for records ends at the first record whose length is not known.
    pub(super) fn check_records(&mut self) -> Vec<bool> {
        let mut has_violation = Vec::new();
        let end = to_u32(self.records.types().len());
        let (mut next, mut id) = (Some(0u32), TypeId(1));
        while let Some(offset) = next
            && let Some(left) = end.checked_sub(offset).filter(|left| *left > 0)
        {
            self.is_structural = false;
            let Some(CheckedRecord { kind, len }) = self.check_record(id, offset, left) else { break };
            self.records.add(offset, kind);
            has_violation.push(self.is_structural);
            // The record ends within the section.
            next = offset.checked_add(len);
            id = id.next();
        }
        has_violation
    }

    /// Checks the record at an offset. Returns `None` if the section ends within the record, or the length is
    /// not known.
    fn check_record(&mut self, id: TypeId, offset: u32, left: u32) -> Option<CheckedRecord> {
        let (Some(record), Some(left)) = (self.records.read(offset), left.checked_sub(COMMON_BYTES)) else {
            let rule = BtfRule::Truncated { need: COMMON_BYTES, left };
            self.violations.push(|| BtfViolation { ty: None, place: BtfPlace::Whole, rule });
            return None;
        };
        let kind = record.kind();
        let known_bits = match &self.rules {
            rules if rules.wide_info => u32::MAX,
            rules if rules.knows(Kind::Float) => INFO_BITS,
            _ => INFO_BITS_WITHOUT_FLOAT,
        };
        let common = if record.info.0 & !known_bits != 0 {
            Some(BtfRule::Info { found: record.info.0 })
        } else if !self.rules.knows(kind) {
            Some(BtfRule::UnknownKind)
        } else {
            self.check_name_offset(record.name_offset).err()
        };
        if let Some(rule) = common {
            self.report(id, record, Part::Whole, rule);
        }
        let len = kind.layout()?.size().record_len(record.info.vlen());
        let need = len.checked_sub(COMMON_BYTES)?;
        if need > left {
            if common.is_none() {
                self.report(id, record, Part::Whole, BtfRule::Truncated { need, left });
            }
            return None;
        }
        if common.is_none() {
            self.check_kind(id, record);
        }
        Some(CheckedRecord { kind, len })
    }

    /// Checks a whole record by the rules of its kind.
    fn check_kind(&mut self, id: TypeId, record: Record<'d>) {
        match record.kind() {
            Kind::Int => self.check_int(id, record),
            Kind::Float => self.check_float(id, record),
            Kind::Array => self.check_array(id, record),
            Kind::Struct | Kind::Union => self.check_composite(id, record),
            Kind::Enum | Kind::Enum64 => self.check_enum(id, record),
            Kind::Fwd => self.check_forward(id, record),
            Kind::Ptr | Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag => {
                self.check_reference(id, record);
            }
            Kind::Func => self.check_func(id, record),
            Kind::FuncProto => self.check_func_proto(id, record),
            Kind::Var => self.check_var(id, record),
            Kind::Datasec => self.check_section(id, record),
            Kind::DeclTag => self.check_decl_tag(id, record),
            // The kernel knows no other kinds, and `check_record` has refused them.
            Kind::Void | Kind::Unknown(_) => {}
        }
    }

    /// Reports the first of the results that is an error.
    fn report_first<const N: usize>(
        &mut self,
        id: TypeId,
        record: Record<'d>,
        results: [Result<(), BtfRule>; N],
    ) {
        if let Some(rule) = results.into_iter().find_map(Result::err) {
            self.report(id, record, Part::Whole, rule);
        }
    }
}

/// Checks that a record of a kind without elements has none.
fn check_no_elements(record: Record<'_>) -> Result<(), BtfRule> {
    match record.info.vlen() {
        0 => Ok(()),
        found => Err(BtfRule::Elements { found }),
    }
}

/// Checks that the flag of a record is not set.
fn check_no_flag(record: Record<'_>) -> Result<(), BtfRule> {
    if record.info.kflag() { Err(BtfRule::Flag) } else { Ok(()) }
}

/// Checks the id of a type: `void` is not allowed if a type with a size is needed.
fn check_id(found: TypeId, is_void_allowed: bool) -> Result<(), TypeIdError> {
    match found {
        TypeId::VOID if !is_void_allowed => Err(TypeIdError::Void),
        TypeId(id) if id > limits::KERNEL_TYPE_ID => Err(TypeIdError::TooLarge),
        _ => Ok(()),
    }
}
