//! The quick way through the records that compilers write: where they lie, that they lie within, and that what they refer to
//! exists.
//!
//! It is most of what opening a kernel's BTF costs. It knows no errors: what it does not take is read again by
//! [`Table::scan`] and [`super::check`], which take more (kinds younger than the library) and say what is wrong.

use super::{
    Btf, Way,
    elements::{Bounds, are_there},
    halves,
    header::Header,
    heads::{self, Passed},
    table::{BLOCK, Places, Table},
};
use crate::{
    endian::Endian,
    ids::{TypeId, to_u32},
};
use alloc::{vec, vec::Vec};

/// Bytes of the smallest record.
pub(super) const HEAD: usize = 12;

/// The records of a BTF, if there is nothing unusual about them; `string_end` is one past the last string offset.
///
/// Elements are left alone if that is the way.
pub(super) fn read(
    data: &[u8],
    header: &Header,
    base: Option<&Btf<'_>>,
    first_id: TypeId,
    string_end: u32,
    way: Way,
) -> Option<Table> {
    let types = data.get(header.types.clone())?;
    // The empty name is there even if the strings are not (in a split BTF).
    let names = string_end.max(1);
    let mut room = Room::new(types.len() / HEAD);
    match header.endian {
        Endian::Little => pass::<false>(types, names, first_id.0, base, way, &mut room),
        Endian::Big => pass::<true>(types, names, first_id.0, base, way, &mut room),
    }
    .map(|count| room.into_table(count))
}

fn pass<const BIG: bool>(
    types: &[u8],
    names: u32,
    first_id: u32,
    base: Option<&Btf<'_>>,
    way: Way,
    room: &mut Room,
) -> Option<usize> {
    let Passed { count, highest_id } = unvalidated_pass::<BIG>(types, names, first_id, room)?;
    let ids = first_id.checked_add(to_u32(count))?;
    if highest_id >= ids {
        return None;
    }
    if way != Way::Unvalidated {
        let bounds = Bounds { names, first_id, ids };
        return are_there::<BIG>(types, room.part(), count, bounds, base).then_some(count);
    }
    Some(count)
}

fn unvalidated_pass<const BIG: bool>(
    types: &[u8],
    names: u32,
    first_id: u32,
    room: &mut Room,
) -> Option<Passed> {
    let ids = first_id.saturating_add(to_u32(types.len() / HEAD));
    let by_halves = types.len() >= halves::WORTH_IT;
    let by_halves = by_halves.then(|| halves::pass::<BIG>(types, names, ids, room)).flatten();
    by_halves.or_else(|| heads::pass::<BIG>(types, 0, names, room.part()))
}

/// Where the pass writes what it finds: as large as can be needed, for zeroed pages that are never touched cost nothing.
pub(super) struct Room {
    pub(super) blocks: Vec<u32>,
    pub(super) lows: Vec<u16>,
    pub(super) kinds: Vec<u8>,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        // Blocks more, for a second pass begins with one, and who looks at elements takes two at a time and where the next begins.
        let most = most.saturating_add(1).saturating_add(3 * BLOCK).next_multiple_of(BLOCK);
        Self { blocks: vec![0; most / BLOCK], lows: vec![0; most], kinds: vec![0; most] }
    }

    pub(super) fn part(&mut self) -> Part<'_> {
        Part { blocks: &mut self.blocks, lows: &mut self.lows, kinds: &mut self.kinds }
    }

    pub(super) fn into_table(self, count: usize) -> Table {
        let Self { mut blocks, mut lows, mut kinds } = self;
        blocks.truncate(count.div_ceil(BLOCK));
        lows.truncate(count);
        kinds.truncate(count);
        blocks.shrink_to_fit();
        lows.shrink_to_fit();
        kinds.shrink_to_fit();
        Table { places: Places::Near { blocks, lows }, kinds }
    }
}

