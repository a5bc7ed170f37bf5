//! One relocation meets one target: candidates, what they match, and the value that follows.

pub(crate) mod candidates;
mod compat;
mod enumval;
mod error;
mod field;
mod key;
mod matches;
mod steps;
mod value;

pub use candidates::Candidate;
pub use error::{Ambiguity, CompareError, MatchError, Mismatch, ValueError};
pub(crate) use key::Key;
pub(crate) use steps::Steps;
pub(crate) use value::{Answer, NO_MEMORY, Resolution, answer, resolve, resolve_without_target};

use crate::{btf::Btf, ext::RelocKind, ids::TypeId, limits, spec::Spec};

/// What became of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    /// It has what is accessed, here.
    Yes(Spec),
    /// It has not.
    No(Mismatch),
}

/// Tries `local` on one candidate (libbpf: `bpf_core_spec_match`).
pub(crate) fn match_candidate(
    local_btf: &Btf<'_>,
    local: &Spec,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut Steps,
) -> Result<Matched, MatchError> {
    steps.take()?;
    if local.kind.is_enumval() {
        return enumval::find(local_btf, local, target_btf, target, steps);
    }
    if local.kind.is_field() {
        return field::follow(local_btf, local, target_btf, target, steps);
    }
    let same = if local.kind == RelocKind::TypeMatches {
        matches::types_match(local_btf, local.root, target_btf, target, steps)?
    } else {
        compat::types_are_compat(local_btf, local.root, target_btf, target, steps)?
    };
    Ok(if same {
        Matched::Yes(Spec::of_root(target, local.kind))
    } else {
        Matched::No(Mismatch::Type { ty: target })
    })
}

/// All that [`match_candidate`] reads of the local side but the kind, so that equal keys match alike in any object's BTF. `None` if
/// that is not worth remembering: a type as a whole, a name or an array out of proportion, a local type that cannot be followed.
pub(crate) fn access_key(local_btf: &Btf<'_>, local: &Spec, key: &mut Key<'_>) -> Option<()> {
    if local.kind.is_enumval() {
        return enumval::key(local_btf, local, key);
    }
    if local.kind.is_field() { field::key(local_btf, local, key) } else { None }
}

/// Compares types of an object with types of a kernel, within a limit on the work of all comparisons together
/// ([`limits::PLAN_STEPS`]).
#[derive(Clone, Debug)]
pub struct TypeComparer {
    left: u32,
}

impl Default for TypeComparer {
    fn default() -> Self {
        Self { left: limits::PLAN_STEPS }
    }
}

impl TypeComparer {
    /// Whether the object's type can stand for the kernel's (libbpf: `bpf_core_types_are_compat`). Names, sizes and the content
    /// of composites do not count.
    pub fn are_compatible(
        &mut self,
        local_btf: &Btf<'_>,
        local: TypeId,
        target_btf: &Btf<'_>,
        target: TypeId,
    ) -> Result<bool, MatchError> {
        let granted = self.left.min(limits::RECORD_STEPS);
        let mut steps = Steps::new(granted);
        let answer = compat::types_are_compat(local_btf, local, target_btf, target, &mut steps);
        self.left = self.left.saturating_sub(granted.saturating_sub(steps.left()));
        answer
    }
}
