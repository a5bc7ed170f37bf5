//! Variables and sections of variables.

use super::{check_id, check_no_elements, check_no_flag};
use crate::{
    ids::TypeId,
    kernel_check::{
        checker::{Checker, Part},
        name::NameUse,
        records::{RawEntry, Record},
        rule::BtfRule,
    },
};

/// The linkage of a static variable.
const STATIC: u32 = 0;
/// The linkage of a global variable.
const GLOBAL: u32 = 1;

impl<'d> Checker<'d> {
    /// Checks a VAR (kernel: `btf_var_check_meta`).
    pub(super) fn check_var(&mut self, id: TypeId, record: Record<'d>) {
        let name = self.check_name(record.name_offset, NameUse::Variable).map_err(BtfRule::Name);
        let found = TypeId(record.third);
        let target = check_id(found, false).map_err(|reason| BtfRule::TypeId { found, reason });
        let linkage = match record.linkage_or_component() {
            STATIC | GLOBAL => Ok(()),
            found => Err(BtfRule::VarLinkage { found }),
        };
        let results = [check_no_elements(record), check_no_flag(record), name, target, linkage];
        self.report_first(id, record, results);
    }

    /// Checks a DATASEC (kernel: `btf_datasec_check_meta`).
    pub(super) fn check_section(&mut self, id: TypeId, record: Record<'d>) {
        let size = record.third;
        let has_size = if size == 0 { Err(BtfRule::SizeZero) } else { Ok(()) };
        let is_empty = record.info.vlen() == 0 && !self.rules.empty_sections;
        let has_entries = if is_empty { Err(BtfRule::NoEntries) } else { Ok(()) };
        let name = self.check_name(record.name_offset, NameUse::Section).map_err(BtfRule::Name);
        self.report_first(id, record, [has_entries, has_size, check_no_flag(record), name]);
        if size == 0 {
            return;
        }
        let (mut end, mut are_valid) = (0, true);
        for (index, entry) in record.entries(0) {
            if let Err(rule) = check_entry(entry, end, size) {
                are_valid = false;
                self.report(id, record, Part::Entry(index, entry.ty), rule);
            }
            // The kernel's sum has 32 bits.
            end = entry.offset.wrapping_add(entry.size);
        }
        let entries: u64 = record.entries(0).map(|(_, entry)| u64::from(entry.size)).sum();
        if are_valid && u64::from(size) < entries {
            self.report(id, record, Part::Whole, BtfRule::SectionSize { entries, size });
        }
    }
}

/// Checks an entry of a section; `at_least` is the end of the entry before it.
fn check_entry(entry: RawEntry, at_least: u32, section: u32) -> Result<(), BtfRule> {
    check_id(entry.ty, false).map_err(|reason| BtfRule::TypeId { found: entry.ty, reason })?;
    let RawEntry { offset, size, .. } = entry;
    if offset < at_least || offset >= section {
        return Err(BtfRule::EntryOffset { found: offset, at_least, size: section });
    }
    if size == 0 || size > section {
        return Err(BtfRule::EntrySize { found: size, at_least: 1, at_most: section });
    }
    if offset.wrapping_add(size) > section {
        return Err(BtfRule::EntryEnd { offset, size, section });
    }
    Ok(())
}
