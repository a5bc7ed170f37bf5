//! Forward declarations of structs and unions with exactly one definition.

use super::{DedupError, Deduplicator};
use crate::format::Kind;
use hashbrown::HashMap;

impl Deduplicator {
    /// Maps forward declarations to their definitions (libbpf: `btf_dedup_resolve_fwds`).
    pub(super) fn resolve_forwards(&mut self) -> Result<(), DedupError> {
        // `None` where several canonical types share the name.
        let mut unique: HashMap<u32, Option<u32>> = HashMap::new();
        for id in 1..self.records.end() {
            let record = self.records.get(id)?;
            if record.kind().is_composite() && self.mapped(id)? == id {
                unique.entry(record.name()).and_modify(|known| *known = None).or_insert(Some(id));
            }
        }
        for id in self.own_ids() {
            let record = self.records.get(id)?;
            if record.kind() != Kind::Fwd || self.mapped(id)? != id {
                continue;
            }
            if let Some(to) = unique.get(&record.name()).copied().flatten()
                && self.records.get(to)?.kind() == record.declared_kind()
            {
                self.set_mapped(id, to)?;
            }
        }
        Ok(())
    }
}
