//! The target's types that a local root type may stand for.

use crate::{
    btf::{Beginning, Btf, Kind, KindSet, NameIndex, Type},
    ids::{TypeId, to_usize},
    name::Name,
    target::{Source, Target},
};
use alloc::{vec, vec::Vec};
use core::ops::ControlFlow;
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

/// The candidates of each `wanted`, in libbpf's order (`bpf_core_find_cands`): of the main BTF in order of id; only where
/// it has none, of the modules.
///
/// One pass over a BTF's types serves all that are wanted.
pub(crate) fn find(target: &Target<'_>, wanted: &[Wanted<'_>]) -> Vec<Vec<Candidate>> {
    let mut found = vec![Vec::new(); wanted.len()];
    if wanted.is_empty() {
        return found;
    }
    let every = || wanted.iter().enumerate().map(|(slot, w)| (*w, slot));
    scan(0, target.main(), &every().collect(), &mut found);
    let is_missing = |(_, slot): &(_, usize)| found.get(*slot).is_none_or(Vec::is_empty);
    if !target.modules().is_empty() && every().any(|w| is_missing(&w)) {
        let missing = every().filter(is_missing).collect();
        for (number, module) in target.modules().iter().enumerate() {
            scan(number.saturating_add(1), module, &missing, &mut found);
        }
    }
    found
}

/// All that is wanted, with the place of its list.
type Names<'o> = HashMap<Wanted<'o>, usize>;

/// Adds the own types of one BTF, and below a main BTF its bases' (libbpf: `bpf_core_add_cands`).
fn scan(number: usize, source: &Source<'_>, wanted: &Names<'_>, found: &mut [Vec<Candidate>]) {
    // The main BTF counts from its first type, also if it is itself split; a module only its own types.
    if number == 0 {
        let mut bases = Vec::new();
        let mut next = source.btf.base();
        while let Some(base) = next {
            bases.push(base);
            next = base.base();
        }
        for base in bases.into_iter().rev() {
            scan_own(number, base, wanted, found);
        }
    }
    match &source.index {
        Some(index) => look_up(number, &source.btf, index, wanted, found),
        None => scan_own(number, &source.btf, wanted, found),
    }
}

/// Adds the own types of one BTF, of which there is no index but perhaps an order.
fn scan_own(number: usize, btf: &Btf<'_>, wanted: &Names<'_>, found: &mut [Vec<Candidate>]) {
    match NameIndex::trusted(btf) {
        Some(order) => look_up(number, btf, &order, wanted, found),
        None => scan_all(number, btf, wanted, found),
    }
}

/// Adds the own types of one BTF, as far as its index has them without further ado; looks for others among all types.
fn look_up(
    number: usize,
    btf: &Btf<'_>,
    index: &NameIndex,
    wanted: &Names<'_>,
    found: &mut [Vec<Candidate>],
) {
    if !index.is_worth(btf, wanted.len()) {
        return scan_all(number, btf, wanted, found);
    }
    let mut elsewhere = Names::new();
    for (w, slot) in wanted {
        let Some(list) = found.get_mut(*slot) else { continue };
        let add = |ty: Type<'_>| {
            if kind_of(ty.kind()) == w.kind {
                list.push(Candidate { source: number, id: ty.id() });
            }
        };
        if !(index.covers(w.kind) && index.few_flavours(btf, w.name, add)) {
            elsewhere.insert(*w, *slot);
        }
    }
    if !elsewhere.is_empty() {
        scan_all(number, btf, &elsewhere, found);
    }
}

/// Adds the own types of one BTF by a pass over all of them.
fn scan_all(number: usize, btf: &Btf<'_>, wanted: &Names<'_>, found: &mut [Vec<Candidate>]) {
    let (strings, filter) = (btf.strings(), Filter::new(wanted));
    btf.visit(&filter.kinds, |ty| {
        let at = ty.name_offset();
        if strings.beginning(at).is_none_or(|begin| filter.may_begin(begin)) {
            let slot = wanted.get(&Wanted::new(strings.name(at).unwrap_or_default(), ty.kind()));
            if let Some(list) = slot.and_then(|slot| found.get_mut(*slot)) {
                list.push(Candidate { source: number, id: ty.id() });
            }
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Turns away most types before their name is read.
struct Filter {
    kinds: KindSet,
    /// Whether a name may begin so, by [`place`].
    beginnings: [bool; BEGINNINGS],
}

impl Filter {
    fn new(wanted: &Names<'_>) -> Self {
        let both = |kind| if kind == Kind::Enum { [Kind::Enum, Kind::Enum64] } else { [kind; 2] };
        let kinds = KindSet::new(wanted.keys().flat_map(|w| both(w.kind)));
        let mut beginnings = [false; BEGINNINGS];
        for w in wanted.keys() {
            // A shorter name is followed by its end or by a flavour.
            for filler in [0, b'_'] {
                if let Some(it) = beginnings.get_mut(place(Beginning::of_name(w.name, filler))) {
                    *it = true;
                }
            }
        }
        Self { kinds, beginnings }
    }

    #[inline]
    fn may_begin(&self, begin: Beginning) -> bool {
        self.beginnings.get(place(begin)) == Some(&true)
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

    /// Among sorted types most are found by bisection, crowded names by a pass over all, and all of them so if they are many.
    #[test]
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
