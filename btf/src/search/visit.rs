//! Visits of the types of some kinds. Records of other kinds are not read.

use crate::{
    ids::StrOffset,
    parse::{Btf, KindSet, Strings},
    view::Type,
};
use core::ops::ControlFlow;

/// The number of names that are fetched before the first of them is compared.
const BATCH: usize = 64;

impl Btf<'_> {
    /// Calls `found` with the own types of some kinds, in order of id, until `found` returns `Break`.
    #[inline]
    pub(crate) fn visit<'b, B>(
        &'b self,
        kinds: &KindSet,
        mut found: impl FnMut(Type<'b>) -> ControlFlow<B>,
    ) -> Option<B> {
        let endian = self.endian();
        let flow =
            self.table.visit(self.types_section(), kinds, |own_index, record| {
                match Type::from_record(self, endian, own_index, record) {
                    Some(ty) => found(ty),
                    None => ControlFlow::Continue(()),
                }
            });
        flow.break_value()
    }

    /// Calls `found` with the own types of some kinds whose names `may_match`.
    ///
    /// Names lie anywhere in the string section. The names of a batch are fetched together, so that the
    /// processor waits for several at once.
    #[inline]
    pub(crate) fn visit_named<'b>(
        &'b self,
        kinds: &KindSet,
        may_match: impl Fn(Strings<'b>, StrOffset) -> bool,
        mut found: impl FnMut(Type<'b>),
    ) {
        let (types, strings, endian) = (self.types_section(), self.strings(), self.endian());
        let mut compare = |batch: &[(usize, StrOffset)]| {
            for (own_index, name) in batch {
                if may_match(strings, *name)
                    && let Some(ty) = Type::from_section(self, types, *own_index)
                {
                    found(ty);
                }
            }
        };
        let (mut batch, mut len) = ([(0, StrOffset(0)); BATCH], 0usize);
        let _continue: ControlFlow<()> = self.table.visit(types, kinds, |own_index, record| {
            if let (Some(name), Some(slot)) = (endian.u32(record, 0), batch.get_mut(len)) {
                *slot = (own_index, StrOffset(name));
                len = len.wrapping_add(1) % BATCH;
                if len == 0 {
                    compare(&batch);
                }
            }
            ControlFlow::Continue(())
        });
        if let Some(rest) = batch.get(..len) {
            compare(rest);
        }
    }
}
