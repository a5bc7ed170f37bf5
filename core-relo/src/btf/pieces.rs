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

/// More elements than a piece holds: as many as a record may have.
pub(super) const MANY: usize = 0xff_ffff;

/// The kinds whose elements refer to something.
pub(super) const KINDS: [Kind; 7] =
    [Kind::Array, Kind::Struct, Kind::Union, Kind::Enum, Kind::FuncProto, Kind::Datasec, Kind::Enum64];

/// What a word of an element is; what is neither may be anything.
const NAME: i32 = 0;
const ID: i32 = 1;
const OTHER: i32 = i32::MAX;

/// The words of an element, and whether the record says how many there are; else there is one.
const SHAPES: [(&[i32], bool); 6] = [
    (&[NAME, ID], true),
    (&[NAME, ID, OTHER], true),
    (&[NAME, OTHER], true),
    (&[NAME, OTHER, OTHER], true),
    (&[ID, OTHER, OTHER], true),
    (&[ID, ID, OTHER], false),
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
    /// The highest that each may be, less 2^31; in [`ROWS_OF`] what it is.
    highest: [i32; WORDS],
    /// 1 if there are elements that are not in the piece.
    is_long: usize,
}

/// As many as need no comparison when one is taken.
type Table = [[Row; ROWS]; 8];

/// By shape and number of elements, what the words are.
static ROWS_OF: Table = {
    let (mut table, mut shape) = ([[Row::new(&[], 0); ROWS]; 8], 0usize);
    while shape < SHAPES.len() {
        let mut count = 0usize;
        while count < ROWS {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
            let (row, (words, is_counted)) = (&mut table[shape][count], SHAPES[shape]);
            *row = Row::new(words, if is_counted { count } else { 1 });
            count = count.wrapping_add(1);
        }
        shape = shape.wrapping_add(1);
    }
    table
};

impl Row {
    #[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
    const fn new(words: &[i32], elements: usize) -> Self {
        let (mut highest, mut at) = ([OTHER; WORDS], 0);
        while at < WORDS && at < words.len() * elements {
            highest[at] = words[at % words.len()];
            at += 1;
        }
        Self { highest, is_long: if words.len() * elements > WORDS { 1 } else { 0 } }
    }
}

/// What may be in pieces.
pub(super) struct Rows(Table);

impl Rows {
    /// Of elements that refer to what is before `names` and `ids`.
    pub(super) fn new(names: u32, ids: u32) -> Self {
        let [name, id] = [names, ids].map(|end| less(end.wrapping_sub(1)));
        let mut table = ROWS_OF;
        for row in table.iter_mut().take(SHAPES.len()).flatten() {
            for word in &mut row.highest {
                let what = *word;
                let highest = if what == NAME { name } else { what };
                *word = if what == ID { id } else { highest };
            }
        }
        Self(table)
    }

    #[inline]
    fn of(&self, kind: u8, vlen: usize) -> &Row {
        let shape = SHAPE_OF.get(usize::from(kind)).copied().unwrap_or_default();
        // At most the last row: 24 bits overflow if it is more. Of a minimum the compiler makes a branch.
        let is_more = vlen.wrapping_add((1 << 24) - ROWS) >> 24;
        let row = (vlen | 0usize.wrapping_sub(is_more)) % ROWS;
        let [[none, ..], ..] = &self.0;
        self.0.get(usize::from(shape % 8)).and_then(|rows| rows.get(row)).unwrap_or(none)
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
