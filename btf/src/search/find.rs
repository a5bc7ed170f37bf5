//! The search for the first type of a name and kind.

use super::sorted::Sorted;
use crate::{
    format::Kind,
    parse::{Btf, KindSet, NameOrder, NamePrefix},
    view::Type,
};
use core::ops::ControlFlow;

impl Btf<'_> {
    /// Samples the own types' names. If they seem to be sorted, [`find`](Self::find) and
    /// [`NameIndex`](super::NameIndex) use bisection from now on. Returns whether the types seem to be
    /// sorted.
    ///
    /// Call this only for BTF from a source that sorts all types or none: the running kernel and its modules,
    /// in sysfs or from bpf(2). Sampling compares a few hundred names. In a file, a single changed letter
    /// could mislead bisection, which then would not find the types that libbpf finds. For a file,
    /// [`NameIndex`](super::NameIndex) compares all names.
    pub fn trust_order(&mut self) -> bool {
        self.name_order = NameOrder::sample(self);
        self.name_order.is_some()
    }

    /// Returns the first type of this name and kind, the base's types first.
    pub fn find(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        let in_base = self.base().and_then(|base| base.find(name, kind));
        in_base.or_else(|| self.find_own(name, kind))
    }

    /// Returns the first own type of this name and kind, without the base's types (libbpf:
    /// `btf__find_by_name_kind_own`).
    pub fn find_own(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        if name.contains(&0) {
            return None;
        }
        if let Some(order) = self.name_order.filter(|_| !name.is_empty()) {
            return Sorted::new(self, order).find(name, kind);
        }
        let strings = self.strings();
        let prefix = NamePrefix::from_name(name, 0);
        self.visit(&KindSet::new([kind]), |ty| {
            let offset = ty.name_offset();
            let may_match = strings.prefix(offset).is_none_or(|other| other == prefix);
            if may_match && strings.equals(offset, name) {
                ControlFlow::Break(ty)
            } else {
                ControlFlow::Continue(())
            }
        })
    }
}
