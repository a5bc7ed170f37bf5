//! BTF whose types are sorted by name: those without one first, the others in the order of the bytes of their names, equal
//! names in order of id.
//!
//! Kernels' builds leave it so from 6.19 on (`resolve_btfids`), that of modules as well. The kernel's and libbpf's own rule is the
//! same (`btf_check_sorted`), and so is what a search finds: of the types that share a name and a kind the one of the lowest id.

use super::{
    Btf, Kind, Strings, Type,
    table::{BLOCK, Table},
};
use crate::{
    endian::Endian,
    ids::{StrOffset, TypeId, to_u32},
    limits,
    name::Name,
};
use core::{iter, mem, ops::Range};

/// That a BTF's own types are in order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The place of the first type that has a name.
    first_named: usize,
    /// One past the last place.
    end: usize,
}

/// Between a name and its flavour.
const SEPARATOR: &[u8] = b"___";
/// So many names are compared before all are: of a BTF that is not sorted the first three are rarely in order.
const FEW: usize = 32;
/// So many where not all are.
const MANY: usize = 256;
/// Neighbours that are compared then, wherever something may have been added to types that were sorted.
const RUN: usize = 32;

impl Order {
    /// The order, if each name is in it.
    pub(super) fn exact(btf: &Btf<'_>) -> Option<Self> {
        let names = Names::of(btf);
        let are_sorted = names.ascend(evenly(0..names.len(), FEW)) && names.all_ascend();
        are_sorted.then(|| Self { first_named: names.first_named(), end: names.len() })
    }

    /// The order, if each of a few hundred names is in it.
    pub(super) fn sampled(btf: &Btf<'_>) -> Option<Self> {
        let names = Names::of(btf);
        let len = names.len();
        if !names.ascend(evenly(0..len, FEW)) {
            return None;
        }
        let first_named = names.first_named();
        let runs =
            [0, first_named.saturating_sub(RUN / 2), first_named.midpoint(len), len.saturating_sub(RUN)];
        // The last of those before the first that has a name has none; nor then have others, if they ascend.
        let is_sorted = names.ascend(evenly(0..first_named, MANY))
            && names.ascend(evenly(first_named..len, MANY))
            && runs.into_iter().all(|from| names.ascend(from..from.saturating_add(RUN).min(len)));
        is_sorted.then_some(Self { first_named, end: len })
    }

    /// The first own type of this name, which is not empty, and kind.
    pub(super) fn find<'b>(self, btf: &'b Btf<'_>, name: &[u8], kind: Kind) -> Option<Type<'b>> {
        self.named(Names::of(btf), name).filter_map(|place| at(btf, place)).find(|ty| ty.kind() == kind)
    }

    /// The own types of this essential name, which is not empty, in order of id.
    ///
    /// None if more bytes of names than the `budget` has would have to be looked at: what begins like a flavour need not be one
    /// (`a___b___c` is none of `a`), and names can be made so that most are not.
    pub(super) fn flavours<'b>(
        self,
        btf: &'b Btf<'_>,
        essential: &[u8],
        budget: usize,
    ) -> Option<impl Iterator<Item = Type<'b>>> {
        let names = Names::of(btf);
        let start =
            first(self.first_named..self.end, |place| !is_below(names.tail(place), essential, SEPARATOR));
        let (mut end, mut left) = (start, budget.checked_sub(essential.len())?);
        while let Some(rest) = self.flavour(names, end, essential) {
            let length = rest.iter().take(left).position(|byte| *byte == 0)?;
            left = left.checked_sub(essential.len().saturating_add(length))?;
            end = end.saturating_add(1);
        }
        // A name that is written like a flavour is not its own essential name.
        let is_whole = Name::new(essential).essential().as_bytes() == essential;
        let same = is_whole.then(|| self.named(names, essential)).into_iter().flatten();
        let flavoured = (start..end).filter_map(move |place| at(btf, place));
        let flavoured = flavoured.filter(move |ty| ty.name().essential().as_bytes() == essential);
        Some(same.filter_map(move |place| at(btf, place)).chain(flavoured))
    }

    /// What follows after a name at a place, if that is written like a flavour.
    fn flavour<'b>(self, names: Names<'b>, place: usize, name: &[u8]) -> Option<&'b [u8]> {
        let rest = names.after(place, name).filter(|rest| rest.starts_with(SEPARATOR));
        rest.filter(|_| place < self.end)
    }

    /// The places of the types of this very name.
    fn named(self, names: Names<'_>, name: &[u8]) -> impl Iterator<Item = usize> {
        let start = first(self.first_named..self.end, |place| !is_below(names.tail(place), name, b""));
        (start..self.end).take_while(move |place| names.after(*place, name).is_some_and(is_empty))
    }
}

