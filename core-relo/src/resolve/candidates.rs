//! The target's types that a local root type may stand for.

use crate::{
    btf::{Beginning, Btf, Kind, KindSet, NameIndex, Strings, Type},
    ids::{StrOffset, TypeId, to_usize},
    name::Name,
    target::{Source, Target},
};
use alloc::{boxed::Box, vec, vec::Vec};
use core::ops::Range;
use hashbrown::HashMap;

/// A type of the target by the root's name and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Candidate {
    /// Which BTF: 0 the target's main one, from 1 its modules.
    pub source: usize,
    /// The type.
    pub id: TypeId,
}

/// What candidates are looked for by: a local root's essential name, and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted<'o> {
    name: &'o [u8],
    kind: Kind,
}

impl<'o> Wanted<'o> {
    /// What to look for given the root's name and kind; ENUM and ENUM64 are one.
    pub(crate) fn new(name: Name<'o>, kind: Kind) -> Self {
        Self { name: name.essential().as_bytes(), kind: kind_of(kind) }
    }
}

fn kind_of(kind: Kind) -> Kind {
    if kind == Kind::Enum64 { Kind::Enum } else { kind }
}

/// All that is wanted, each with the place of its list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search<'o> {
    places: HashMap<Wanted<'o>, usize>,
    /// Made for each scan where it was not made for all of them.
    filter: Option<Box<Filter>>,
}

impl<'o> Search<'o> {
    /// The place of what is wanted among the lists that are found.
    pub(crate) fn place(&mut self, wanted: Wanted<'o>) -> usize {
        let next = self.places.len();
        *self.places.entry(wanted).or_insert(next)
    }

    /// Prepares for many targets; nothing may be added after.
    pub(crate) fn prepare(&mut self) {
        self.filter = Some(Box::new(Filter::new(self)));
    }

    /// The candidates of each, in libbpf's order (`bpf_core_find_cands`): of the main BTF in order of id; only where it has
    /// none, of the modules.
    ///
    /// One pass over a BTF's types serves all that are wanted.
    pub(crate) fn find(&self, target: &Target<'_>) -> Vec<Vec<Candidate>> {
        let mut found = vec![Vec::new(); self.places.len()];
        if found.is_empty() {
            return found;
        }
        self.scan(0, target.main(), &mut found);
        let is_missing = |place: &usize| found.get(*place).is_none_or(Vec::is_empty);
        if !target.modules().is_empty() && self.places.values().any(is_missing) {
            let mut missing = self.part(|_, place| is_missing(&place));
            missing.prepare();
            for (number, module) in target.modules().iter().enumerate() {
                missing.scan(number.saturating_add(1), module, &mut found);
            }
        }
        found
    }

    fn part(&self, mut is_wanted: impl FnMut(&Wanted<'o>, usize) -> bool) -> Self {
        let wanted = self.places.iter().filter(|(wanted, place)| is_wanted(wanted, **place));
        Self { places: wanted.map(|(wanted, place)| (*wanted, *place)).collect(), filter: None }
    }

    /// Adds the own types of one BTF, and below a main BTF its bases' (libbpf: `bpf_core_add_cands`).
    fn scan(&self, number: usize, source: &Source<'_>, found: &mut [Vec<Candidate>]) {
        // The main BTF counts from its first type, also if it is itself split; a module only its own types.
        if number == 0 {
            let mut bases = Vec::new();
            let mut next = source.btf.base();
            while let Some(base) = next {
                bases.push(base);
                next = base.base();
            }
            for base in bases.into_iter().rev() {
                self.scan_own(number, base, found);
            }
        }
        match &source.index {
            Some(index) => self.look_up(number, &source.btf, index, found),
            None => self.scan_own(number, &source.btf, found),
        }
    }

    /// Adds the own types of one BTF, of which there is no index but perhaps an order.
    fn scan_own(&self, number: usize, btf: &Btf<'_>, found: &mut [Vec<Candidate>]) {
        match NameIndex::trusted(btf) {
            Some(order) => self.look_up(number, btf, &order, found),
            None => self.scan_all(number, btf, found),
        }
    }

    /// Adds the own types of one BTF, as far as its index has them without further ado; looks for others among all types.
    fn look_up(&self, number: usize, btf: &Btf<'_>, index: &NameIndex, found: &mut [Vec<Candidate>]) {
        if !index.is_worth(btf, self.places.len()) {
            return self.scan_all(number, btf, found);
        }
        let elsewhere = self.part(|wanted, place| {
            let Some(list) = found.get_mut(place) else { return false };
            let add = |ty: Type<'_>| {
                if kind_of(ty.kind()) == wanted.kind {
                    list.push(Candidate { source: number, id: ty.id() });
                }
            };
            !(index.covers(wanted.kind) && index.few_flavours(btf, wanted.name, add))
        });
        if !elsewhere.places.is_empty() {
            elsewhere.scan_all(number, btf, found);
        }
    }

