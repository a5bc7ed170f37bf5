//! A record's elements, some bytes at once: which of their words refer to a name or a type, and whether all of these exist.
//!
//! Words are compared four at a time, and none of it is a branch: what has fewer elements than fit is looked at with what
//! follows it, which may be anything.

use super::Kind;
use crate::{endian::Endian, ids::to_usize};

/// Bytes that are looked at together: six elements of two words, or four of three.
pub(super) const PIECE: usize = 48;
const WORDS: usize = PIECE / 4;
/// None to six elements, and more.
const ROWS: usize = PIECE / 8 + 2;

/// The kinds whose elements refer to something.
pub(super) const KINDS: [Kind; 7] =
    [Kind::Array, Kind::Struct, Kind::Union, Kind::Enum, Kind::FuncProto, Kind::Datasec, Kind::Enum64];

/// What a word of an element is.
#[derive(Clone, Copy)]
enum Word {
    Name,
    Id,
    Other,
}

/// The words of an element, and whether the record says how many there are; else there is one.
const SHAPES: [(&[Word], bool); 6] = [
    (&[Word::Name, Word::Id], true),
    (&[Word::Name, Word::Id, Word::Other], true),
    (&[Word::Name, Word::Other], true),
    (&[Word::Name, Word::Other, Word::Other], true),
    (&[Word::Id, Word::Other, Word::Other], true),
    (&[Word::Id, Word::Id, Word::Other], false),
];

/// By kind and kflag, which of the shapes its elements have.
static SHAPE_OF: [u8; 256] = {
    let (mut shapes, mut at) = ([0; 256], 0usize);
    while at < KINDS.len() {
        #[expect(clippy::indexing_slicing, clippy::as_conversions, reason = "evaluated by the compiler")]
        {
            let (kind, shape) = (KINDS[at].raw() as usize, shape_of(KINDS[at]));
            (shapes[kind], shapes[kind | 0x80]) = (shape, shape);
        }
        at = at.wrapping_add(1);
    }
    shapes
};

const fn shape_of(kind: Kind) -> u8 {
    match kind {
        Kind::Struct | Kind::Union => 1,
        Kind::Enum => 2,
        Kind::Enum64 => 3,
        Kind::Datasec => 4,
        Kind::Array => 5,
        _ => 0,
    }
}

/// What the words of a piece with so many elements may be.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row {
    /// The highest that each may be, less 2^31.
    highest: [i32; WORDS],
    /// 1 if there are elements that are not in the piece.
    is_long: usize,
}

/// What may be in pieces.
pub(super) struct Rows([[Row; ROWS]; 8]);

impl Rows {
    /// Of elements that refer to what is before `names` and `ids`.
    pub(super) fn new(names: u32, ids: u32) -> Self {
        let any = Row { highest: [i32::MAX; WORDS], is_long: 0 };
        let mut rows = [[any; ROWS]; 8];
        for (rows, (words, is_counted)) in rows.iter_mut().zip(SHAPES) {
            let fit = WORDS.checked_div(words.len()).unwrap_or_default();
            for (count, row) in rows.iter_mut().enumerate() {
                let elements = if is_counted { count } else { 1 };
                for (highest, word) in row
                    .highest
                    .iter_mut()
                    .zip(words.iter().cycle().take(words.len().saturating_mul(elements)))
                {
                    *highest = match word {
                        Word::Name => less(names.wrapping_sub(1)),
                        Word::Id => less(ids.wrapping_sub(1)),
                        Word::Other => i32::MAX,
                    };
                }
                row.is_long = usize::from(elements > fit);
            }
        }
        Self(rows)
    }

    #[inline]
    fn of(&self, kind: u8, vlen: usize) -> &Row {
        let shape = SHAPE_OF.get(usize::from(kind)).copied().unwrap_or_default();
        // Not a minimum, of which the compiler makes a branch.
        let over = vlen.wrapping_add(0xff_fff8) >> 24;
        let vlen = (vlen | 0usize.wrapping_sub(over)) & 7;
        let [rows, ..] = &self.0;
        let [row, ..] = rows;
        self.0.get(usize::from(shape % 8)).and_then(|rows| rows.get(vlen)).unwrap_or(row)
    }
}

/// Puts signed numbers in the order of unsigned ones.
#[inline]
const fn less(word: u32) -> i32 {
    (word ^ 0x8000_0000).cast_signed()
}

/// What was seen: not 0 for a word that refers to nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen([u32; 4]);

impl Seen {
    /// Looks at the elements that are in a piece, of the `vlen` that a record of the kind has; 1 if there are more.
    #[inline]
    pub(super) fn look<const BIG: bool>(
        &mut self,
        piece: &[u8; PIECE],
        kind: u8,
        vlen: usize,
        rows: &Rows,
    ) -> usize {
        let endian = if BIG { Endian::Big } else { Endian::Little };
        let row = rows.of(kind, vlen);
        for (four, highest) in piece.as_chunks::<16>().0.iter().zip(row.highest.as_chunks::<4>().0) {
            let words = four.as_chunks().0.iter().map(|raw| less(endian.word(*raw)));
            for (seen, (word, highest)) in self.0.iter_mut().zip(words.zip(highest)) {
                *seen |= if word > *highest { u32::MAX } else { 0 };
            }
        }
        row.is_long
    }

    /// Whether all words referred to something.
    pub(super) fn is_right(self) -> bool {
        self.0 == [0; 4]
    }
}

/// Bytes of the elements of a record.
pub(super) fn len_of(kind: u8, vlen: usize) -> Option<usize> {
    let shape = Kind::from_raw(kind & 0x7f).record_shape()?;
    Some(vlen.saturating_mul(usize::from(shape.each)).saturating_add(usize::from(shape.fixed)))
}

/// How many elements a record says it has.
#[inline]
pub(super) fn vlen<const BIG: bool>(record: &[u8]) -> usize {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    to_usize(endian.u32(record, 4).unwrap_or_default() & 0x00ff_ffff)
}