/// The type at a place among a BTF's own.
fn at<'b>(btf: &'b Btf<'_>, place: usize) -> Option<Type<'b>> {
    btf.ty(TypeId(btf.first_id().0.checked_add(to_u32(place))?))
}

/// What the names of a BTF's own types are read from, for who reads many.
#[derive(Clone, Copy)]
struct Names<'b> {
    table: &'b Table,
    types: &'b [u8],
    strings: Strings<'b>,
    endian: Endian,
}

impl<'b> Names<'b> {
    fn of(btf: &'b Btf<'_>) -> Self {
        let types = btf.data.get(..btf.header.types.end).unwrap_or_default();
        Self { table: &btf.table, types, strings: btf.strings(), endian: btf.header.endian }
    }

    fn len(self) -> usize {
        self.table.len()
    }

    #[inline]
    fn name_offset(self, offset: usize) -> StrOffset {
        let name = self.types.get(offset..).and_then(|record| record.first_chunk());
        StrOffset(name.map_or(0, |raw| self.endian.word(*raw)))
    }

    /// The name at an offset, its NUL and what follows.
    #[inline]
    fn name(self, at: StrOffset) -> &'b [u8] {
        let own =
            at.0.checked_sub(self.strings.start)
                .and_then(|own| self.strings.own.get(StrOffset(own).index()..));
        match own {
            Some(tail) if !tail.is_empty() => tail,
            _ => self.name_of_base(at),
        }
    }

    #[cold]
    fn name_of_base(self, at: StrOffset) -> &'b [u8] {
        self.strings.tail(at).unwrap_or(&[0])
    }

    /// The name of the record at an offset, its NUL and what follows.
    #[inline]
    fn at(self, offset: usize) -> &'b [u8] {
        self.name(self.name_offset(offset))
    }

    /// The name of the type at a place, its NUL and what follows.
    #[inline]
    fn tail(self, place: usize) -> &'b [u8] {
        self.table.offset(place, self.types.len()).map_or(&[0], |offset| self.at(offset))
    }

    /// What follows after `begin` in a name, if it begins so.
    fn after(self, place: usize, begin: &[u8]) -> Option<&'b [u8]> {
        self.tail(place).strip_prefix(begin)
    }

    /// Whether the names at these places are in order.
    fn ascend(self, places: impl Iterator<Item = usize>) -> bool {
        let mut last: &[u8] = &[0];
        places.map(|place| self.tail(place)).all(|name| is_in_order(mem::replace(&mut last, name), name))
    }

    /// Whether all are in order.
    #[inline(never)]
    fn all_ascend(self) -> bool {
        let (mut last_at, mut last, mut last_begin): (_, &[u8], _) = (StrOffset(0), &[0], 0);
        for nth in 0..self.len().div_ceil(BLOCK) {
            let (offsets, count) = self.table.block(nth, self.types.len());
            for offset in offsets.get(..count).into_iter().flatten().copied() {
                let at = self.name_offset(offset);
                // Nearly all that have no name, and most that share one.
                if at == last_at {
                    continue;
                }
                let name = self.name(at);
                let begin = begin(name);
                if begin <= last_begin && !is_in_order(last, name) {
                    return false;
                }
                (last_at, last, last_begin) = (at, name, begin);
            }
        }
        true
    }

    /// The place of the first that has a name, if they are in order.
    fn first_named(self) -> usize {
        first(0..self.len(), |place| !is_empty(self.tail(place)))
    }
}

