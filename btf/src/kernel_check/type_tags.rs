//! The order of type tags and other modifiers (kernel: `btf_check_type_tags`).

use super::{
    checker::{Checker, Part},
    rule::BtfRule,
};
use crate::{format::Kind, ids::TypeId, limits};

impl Checker<'_> {
    /// Checks that type tags come before other modifiers, and that chains of modifiers are short.
    pub(super) fn check_type_tags(&mut self) {
        let mut last_checked = TypeId::VOID;
        for id in self.records.ids() {
            let Some(record) = self.records.get(id) else { return };
            if !record.kind().is_modifier_or_typedef() {
                continue;
            }
            match self.check_chain(id, last_checked) {
                Ok(()) => last_checked = id,
                Err(rule) => self.report(id, record, Part::Whole, rule),
            }
        }
    }

    /// Checks a chain of modifiers. The chains that begin at types up to `last_checked` are valid.
    fn check_chain(&self, start: TypeId, last_checked: TypeId) -> Result<(), BtfRule> {
        let mut is_in_tags = self.records.kind(start) == Some(Kind::TypeTag);
        let mut at = start;
        for _ in 0..limits::KERNEL_RESOLVE_DEPTH {
            let Some(record) = self.records.get(at) else { return Ok(()) };
            match record.kind() {
                Kind::TypeTag if !is_in_tags && self.rules.checks_tag_order => return Err(BtfRule::TagOrder),
                Kind::TypeTag => {}
                kind if kind.is_modifier_or_typedef() => is_in_tags = false,
                _ => return Ok(()),
            }
            if at <= last_checked {
                return Ok(());
            }
            at = TypeId(record.third);
        }
        let is_longer = self.records.kind(at).is_some_and(Kind::is_modifier_or_typedef);
        if is_longer { Err(BtfRule::ModifierChain) } else { Ok(()) }
    }
}
