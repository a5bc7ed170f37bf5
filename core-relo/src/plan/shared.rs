//! Accesses that many records have in common, also of different objects: each is followed through a candidate once.

use crate::{
    btf::Btf,
    endian::Endian,
    ids::{BitOffset, to_u32},
    limits,
    resolve::{
        Answer, Candidate, MatchError, Matched, Steps, ValueError, access_key, answer, match_candidate,
    },
    spec::Spec,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// One side of a relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local<'o> {
    pub(super) endian: Endian,
    pub(super) btf: &'o Btf<'o>,
    pub(super) spec: &'o Spec,
}

impl Local<'_> {
    pub(super) fn answer(self) -> Result<Answer, ValueError> {
        answer(self.endian, self.btf, self.spec)
    }
}

/// The number of a question about an access among those of all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuestionId(u32);

/// What is known of a record before there is a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// What it asks, if others may ask the same.
    pub(super) question: Option<QuestionId>,
    pub(super) local: Result<Answer, ValueError>,
}

/// Numbers questions: equal ones alike, whatever the types' ids in their objects.
#[derive(Debug, Default)]
pub(super) struct Questions {
    ids: HashMap<Vec<u8>, QuestionId>,
    key: Vec<u8>,
}

impl Questions {
    /// The number of a question; `None` if it is not worth one.
    pub(super) fn number(&mut self, Local { endian, btf, spec }: Local<'_>) -> Option<QuestionId> {
        self.key.clear();
        self.key.push(u8::from(endian == Endian::Big));
        self.key.extend(Endian::Little.u32_bytes(spec.kind.raw()));
        access_key(btf, spec, &mut self.key)?;
        if let Some(id) = self.ids.get(&self.key) {
            return Some(*id);
        }
        let id = QuestionId(to_u32(self.ids.len()));
        self.ids.insert(self.key.clone(), id);
        Some(id)
    }
}

/// What the candidates of one target came to.
#[derive(Debug, Default)]
pub(super) struct Followed {
    done: HashMap<(QuestionId, Candidate), Done>,
}

#[derive(Clone, Copy, Debug)]
struct Done {
    found: Option<Found>,
    /// Steps it took.
    steps: u32,
}

/// What a candidate that matches comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) bit_offset: BitOffset,
    pub(super) answer: Result<Answer, ValueError>,
}

impl Followed {
    /// What a candidate comes to if it matches, found out now or before. It takes the same steps either way, so that no plan
    /// depends on what others there were.
    pub(super) fn follow(
        &mut self,
        question: Option<QuestionId>,
        local: Local<'_>,
        (target, candidate): (&Btf<'_>, Candidate),
        steps: &mut Steps,
    ) -> Result<Option<Found>, MatchError> {
        let Some(question) = question else { return follow(local, (target, candidate), steps) };
        let key = (question, candidate);
        if let Some(done) = self.done.get(&key) {
            steps.take_many(done.steps)?;
            return Ok(done.found);
        }
        let before = steps.left();
        let found = follow(local, (target, candidate), steps)?;
        if self.done.len() < limits::SHARED_MATCHES {
            let steps = before.saturating_sub(steps.left());
            self.done.insert(key, Done { found, steps });
        }
        Ok(found)
    }
}

fn follow(
    local: Local<'_>,
    (target, candidate): (&Btf<'_>, Candidate),
    steps: &mut Steps,
) -> Result<Option<Found>, MatchError> {
    Ok(match match_candidate(local.btf, local.spec, target, candidate.id, steps)? {
        Matched::Yes(spec) => {
            Some(Found { bit_offset: spec.bit_offset, answer: answer(local.endian, target, &spec) })
        }
        Matched::No(_) => None,
    })
}