/// As much of a [`Room`] as one pass writes.
pub(super) struct Part<'r> {
    pub(super) blocks: &'r mut [u32],
    pub(super) lows: &'r mut [u16],
    pub(super) kinds: &'r mut [u8],
}

/// Where what is found of a block's records is written.
pub(super) struct Block<'r> {
    pub(super) start: &'r mut u32,
    pub(super) lows: &'r mut [u16; BLOCK],
    pub(super) kinds: &'r mut [u8; BLOCK],
}

impl Part<'_> {
    pub(super) fn blocks(&mut self) -> impl Iterator<Item = Block<'_>> {
        let lows = self.lows.as_chunks_mut().0.iter_mut();
        let kinds = self.kinds.as_chunks_mut().0.iter_mut();
        let all = self.blocks.iter_mut().zip(lows).zip(kinds);
        all.map(|((start, lows), kinds)| Block { start, lows, kinds })
    }

    /// What is before this place, which is the first of a block, and what is from it on.
    pub(super) fn split_at(self, place: usize) -> Option<[Self; 2]> {
        let blocks = self.blocks.split_at_mut_checked(place / BLOCK)?;
        let (lows, kinds) = (self.lows.split_at_mut_checked(place)?, self.kinds.split_at_mut_checked(place)?);
        let [low, high] = [(blocks.0, lows.0, kinds.0), (blocks.1, lows.1, kinds.1)];
        Some([low, high].map(|(blocks, lows, kinds)| Self { blocks, lows, kinds }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::{BtfError, Builder, BuiltMember, Kind};
    use alloc::{string::ToString as _, sync::Arc, vec::Vec};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// Types of every kind, FUNCs before their FUNC_PROTO and after it.
    fn every_kind(mut b: Builder) -> Vec<u8> {
        let int = b.int("int", 4, Builder::SIGNED);
        let fwd = b.forward("later", true);
        let ptr = b.pointer(fwd);
        let array = b.array(int, ptr, 4);
        let union = b.union("u", 8, &[("f", int, 0), ("p", ptr, 0)]);
        let member = |name, ty| BuiltMember { name, ty, bit_offset: 0, bitfield_bits: 3 };
        let flagged = b.composite(Kind::Struct, "s", 64, &[member("a", int), member("", union)]);
        b.enumeration("e", 4, true, &[("A", -1), ("B", 7)]);
        b.enumeration64("e64", 8, false, &[("C", u64::MAX)]);
        let mut at = b.typedef("t", flagged);
        for kind in [Kind::Const, Kind::Volatile, Kind::Restrict] {
            at = b.modifier(kind, at);
        }
        at = b.type_tag("user", at, false);
        let proto = b.func_proto(at, &[("x", array), ("", TypeId::VOID)]);
        b.func("f", proto, 1);
        let next = b.func_proto(int, &[("y", ptr)]);
        b.func("g", TypeId(next.0.saturating_add(2)), 1);
        b.func_proto(at, &[]);
        let var = b.var("v", at, 1);
        b.datasec(".data", 64, &[(var, 0, 64)]);
        b.decl_tag("tag", flagged, 1, true);
        b.float("double", 8);
        b.finish()
    }

    type Read = Result<(Vec<usize>, Vec<u8>), BtfError>;

    fn both_ways(data: &[u8], base: Option<&Arc<Btf<'static>>>) -> [Read; 2] {
        [Way::Quick, Way::Long].map(|way| {
            let btf = Btf::parse_by(data.to_vec().into(), base.cloned(), way)?;
            Ok((btf.offsets().collect(), btf.table.kinds))
        })
    }

    fn is_read(way: Way, data: &[u8], base: Option<&Arc<Btf<'static>>>) -> bool {
        let header = Header::parse(data).unwrap();
        let (first_id, names) = base.map_or((TypeId(1), 0), |base| (base.end_id(), base.string_end()));
        read(data, &header, base.map(Arc::as_ref), first_id, names.saturating_add(header.string_len()), way)
            .is_some()
    }

    #[test]
    fn all_that_compilers_write_is_read_quickly() {
        for endian in ORDERS {
            let plain = every_kind(Builder::new(endian));
            for way in [Way::Quick, Way::Unvalidated] {
                assert!(is_read(way, &plain, None), "{way:?}");
            }
            let base = Arc::new(Btf::parse(plain).unwrap());
            let split = every_kind(Builder::split(&base));
            for way in [Way::Quick, Way::Unvalidated] {
                assert!(is_read(way, &split, Some(&base)), "{way:?}");
            }
        }
    }

    #[test]
    fn what_a_change_makes_of_a_btf_is_the_same_on_the_long_way() {
        let (mut good, mut bad) = (0, 0);
        for endian in ORDERS {
            let plain = every_kind(Builder::new(endian));
            let base = Arc::new(Btf::parse(plain.clone()).unwrap());
            let split = every_kind(Builder::split(&base));
            for (data, base) in [(plain, None), (split, Some(&base))] {
                let types = Header::parse(&data).unwrap().types;
                for at in types {
                    for change in [1, 2, 4, 0x0c, 0x0d, 0x1f, 0x7f, 0x80, 0xff] {
                        let mut data = data.clone();
                        data[at] ^= change;
                        let [quick, long] = both_ways(&data, base);
                        assert_eq!(quick, long, "byte {at} changed by {change:#x}");
                        *if quick.is_ok() { &mut good } else { &mut bad } += 1;
                    }
                }
            }
        }
        assert!(good > 1000 && bad > 1000, "{good} taken, {bad} refused");
    }

    #[test]
    fn what_is_not_validated_lies_within_whatever_it_refers_to() {
        let elements = |e: &BtfError| {
            matches!(
                e,
                BtfError::TypeRef { .. } | BtfError::NameRef { .. } | BtfError::FuncWithoutProto { .. }
            )
        };
        let (mut same, mut more) = (0, 0);
        for endian in ORDERS {
            let good = every_kind(Builder::new(endian));
            for at in Header::parse(&good).unwrap().types {
                for change in [1, 4, 0x0d, 0x80, 0xff] {
                    let mut data = good.clone();
                    data[at] ^= change;
                    let [unvalidated, quick] = [Way::Unvalidated, Way::Quick]
                        .map(|way| Btf::parse_by(data.clone().into(), None, way));
                    match (unvalidated, quick) {
                        (Ok(unvalidated), Ok(quick)) => {
                            assert!(
                                unvalidated.offsets().eq(quick.offsets()),
                                "byte {at} changed by {change:#x}"
                            );
                            same += 1;
                        }
                        (Ok(unvalidated), Err(e)) => {
                            assert!(elements(&e), "{e}");
                            // Nothing that reads it minds.
                            assert!(
                                unvalidated
                                    .types()
                                    .map(|ty| ty.raw().to_string())
                                    .all(|text| !text.is_empty())
                            );
                            let _ = unvalidated.types().flat_map(|ty| unvalidated.size_of(ty.id())).count();
                            more += 1;
                        }
                        (unvalidated, quick) => assert_eq!(unvalidated.err(), quick.err()),
                    }
                }
            }
        }
        assert!(same > 500 && more > 100, "{same} the same, {more} only unvalidated");
    }

    #[test]
    fn a_func_in_a_split_btf_may_refer_to_its_base_and_nowhere_else() {
        for endian in ORDERS {
            let base = Arc::new(Btf::parse(every_kind(Builder::new(endian))).unwrap());
            for target in base.types().map(|ty| ty.id().0).chain([0, base.end_id().0, u32::MAX]) {
                let mut b = Builder::split(&base);
                b.func("f", TypeId(target), 1);
                let [quick, long] = both_ways(&b.finish(), Some(&base));
                assert_eq!(quick, long, "refers to {target}");
            }
        }
    }
}