    /// Adds the own types of one BTF by a pass over all of them.
    fn scan_all(&self, number: usize, btf: &Btf<'_>, found: &mut [Vec<Candidate>]) {
        match &self.filter {
            Some(filter) => self.scan_filtered(number, btf, filter, found),
            None => self.scan_filtered(number, btf, &Filter::new(self), found),
        }
    }

    fn scan_filtered(&self, number: usize, btf: &Btf<'_>, filter: &Filter, found: &mut [Vec<Candidate>]) {
        let may_be = |strings: Strings<'_>, at| filter.may_be(strings, at);
        btf.visit_named(&filter.kinds, may_be, |ty| {
            if let Some(place) = self.places.get(&Wanted::new(ty.name(), ty.kind()))
                && let Some(list) = found.get_mut(*place)
            {
                list.push(Candidate { source: number, id: ty.id() });
            }
        });
    }
}

/// Turns away most types before their name is read.
#[derive(Clone, Debug)]
struct Filter {
    kinds: KindSet,
    /// Which names may begin so, by [`place`].
    beginnings: [Begins; BEGINNINGS],
    /// Whether a long name may go on so, [`FURTHER_ON`].
    further_on: [bool; BEGINNINGS],
}

/// What is wanted among the names that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Nothing,
    /// Only names that are long enough to be told by what comes [`FURTHER_ON`].
    Long,
    Any,
}

/// The bytes of a long name that tell it from others: thousands begin with `trace_event_raw_`.
const FURTHER_ON: Range<u32> = 16..20;

impl Filter {
    fn new(search: &Search<'_>) -> Self {
        let wanted = &search.places;
        let both = |kind| if kind == Kind::Enum { [Kind::Enum, Kind::Enum64] } else { [kind; 2] };
        let kinds = KindSet::new(wanted.keys().flat_map(|w| both(w.kind)));
        let (mut beginnings, mut further_on) = ([Begins::Nothing; BEGINNINGS], [false; BEGINNINGS]);
        for w in wanted.keys() {
            let later = w
                .name
                .get(to_usize(FURTHER_ON.start)..to_usize(FURTHER_ON.end))
                .map(|later| Beginning::of_name(later, 0));
            if let Some(it) = later.and_then(|later| further_on.get_mut(place(later))) {
                *it = true;
            }
            // A shorter name is followed by its end or by a flavour.
            for filler in [0, b'_'] {
                let Some(it) = beginnings.get_mut(place(Beginning::of_name(w.name, filler))) else {
                    continue;
                };
                *it = if later.is_some() && *it != Begins::Any { Begins::Long } else { Begins::Any };
            }
        }
        Self { kinds, beginnings, further_on }
    }

    /// Whether the name at an offset may be among those that are wanted.
    #[inline]
    fn may_be(&self, strings: Strings<'_>, at: StrOffset) -> bool {
        let Some(begin) = strings.beginning(at) else { return true };
        match self.beginnings.get(place(begin)) {
            Some(Begins::Nothing) => false,
            // Behind a name that ends before lies another one; neither is wanted.
            Some(Begins::Long) => {
                let later = strings.beginning(StrOffset(at.0.saturating_add(FURTHER_ON.start)));
                later.is_none_or(|later| self.further_on.get(place(later)) == Some(&true))
            }
            _ => true,
        }
    }
}

/// Places for beginnings of names: so many that those of a hundred names take few of them.
const BEGINNINGS: usize = 4096;

