//! The target's types that a local root type may stand for.

use crate::{
    btf::{Btf, Kind, NameIndex},
    ids::TypeId,
    name::Name,
    target::{Source, Target},
};
use alloc::{vec, vec::Vec};
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
        let kind = if kind == Kind::Enum64 { Kind::Enum } else { kind };
        Self { name: name.essential().as_bytes(), kind }
    }
}

/// The candidates of each `wanted`, in libbpf's order (`bpf_core_find_cands`): of the main BTF in order of id; only where
/// it has none, of the modules.
///
/// One pass over a BTF's types serves all that are wanted.
pub(crate) fn find(target: &Target<'_>, wanted: &[Wanted<'_>]) -> Vec<Vec<Candidate>> {
    let mut found = vec![Vec::new(); wanted.len()];
    let every = wanted.iter().enumerate().map(|(slot, w)| (*w, slot)).collect();
    scan(0, target.main(), &every, &mut found);
    let missing: Names<'_> = wanted
        .iter()
        .enumerate()
        .filter(|(slot, _)| found.get(*slot).is_none_or(Vec::is_empty))
        .map(|(slot, w)| (*w, slot))
        .collect();
    if !missing.is_empty() {
        for (number, module) in target.modules().iter().enumerate() {
            scan(number.saturating_add(1), module, &missing, &mut found);
        }
    }
    found
}

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

/// [`scan_own`] of a BTF whose types stand in an index.
fn look_up(
    number: usize,
    btf: &Btf<'_>,
    index: &NameIndex,
    wanted: &Names<'_>,
    found: &mut [Vec<Candidate>],
) {
    for (w, slot) in wanted {
        let Some(list) = found.get_mut(*slot) else { continue };
        let same = index.flavours(btf, w.name).filter(|ty| Wanted::new(ty.name(), ty.kind()) == *w);
        list.extend(same.map(|ty| Candidate { source: number, id: ty.id() }));
    }
}

fn scan_own(number: usize, btf: &Btf<'_>, wanted: &Names<'_>, found: &mut [Vec<Candidate>]) {
    let filter = Filter::new(wanted);
    for ty in btf.types() {
        if !filter.kind_may_fit(ty.kind()) {
            continue;
        }
        let name = ty.name();
        if !filter.name_may_fit(name) {
            continue;
        }
        if let Some(list) = wanted.get(&Wanted::new(name, ty.kind())).and_then(|slot| found.get_mut(*slot)) {
            list.push(Candidate { source: number, id: ty.id() });
        }
    }
}

/// Turns away most types before their name is hashed.
struct Filter {
    kinds: u64,
    first_bytes: [bool; 256],
}

impl Filter {
    fn new(wanted: &Names<'_>) -> Self {
        let mut filter = Self { kinds: 0, first_bytes: [false; 256] };
        for w in wanted.keys() {
            filter.kinds |= kind_bit(w.kind);
            if let Some(first) = w.name.first()
                && let Some(bit) = filter.first_bytes.get_mut(usize::from(*first))
            {
                *bit = true;
            }
        }
        filter
    }

    fn kind_may_fit(&self, kind: Kind) -> bool {
        let kind = if kind == Kind::Enum64 { Kind::Enum } else { kind };
        self.kinds & kind_bit(kind) != 0
    }

    fn name_may_fit(&self, name: Name<'_>) -> bool {
        let first = name.as_bytes().first();
        first.is_some_and(|b| self.first_bytes.get(usize::from(*b)) == Some(&true))
    }
}

fn kind_bit(kind: Kind) -> u64 {
    1u64.checked_shl(u32::from(kind.raw())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{btf::Builder, endian::Endian};
    use alloc::sync::Arc;

    #[test]
    fn an_index_gives_the_candidates_that_a_scan_gives() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for name in ["a", "b", "a___x", "c", "a", "a___"] {
            b.structure(name, 4, &[("f", int, 0)]);
            b.typedef(name, int);
            b.enumeration(name, 4, false, &[("A", 1)]);
            b.enumeration64(name, 8, false, &[("B", 1)]);
        }
        let main = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut b = Builder::split(&main);
        b.structure("d", 4, &[("f", int, 0)]);
        let module = Arc::new(Btf::parse_split(b.finish(), Arc::clone(&main)).unwrap());
        let target = Target::new("vmlinux", Arc::clone(&main)).with_modules([("m".into(), module)]);
        let indexed = target.clone().with_index(Arc::new(NameIndex::new(&main)));
        let kinds = [Kind::Struct, Kind::Typedef, Kind::Enum64, Kind::Union];
        let names: [&[u8]; 6] = [b"a", b"b___old", b"c", b"d", b"a___", b"e"];
        let wanted: Vec<_> =
            names.iter().flat_map(|n| kinds.map(|kind| Wanted::new(Name::new(n), kind))).collect();
        let by_scan = find(&target, &wanted);
        assert_eq!(find(&indexed, &wanted), by_scan);
        assert_eq!(by_scan.iter().map(Vec::len).collect::<Vec<_>>()[..4], [3, 3, 6, 0]);
    }
}
