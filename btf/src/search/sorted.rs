//! Binary search in types that are sorted by name: types without a name first, then by the bytes of the
//! names, then by id.
//!
//! The BTF of kernels and modules is sorted from Linux 7.0 on (`resolve_btfids`). The kernel and libbpf use
//! the same order (`btf_check_sorted`). A search finds the type with the lowest id of a name and kind.

use crate::{
    format::Kind,
    ids::{StrOffset, TypeId},
    limits,
    name::{Name, SEPARATOR},
    parse::{Btf, NameOrder, Strings},
    view::Type,
};
use core::{cmp::Ordering, iter, mem, ops::Range};

/// Types in the order of their names, for binary search.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'b, N> {
    pub(super) btf: &'b Btf<'b>,
    pub(super) strings: Strings<'b>,
    pub(super) names: N,
}

/// A list of the offsets of names, in the order of the names.
pub(super) trait SortedNames: Copy {
    /// Returns the positions of the types that have a name, in the order of the names.
    fn positions(self) -> Range<usize>;
    /// Returns the offset of the name at this position, and the own index of its type.
    fn name_and_own_index(self, btf: &Btf<'_>, position: usize) -> Option<(StrOffset, usize)>;
}

impl<'b, N: SortedNames> Sorted<'b, N> {
    pub(super) fn new<'d: 'b>(btf: &'b Btf<'d>, names: N) -> Self {
        Self { btf, strings: btf.strings(), names }
    }

    /// Returns the first type of this name and kind. The name is not empty.
    pub(super) fn find(self, name: &[u8], kind: Kind) -> Option<Type<'b>> {
        let mut types = self.named(name).filter_map(|position| self.ty(position));
        types.find(|ty| ty.kind() == kind && self.strings.equals(ty.name_offset(), name))
    }

    /// Returns the types of this essential name, in order of id. The name is not empty.
    ///
    /// Returns `None` if the search would read more bytes of names than `budget`. Not every name that begins
    /// with the essential name and `___` is a flavour of it (`a___b___c` is a flavour of `a___b`, not of
    /// `a`). Hostile BTF can contain many such names.
    pub(super) fn flavours(
        self,
        essential: &[u8],
        budget: Option<usize>,
    ) -> Option<impl Iterator<Item = Type<'b>>> {
        let start = self.lower_bound(essential, SEPARATOR);
        let mut left = match budget {
            Some(budget) => Some(budget.checked_sub(essential.len())?),
            None => None,
        };
        // The position after the last flavour so far.
        let mut end = start..;
        while let Some(rest) = self.after(end.start, essential).filter(|rest| rest.starts_with(SEPARATOR)) {
            if let Some(left) = &mut left {
                let length = rest.iter().take(*left).position(|byte| *byte == 0)?;
                *left = left.checked_sub(essential.len())?.checked_sub(length)?;
            }
            end.next();
        }
        // If `essential` is itself a flavour, types of exactly this name have a shorter essential name.
        let is_essential = Name::new(essential).essential().as_bytes() == essential;
        let same = is_essential.then(|| self.named(essential)).into_iter().flatten();
        let flavoured = (start..end.start).filter_map(move |position| self.ty(position));
        let flavoured = flavoured.filter(move |ty| ty.name().essential().as_bytes() == essential);
        let same = same.filter_map(move |position| self.ty(position));
        Some(same.filter(move |ty| self.strings.equals(ty.name_offset(), essential)).chain(flavoured))
    }

    /// Returns the positions of the types of exactly this name. If the names are not sorted, the positions
    /// can be those of other types.
    fn named(self, name: &[u8]) -> Range<usize> {
        let start = self.lower_bound(name, b"");
        // A binary search finds the end too, because many types may share one long name.
        let is_other = |position| !self.after(position, name).is_some_and(is_empty);
        start..first_where(start..self.names.positions().end, is_other)
    }

    /// Returns the position of the first name that is not less than `start` followed by `end`.
    fn lower_bound(&self, start: &[u8], end: &[u8]) -> usize {
        first_where(self.names.positions(), |position| !is_less(self.tail(position), start, end))
    }

    /// Returns the bytes of a name after a prefix, if the name has the prefix.
    fn after(&self, position: usize, prefix: &[u8]) -> Option<&'b [u8]> {
        self.tail(position).strip_prefix(prefix)
    }

    /// Returns a name, its NUL, and the bytes after it.
    #[inline]
    fn tail(&self, position: usize) -> &'b [u8] {
        self.names.name_and_own_index(self.btf, position).map_or(&[0], |(at, _)| tail(self.strings, at))
    }

    fn ty(&self, position: usize) -> Option<Type<'b>> {
        let (at, own_index) = self.names.name_and_own_index(self.btf, position)?;
        let ty = self.btf.ty(TypeId(self.btf.first_id().0.checked_add(u32::try_from(own_index).ok()?)?));
        // The check fails if the names are those of another BTF.
        ty.filter(|ty| ty.name_offset() == at)
    }

    /// Returns whether the names at these positions are in order.
    fn are_ascending(&self, positions: impl Iterator<Item = usize>) -> bool {
        are_in_order(
            self.strings,
            positions
                .filter_map(|position| self.names.name_and_own_index(self.btf, position))
                .map(|(at, _)| at),
        )
    }
}