/// Some of the places, evenly spaced, and the last.
fn evenly(places: Range<usize>, count: usize) -> impl Iterator<Item = usize> {
    let step = places.len().div_ceil(count.max(1)).max(1);
    let last = places.clone().last();
    places.step_by(step).chain(last)
}

/// The first place for which this is so, if it is so for all that follow; their end, if it is for none.
fn first(mut among: Range<usize>, is_so: impl Fn(usize) -> bool) -> usize {
    while among.start < among.end {
        let middle = among.start.midpoint(among.end);
        if is_so(middle) {
            among.end = middle;
        } else {
            among.start = middle.saturating_add(1);
        }
    }
    among.start
}

/// Whether the string that `tail` begins with is empty.
#[inline]
fn is_empty(tail: &[u8]) -> bool {
    matches!(tail, [0, ..])
}

/// Whether the string that `tail` begins with is less than `begin` and `end` put together.
#[inline]
fn is_below(tail: &[u8], begin: &[u8], end: &[u8]) -> bool {
    // Where the string is shorter, its NUL is less than any byte of a name.
    match tail.split_at_checked(begin.len()) {
        None => tail < begin,
        Some((head, _)) if head != begin => head < begin,
        Some((_, rest)) => rest.get(..end.len()).unwrap_or(rest) < end,
    }
}

/// The first eight bytes of a string and of what follows, as a number of the same order; 0 where there are fewer.
#[inline]
fn begin(tail: &[u8]) -> u64 {
    tail.first_chunk().map_or(0, eight)
}

#[inline]
fn eight(bytes: &[u8; 8]) -> u64 {
    Endian::Big.u64(bytes, 0).unwrap_or_default()
}

/// Whether the strings that two slices begin with are in order. Those that have too much in common are not.
#[inline]
fn is_in_order(one: &[u8], other: &[u8]) -> bool {
    // What follows after the NULs of equal strings plays no part; it is told apart only where it would be out of order.
    for (one, other) in iter::zip(one.as_chunks::<8>().0, other.as_chunks::<8>().0) {
        let (one, other) = (eight(one), eight(other));
        if one < other || one == other && has_zero(one) {
            return true;
        }
        if one != other {
            break;
        }
    }
    is_exactly_in_order(one, other)
}

/// Whether one of its bytes is 0.
#[inline]
fn has_zero(word: u64) -> bool {
    const LOWS: u64 = 0x0101_0101_0101_0101;
    word.wrapping_sub(LOWS) & !word & (LOWS << 7) != 0
}

