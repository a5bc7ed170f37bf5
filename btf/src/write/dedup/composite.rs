//! Deduplication of structs, unions and typedefs, through which graphs of types can have cycles.

use super::{DedupError, Deduplicator, UNMAPPED, classes::classes, usize_of};
use crate::format::Kind;

impl Deduplicator {
    /// Deduplicates all structs, unions and typedefs (libbpf: `btf_dedup_struct_types`).
    pub(super) fn dedup_composites(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            let kind = self.records.get(id)?.kind();
            if !self.is_mapped(id)? && matches!(kind, Kind::Struct | Kind::Union | Kind::Typedef) {
                self.dedup_composite(id)?;
            }
        }
        Ok(())
    }

    fn dedup_composite(&mut self, id: u32) -> Result<(), DedupError> {
        let mut to = id;
        let mut same_key = self.canonical.first(&self.records, id)?;
        let mut is_merged = false;
        while let Some(canon) = same_key {
            same_key = self.canonical.after(canon)?;
            self.step(1)?;
            if self.is_equivalent(id, canon)? {
                is_merged = true;
                self.merge_hypot_map()?;
                if !self.defines_base_forward {
                    to = canon;
                    break;
                }
            }
            // Types that were compared before are compared once more. That changes nothing, unless a FWD of
            // the base got its definition.
            if !is_merged && self.divide_into_classes()? {
                same_key = self.canonical.first(&self.records, id)?;
            }
        }
        self.map_to(id, to)
    }

    /// Divides all types into classes if the comparisons have taken many steps, so that only types of one
    /// class are compared after that. Returns whether the lists of canonical types have changed.
    fn divide_into_classes(&mut self) -> Result<bool, DedupError> {
        if self.steps_left.get() >= self.classes_below {
            return Ok(false);
        }
        self.classes_below = 0;
        let classes = classes(&self.records, |n| self.step(n))?;
        self.canonical.divide(&self.records, classes)?;
        Ok(true)
    }

    /// Applies `hypot_map` after the candidate and canonical graphs proved equal (libbpf:
    /// `btf_dedup_merge_hypot_map`).
    ///
    /// Forward declarations are mapped to their definitions, and composites of the candidate graph to those
    /// of the canonical graph. If the graphs are equal only with another definition of a FWD of the base,
    /// nothing else is mapped.
    fn merge_hypot_map(&mut self) -> Result<(), DedupError> {
        for at in 0..self.hypot_list.len() {
            let Some(canon) = self.hypot_list.get(at).copied() else { break };
            let cand = self.hypot_map.get(usize_of(canon)).copied().ok_or(UNMAPPED)?;
            let (cand, canon) = (self.resolve(cand)?, self.resolve(canon)?);
            let (cand_kind, canon_kind) = (self.records.get(cand)?.kind(), self.records.get(canon)?.kind());
            let is_unresolved_composite =
                cand_kind.is_composite() && self.is_mapped(canon)? && !self.is_mapped(cand)?;
            let only_forwards = self.defines_base_forward;
            match (cand_kind, canon_kind) {
                (Kind::Fwd, Kind::Fwd) => {}
                (_, Kind::Fwd) => self.set_mapped(canon, cand)?,
                _ if only_forwards => {}
                (Kind::Fwd, _) => self.set_mapped(cand, canon)?,
                _ if is_unresolved_composite => self.set_mapped(cand, canon)?,
                _ => {}
            }
        }
        Ok(())
    }
}
