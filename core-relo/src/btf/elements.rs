//! The pass over records that trusts nothing: besides where they lie, that what their elements refer to exists.
//!
//! What is compared with what, in which order, and what is a function of its own was decided by counting instructions: see
//! docs/performance.md.

use super::{
    Btf, Kind,
    heads::Passed,
    kind::Info,
    quick::{HEAD, Room},
    table::{BLOCK, KFLAG, NEAR, Table},
};
use crate::{
    endian::Endian,
    ids::{TypeId, low_u16, low_u32, to_usize},
};
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

/// Goes through the records; `names` is one past the last name. Also tells whether each FUNC refers to an own FUNC_PROTO
/// before it.
#[inline(never)]
pub(super) fn pass<const BIG: bool, const SPLIT: bool>(
    types: &[u8],
    names: u32,
    first_id: u32,
    room: &mut Room,
) -> Option<(Passed, bool)> {
    let first_id = if SPLIT { first_id } else { 1 };
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let word = |head: &[u8; HEAD], at| endian.u32(head, at).unwrap_or(NONE);
    let (lows, kinds) = (&mut *room.lows, &mut *room.kinds);
    let kinds = kinds.get_mut(..lows.len())?;
    let mut rest = types;
    let (mut count, mut highest_id, mut protos_before) = (0usize, 0, true);
    for block in &mut room.blocks {
        let start = rest.len();
        *block = low_u32(start);
        let end = count.wrapping_add(BLOCK);
        while count < end {
            let Some((head, trailer)) = rest.split_first_chunk::<HEAD>() else {
                let is_near = start.wrapping_sub(rest.len()) <= NEAR;
                return (rest.is_empty() && is_near).then_some((Passed { count, highest_id }, protos_before));
            };
            let (info, third) = (Info(word(head, 4)), word(head, 8));
            let high = endian.high_byte(head, 4);
            let kind = high & !KFLAG;
            *lows.get_mut(count)? = low_u16(rest.len());
            *kinds.get_mut(count)? = high;
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
        if start.wrapping_sub(rest.len()) > NEAR {
            return None;
        }
    }
    None
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
pub(super) fn protos_are_there(
    types: &[u8],
    endian: Endian,
    base: Option<&Btf<'_>>,
    first_id: u32,
    table: &Table,
) -> bool {
    let of_base = |target| base.and_then(|base| base.ty(TypeId(target)));
    let is_proto = |target: u32| {
        let own = target
            .checked_sub(first_id)
            .map(|own| table.kinds.get(to_usize(own)).is_some_and(|kind| kind & !KFLAG == FUNC_PROTO));
        own.unwrap_or_else(|| of_base(target).is_some_and(|ty| ty.kind() == Kind::FuncProto))
    };
    let mut funcs =
        table.kinds.iter().zip(table.offsets(types.len())).filter(|(kind, _)| **kind & !KFLAG == FUNC);
    funcs.all(|(_, at)| endian.u32(types, at.saturating_add(8)).is_some_and(is_proto))
}
