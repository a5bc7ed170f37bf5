//! What is left: pointers, modifiers, arrays, functions and tags, each after what it refers to.

use super::{BUSY, DedupError, State, bad_kind};
use crate::{
    btf::{
        Kind,
        import::{IdPlaces, id_places},
    },
    ids::TypeId,
};
use alloc::vec::Vec;
use core::iter::Peekable;

/// A type whose references are being settled, and the places of those that are not.
type Open = (u32, Peekable<IdPlaces>);

impl State {
    /// libbpf: `btf_dedup_ref_types`
    pub(super) fn references(&mut self) -> Result<(), DedupError> {
        for id in self.own_ids() {
            if !self.is_mapped(id) {
                self.reference(id)?;
            }
        }
        Ok(())
    }

    /// Settles what a type refers to, then the type (libbpf: `btf_dedup_ref_type`; a list of types stands for its recursion).
    fn reference(&mut self, id: u32) -> Result<(), DedupError> {
        let mut open = Vec::new();
        self.begin(id, &mut open)?;
        while let Some((id, unsettled)) = open.last_mut() {
            let id = *id;
            self.step(1)?;
            let record = self.records.get(id);
            let Some(place) = unsettled.peek().copied() else {
                // The types it refers to being settled, equal words are equal types.
                let key = record.words().to_vec();
                let to = self.table.first(&key).unwrap_or(id);
                self.settle(id, to, key);
                open.pop();
                continue;
            };
            let below = record.word(place);
            if self.is_mapped(below) {
                unsettled.next();
                let to = self.resolve(below)?;
                self.records.set_word(id, place, to);
            } else {
                self.begin(below, &mut open)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, id: u32, open: &mut Vec<Open>) -> Result<(), DedupError> {
        if self.mapped(id) == BUSY {
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
        let places = id_places(record.kind(), record.words().len());
        self.set_mapped(id, BUSY);
        open.push((id, places.peekable()));
        Ok(())
    }
}
