//! Structs, unions and typedefs: the types through which a graph can have cycles.

use super::{DedupError, State, usize_of};
use crate::btf::Kind;
use alloc::vec::Vec;

impl State {
    /// libbpf: `btf_dedup_struct_types`
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

    /// All of the record but the types it refers to (libbpf: `btf_hash_by_kind`).
    fn key(&self, id: u32) -> Vec<u32> {
        let record = self.records.get(id);
        if record.kind() == Kind::Typedef {
            return record.head().to_vec();
        }
        let members = record.members().flat_map(|[name, _, offset]| [name, offset]);
        record.common().iter().copied().chain(members).collect()
    }

    /// Makes of what was supposed while two graphs turned out the same what is known: declarations have found their
    /// definitions, structs of the new graph their kept ones (libbpf: `btf_dedup_merge_hypot_map`).
    fn merge(&mut self) -> Result<(), DedupError> {
        for at in 0..self.met.len() {
            let Some(kept) = self.met.get(at).copied() else { break };
            let new = self.supposed.get(usize_of(kept)).copied().unwrap_or_default();
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
