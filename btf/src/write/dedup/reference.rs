//! Deduplication of pointers, modifiers, arrays, functions and tags, after the types to which they refer.

use super::{DedupError, Deduplicator, IN_PROGRESS, bad_kind};
use crate::{
    format::{IdWords, Kind, References},
    ids::TypeId,
};
use alloc::vec::Vec;
use core::iter::Peekable;

/// A type whose references are being resolved, and the indices of the words that are not resolved yet.
type Pending = (u32, Peekable<IdWords>);

impl Deduplicator {
    /// Deduplicates the remaining types (libbpf: `btf_dedup_ref_types`).
    pub(super) fn dedup_references(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            if !self.is_mapped(id)? {
                self.dedup_reference(id)?;
            }
        }
        Ok(())
    }

    /// Deduplicates the types to which a type refers, then the type (libbpf: `btf_dedup_ref_type`; a stack
    /// replaces its recursion).
    fn dedup_reference(&mut self, id: u32) -> Result<(), DedupError> {
        let mut pending = Vec::new();
        self.begin(id, &mut pending)?;
        while let Some((id, unresolved)) = pending.last_mut() {
            let id = *id;
            self.step(1)?;
            let record = self.records.get(id)?;
            let Some(word) = unresolved.peek().copied() else {
                // All references are resolved, so that equal words are equal types.
                let to = self.canonical.first(&self.records, id)?.unwrap_or(id);
                self.map_to(id, to)?;
                pending.pop();
                continue;
            };
            let target = record.word(word)?;
            if self.is_mapped(target)? {
                unresolved.next();
                let to = self.resolve(target)?;
                self.records.set_word(id, word, to)?;
            } else {
                self.begin(target, &mut pending)?;
            }
        }
        Ok(())
    }

    /// Puts a type on the stack of pending types.
    fn begin(&mut self, id: u32, pending: &mut Vec<Pending>) -> Result<(), DedupError> {
        if self.mapped(id)? == IN_PROGRESS {
            return Err(DedupError::Loop { id: TypeId(id) });
        }
        let record = self.records.get(id)?;
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
        self.set_mapped(id, IN_PROGRESS)?;
        pending.push((id, ids.peekable()));
        Ok(())
    }
}
