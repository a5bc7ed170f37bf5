//! The pass that finds records, from two places at once.
//!
//! Where a record begins is known only when the one before it was read, which is what a processor waits for most of the time. Two
//! passes, from the first record and from one in the middle, wait together. Where in the middle a record begins is guessed, but the
//! first pass has to end right there: so both together find what one would.

use super::{
    heads::{self, Head, Passed},
    quick::{HEAD, Part, Room},
    table::{BLOCK, NEAR},
};
use crate::ids::{low_u16, low_u32, to_usize};

/// Bytes of types from which on it is worth the guessing.
pub(super) const WORTH_IT: usize = if cfg!(fuzzing) { 1 << 10 } else { 1 << 18 };

/// Places at which it is looked how long records are, and how many of them.
const SAMPLES: usize = 64;
const SAMPLE: usize = 16;

/// Offsets that are tried to find a record: hardly any is longer.
const TRIES: usize = 1024;

/// Goes through the records as [`heads::pass`] does; `ids` is more than any id. None where that has to do it.
pub(super) fn pass<const BIG: bool>(types: &[u8], names: u32, ids: u32, room: &mut Room) -> Option<Passed> {
    pass_at::<BIG>(types, names, room, middle::<BIG>(types, names, ids)?)
}

fn pass_at<const BIG: bool>(
    types: &[u8],
    names: u32,
    room: &mut Room,
    Middle { offset, records }: Middle,
) -> Option<Passed> {
    let (first, second) = types.split_at_checked(offset)?;
    // The second pass writes from where the first will not come to, with a place left to see its end; and not further than there
    // is room.
    let most = (offset / HEAD).saturating_add(1);
    let seam = records.min(most).checked_next_multiple_of(BLOCK)?;
    let mut parts = room.part().split_at(seam)?;
    let Together { rests: [first_rest, second_rest], done, highest_id } =
        together::<BIG>([first, second], names, &mut parts);
    let [low, high] = parts.map(|part| part.split_at(done).map(|[_, left]| left));
    let passed = [
        heads::pass::<BIG>(first_rest, second.len(), names, low?)?,
        heads::pass::<BIG>(second_rest, 0, names, high?)?,
    ];
    let [before, after] = passed.map(|passed| passed.count.saturating_add(done));
    close_gap(room.part(), before, seam, after)?;
    let highest_id = passed.iter().map(|passed| passed.highest_id).fold(highest_id, u32::max);
    Some(Passed { count: before.checked_add(after)?, highest_id })
}

/// How far both came.
struct Together<'t> {
    rests: [&'t [u8]; 2],
    /// Records that each of them passed, whole blocks.
    done: usize,
    highest_id: u32,
}

/// Goes on with both, a block of each, until one of them has no whole block any more.
#[inline(never)]
fn together<'t, const BIG: bool>(
    [mut first, mut second]: [&'t [u8]; 2],
    names: u32,
    [low, high]: &mut [Part<'_>; 2],
) -> Together<'t> {
    let behind = second.len();
    let (mut done, mut highest_id) = (0usize, 0);
    let mut found = Found::default();
    for (of_first, of_second) in low.blocks().zip(high.blocks()) {
        let mut rests = [first, second];
        if block::<BIG>(&mut rests, names, &mut found).is_none() {
            break;
        }
        let [after_first, after_second] = rests;
        let is_near =
            |before: &[u8], after: &[u8]| (1..=NEAR).contains(&before.len().wrapping_sub(after.len()));
        if !is_near(first, after_first) || !is_near(second, after_second) {
            break;
        }
        *of_first.start = low_u32(first.len().wrapping_add(behind));
        for (to, low) in of_first.lows.iter_mut().zip(&found.lows_first) {
            *to = low.wrapping_add(low_u16(behind));
        }
        *of_first.kinds = found.kinds_first;
        *of_second.start = low_u32(second.len());
        (*of_second.lows, *of_second.kinds) = (found.lows_second, found.kinds_second);
        (first, second) = (after_first, after_second);
        highest_id = found.highest_id;
        done = done.wrapping_add(BLOCK);
    }
    Together { rests: [first, second], done, highest_id }
}

/// What was found of a block of each. It stays here until it is whole: so only one address takes a register.
#[derive(Default)]
struct Found {
    lows_first: [u16; BLOCK],
    lows_second: [u16; BLOCK],
    kinds_first: [u8; BLOCK],
    kinds_second: [u8; BLOCK],
    highest_id: u32,
}

#[inline(never)]
fn block<const BIG: bool>(rests: &mut [&[u8]; 2], names: u32, found: &mut Found) -> Option<()> {
    let [mut first, mut second] = *rests;
    let mut highest_id = found.highest_id;
    let of_first = found.lows_first.iter_mut().zip(&mut found.kinds_first);
    let of_second = found.lows_second.iter_mut().zip(&mut found.kinds_second);
    for ((low_first, kind_first), (low_second, kind_second)) in of_first.zip(of_second) {
        let head = Head::read::<BIG>(first, names)?;
        (*low_first, *kind_first) = (low_u16(first.len()), head.kind);
        highest_id = highest_id.max(head.id);
        first = first.get(head.len..)?;
        let head = Head::read::<BIG>(second, names)?;
        (*low_second, *kind_second) = (low_u16(second.len()), head.kind);
        highest_id = highest_id.max(head.id);
        second = second.get(head.len..)?;
    }
    (*rests, found.highest_id) = ([first, second], highest_id);
    Some(())
}

