//! A cache of match results, shared by the records of all objects.

use super::local_access::{AccessId, LocalAccess};
use crate::{
    BitOffset,
    btf::Btf,
    limits,
    resolve::{
        AccessValue, Candidate, MatchError, MatchOutcome, RelocationValueError, StepBudget, access_value,
        match_candidate,
    },
    spec::Accessor,
};
use hashbrown::HashMap;

/// Match results on one target, by access and candidate.
#[derive(Debug, Default)]
pub(super) struct MatchCache {
    results: HashMap<(AccessId, Candidate), CachedMatch>,
}

#[derive(Clone, Copy, Debug)]
struct CachedMatch {
    result: Option<Match>,
    /// The steps that the comparison used.
    steps: u32,
}

/// The access in a candidate that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) bit_offset: BitOffset,
    /// The last step of the access in the candidate.
    pub(super) last_step: Option<Accessor>,
    pub(super) value: Result<AccessValue, RelocationValueError>,
}

impl MatchCache {
    /// Returns the match of an access with a candidate, from the cache or by comparison. Returns `None` for a
    /// mismatch.
    ///
    /// A cached result uses as many steps of the budget as its comparison did. A plan therefore does not
    /// depend on other objects.
    pub(super) fn find_match(
        &mut self,
        access: &LocalAccess<'_>,
        (target, candidate): (&Btf<'_>, Candidate),
        steps: &mut StepBudget,
    ) -> Result<Option<Match>, MatchError> {
        let Some(id) = access.id else { return compare(access, (target, candidate), steps) };
        if let Some(cached) = self.results.get(&(id, candidate)) {
            steps.take(cached.steps)?;
            return Ok(cached.result);
        }
        let before = steps.remaining();
        let result = compare(access, (target, candidate), steps)?;
        if self.results.len() < limits::SHARED_MATCHES {
            let steps = before.abs_diff(steps.remaining());
            self.results.insert((id, candidate), CachedMatch { result, steps });
        }
        Ok(result)
    }
}

fn compare(
    access: &LocalAccess<'_>,
    (target, candidate): (&Btf<'_>, Candidate),
    steps: &mut StepBudget,
) -> Result<Option<Match>, MatchError> {
    Ok(match match_candidate(access.btf, access.spec, target, candidate.id, steps)? {
        MatchOutcome::Match(spec) => Some(Match {
            bit_offset: spec.bit_offset,
            last_step: spec.accessors.last().copied(),
            value: access_value(access.endian, target, &spec),
        }),
        MatchOutcome::Mismatch(_) => None,
    })
}
