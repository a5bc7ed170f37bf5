//! Whether what elements refer to exists: looked at once records are found, those of some kinds at a time.
//!
//! The kinds' table says which records these are. A jump by the kind of each record would be guessed wrong for most; so is only
//! where a block's records of the kinds end. What else was decided by measuring: see docs/performance.md.

use super::{
    Btf, Kind,
    pieces::{KINDS, MANY, PIECE, Rows, Seen, len_of, vlen},
    quick::{HEAD, Part},
    table::{BLOCK, KFLAG, NEAR, of_kinds},
};
use crate::{
    endian::Endian,
    ids::{TypeId, low_u16, to_usize},
};

/// Records of which a bit each tells whether they are of some kinds: where these end is guessed wrong half as often as by block.
const PAIR: usize = 2 * BLOCK;

/// Types that are looked at for one group of kinds and then for the other, while their records are at hand.
const TYPES: usize = 8 * PAIR;

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
    // Pairs are whole: what follows the last record is of no kind, and takes no bytes.
    let end = count.checked_next_multiple_of(PAIR)?;
    kinds.get_mut(count..end)?.fill(0);
    blocks.get_mut(count.div_ceil(BLOCK)..=end / BLOCK)?.fill(0);
    let (kinds, lows) = (kinds.get(..end)?, lows.get(..end)?);
    let rows = Rows::new(bounds.names, bounds.ids);
    let (mut groups, mut long) = ([Group::default(); TYPES / BLOCK], [0; TYPES]);
    for from in (0..end).step_by(TYPES) {
        let to = from.wrapping_add(TYPES).min(end);
        let blocks = blocks.get(from / BLOCK..=to / BLOCK)?;
        let chunk = Chunk { types, kinds: kinds.get(from..to)?, lows: lows.get(from..to)?, blocks };
        let found = chunk.find(&WITH_ELEMENTS, &mut groups)?;
        let left = chunk.elements::<BIG>(groups.get(..found)?, &rows, &mut long)?;
        chunk.long_elements::<BIG>(long.get(..left)?, &rows)?;
        let found = chunk.find(&FUNCS, &mut groups)?;
        chunk.funcs::<BIG>(groups.get(..found)?, kinds, bounds, base)?;
    }
    Some(())
}

/// As much of the table as is looked at in one go.
struct Chunk<'r> {
    types: &'r [u8],
    kinds: &'r [u8],
    lows: &'r [u16],
    /// One more than there are, which is where the last ends.
    blocks: &'r [u32],
}

/// Records of some kinds, out of a pair of blocks.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Bytes from the place that the records' low halves count from to the end of the section.
    start: u32,
    /// The pair's first place in the chunk.
    first: u16,
    /// A bit for each.
    bits: u64,
}

impl Chunk<'_> {
    /// Finds the records of these kinds, and tells how many groups they are.
    #[inline(never)]
    fn find(&self, of: &[[u8; BLOCK]], groups: &mut [Group; TYPES / BLOCK]) -> Option<usize> {
        let mut to = groups.iter_mut();
        let pairs = self.kinds.as_chunks::<PAIR>().0.iter().zip(self.blocks.windows(3).step_by(2));
        for ((kinds, starts), first) in pairs.zip((0u16..).step_by(PAIR)) {
            let ([low, high], &[start, middle, end]) = (kinds.as_chunks().0, starts) else { return None };
            let bits = u64::from(of_kinds(low, of)) | (u64::from(of_kinds(high, of)) << BLOCK);
            if to_usize(start.wrapping_sub(end)) <= NEAR {
                *to.next()? = Group { start, first, bits };
            } else {
                let of_low = (1 << BLOCK) - 1;
                *to.next()? = Group { start, first, bits: bits & of_low };
                *to.next()? = Group { start: middle, first, bits: bits & !of_low };
            }
        }
        let left = to.len();
        Some(groups.len().wrapping_sub(left))
    }

    /// The rest of the section, from where a group counts.
    #[inline]
    fn here(&self, group: &Group) -> Option<&[u8]> {
        self.types.get(self.types.len().wrapping_sub(to_usize(group.start))..)
    }

    /// Looks at elements that are within one piece; gives back how many records it left in `long`.
    #[inline(never)]
    fn elements<const BIG: bool>(
        &self,
        groups: &[Group],
        rows: &Rows,
        long: &mut [u16; TYPES],
    ) -> Option<usize> {
        let (mut left, mut seen) = (0usize, Seen::default());
        for group in groups {
            let (here, start) = (self.here(group)?, low_u16(to_usize(group.start)));
            let kinds: &[u8; PAIR] = self.kinds.get(usize::from(group.first)..)?.first_chunk()?;
            let lows: &[u16; PAIR] = self.lows.get(usize::from(group.first)..)?.first_chunk()?;
            let mut bits = group.bits;
            while bits != 0 {
                let nth = to_usize(bits.trailing_zeros()) % PAIR;
                bits &= bits.wrapping_sub(1);
                *long.get_mut(left % TYPES)? = group.first.wrapping_add(low_u16(nth));
                let kind = *kinds.get(nth)?;
                let at = usize::from(start.wrapping_sub(*lows.get(nth)?));
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
            let place = usize::from(*place);
            let (kind, start) = (*self.kinds.get(place)?, to_usize(*self.blocks.get(place / BLOCK)?));
            let within = low_u16(start).wrapping_sub(*self.lows.get(place)?);
            let at = self.types.len().wrapping_sub(start).wrapping_add(usize::from(within));
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
                // The last piece may begin within the one before it; it begins with an element all the same.
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
        groups: &[Group],
        kinds: &[u8],
        bounds: Bounds,
        base: Option<&Btf<'_>>,
    ) -> Option<()> {
        let endian = if BIG { Endian::Big } else { Endian::Little };
        for group in groups {
            let (here, start) = (self.here(group)?, low_u16(to_usize(group.start)));
            let lows: &[u16; PAIR] = self.lows.get(usize::from(group.first)..)?.first_chunk()?;
            let mut bits = group.bits;
            while bits != 0 {
                let nth = to_usize(bits.trailing_zeros()) % PAIR;
                bits &= bits.wrapping_sub(1);
                let at = usize::from(start.wrapping_sub(*lows.get(nth)?));
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
