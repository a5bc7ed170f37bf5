//! Deduplication of types without references.

use super::{DedupError, Deduplicator, bad_kind};
use crate::format::Kind;

impl Deduplicator {
    /// Deduplicates all types without references (libbpf: `btf_dedup_prim_types`).
    pub(super) fn dedup_primitives(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            match self.records.get(id)?.kind() {
                Kind::Int | Kind::Fwd | Kind::Float => self.dedup_simple(id)?,
                Kind::Enum | Kind::Enum64 => self.dedup_enum(id)?,
                Kind::Void | Kind::Unknown(_) => return Err(bad_kind(id, self.records.get(id)?)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Deduplicates a type that equals another only if all words of the records are equal.
    fn dedup_simple(&mut self, id: u32) -> Result<(), DedupError> {
        let to = self.canonical.first(&self.records, id)?.unwrap_or(id);
        self.map_to(id, to)
    }

    /// Deduplicates an enum. A forward-declared enum is mapped to a full enum of any size.
    fn dedup_enum(&mut self, id: u32) -> Result<(), DedupError> {
        let mut to = id;
        let mut same_name = self.canonical.first(&self.records, id)?;
        while let Some(canon) = same_name {
            same_name = self.canonical.after(canon)?;
            let (this, other) = (self.records.get(id)?, self.records.get(canon)?);
            self.step(this.words().len())?;
            if this.words() == other.words() || (this.is_like_enum(other) && this.is_forward_enum()) {
                to = canon;
                break;
            }
            if this.is_like_enum(other) {
                // `other` is a forward declaration of this enum.
                self.set_mapped(canon, id)?;
            }
        }
        self.map_to(id, to)
    }
}