#[inline]
fn place(begin: Beginning) -> usize {
    to_usize(begin.0.wrapping_mul(0x9e37_79b1) >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{btf::Builder, endian::Endian};
    use alloc::{format, string::String, sync::Arc};

    fn find(target: &Target<'_>, wanted: &[Wanted<'_>]) -> Vec<Vec<Candidate>> {
        let mut search = Search::default();
        for (place, wanted) in wanted.iter().enumerate() {
            assert_eq!(search.place(*wanted), place);
        }
        let found = search.find(target);
        search.prepare();
        assert_eq!(search.find(target), found);
        found
    }

    #[test]
    fn an_index_gives_the_candidates_that_a_scan_gives() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for name in ["a", "b", "a___x", "c", "a", "a___"] {
            b.structure(name, 4, &[("f", int, 0)]);
            b.typedef(name, int);
            b.enumeration(name, 4, false, &[("A", 1)]);
            b.enumeration64(name, 8, false, &[("B", 1)]);
            let proto = b.func_proto(int, &[]);
            b.func(name, proto, 1);
        }
        let main = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut b = Builder::split(&main);
        b.structure("d", 4, &[("f", int, 0)]);
        let module = Arc::new(Btf::parse_split(b.finish(), Arc::clone(&main)).unwrap());
        let target = Target::new("vmlinux", Arc::clone(&main)).with_modules([("m".into(), module)]);
        let kinds = [Kind::Struct, Kind::Typedef, Kind::Enum64, Kind::Func];
        let names: [&[u8]; 6] = [b"a", b"b___old", b"c", b"d", b"a___", b"e"];
        let wanted: Vec<_> =
            names.iter().flat_map(|n| kinds.map(|kind| Wanted::new(Name::new(n), kind))).collect();
        let by_scan = find(&target, &wanted);
        for index in [NameIndex::new(&main), NameIndex::of_types(&main), NameIndex::of_functions(&main)] {
            assert_eq!(find(&target.clone().with_index(Arc::new(index)), &wanted), by_scan);
        }
        assert_eq!(by_scan.iter().map(Vec::len).collect::<Vec<_>>()[..4], [3, 3, 6, 3]);
    }

    /// What begins alike is told apart further on, if all that is wanted is as long as that.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn long_names_that_begin_alike_are_found_at_any_length() {
        for endian in [Endian::Little, Endian::Big] {
            let raw = "trace_event_raw_sys_exit";
            let beginnings = (4..=raw.len()).map(|len| raw.chars().take(len).collect::<String>());
            let mut names: Vec<_> = beginnings.collect();
            names.extend(names.clone().iter().map(|name| format!("{name}___own")));
            names.extend(["trace_event_raw_xys_exit", "trace_event_raw_sys_", "tracy"].map(String::from));
            let mut b = Builder::new(endian);
            for name in &names {
                b.structure(name, 4, &[]);
            }
            let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
            let alike = |name: &String, other: &String| {
                Name::new(name.as_bytes()).same_essential(Name::new(other.as_bytes()))
            };
            let ids = |wanted: &String| {
                let found = names.iter().zip(1..).filter(|(name, _)| alike(name, wanted));
                found.map(|(_, id)| Candidate { source: 0, id: TypeId(id) }).collect::<Vec<_>>()
            };
            for one in &names {
                for other in [&names[0], &names[names.len() - 3], &names[names.len() - 1]] {
                    let pair = [one, other].map(|n| Wanted::new(Name::new(n.as_bytes()), Kind::Struct));
                    let wanted = if alike(one, other) { &pair[..1] } else { &pair };
                    let expected: Vec<_> = [one, other].into_iter().map(ids).take(wanted.len()).collect();
                    assert_eq!(find(&target, wanted), expected, "{one} and {other}");
                }
                assert_eq!(
                    find(&target, &[Wanted::new(Name::new(one.as_bytes()), Kind::Struct)]),
                    [ids(one)]
                );
            }
        }
    }

    /// Among sorted types most are found by bisection, crowded names by a pass over all, and all of them so if they are many.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn sorted_types_give_the_candidates_that_a_scan_gives() {
        let names = (0..2_000).map(|n| format!("a___b{n:04}___c"));
        let mut names: Vec<_> =
            names.chain(["a", "a", "a___x", "b", "b___y", "c"].map(String::from)).collect();
        names.sort();
        let mut b = Builder::new(Endian::Little);
        for name in &names {
            b.structure(name, 4, &[]);
        }
        let plain = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut trusted = (*plain).clone();
        assert!(trusted.trust_order());
        let targets = [
            Target::new("trusted", Arc::new(trusted)),
            Target::new("indexed", Arc::clone(&plain)).with_index(Arc::new(NameIndex::new(&plain))),
        ];
        let wanted = |names: &[&'static [u8]]| {
            let each = names.iter().map(|name| Wanted::new(Name::new(name), Kind::Struct));
            each.collect::<Vec<_>>()
        };
        let many: &[&[u8]] = &[b"a", b"b", b"a___b0007___d", b"c", b"d", b"e", b"f", b"g", b"h"];
        for wanted in [wanted(&many[..5]), wanted(many)] {
            let by_scan = find(&Target::new("plain", Arc::clone(&plain)), &wanted);
            assert_eq!(by_scan.iter().map(Vec::len).collect::<Vec<_>>()[..5], [3, 2, 1, 1, 0]);
            for target in &targets {
                assert_eq!(find(target, &wanted), by_scan, "{}", target.main().name);
            }
        }
    }
}
