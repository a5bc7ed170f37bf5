//! Checks resolved ids against a BTF.

use super::{
    BtfIds, IdSet, IdSetKind,
    resolve::{TypeIds, short_name},
};
use core::fmt;
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind},
};
use hashbrown::HashSet;

/// A list or set that does not contain what its symbols name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdProblem<'d> {
    /// The count of a set is not the number of its slots.
    Count {
        /// The count in the set.
        found: u32,
        /// The number of slots.
        expected: usize,
    },
    /// The ids of a set are not in ascending order.
    Unsorted,
    /// The BTF does not have a type.
    Missing {
        /// The kind of the type.
        kind: Kind,
        /// The name of the type.
        name: &'d [u8],
    },
    /// The slot of a type contains another id, or the set does not contain the id.
    Id {
        /// The kind of the type.
        kind: Kind,
        /// The name of the type.
        name: &'d [u8],
        /// The id of the type.
        expected: TypeId,
        /// The id in the slot of a list; `None` if a set does not contain the id.
        found: Option<TypeId>,
    },
}

impl fmt::Display for IdProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found, expected } => write!(f, "the count is {found}, expected {expected}"),
            Self::Unsorted => write!(f, "the ids are not sorted"),
            Self::Missing { kind, name } => write!(f, "no {kind} `{}` in the BTF", Name::new(name)),
            Self::Id { kind, name, expected, found } => {
                write!(f, "{kind} `{}`: expected [{expected}], ", Name::new(name))?;
                match found {
                    Some(found) => write!(f, "found [{found}]"),
                    None => write!(f, "which the set does not contain"),
                }
            }
        }
    }
}

impl<'d> BtfIds<'d> {
    /// Returns the problems of each list and set, in their order. Ids that are not resolved are problems.
    ///
    /// If a BTF has several types of one kind and name, any of their ids is accepted.
    pub fn check(&self, btf: &Btf<'_>) -> Vec<Vec<IdProblem<'d>>> {
        let ids = TypeIds::find(self, btf);
        self.sets.iter().map(|set| check_set(set, &ids, btf)).collect()
    }
}

fn check_set<'d>(set: &IdSet<'d>, ids: &TypeIds<'_>, btf: &Btf<'_>) -> Vec<IdProblem<'d>> {
    let mut problems = Vec::new();
    if let Some(found) = set.count
        && usize::try_from(found).ok() != Some(set.slots.len())
    {
        problems.push(IdProblem::Count { found, expected: set.slots.len() });
    }
    let is_set = set.kind != IdSetKind::List;
    if is_set && !set.slots.is_sorted_by_key(|slot| slot.id) {
        problems.push(IdProblem::Unsorted);
    }
    let mut found_ids: Vec<TypeId> = set.slots.iter().map(|slot| slot.id).collect();
    found_ids.sort_unstable();
    found_ids.dedup();
    let found_names: HashSet<(Kind, &[u8])> = if is_set {
        let types = found_ids.iter().filter_map(|id| btf.ty(*id));
        types.filter_map(|ty| Some((ty.kind(), short_name(ty)?))).collect()
    } else {
        HashSet::new()
    };
    for name in &set.names {
        let (kind, name, offset) = (name.kind, name.name, name.offset);
        let (expected, is_ambiguous) = ids.id(kind, name);
        if expected == TypeId::VOID {
            problems.push(IdProblem::Missing { kind, name });
            continue;
        }
        let is_named =
            |id: TypeId| btf.ty(id).is_some_and(|ty| ty.kind() == kind && ty.name().as_bytes() == name);
        let found = if is_set {
            None
        } else {
            let slot = set.slots.binary_search_by_key(&offset, |slot| slot.offset);
            slot.ok().and_then(|at| set.slots.get(at)).map(|slot| slot.id)
        };
        let is_right = match found {
            Some(found) => is_named(found),
            None if is_ambiguous => found_names.contains(&(kind, name)),
            None => found_ids.binary_search(&expected).is_ok(),
        };
        if !is_right {
            problems.push(IdProblem::Id { kind, name, expected, found });
        }
    }
    problems
}
