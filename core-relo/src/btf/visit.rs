//! Types of some kinds, one after the other, the others not even read.

use super::{Btf, KindSet, Strings, Type};
use crate::ids::{StrOffset, TypeId, low_u32, to_usize};
use core::ops::ControlFlow;

/// Names that are fetched before the first of them is looked at.
const MANY: usize = 64;

impl Btf<'_> {
    /// Calls `found` with the own types of some kinds, in order of id, until it breaks.
    #[inline]
    pub(crate) fn visit<'b, B>(
        &'b self,
        kinds: &KindSet,
        mut found: impl FnMut(Type<'b>) -> ControlFlow<B>,
    ) -> Option<B> {
        let types = self.data.get(..self.header.types.end).unwrap_or_default();
        let done = self.table.visit(kinds, |place| match self.own(types, place) {
            Some(ty) => found(ty),
            None => ControlFlow::Continue(()),
        });
        done.break_value()
    }

    /// Calls `found` with those whose names `may_be` among what is looked for.
    ///
    /// Names lie anywhere. So many are asked for together that their ways from memory overlap.
    #[inline]
    pub(crate) fn visit_named<'b>(
        &'b self,
        kinds: &KindSet,
        may_be: impl Fn(Strings<'b>, StrOffset) -> bool,
        mut found: impl FnMut(Type<'b>),
    ) {
        let types = self.data.get(..self.header.types.end).unwrap_or_default();
        let (endian, strings) = (self.header.endian, self.strings());
        let mut look = |waiting: &[(u32, StrOffset)]| {
            for (place, name) in waiting {
                if may_be(strings, *name)
                    && let Some(ty) = self.own(types, to_usize(*place))
                {
                    found(ty);
                }
            }
        };
        let (mut waiting, mut len) = ([(0, StrOffset(0)); MANY], 0usize);
        let _done: ControlFlow<()> = self.table.visit(kinds, |place| {
            let at = self.table.offset(place, types.len()).unwrap_or_default();
            let name = types.get(at..).and_then(|record| endian.u32(record, 0)).unwrap_or_default();
            if let Some(last) = waiting.get_mut(len) {
                *last = (low_u32(place), StrOffset(name));
            }
            len = len.wrapping_add(1) % MANY;
            if len == 0 {
                look(&waiting);
            }
            ControlFlow::Continue(())
        });
        look(waiting.get(..len).unwrap_or_default());
    }

    #[inline]
    fn own<'b>(&'b self, types: &'b [u8], place: usize) -> Option<Type<'b>> {
        let at = self.table.offset(place, types.len()).unwrap_or_default();
        let id = TypeId(self.first_id.0.wrapping_add(low_u32(place)));
        Type::of(self, self.header.endian, id, types.get(at..)?)
    }
}