impl SortedNames for NameOrder {
    fn positions(self) -> Range<usize> {
        self.first_named..self.end
    }

    #[inline]
    fn name_and_own_index(self, btf: &Btf<'_>, own_index: usize) -> Option<(StrOffset, usize)> {
        let types = btf.types_section();
        let record = types.get(btf.table.offset(own_index, types.len())?..)?;
        Some((StrOffset(btf.endian().word(*record.first_chunk()?)), own_index))
    }
}

/// The number of names that are compared first. In BTF that is not sorted, the first three names are rarely
/// in order.
const FIRST_SAMPLES: usize = 32;
/// The number of samples among types with a name, and among types without a name.
const SAMPLES: usize = 256;
/// The number of adjacent names that are compared at each place where a tool may have added types to sorted
/// types.
const RUN_LENGTH: usize = 32;

impl NameOrder {
    /// Returns the order of a BTF's names, if a few hundred samples are in order.
    pub(super) fn sample(btf: &Btf<'_>) -> Option<Self> {
        let end = btf.table.len();
        let all = Sorted::new(btf, Self { first_named: 0, end });
        if !all.are_ascending(evenly_spaced(0..end, FIRST_SAMPLES)) {
            return None;
        }
        let first_named = first_where(0..end, |own_index| !is_empty(all.tail(own_index)));
        let runs = [
            0,
            first_named.saturating_sub(RUN_LENGTH / 2),
            first_named.midpoint(end),
            end.saturating_sub(RUN_LENGTH),
        ];
        // The last type before the first named type has no name. If the types ascend, those before it have
        // none either.
        let is_sorted = all.are_ascending(evenly_spaced(0..first_named, SAMPLES))
            && all.are_ascending(evenly_spaced(first_named..end, SAMPLES))
            && runs.into_iter().all(|from| all.are_ascending((from..end).take(RUN_LENGTH)));
        is_sorted.then_some(Self { first_named, end })
    }
}

/// Returns whether all of these names are in order. Names with a long common prefix count as out of order.
pub(super) fn are_in_order(strings: Strings<'_>, mut names: impl Iterator<Item = StrOffset>) -> bool {
    let mut previous = StrOffset(0);
    names.all(|name| {
        let before = mem::replace(&mut previous, name);
        before == name || is_in_order(tail(strings, before), tail(strings, name))
    })
}

/// Returns a name, its NUL, and the bytes after it. Returns an empty name if the offset lies outside the
/// strings.
#[inline]
fn tail(strings: Strings<'_>, at: StrOffset) -> &[u8] {
    let own = at.0.checked_sub(strings.start).and_then(|own| strings.own.get(StrOffset(own).index()..));
    match own {
        Some(tail) if !tail.is_empty() => tail,
        _ => strings.tail(at).unwrap_or(&[0]),
    }
}

/// Returns evenly spaced positions of a range, and the last.
fn evenly_spaced(positions: Range<usize>, count: usize) -> impl Iterator<Item = usize> {
    let step = positions.len().div_ceil(count.max(1)).max(1);
    let last = positions.clone().last();
    positions.step_by(step).chain(last)
}

/// Returns the first position of a range for which the predicate is true, by binary search. Returns the end
/// of the range if there is none.
fn first_where(mut range: Range<usize>, predicate: impl Fn(usize) -> bool) -> usize {
    while range.start < range.end {
        let middle = range.start.midpoint(range.end);
        if predicate(middle) {
            range.end = middle;
        } else {
            range.start = middle;
            range.next();
        }
    }
    range.start
}

/// Returns whether the string at the start of `tail` is empty.
#[inline]
fn is_empty(tail: &[u8]) -> bool {
    matches!(tail, [0, ..])
}

/// Returns whether the string at the start of `tail` is less than `start` followed by `end`.
#[inline]
fn is_less(tail: &[u8], start: &[u8], end: &[u8]) -> bool {
    // Where the string is shorter, its NUL is less than any byte of a name.
    let Some((head, rest)) = tail.split_at_checked(start.len()) else { return tail < start };
    match head.cmp(start) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => rest.get(..end.len()).unwrap_or(rest) < end,
    }
}

