//! Deduplication of structs, unions and typedefs, through which graphs of types can have cycles.

use super::{DedupError, Deduplicator, UNMAPPED, usize_of};
use crate::btf::format::Kind;
use alloc::vec::Vec;

impl Deduplicator {
    /// Deduplicates all structs, unions and typedefs (libbpf: `btf_dedup_struct_types`).
    pub(super) fn composites(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            let kind = self.records.get(id).kind();
            if !self.is_mapped(id) && matches!(kind, Kind::Struct | Kind::Union | Kind::Typedef) {
                self.composite(id)?;
            }
        }
        Ok(())
    }

    fn composite(&mut self, id: u32) -> Result<(), DedupError> {
        let key = self.key(id);
        let mut to = id;
        let alike = self.table.take(&key);
        for kept in alike.iter().rev().copied() {
            self.step(1)?;
            if self.equivalent(id, kept)? {
                self.merge()?;
                to = kept;
                break;
            }
        }
        self.table.put_back(&key, alike);
        self.settle(id, to, key);
        Ok(())
    }

    /// Returns the record without the types to which it refers (libbpf: `btf_hash_by_kind`).
    fn key(&self, id: u32) -> Vec<u32> {
        let record = self.records.get(id);
        if record.kind() == Kind::Typedef {
            return record.head().to_vec();
        }
        let members = record.members().flat_map(|[name, _, offset]| [name, offset]);
        record.common().iter().copied().chain(members).collect()
    }

    /// Applies the mapping of two equal graphs: declarations are mapped to their definitions, and structs of the new graph to those of
    /// the kept graph (libbpf: `btf_dedup_merge_hypot_map`).
    fn merge(&mut self) -> Result<(), DedupError> {
        for at in 0..self.hypot_list.len() {
            let Some(kept) = self.hypot_list.get(at).copied() else { break };
            let new = self.hypot_map.get(usize_of(kept)).copied().ok_or(UNMAPPED)?;
            let (new, kept) = (self.resolve(new)?, self.resolve(kept)?);
            let (new_kind, kept_kind) = (self.records.get(new).kind(), self.records.get(kept).kind());
            let is_open_composite = new_kind.is_composite() && self.is_mapped(kept) && !self.is_mapped(new);
            match (new_kind, kept_kind) {
                (Kind::Fwd, Kind::Fwd) => {}
                (_, Kind::Fwd) => self.set_mapped(kept, new),
                (Kind::Fwd, _) => self.set_mapped(new, kept),
                _ if is_open_composite => self.set_mapped(new, kept),
                _ => {}
            }
        }
        Ok(())
    }
}
