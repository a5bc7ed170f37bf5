//! Types in the order of their names, as kernel builds have them from Linux 7.0 on.

use super::{import::ImportError, rewrite::rewrite_in_order};
use crate::{
    format::Kind,
    ids::{StrOffset, TypeId, to_usize},
    limits,
    parse::Btf,
    view::Type,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// A sorted BTF, and the new id of each type.
#[derive(Clone, Debug)]
pub struct SortResult {
    bytes: Vec<u8>,
    first_id: TypeId,
    ids: Vec<TypeId>,
}

impl SortResult {
    /// Returns the new id of a type. Types of the base keep their ids.
    pub fn id(&self, old: TypeId) -> Option<TypeId> {
        match old.0.checked_sub(self.first_id.0) {
            Some(own_index) => self.ids.get(to_usize(own_index)).copied(),
            None => Some(old),
        }
    }

    /// Returns the bytes of the sorted BTF.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Sorts the own types: types without a name first, then by the bytes of the name, then by id (libbpf:
/// `btf__permute`; kernel: `btf_check_sorted`). Strings and the layout section stay the same.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, TypeId, sort};
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// b.int("int", 4, Builder::SIGNED);
/// b.pointer(long);
/// let sorted = sort(&Btf::parse(b.finish()).unwrap()).unwrap();
/// assert_eq!(sorted.id(long), Some(TypeId(3)));
/// ```
pub fn sort(btf: &Btf<'_>) -> Result<SortResult, ImportError> {
    let ranks = rank_names(btf)?;
    let mut order = Vec::with_capacity(btf.table.len());
    for (own_index, ty) in btf.types().enumerate() {
        if let Kind::Unknown(kind) = ty.kind() {
            return Err(ImportError::UnknownKind { id: ty.id(), kind });
        }
        let at = ty.name_offset();
        order.push((ranks.get(&at).copied().ok_or(ImportError::Name { at })?, own_index));
    }
    order.sort_unstable();
    let mut ids = alloc::vec![TypeId::VOID; order.len()];
    for (new_index, (_, own_index)) in order.iter().enumerate() {
        if let Some(id) = ids.get_mut(*own_index) {
            *id = btf.id_at(new_index);
        }
    }
    let map_id = |old: TypeId| btf.own_index(old).and_then(|own| ids.get(own).copied()).unwrap_or(old);
    let bytes = rewrite_in_order(btf, order.iter().map(|(_, own_index)| *own_index), map_id, |at, _| at);
    Ok(SortResult { bytes, first_id: btf.first_id(), ids })
}

/// Returns the rank of the name at each offset. Equal names have equal ranks, and the empty name has the
/// lowest.
///
/// The names at different offsets have a limited total length, because names that overlap make comparisons
/// expensive.
fn rank_names(btf: &Btf<'_>) -> Result<HashMap<StrOffset, usize>, ImportError> {
    let len = to_usize(btf.string_end());
    let mut bytes_left = len.saturating_mul(limits::STRING_COPIES);
    let mut ranks: HashMap<StrOffset, usize> = HashMap::new();
    let mut names = Vec::new();
    for at in btf.types().map(Type::name_offset) {
        if ranks.insert(at, 0).is_none() {
            let name = btf.name(at).ok_or(ImportError::Name { at })?.as_bytes();
            bytes_left = bytes_left.checked_sub(name.len()).ok_or(ImportError::OverlappingNames { len })?;
            names.push((name, at));
        }
    }
    names.sort_unstable();
    for (rank, equal) in (0..).zip(names.chunk_by(|(a, _), (b, _)| a == b)) {
        ranks.extend(equal.iter().map(|(_, at)| (*at, rank)));
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Endian};
    use alloc::sync::Arc;

    #[test]
    fn anonymous_types_come_first_then_names_then_ids() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let z = b.structure("z", 8, &[("p", TypeId(3), 0)]);
            let a = b.int("a", 4, 0);
            let pointer = b.pointer(z);
            let z_typedef = b.typedef("z", a);
            let proto = b.func_proto(a, &[("x", pointer)]);
            let sorted = sort(&Btf::parse(b.finish()).unwrap()).unwrap();
            let ids = [z, a, pointer, z_typedef, proto].map(|old| sorted.id(old).unwrap().0);
            assert_eq!(ids, [4, 3, 1, 5, 2]);
            let mut btf = Btf::parse(sorted.into_bytes()).unwrap();
            assert_eq!(btf.ty(TypeId(1)).unwrap().target(), Some(TypeId(4)));
            assert_eq!(btf.ty(TypeId(4)).unwrap().member(0).unwrap().ty, TypeId(1));
            let param = btf.ty(TypeId(2)).unwrap().param(0).unwrap();
            assert_eq!((param.name.as_bytes(), param.ty), (&b"x"[..], TypeId(1)));
            assert!(btf.trust_order(), "the search accepts the order");
        }
    }

    #[test]
    fn a_split_btf_refers_to_its_base_as_before() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, 0);
        let base = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut s = Builder::split_with_strings(&base);
        let typedef = s.typedef("t", int);
        let own_int = s.typedef("int", typedef);
        let sorted = sort(&Btf::parse_split(s.finish(), Arc::clone(&base)).unwrap()).unwrap();
        assert_eq!([int, typedef, own_int].map(|id| sorted.id(id).unwrap().0), [1, 3, 2]);
        let split = Btf::parse_split(sorted.into_bytes(), base).unwrap();
        let own_int = split.ty(TypeId(2)).unwrap();
        assert_eq!((own_int.name().as_bytes(), own_int.target()), (&b"int"[..], Some(TypeId(3))));
        assert_eq!(split.ty(TypeId(3)).unwrap().target(), Some(int));
    }

    /// A string of 60,000 letters, of which every suffix is a name.
    #[test]
    fn names_that_overlap_are_an_error() {
        let mut b = Builder::new(Endian::Little);
        let long = b.string_bytes(&alloc::vec![b'a'; 60_000]);
        for suffix in 0..60_000 {
            let id = b.int("", 4, 0);
            assert!(b.set_word(id, 0, long.0.saturating_add(suffix)));
        }
        let btf = Btf::parse(b.finish()).unwrap();
        assert_eq!(sort(&btf).err(), Some(ImportError::OverlappingNames { len: 60_002 }));
    }
}
