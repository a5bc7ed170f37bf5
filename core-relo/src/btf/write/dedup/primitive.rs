//! Deduplication of types without references.

use super::{DedupError, Deduplicator, bad_kind};
use crate::btf::format::Kind;
use alloc::vec::Vec;

impl Deduplicator {
    /// Deduplicates all types without references (libbpf: `btf_dedup_prim_types`).
    pub(super) fn primitives(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            match self.records.get(id).kind() {
                Kind::Int | Kind::Fwd | Kind::Float => self.plain(id),
                Kind::Enum | Kind::Enum64 => self.enumeration(id)?,
                Kind::Void | Kind::Unknown(_) => return Err(bad_kind(id, self.records.get(id))),
                _ => {}
            }
        }
        Ok(())
    }

    fn plain(&mut self, id: u32) {
        // Equal keys are equal records.
        let key = self.records.get(id).words().to_vec();
        let to = self.table.first(&key).unwrap_or(id);
        self.settle(id, to, key);
    }

    /// Deduplicates an enum. A forward-declared enum is mapped to a full enum of any size.
    fn enumeration(&mut self, id: u32) -> Result<(), DedupError> {
        let key = Vec::from([self.records.get(id).name()]);
        let mut to = id;
        let kept = self.table.take(&key);
        for other in kept.iter().rev().copied() {
            let (this, kept) = (self.records.get(id), self.records.get(other));
            self.step(this.words().len())?;
            if this.words() == kept.words() || (this.is_like_enum(kept) && this.is_forward_enum()) {
                to = other;
                break;
            }
            if this.is_like_enum(kept) {
                self.set_mapped(other, id);
            }
        }
        self.table.put_back(&key, kept);
        self.settle(id, to, key);
        Ok(())
    }
}
