//! The pass over the records that compilers write: where they lie, that they lie within, and that what they refer to exists.
//!
//! It is most of what opening a kernel's BTF costs. It knows no errors: what it does not take is read again by
//! [`Table::scan`] and [`super::check`], which take more (kinds younger than the library) and say what is wrong.

use super::{Btf, Kind, header::Header, kind::Info, table::Table};
use crate::{
    endian::Endian,
    ids::{TypeId, low_u32, to_u32, to_usize},
};
use alloc::vec;
use core::hint::black_box;

const INT: u8 = Kind::Int.raw();
const PTR: u8 = Kind::Ptr.raw();
const ARRAY: u8 = Kind::Array.raw();
const STRUCT: u8 = Kind::Struct.raw();
const UNION: u8 = Kind::Union.raw();
const ENUM: u8 = Kind::Enum.raw();
const FWD: u8 = Kind::Fwd.raw();
const TYPEDEF: u8 = Kind::Typedef.raw();
const VOLATILE: u8 = Kind::Volatile.raw();
const CONST: u8 = Kind::Const.raw();
const RESTRICT: u8 = Kind::Restrict.raw();
const FUNC: u8 = Kind::Func.raw();
const FUNC_PROTO: u8 = Kind::FuncProto.raw();
const VAR: u8 = Kind::Var.raw();
const DATASEC: u8 = Kind::Datasec.raw();
const FLOAT: u8 = Kind::Float.raw();
const DECL_TAG: u8 = Kind::DeclTag.raw();
const TYPE_TAG: u8 = Kind::TypeTag.raw();
const ENUM64: u8 = Kind::Enum64.raw();

/// No id: what is highest then is beyond the end.
const NONE: u32 = u32::MAX;

/// Bytes of the smallest record.
const HEAD: usize = 12;

/// The records of a BTF, if there is nothing unusual about them; `string_end` is one past the last string offset.
pub(super) fn read(
    data: &[u8],
    header: &Header,
    base: Option<&Btf<'_>>,
    first_id: TypeId,
    string_end: u32,
) -> Option<Table> {
    let types = data.get(header.types.clone())?;
    let most = types.len() / HEAD;
    let mut table = Table { lefts: vec![0; most], kinds: vec![0; most] };
    // The empty name is there even if the strings are not (in a split BTF).
    let names = string_end.max(1);
    let (lefts, kinds) = (&mut table.lefts, &mut table.kinds);
    // Functions of their own, so that nothing of this is decided within the loop.
    let passed = match (header.endian, base) {
        (Endian::Little, None) => pass::<false, false>(types, names, first_id.0, lefts, kinds)?,
        (Endian::Little, Some(_)) => pass::<false, true>(types, names, first_id.0, lefts, kinds)?,
        (Endian::Big, None) => pass::<true, false>(types, names, first_id.0, lefts, kinds)?,
        (Endian::Big, Some(_)) => pass::<true, true>(types, names, first_id.0, lefts, kinds)?,
    };
    if passed.highest_id >= first_id.0.checked_add(to_u32(passed.count))? {
        return None;
    }
    table.lefts.truncate(passed.count);
    table.lefts.shrink_to_fit();
    table.kinds.truncate(passed.count);
    table.kinds.shrink_to_fit();
    let protos = passed.protos_before || protos_are_there(types, header.endian, base, first_id.0, &table);
    protos.then_some(table)
}

/// What the pass found besides the table.
struct Passed {
    count: usize,
    highest_id: u32,
    /// Whether each FUNC refers to an own FUNC_PROTO before it.
    protos_before: bool,
}

/// Goes through the records; `lefts` gets the bytes from each to the end of `types`, `names` is one past the last name.
///
/// What is compared with what, in which order, and what is a function of its own was decided by counting instructions: see
/// docs/performance.md.
#[inline(never)]
fn pass<const BIG: bool, const SPLIT: bool>(
    types: &[u8],
    names: u32,
    first_id: u32,
    lefts: &mut [u32],
    kinds: &mut [u8],
) -> Option<Passed> {
    let first_id = if SPLIT { first_id } else { 1 };
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let word = |head: &[u8; HEAD], at| endian.u32(head, at).unwrap_or(NONE);
    let kinds = kinds.get_mut(..lefts.len())?;
    let mut rest = types;
    let (mut count, mut highest_id, mut protos_before) = (0usize, 0, true);
    while let Some((head, trailer)) = rest.split_first_chunk::<HEAD>() {
        let (info, third) = (Info(word(head, 4)), word(head, 8));
        let kind = endian.high_byte(head, 4) & 0x7f;
        *lefts.get_mut(count)? = low_u32(rest.len());
        *kinds.get_mut(count)? = kind;
        count = count.wrapping_add(1);
        if word(head, 0) >= names {
            return None;
        }
        if kind == FUNC {
            if kinds.get(to_usize(third.wrapping_sub(first_id))) != Some(&FUNC_PROTO) {
                protos_before = not_before();
            }
            rest = trailer;
            continue;
        }
        if kind == FUNC_PROTO {
            let (params, after) = trailer.split_at_checked(to_usize(info.vlen()).wrapping_mul(8))?;
            highest_id = higher(highest_id, third);
            for param in params.as_chunks::<8>().0 {
                let [name, id] = [0, 4].map(|at| endian.u32(param, at).unwrap_or(NONE));
                if name >= names {
                    return None;
                }
                highest_id = higher(highest_id, id);
            }
            rest = after;
            continue;
        }
        let elements = to_usize(info.vlen());
        // Not one jump for all kinds, which would cost the two above more than it costs them to be first.
        rest = match black_box(kind) {
            STRUCT | UNION => {
                let (members, after) = trailer.split_at_checked(elements.wrapping_mul(12))?;
                for member in members.as_chunks::<12>().0 {
                    let [name, id] = [0, 4].map(|at| endian.u32(member, at).unwrap_or(NONE));
                    if name >= names {
                        return None;
                    }
                    highest_id = higher(highest_id, id);
                }
                after
            }
            PTR | TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => {
                highest_id = highest_id.max(third);
                trailer
            }
            other => {
                let (after, id) = rarer::<BIG>(other, elements, third, trailer, names)?;
                highest_id = highest_id.max(id);
                after
            }
        };
    }
    rest.is_empty().then_some(Passed { count, highest_id, protos_before })
}

