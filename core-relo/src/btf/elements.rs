//! Whether what elements refer to exists: looked at once records are found, those of some kinds at a time.
//!
//! The kinds' table says which records these are. A jump by the kind of each record would be guessed wrong for most; so is only
//! where a block's records of the kinds end. What else was decided by measuring: see docs/performance.md.

use super::{
    Btf, Kind,
    pieces::{KINDS, MANY, PIECE, Rows, Seen, len_of, vlen},
    quick::{HEAD, Part},
    table::{BLOCK, KFLAG, of_kinds},
};
use crate::{
    endian::Endian,
    ids::{TypeId, low_u16, to_usize},
};

/// Blocks of records that are looked at for one group of kinds and then for the other, while they are at hand.
const BLOCKS: usize = 16;
const TYPES: usize = BLOCKS * BLOCK;

const FUNC_PROTO: u8 = Kind::FuncProto.raw();

/// The kinds that are looked for, as [`of_kinds`] takes them.
static WITH_ELEMENTS: [[u8; BLOCK]; KINDS.len()] = each(KINDS);
static FUNCS: [[u8; BLOCK]; 1] = each([Kind::Func]);

const fn each<const N: usize>(kinds: [Kind; N]) -> [[u8; BLOCK]; N] {
    let (mut rows, mut at) = ([[0; BLOCK]; N], 0usize);
    while at < N {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            rows[at] = [kinds[at].raw(); BLOCK];
        }
        at = at.wrapping_add(1);
    }
    rows
}

/// Where what there is begins and ends.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// One past the last name.
    pub(super) names: u32,
    /// The first own type.
    pub(super) first_id: u32,
    /// One past the last type.
    pub(super) ids: u32,
}

/// Whether the names and types that the elements of `count` records refer to are there, and each FUNC refers to a FUNC_PROTO.
///
/// All records lie within, their own names and types are there.
pub(super) fn are_there<const BIG: bool>(
    types: &[u8],
    part: Part<'_>,
    count: usize,
    bounds: Bounds,
    base: Option<&Btf<'_>>,
) -> bool {
    in_chunks::<BIG>(types, part, count, bounds, base).is_some()
}

fn in_chunks<const BIG: bool>(
    types: &[u8],
    Part { blocks, lows, kinds }: Part<'_>,
    count: usize,
    bounds: Bounds,
    base: Option<&Btf<'_>>,
) -> Option<()> {
    // Blocks are whole: what follows the last record is of no kind.
    let end = count.checked_next_multiple_of(BLOCK)?;
    kinds.get_mut(count..end)?.fill(0);
    let (kinds, lows) = (kinds.get(..end)?, lows.get(..end)?);
    let rows = Rows::new(bounds.names, bounds.ids);
    let (mut masks, mut long) = ([0; BLOCKS], [0; TYPES]);
    let chunks = kinds.as_chunks().0.chunks(BLOCKS).zip(lows.as_chunks().0.chunks(BLOCKS));
    for ((kinds_here, lows), blocks) in chunks.zip(blocks.chunks(BLOCKS)) {
        let chunk = Chunk { types, kinds: kinds_here, lows, blocks };
        chunk.find(&WITH_ELEMENTS, &mut masks);
        let left = chunk.elements::<BIG>(&masks, &rows, &mut long)?;
        chunk.long_elements::<BIG>(long.get(..left)?, &rows)?;
        chunk.find(&FUNCS, &mut masks);
        chunk.funcs::<BIG>(&masks, kinds, bounds, base)?;
    }
    Some(())
}

struct Chunk<'r> {
    types: &'r [u8],
    kinds: &'r [[u8; BLOCK]],
    lows: &'r [[u16; BLOCK]],
    blocks: &'r [u32],
}

