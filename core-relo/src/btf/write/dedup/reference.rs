//! Deduplication of pointers, modifiers, arrays, functions and tags, after the types to which they refer.

use super::{DedupError, Deduplicator, IN_PROGRESS, bad_kind};
use crate::{
    btf::format::{IdPlaces, Kind, References},
    ids::TypeId,
};
use alloc::vec::Vec;
use core::iter::Peekable;

/// A type whose references are being resolved, and the words of those that are left.
type Pending = (u32, Peekable<IdPlaces>);

impl Deduplicator {
    /// Deduplicates the remaining types (libbpf: `btf_dedup_ref_types`).
    pub(super) fn references(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            if !self.is_mapped(id) {
                self.reference(id)?;
            }
        }
        Ok(())
    }

    /// Deduplicates the types to which a type refers, then the type (libbpf: `btf_dedup_ref_type`; a stack replaces its
    /// recursion).
    fn reference(&mut self, id: u32) -> Result<(), DedupError> {
        let mut pending = Vec::new();
        self.begin(id, &mut pending)?;
        while let Some((id, unresolved)) = pending.last_mut() {
            let id = *id;
            self.step(1)?;
            let record = self.records.get(id);
            let Some(word) = unresolved.peek().copied() else {
                // All references are resolved, so that equal words are equal types.
                let key = record.words().to_vec();
                let to = self.table.first(&key).unwrap_or(id);
                self.settle(id, to, key);
                pending.pop();
                continue;
            };
            let target = record.word(word);
            if self.is_mapped(target) {
                unresolved.next();
                let to = self.resolve(target)?;
                self.records.set_word(id, word, to);
            } else {
                self.begin(target, &mut pending)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, id: u32, pending: &mut Vec<Pending>) -> Result<(), DedupError> {
        if self.mapped(id) == IN_PROGRESS {
            return Err(DedupError::Loop { id: TypeId(id) });
        }
        let record = self.records.get(id);
        let may_refer = matches!(
            record.kind(),
            Kind::Const
                | Kind::Volatile
                | Kind::Restrict
                | Kind::Ptr
                | Kind::Func
                | Kind::TypeTag
                | Kind::DeclTag
                | Kind::Array
                | Kind::FuncProto
        );
        if !may_refer {
            return Err(bad_kind(id, record));
        }
        let ids = References::new(record.kind(), record.words().len()).ids();
        self.set_mapped(id, IN_PROGRESS);
        pending.push((id, ids.peekable()));
        Ok(())
    }
}