/// `false`, in a way that keeps the usual case free of it.
#[cold]
#[inline(never)]
fn not_before() -> bool {
    black_box(false)
}

/// The larger id. It is the first but for a few hundred times, which a branch tells in fewer instructions than `max`.
#[inline]
fn higher(highest: u32, id: u32) -> u32 {
    if id > highest { rise_to(id) } else { highest }
}

#[cold]
#[inline(never)]
fn rise_to(id: u32) -> u32 {
    black_box(id)
}

/// What follows a record of one of the kinds there are few of, and the highest id in it; `None` if a name is not there, or the
/// kind not known.
#[inline(never)]
fn rarer<const BIG: bool>(
    kind: u8,
    elements: usize,
    third: u32,
    trailer: &[u8],
    names: u32,
) -> Option<(&[u8], u32)> {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let first_word = |raw: &[u8]| endian.u32(raw, 0).unwrap_or(NONE);
    let (len, highest_id) = match kind {
        ARRAY => (12, first_word(trailer.get(..12)?).max(endian.u32(trailer, 4)?)),
        ENUM | ENUM64 => {
            let each = if kind == ENUM { 8 } else { 12 };
            let values = trailer.get(..elements.wrapping_mul(each))?;
            if values.chunks_exact(each).any(|value| first_word(value) >= names) {
                return None;
            }
            (values.len(), 0)
        }
        DATASEC => {
            let variables = trailer.get(..elements.wrapping_mul(12))?;
            (variables.len(), variables.chunks_exact(12).map(first_word).max().unwrap_or(0))
        }
        VAR | DECL_TAG => (4, third),
        INT => (4, 0),
        FWD | FLOAT => (0, 0),
        _ => return None,
    };
    Some((trailer.get(len..)?, highest_id))
}

/// Whether each FUNC refers to a FUNC_PROTO, wherever that is: in a base, or further on, as in sorted BTF.
fn protos_are_there(
    types: &[u8],
    endian: Endian,
    base: Option<&Btf<'_>>,
    first_id: u32,
    table: &Table,
) -> bool {
    let of_base = |target| base.and_then(|base| base.ty(TypeId(target)));
    let is_proto = |target: u32| {
        let own = target.checked_sub(first_id).map(|own| table.kinds.get(to_usize(own)) == Some(&FUNC_PROTO));
        own.unwrap_or_else(|| of_base(target).is_some_and(|ty| ty.kind() == Kind::FuncProto))
    };
    let mut funcs = table.kinds.iter().zip(table.offsets(types.len())).filter(|(kind, _)| **kind == FUNC);
    funcs.all(|(_, at)| endian.u32(types, at.saturating_add(8)).is_some_and(is_proto))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::{BtfError, Builder, BuiltMember};
    use alloc::{sync::Arc, vec::Vec};

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

    type Read = Result<(Vec<u32>, Vec<u8>), BtfError>;

    fn both_ways(data: &[u8], base: Option<&Arc<Btf<'static>>>) -> [Read; 2] {
        [true, false].map(|quickly| {
            let btf = Btf::parse_by(data.to_vec().into(), base.cloned(), quickly)?;
            Ok((btf.table.lefts, btf.table.kinds))
        })
    }

    fn is_quick(data: &[u8], base: Option<&Arc<Btf<'static>>>) -> bool {
        let header = Header::parse(data).unwrap();
        let (first_id, names) = base.map_or((TypeId(1), 0), |base| (base.end_id(), base.string_end()));
        read(data, &header, base.map(Arc::as_ref), first_id, names.saturating_add(header.string_len()))
            .is_some()
    }

    #[test]
    fn all_that_compilers_write_is_read_quickly() {
        for endian in ORDERS {
            let plain = every_kind(Builder::new(endian));
            assert!(is_quick(&plain, None));
            let base = Arc::new(Btf::parse(plain).unwrap());
            let split = every_kind(Builder::split(&base));
            assert!(is_quick(&split, Some(&base)));
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