impl Chunk<'_> {
    /// Which of each block's records are of these kinds.
    #[inline(never)]
    fn find(&self, of: &[[u8; BLOCK]], masks: &mut [u32; BLOCKS]) {
        for (mask, kinds) in masks.iter_mut().zip(self.kinds) {
            *mask = of_kinds(kinds, of);
        }
    }

    /// Looks at elements that are within one piece; gives back how many records it left in `long`.
    #[inline(never)]
    fn elements<const BIG: bool>(
        &self,
        masks: &[u32; BLOCKS],
        rows: &Rows,
        long: &mut [u16; TYPES],
    ) -> Option<usize> {
        let (mut left, mut seen) = (0usize, Seen::default());
        let blocks = self.kinds.iter().zip(self.lows).zip(self.blocks).zip(masks);
        for ((((kinds, lows), block), mask), first) in blocks.zip((0u16..).step_by(BLOCK)) {
            let start = to_usize(*block);
            let here = self.types.get(self.types.len().wrapping_sub(start)..)?;
            let mut bits = *mask;
            while bits != 0 {
                let nth = to_usize(bits.trailing_zeros()) % BLOCK;
                bits &= bits.wrapping_sub(1);
                *long.get_mut(left % TYPES)? = first.wrapping_add(low_u16(nth));
                let kind = *kinds.get(nth)?;
                let at = usize::from(low_u16(start).wrapping_sub(*lows.get(nth)?));
                let record = here.get(at..at.wrapping_add(HEAD + PIECE)).and_then(<[u8]>::first_chunk);
                let Some(record) = record else {
                    // So near the end that there is no piece.
                    left = left.wrapping_add(1);
                    continue;
                };
                let record: &[u8; HEAD + PIECE] = record;
                let vlen = vlen::<BIG>(record);
                left = left.wrapping_add(seen.look::<BIG>(record.last_chunk()?, kind, vlen, rows));
            }
        }
        seen.is_right().then_some(left)
    }

    /// Looks at elements of any number, wherever they are.
    #[inline(never)]
    fn long_elements<const BIG: bool>(&self, places: &[u16], rows: &Rows) -> Option<()> {
        let mut seen = Seen::default();
        for place in places {
            let (number, nth) = (usize::from(*place) / BLOCK, usize::from(*place) % BLOCK);
            let kind = *self.kinds.get(number)?.get(nth)?;
            let start = *self.blocks.get(number)?;
            let at = low_u16(to_usize(start)).wrapping_sub(*self.lows.get(number)?.get(nth)?);
            let at = self.types.len().wrapping_sub(to_usize(start)).wrapping_add(usize::from(at));
            let record = self.types.get(at..)?;
            let vlen = vlen::<BIG>(record);
            let elements = record.get(HEAD..)?.get(..len_of(kind, vlen)?)?;
            let Some(last) = elements.len().checked_sub(PIECE) else {
                let mut piece = [0; PIECE];
                piece.get_mut(..elements.len())?.copy_from_slice(elements);
                seen.look::<BIG>(&piece, kind, MANY, rows);
                continue;
            };
            let mut at = 0usize;
            loop {
                // The last piece begins before the one before it ends, but with an element.
                let from = at.min(last);
                seen.look::<BIG>(elements.get(from..)?.first_chunk()?, kind, MANY, rows);
                if from == last {
                    break;
                }
                at = at.wrapping_add(PIECE);
            }
        }
        seen.is_right().then_some(())
    }

    /// Whether each FUNC refers to a FUNC_PROTO, one of the own `kinds` or of the base.
    #[inline(never)]
    fn funcs<const BIG: bool>(
        &self,
        masks: &[u32; BLOCKS],
        kinds: &[u8],
        bounds: Bounds,
        base: Option<&Btf<'_>>,
    ) -> Option<()> {
        let endian = if BIG { Endian::Big } else { Endian::Little };
        for ((lows, block), mask) in self.lows.iter().zip(self.blocks).zip(masks) {
            let start = to_usize(*block);
            let here = self.types.get(self.types.len().wrapping_sub(start)..)?;
            let mut bits = *mask;
            while bits != 0 {
                let nth = to_usize(bits.trailing_zeros()) % BLOCK;
                bits &= bits.wrapping_sub(1);
                let at = usize::from(low_u16(start).wrapping_sub(*lows.get(nth)?));
                let target = endian.u32(here.get(at..at.wrapping_add(HEAD))?, 8)?;
                let own = kinds.get(to_usize(target.wrapping_sub(bounds.first_id)));
                if own.is_none_or(|kind| kind & !KFLAG != FUNC_PROTO) {
                    is_proto_of_base(target, bounds, base)?;
                }
            }
        }
        Some(())
    }
}

#[inline(never)]
fn is_proto_of_base(target: u32, bounds: Bounds, base: Option<&Btf<'_>>) -> Option<()> {
    let of_base = base.filter(|_| target < bounds.first_id).and_then(|base| base.ty(TypeId(target)));
    of_base.filter(|ty| ty.kind() == Kind::FuncProto).map(|_| ())
}