/// Moves what the second pass wrote from `seam` on to where the first ended.
fn close_gap(part: Part<'_>, before: usize, seam: usize, after: usize) -> Option<()> {
    let Part { blocks, lows, kinds } = part;
    let (gap, count) = (seam.checked_sub(before)?, before.checked_add(after)?);
    let moved = seam..seam.checked_add(after)?;
    for number in before.div_ceil(BLOCK)..count.div_ceil(BLOCK) {
        // Where its first record lies now: in a block further on.
        let place = number.checked_mul(BLOCK)?.checked_add(gap)?;
        let block = *blocks.get(place / BLOCK)?;
        let from_block = low_u16(to_usize(block)).wrapping_sub(*lows.get(place)?);
        *blocks.get_mut(number)? = block.wrapping_sub(u32::from(from_block));
    }
    lows.get(moved.clone()).and(kinds.get(moved.clone()))?;
    lows.copy_within(moved.clone(), before);
    kinds.copy_within(moved, before);
    let starts = blocks.get(..count.div_ceil(BLOCK))?;
    let ends = starts.iter().skip(1).chain([&0]);
    let is_near = |(start, end): (&u32, &u32)| to_usize(start.wrapping_sub(*end)) <= NEAR;
    starts.iter().zip(ends).all(is_near).then_some(())
}

/// Where a record seems to begin, with half of all before it.
struct Middle {
    offset: usize,
    /// More than there will be before it.
    records: usize,
}

fn middle<const BIG: bool>(types: &[u8], names: u32, ids: u32) -> Option<Middle> {
    let stride = (types.len() / SAMPLES).next_multiple_of(size_of::<u32>());
    let mut parts = [0usize; SAMPLES];
    for (records, at) in parts.iter_mut().zip((0..).step_by(stride)) {
        let (_, len) = record::<BIG>(types, at, names, ids)?;
        *records = stride.saturating_mul(SAMPLE).checked_div(len)?;
    }
    let half = parts.iter().fold(0usize, |all, part| all.saturating_add(*part)) / 2;
    let mut before = 0usize;
    for (records, at) in parts.iter().zip((0usize..).step_by(stride)) {
        let missing = half.saturating_sub(before);
        if missing <= *records {
            let within = stride.saturating_mul(missing).checked_div(*records)?;
            let at = at.saturating_add(within).next_multiple_of(size_of::<u32>());
            let (offset, _) = record::<BIG>(types, at, names, ids)?;
            return Some(Middle { offset, records: half.saturating_add(half / 8) });
        }
        before = before.saturating_add(*records);
    }
    None
}

