//! The structs with which structs begin.

use super::needs::Needs;
use crate::{
    TypeId,
    btf::{Kind, Member, Type},
};
use alloc::vec::Vec;
use hashbrown::HashSet;

impl<'t> Needs<'t> {
    /// Adds the first member of every needed struct if it is a struct or union itself, the first member of
    /// its type, and so on. Of a union, it adds all such members.
    ///
    /// A verdict takes a `struct tcp_sock *` for a `struct sock *`, because `struct tcp_sock` begins with a
    /// `struct sock`.
    pub fn add_first_members(&mut self) {
        for btf_index in 0..self.tables.len() {
            let Some(table) = self.tables.get(btf_index) else { return };
            let mut unvisited = table.sorted_ids();
            let mut visited = HashSet::new();
            while let Some(id) = unvisited.pop() {
                let ty = self.composite(btf_index, id);
                if let Some(ty) = ty.filter(|ty| visited.insert(ty.id())) {
                    unvisited.extend(self.add_first_members_of(btf_index, ty));
                }
            }
        }
    }

    /// Adds the first member of a struct, and returns its type if it is a struct or union.
    fn add_first_members_of(&mut self, btf_index: usize, ty: Type<'t>) -> Option<TypeId> {
        let mut at_start = ty.members().filter(|member| member.bit_offset.0 == 0);
        let first = at_start.next()?;
        let inner = self.composite(btf_index, first.ty);
        let others: Vec<_> =
            at_start.filter(|member| self.composite(btf_index, member.ty).is_some()).collect();
        // Without the first member, another one would be the first.
        if inner.is_some() || !others.is_empty() {
            self.add_member_extent(btf_index, ty, &first);
        }
        for other in others.iter().filter(|_| ty.kind() == Kind::Union) {
            self.add_member_extent(btf_index, ty, other);
        }
        inner.map(Type::id)
    }

    fn add_member_extent(&mut self, btf_index: usize, ty: Type<'_>, member: &Member<'_>) {
        self.add_extent(btf_index, member.ty);
        if let Some(need) = self.add_record(btf_index, ty.id()) {
            need.add_element(member.index);
        }
    }

    /// Returns a type without its modifiers and typedefs, if it is a struct or union.
    fn composite(&self, btf_index: usize, id: TypeId) -> Option<Type<'t>> {
        self.btf(btf_index)?.strip(id).ok().filter(|ty| ty.kind().is_composite())
    }
}