/// The same, byte by byte.
#[cold]
fn is_exactly_in_order(one: &[u8], other: &[u8]) -> bool {
    let mut pairs = iter::zip(one, other).take(limits::SORTED_NAME);
    pairs.find(|(one, other)| one != other || **one == 0).is_some_and(|(one, other)| one <= other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::{Builder, NameIndex};
    use alloc::{format, string::String, sync::Arc, vec::Vec};

    const ENDIANS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// In order: names that may be mistaken for each other.
    const NAMES: [&[u8]; 26] = [
        b"A",
        b"___a",
        b"_a",
        b"a",
        b"a",
        b"a",
        b"a",
        b"a",
        b"a0",
        b"aB",
        b"a_",
        b"a__",
        b"a___",
        b"a____b",
        b"a___b",
        b"a___b",
        b"a___b___c",
        b"a___c",
        b"a__b",
        b"aa",
        b"ab",
        b"abcdefgh",
        b"abcdefgh",
        b"abcdefghi",
        b"abcdefgh\x80",
        b"\xff",
    ];
    const KINDS: [Kind; 5] = [Kind::Struct, Kind::Typedef, Kind::Func, Kind::Struct, Kind::TypeTag];

    /// Some types without a name, then types of these names.
    fn made<'n>(mut b: Builder, unnamed: usize, names: impl IntoIterator<Item = &'n [u8]>) -> Vec<u8> {
        for n in 0..unnamed {
            let kind = [Kind::Ptr, Kind::FuncProto, Kind::Struct][n % 3];
            b.raw("", kind, 0, false, 0, &[]);
        }
        for (n, name) in names.into_iter().enumerate() {
            b.raw(name, KINDS[n % KINDS.len()], 0, false, 0, &[]);
        }
        b.finish()
    }

    fn parsed(data: Vec<u8>, base: Option<&Arc<Btf<'static>>>) -> Btf<'static> {
        Btf::parse_unvalidated(data, base.cloned()).unwrap()
    }

    /// Both byte orders, alone and split from a base that has the same names.
    fn each(unnamed: usize, names: &[&[u8]], test: impl Fn(Btf<'static>)) {
        for endian in ENDIANS {
            let alone = made(Builder::new(endian), unnamed, names.iter().copied());
            let base = Arc::new(parsed(alone.clone(), None));
            let split = made(Builder::split(&base), unnamed, names.iter().copied());
            test(parsed(alone, None));
            test(parsed(split, Some(&base)));
        }
    }

    /// All names are looked for in all ways, and what is found is what a look at each type finds.
    fn finds_all(btf: &Btf<'_>) {
        let mut trusted = btf.clone();
        let is_sorted = Order::exact(btf).is_some();
        assert_eq!((trusted.trust_order(), NameIndex::sorted(btf).is_some()), (is_sorted, is_sorted));
        let indexes = [NameIndex::new(btf), NameIndex::of_types(btf), NameIndex::of_functions(&trusted)];
        let own = btf.types().flat_map(|ty| [ty.name().as_bytes(), ty.name().essential().as_bytes()]);
        for name in own.chain(NAMES).chain([&b"\x01"[..], b"a___a", b"b", b"abcdefg", b"\xff\xff"]) {
            for kind in KINDS.into_iter().chain([Kind::Enum, Kind::Ptr]) {
                let expected = btf.types().find(|ty| ty.kind() == kind && ty.name().as_bytes() == name);
                let expected = expected.map(Type::id);
                for btf in [btf, &trusted] {
                    assert_eq!(btf.find_own(name, kind).map(Type::id), expected, "{kind} {name:?}");
                }
                for index in &indexes {
                    let found = index.find(btf, name, kind).map(Type::id);
                    assert_eq!(found, expected.filter(|_| !name.is_empty()), "{kind} {name:?}");
                }
            }
            for index in &indexes {
                let is_it =
                    |ty: &Type<'_>| index.covers(ty.kind()) && ty.name().essential().as_bytes() == name;
                let expected: Vec<_> =
                    btf.types().filter(is_it).filter(|_| !name.is_empty()).map(Type::id).collect();
                let all: Vec<_> = index.flavours(btf, name).map(Type::id).collect();
                let few = index.few_flavours(btf, name).map(|few| few.map(Type::id).collect::<Vec<_>>());
                assert_eq!((&all, few), (&expected, Some(all.clone())), "{name:?}");
            }
        }
    }

    #[test]
    fn in_sorted_types_all_are_found() {
        for unnamed in [0, 1, 2, 40] {
            for count in 0..=NAMES.len() {
                each(unnamed, &NAMES[..count], |btf| {
                    let expected = Some(Order { first_named: unnamed, end: unnamed + count });
                    assert_eq!((Order::exact(&btf), Order::sampled(&btf)), (expected, expected));
                    finds_all(&btf);
                });
            }
        }
    }

    #[test]
    fn one_out_of_order_anywhere_is_noticed() {
        for at in 0..NAMES.len() {
            for other in at + 1..NAMES.len() {
                let mut names = NAMES;
                names.swap(at, other);
                if !names.is_sorted() {
                    each(3, &names, |btf| assert_eq!(Order::exact(&btf), None));
                    each(3, &names[at..=other], |btf| finds_all(&btf));
                }
            }
            let mut names = NAMES;
            names[at] = b"";
            if at != 0 {
                each(3, &names, |btf| assert_eq!(Order::exact(&btf), None, "no name at {at}"));
                each(3, &names[..=at], |btf| finds_all(&btf));
            }
        }
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("name_{:05}", n / 2)).collect()
    }

    #[test]
    fn of_many_types_each_is_compared_with_the_next() {
        let names = numbered(700);
        let names: Vec<_> = names.iter().map(String::as_bytes).collect();
        each(50, &names, |btf| finds_all(&btf));
        for at in 1..names.len() {
            let mut names = names.clone();
            names[at] = b"name_";
            let btf = parsed(made(Builder::new(Endian::Little), 50, names), None);
            assert_eq!(Order::exact(&btf), None, "{at}");
        }
    }

    #[test]
    fn types_added_to_sorted_ones_are_noticed_by_samples() {
        let mut names = numbered(20_000);
        let sampled = |names: &[String]| {
            let names = names.iter().map(String::as_bytes);
            Order::sampled(&parsed(made(Builder::new(Endian::Little), 9_000, names), None))
        };
        assert_eq!(sampled(&names), Some(Order { first_named: 9_000, end: 29_000 }));
        for added in [1, 3, 40, 1_000] {
            let all: Vec<_> =
                names.iter().cloned().chain((0..added).map(|n| format!("added{n:04}"))).collect();
            assert_eq!(sampled(&all), None, "{added} at the end");
            assert_eq!(sampled(&[&[String::from("z")], &names[..]].concat()), None, "one at the beginning");
        }
        names[10_000..].reverse();
        assert_eq!(sampled(&names), None);
    }

    /// The promise was not kept: types are missed, but nothing else is found.
    #[test]
    fn an_order_wrongly_trusted_is_no_harm() {
        let mut names = numbered(20_000);
        names.swap(1_234, 15_678);
        let mut btf = parsed(made(Builder::new(Endian::Big), 0, names.iter().map(String::as_bytes)), None);
        assert!(btf.trust_order() && Order::exact(&btf).is_none());
        let find = |name: &String| {
            let found = KINDS.into_iter().find_map(|kind| btf.find(name.as_bytes(), kind));
            assert!(found.is_none_or(|ty| ty.name().as_bytes() == name.as_bytes()));
            found.is_some()
        };
        let found = names.iter().step_by(2).filter(|name| find(name)).count();
        assert!(found > 9_900, "{found}");
    }

    #[test]
    fn names_that_begin_like_flavours_of_one_are_not_looked_through_for_it() {
        let nested: Vec<_> = (0..1_000).map(|n| format!("a___b{n:04}___c")).collect();
        let names: Vec<_> =
            [&b"a"[..], b"a___a"].into_iter().chain(nested.iter().map(String::as_bytes)).collect();
        let btf = parsed(made(Builder::new(Endian::Little), 0, names), None);
        let index = NameIndex::sorted(&btf).unwrap();
        assert_eq!(index.flavours(&btf, b"a").map(Type::id).collect::<Vec<_>>(), [TypeId(1), TypeId(2)]);
        assert!(index.few_flavours(&btf, b"a").is_none());
        assert_eq!(index.few_flavours(&btf, b"a___b0007").map(Iterator::count), Some(1));
        assert!(index.few_flavours(&btf, &[b'a'; limits::FLAVOUR_BYTES + 1]).is_none());
    }

    #[test]
    fn strings_are_compared_and_what_follows_is_not() {
        let long = "l".repeat(300);
        let longer = format!("{long}a");
        let strings = [
            "",
            "\u{1}",
            "a",
            "ab",
            "abcdefg",
            "abcdefgh",
            "abcdefgha",
            "abcdefghabcdefgh",
            "b",
            &long,
            &longer,
        ];
        assert!(strings.is_sorted());
        let followed = |string: &str, by: &str| format!("{string}\0{by}").into_bytes();
        let after = ["", "\0", "a\0", "zzzzzzzz\0", "\0zzzzzzzzzzzzzzzzzzz\0"];
        for (at, one) in strings.iter().enumerate() {
            for (nth, other) in strings.iter().enumerate() {
                for (by, then) in after.iter().flat_map(|by| after.map(|then| (by, then))) {
                    let (one, other) = (followed(one, by), followed(other, then));
                    assert_eq!(is_in_order(&one, &other), at <= nth, "{one:?} {other:?}");
                }
            }
        }
        let too_long = followed(&"x".repeat(2 * limits::SORTED_NAME), "");
        assert!(!is_exactly_in_order(&too_long, &too_long));
    }
}