/// Returns whether the strings at the start of two slices are in order, and differ within
/// [`limits::SORTED_NAME`] bytes.
#[inline]
fn is_in_order(left: &[u8], right: &[u8]) -> bool {
    // The fast comparison of eight bytes at a time includes the bytes after the NULs of equal strings. If
    // these are in order, the result is right in any case: equal strings are in order. Otherwise the exact
    // comparison decides.
    let mut chunks = iter::zip(left.as_chunks().0, right.as_chunks().0).take(limits::SORTED_NAME / 8);
    let difference = chunks.find(|(left, right): &(&[u8; 8], _)| left != right);
    difference.is_some_and(|(left, right)| left < right) || is_exactly_in_order(left, right)
}

/// Returns whether two strings are in order, as [`is_in_order`]. Compares byte by byte and stops at the NUL.
#[cold]
fn is_exactly_in_order(left: &[u8], right: &[u8]) -> bool {
    let mut pairs = iter::zip(left, right).take(limits::SORTED_NAME);
    pairs.find(|(left, right)| left != right || **left == 0).is_some_and(|(left, right)| left <= right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltRecord, NameIndex, endian::Endian};
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

    /// Builds types without a name, then types of these names.
    fn build_types<'n>(mut b: Builder, unnamed: usize, names: impl IntoIterator<Item = &'n [u8]>) -> Vec<u8> {
        for n in 0..unnamed {
            let kind = [Kind::Ptr, Kind::FuncProto, Kind::Struct][n % 3];
            b.raw("", BuiltRecord::new(kind));
        }
        for (name, kind) in names.into_iter().zip(KINDS.into_iter().cycle()) {
            b.raw(name, BuiltRecord::new(kind));
        }
        b.finish()
    }

    fn parsed(data: Vec<u8>, base: Option<&Arc<Btf<'static>>>) -> Btf<'static> {
        Btf::parse_unvalidated(data, base.cloned()).unwrap()
    }

    /// Calls `test` with BTFs of these names: in both byte orders, without a base and split from a base with
    /// the same names.
    fn for_each_btf(unnamed: usize, names: &[&[u8]], test: impl Fn(Btf<'static>)) {
        for endian in ENDIANS {
            let alone = build_types(Builder::new(endian), unnamed, names.iter().copied());
            let base = Arc::new(parsed(alone.clone(), None));
            let split = build_types(Builder::split(&base), unnamed, names.iter().copied());
            test(parsed(alone, None));
            test(parsed(split, Some(&base)));
        }
    }

    fn is_sorted(btf: &Btf<'_>) -> bool {
        are_in_order(btf.strings(), btf.types().map(Type::name_offset))
    }

    fn few(index: &NameIndex, btf: &Btf<'_>, name: &[u8]) -> Option<Vec<TypeId>> {
        let mut found = Vec::new();
        index.visit_flavours(btf, name, |ty| found.push(ty.id())).then_some(found)
    }

    /// Asserts that each way to search finds the same types as a comparison of every type.
    fn assert_finds_all(btf: &Btf<'_>) {
        let mut trusted = btf.clone();
        let index = NameIndex::new(btf);
        assert_eq!(trusted.trust_order(), is_sorted(btf));
        assert!(index.is_bisected() || !is_sorted(btf));
        let indexes =
            [index, NameIndex::of_types(btf), NameIndex::of_functions(btf), NameIndex::new(&trusted)];
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
                assert_eq!((&all, few(index, btf, name).as_ref()), (&expected, Some(&expected)), "{name:?}");
            }
        }
    }

    #[test]
    fn all_sorted_types_are_found() {
        for unnamed in [0, 1, 2, 40] {
            for count in 0..=NAMES.len() {
                for_each_btf(unnamed, &NAMES[..count], |btf| {
                    let expected = Some(NameOrder { first_named: unnamed, end: unnamed + count });
                    assert_eq!((NameOrder::sample(&btf), is_sorted(&btf)), (expected, true));
                    assert_finds_all(&btf);
                });
            }
        }
    }

    #[test]
    fn a_name_out_of_order_at_any_position_is_detected() {
        for at in 0..NAMES.len() {
            for other in at + 1..NAMES.len() {
                let mut names = NAMES;
                names.swap(at, other);
                if !names.is_sorted() {
                    for_each_btf(3, &names, |btf| assert!(!is_sorted(&btf)));
                    for_each_btf(3, &names[at..=other], |btf| assert_finds_all(&btf));
                }
            }
            let mut names = NAMES;
            names[at] = b"";
            if at != 0 {
                for_each_btf(3, &names, |btf| assert!(!is_sorted(&btf), "no name at {at}"));
                for_each_btf(3, &names[..=at], |btf| assert_finds_all(&btf));
            }
        }
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("name_{:05}", n / 2)).collect()
    }

    #[test]
    fn every_name_of_many_types_is_compared_with_the_next() {
        let names = numbered(700);
        let names: Vec<_> = names.iter().map(String::as_bytes).collect();
        for_each_btf(50, &names, |btf| assert_finds_all(&btf));
        for at in 1..names.len() {
            let mut names = names.clone();
            names[at] = b"name_";
            let btf = parsed(build_types(Builder::new(Endian::Little), 50, names), None);
            let is_indexed = KINDS[at % KINDS.len()] != Kind::TypeTag;
            assert_eq!((is_sorted(&btf), NameIndex::new(&btf).is_bisected()), (false, !is_indexed), "{at}");
        }
    }

    #[test]
    fn samples_detect_types_that_were_added_to_sorted_types() {
        let mut names = numbered(20_000);
        let sampled = |names: &[String]| {
            let names = names.iter().map(String::as_bytes);
            NameOrder::sample(&parsed(build_types(Builder::new(Endian::Little), 9_000, names), None))
        };
        assert_eq!(sampled(&names), Some(NameOrder { first_named: 9_000, end: 29_000 }));
        for added in [1, 3, 40, 1_000] {
            let all: Vec<_> =
                names.iter().cloned().chain((0..added).map(|n| format!("added{n:04}"))).collect();
            assert_eq!(sampled(&all), None, "{added} at the end");
            assert_eq!(sampled(&[&[String::from("z")], &names[..]].concat()), None, "one at the beginning");
        }
        names[10_000..].reverse();
        assert_eq!(sampled(&names), None);
    }

    /// If types of a trusted BTF are not sorted, a search misses types, but finds no wrong ones. A BTF that
    /// is split from a trusted BTF is not trusted.
    #[test]
    fn trust_is_not_inherited() {
        // This name is not among the samples.
        let names = |n: u32| if n == 1501 { String::from("astray") } else { format!("s{n:05}") };
        let build = |mut b: Builder| {
            (0..4000).for_each(|n| {
                b.structure(&names(n), 4, &[]);
            });
            b.finish()
        };
        let mut base = Btf::parse(build(Builder::new(Endian::Little))).unwrap();
        assert!(base.trust_order() && base.find_own(b"astray", Kind::Struct).is_none());
        let base = Arc::new(base);
        let split = Btf::parse_split(build(Builder::split(&base)), Arc::clone(&base)).unwrap();
        let own = |btf: &Btf<'_>| btf.find_own(b"astray", Kind::Struct).map(|ty| ty.id().0);
        assert_eq!(own(&split), Some(5502));
        let mut distilled = Builder::new(Endian::Little);
        distilled.structure("s00007", 4, &[]);
        let distilled = distilled.finish();
        let upon = Arc::new(Btf::parse(distilled.clone()).unwrap());
        let moved = Btf::relocate_split(build(Builder::split(&upon)), distilled, Arc::clone(&base)).unwrap();
        assert_eq!(own(&moved), Some(5502));
        assert_eq!(own(&Btf::parse(base.as_bytes()).unwrap()), Some(1502));
    }

    #[test]
    fn a_wrongly_trusted_order_finds_no_wrong_types() {
        let mut names = numbered(20_000);
        names.swap(1_234, 15_678);
        let mut btf =
            parsed(build_types(Builder::new(Endian::Big), 0, names.iter().map(String::as_bytes)), None);
        assert!(btf.trust_order() && !is_sorted(&btf));
        let find = |name: &String| {
            let found = KINDS.into_iter().find_map(|kind| btf.find(name.as_bytes(), kind));
            assert!(found.is_none_or(|ty| ty.name().as_bytes() == name.as_bytes()));
            found.is_some()
        };
        let found = names.iter().step_by(2).filter(|name| find(name)).count();
        assert!(found > 9_900, "{found}");
    }

    #[test]
    fn a_search_for_flavours_with_many_similar_names_is_bounded() {
        let nested: Vec<_> = (0..1_000).map(|n| format!("a___b{n:04}___c")).collect();
        let names: Vec<_> =
            [&b"a"[..], b"a___a"].into_iter().chain(nested.iter().map(String::as_bytes)).collect();
        let btf = parsed(build_types(Builder::new(Endian::Little), 0, names), None);
        let index = NameIndex::of_types(&btf);
        assert!(index.is_bisected());
        assert_eq!(index.flavours(&btf, b"a").map(Type::id).collect::<Vec<_>>(), [TypeId(1), TypeId(2)]);
        assert!(few(&index, &btf, b"a").is_none());
        assert_eq!(few(&index, &btf, b"a___b0008").map(|few| few.len()), Some(1));
        assert!(few(&index, &btf, &[b'a'; limits::FLAVOUR_BYTES + 1]).is_none());
    }

    #[test]
    fn strings_are_compared_without_the_bytes_after_them() {
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
