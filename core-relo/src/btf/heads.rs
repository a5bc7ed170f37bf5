//! The pass that finds records: where they lie, that they lie within, and that their own names and types exist.
//!
//! A table says how long a record of a kind is, so that there is next to no branch to be guessed wrong. What costs is that
//! where a record begins is known only when the one before it was read; but nearly half are functions, whose place in the order
//! a processor guesses well.

use super::{
    Kind,
    kind::RecordShape,
    quick::{HEAD, Part},
    table::{BLOCK, KFLAG, NEAR},
};
use crate::{
    endian::Endian,
    ids::{low_u16, low_u32, to_usize},
};
use core::hint::black_box;

const FUNC: u8 = Kind::Func.raw();

/// What the pass knows of a kind.
#[derive(Clone, Copy)]
struct Row {
    /// Bytes of a record without elements; 0 if there is no such kind, so that the pass gets no further.
    len: u8,
    /// Bytes of an element.
    each: u8,
    /// All ones where the third word is the id of a type.
    id_mask: u32,
}

/// By the last byte of the info word, kind and kflag.
const ROWS: [Row; 256] = {
    let mut rows = [Row { len: 0, each: 0, id_mask: 0 }; 256];
    let (mut kind, mut at) = (0, 0usize);
    while kind < 128 {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        if let Some(row) = row(Kind::from_raw(kind)) {
            (rows[at], rows[at | 0x80]) = (row, row);
        }
        (kind, at) = (kind.wrapping_add(1), at.wrapping_add(1));
    }
    rows
};

const fn row(kind: Kind) -> Option<Row> {
    let Some(RecordShape { fixed, each }) = kind.record_shape() else { return None };
    let has_id = matches!(
        kind,
        Kind::Ptr
            | Kind::Typedef
            | Kind::Volatile
            | Kind::Const
            | Kind::Restrict
            | Kind::TypeTag
            | Kind::Func
            | Kind::FuncProto
            | Kind::Var
            | Kind::DeclTag
    );
    let id_mask = if has_id { u32::MAX } else { 0 };
    Some(Row { len: fixed.wrapping_add(12), each, id_mask })
}

/// What the pass found besides the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) count: usize,
    /// The highest id that is the third word of a record.
    pub(super) highest_id: u32,
}

/// What the pass needs of a record.
pub(super) struct Head<'t> {
    /// Kind and kflag.
    pub(super) kind: u8,
    /// The third word if it is the id of a type, else 0.
    pub(super) id: u32,
    /// Bytes of the record; 0 if there is no such kind.
    pub(super) len: usize,
    /// What follows its first words.
    trailer: &'t [u8],
}

impl<'t> Head<'t> {
    /// Of the record that `rest` begins with, if it has a name that is there; `names` is one past the last name.
    #[inline]
    pub(super) fn read<const BIG: bool>(rest: &'t [u8], names: u32) -> Option<Self> {
        let endian = if BIG { Endian::Big } else { Endian::Little };
        let (head, trailer) = rest.split_first_chunk::<HEAD>()?;
        let word = |at| endian.u32(head, at).unwrap_or(u32::MAX);
        let kind = endian.high_byte(head, 4);
        let row = ROWS.get(usize::from(kind))?;
        if word(0) >= names {
            return None;
        }
        let elements = to_usize(word(4) & 0x00ff_ffff);
        let len = usize::from(row.len).wrapping_add(elements.wrapping_mul(usize::from(row.each)));
        Some(Self { kind, id: word(8) & row.id_mask, len, trailer })
    }
}

/// Goes through the records; `names` is one past the last name, `behind` how many bytes of the section follow `types`.
#[inline(never)]
pub(super) fn pass<const BIG: bool>(
    types: &[u8],
    behind: usize,
    names: u32,
    part: Part<'_>,
) -> Option<Passed> {
    let Part { blocks, lows, kinds } = part;
    let (lows, kinds) = (lows.as_chunks_mut::<BLOCK>().0, kinds.as_chunks_mut::<BLOCK>().0);
    let (mut rest, mut highest_id, mut before) = (types, 0, 0usize);
    for ((block, lows), kinds) in blocks.iter_mut().zip(lows).zip(kinds) {
        let start = rest.len();
        *block = low_u32(start.wrapping_add(behind));
        for (nth, (low, kind)) in lows.iter_mut().zip(kinds).enumerate() {
            if rest.len() < HEAD {
                let count = before.wrapping_add(nth);
                let is_near = start.wrapping_sub(rest.len()) <= NEAR;
                return (rest.is_empty() && is_near).then_some(Passed { count, highest_id });
            }
            let head = Head::read::<BIG>(rest, names)?;
            *low = low_u16(rest.len().wrapping_add(behind));
            *kind = head.kind;
            highest_id = highest_id.max(head.id);
            rest = if head.kind & !KFLAG == FUNC {
                // A jump that is guessed, where the length would have to be waited for; the compiler prefers the latter.
                black_box(());
                head.trailer
            } else {
                rest.get(head.len..)?
            };
        }
        // At a record of no known kind it got no further.
        if !(1..=NEAR).contains(&start.wrapping_sub(rest.len())) {
            return None;
        }
        before = before.wrapping_add(BLOCK);
    }
    None
}