/// The first offset from `at` on where a [`SAMPLE`] of records seems to begin, and their bytes.
fn record<const BIG: bool>(types: &[u8], at: usize, names: u32, ids: u32) -> Option<(usize, usize)> {
    let mut offsets = (at..types.len()).step_by(size_of::<u32>()).take(TRIES);
    offsets.find_map(|offset| {
        let all = types.get(offset..)?;
        let mut rest = all;
        for _ in 0..SAMPLE {
            let head = Head::read::<BIG>(rest, names).filter(|head| head.len >= HEAD && head.id < ids)?;
            rest = rest.get(head.len..)?;
        }
        Some((offset, all.len().saturating_sub(rest.len())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        btf::{Btf, Builder, table::Table},
        endian::Endian,
        ids::{TypeId, to_u32},
    };
    use alloc::{vec, vec::Vec};

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// As in kernels: long records first, short ones later, and everything between.
    fn skewed(endian: Endian, count: u32) -> Vec<u8> {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        for n in 0..count {
            let members = vec![("m", int, 0); to_usize(count.abs_diff(n) / 100)];
            b.structure("s", 4, &members);
            let proto = b.func_proto(int, &[("p", int), ("q", int)]);
            for _ in 0..n / 200 {
                b.func("f", proto, 1);
            }
            b.pointer(proto);
        }
        b.finish()
    }

    type Found = Option<(Table, u32)>;

    /// What this finds, and what one pass does.
    fn both(data: &[u8]) -> [Found; 2] {
        let header = crate::btf::header::Header::parse(data).unwrap();
        let types = &data[header.types.clone()];
        let (names, ids) = (header.string_len(), to_u32(types.len() / HEAD));
        [true, false].map(|by_halves| {
            let mut room = Room::new(types.len() / HEAD);
            let passed = match (by_halves, header.endian) {
                (true, Endian::Little) => pass::<false>(types, names, ids, &mut room),
                (true, Endian::Big) => pass::<true>(types, names, ids, &mut room),
                (false, Endian::Little) => heads::pass::<false>(types, 0, names, room.part()),
                (false, Endian::Big) => heads::pass::<true>(types, 0, names, room.part()),
            }?;
            Some((room.into_table(passed.count), passed.highest_id))
        })
    }

    fn is_same((table, id): &(Table, u32), other: &(Table, u32)) -> bool {
        let end = 1 << 30;
        *id == other.1 && table.kinds == other.0.kinds && table.offsets(end).eq(other.0.offsets(end))
    }

    #[test]
    fn two_passes_find_what_one_finds() {
        for endian in ORDERS {
            for count in [600, 800, 801, 1000, 1717] {
                let [halves, whole] = both(&skewed(endian, count));
                let (halves, whole) = (halves.expect("taken"), whole.unwrap());
                assert!(is_same(&halves, &whole), "{count}, {endian:?}");
            }
        }
    }

    /// Wherever the second pass begins, and whatever is believed of what comes before it.
    #[test]
    fn any_middle_gives_what_one_pass_finds_or_nothing() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for n in 0..200 {
            b.structure("s", 4, &vec![("m", int, 0); n % 5]);
            b.pointer(int);
        }
        let data = b.finish();
        let header = crate::btf::header::Header::parse(&data).unwrap();
        let (types, names) = (&data[header.types.clone()], header.string_len());
        let [_, whole] = both(&data);
        let whole = whole.unwrap();
        let begins: Vec<_> = whole.0.offsets(types.len()).collect();
        let mut taken = 0;
        for offset in 0..=types.len() {
            for records in [0, offset / 24, offset / HEAD, usize::MAX] {
                let mut room = Room::new(types.len() / HEAD);
                let passed = pass_at::<false>(types, names, &mut room, Middle { offset, records });
                let is_right = begins.contains(&offset) || offset == types.len();
                let before = begins.partition_point(|begin| *begin < offset);
                let is_room = records.min(offset / HEAD + 1).next_multiple_of(BLOCK) > before;
                assert!(passed.is_some() || !(is_right && is_room), "{offset}, {records} records before");
                let Some(passed) = passed else { continue };
                assert!(is_same(&(room.into_table(passed.count), passed.highest_id), &whole), "{offset}");
                taken += 1;
            }
        }
        assert!(taken > begins.len(), "{taken}");
    }

    #[test]
    fn what_looks_like_records_in_the_middle_is_not_taken_for_them() {
        for endian in ORDERS {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, 0);
            let var = b.var("v", int, 1);
            // Each of them a pointer to type 1, to who begins to read there.
            let pointer = u32::from(crate::btf::Kind::Ptr.raw()) << 24;
            for _ in 0..9 {
                b.datasec(".data", 4, &vec![(var, pointer, 1); 4000]);
                for _ in 0..100 {
                    b.pointer(int);
                }
            }
            let data = b.finish();
            let [halves, whole] = both(&data);
            assert!(halves.is_none(), "the first pass does not end where the second began");
            assert_eq!(whole.unwrap().0.len(), 911);
            assert!(data.len() > WORTH_IT && Btf::parse_unvalidated(data, None).is_ok());
        }
    }

    #[test]
    fn what_a_change_makes_of_it_is_the_same_or_left_to_one_pass() {
        let (mut taken, mut left) = (0, 0);
        for endian in ORDERS {
            let good = skewed(endian, 600);
            let end = crate::btf::header::Header::parse(&good).unwrap().types.end;
            for (at, change) in (24..end).step_by(401).zip([1, 4, 0x0d, 0x80, 0xff].iter().cycle()) {
                let mut data = good.clone();
                data[at] ^= change;
                match both(&data) {
                    [Some(halves), Some(whole)] => {
                        assert!(is_same(&halves, &whole), "byte {at} changed by {change:#x}");
                        taken += 1;
                    }
                    [halves, _] => {
                        assert!(
                            halves.is_none(),
                            "byte {at} changed by {change:#x}: more than one pass finds"
                        );
                        left += 1;
                    }
                }
            }
        }
        assert!(taken > 150 && left > 30, "{taken} taken, {left} left");
    }

    #[test]
    fn a_large_one_is_read_by_halves_and_its_types_are_where_they_are() {
        let data = skewed(Endian::Little, 1717);
        assert!(data.len() > WORTH_IT && both(&data)[0].is_some());
        let [unvalidated, whole] = [Btf::parse_unvalidated(data.clone(), None), Btf::parse(data)];
        let (unvalidated, whole) = (unvalidated.unwrap(), whole.unwrap());
        assert_eq!(unvalidated.end_id(), whole.end_id());
        for id in (1..whole.end_id().0).map(TypeId) {
            let [a, b] = [&unvalidated, &whole].map(|btf| btf.ty(id).unwrap().raw());
            assert_eq!(alloc::format!("{a}"), alloc::format!("{b}"));
        }
    }
}
