//! Accesses that many records have in common, also of different objects: each is followed through a candidate once.

use crate::{
    btf::Btf,
    endian::Endian,
    ids::{BitOffset, to_u32, to_usize},
    limits,
    resolve::{
        Answer, Candidate, Key, MatchError, Matched, Steps, ValueError, access_key, answer, match_candidate,
    },
    spec::Spec,
};
use alloc::vec::Vec;
use core::hash::BuildHasher as _;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

/// The object's side of a relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local<'o> {
    pub(super) endian: Endian,
    pub(super) btf: &'o Btf<'o>,
    pub(super) spec: &'o Spec,
}

/// The number of a question about an access among those of all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuestionId(u32);

/// What is known of a record before there is a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'o> {
    pub(super) local: Local<'o>,
    /// What it asks, if others may ask the same.
    pub(super) question: Option<QuestionId>,
    /// The local side's answer.
    pub(super) answer: Result<Answer, ValueError>,
}

impl<'o> Known<'o> {
    pub(super) fn new(local: Local<'o>, questions: &mut Questions) -> Self {
        let answer = answer(local.endian, local.btf, local.spec);
        Self { local, question: questions.number(local), answer }
    }
}

/// Numbers questions: equal ones alike, whatever the types' ids in their objects.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// One after the other, so that none needs memory of its own.
    keys: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    ids: HashTable<QuestionId>,
    hasher: DefaultHashBuilder,
}

impl Questions {
    /// The number of a question; `None` if it is not worth one.
    fn number(&mut self, local: Local<'_>) -> Option<QuestionId> {
        let start = self.keys.len();
        let id = self.add(local, start);
        if self.ends.last().copied().unwrap_or_default() <= start {
            self.keys.truncate(start);
        }
        id
    }

    /// Writes the key at `start`. Where it ends is added if it is new.
    fn add(&mut self, Local { endian, btf, spec }: Local<'_>, start: usize) -> Option<QuestionId> {
        let mut key = Key::new(&mut self.keys);
        key.byte(u8::from(endian == Endian::Big))?;
        key.word(spec.kind.raw())?;
        access_key(btf, spec, &mut key)?;
        let Self { keys, ends, ids, hasher } = self;
        let key_of = |id: QuestionId| {
            let nth = to_usize(id.0);
            let start = nth.checked_sub(1).and_then(|before| ends.get(before).copied()).unwrap_or_default();
            keys.get(start..ends.get(nth).copied().unwrap_or(keys.len()))
        };
        let own = keys.get(start..)?;
        let hash = hasher.hash_one(own);
        if let Some(id) = ids.find(hash, |id| key_of(*id) == Some(own)) {
            return Some(*id);
        }
        let id = QuestionId(to_u32(ends.len()));
        ids.insert_unique(hash, id, |id| hasher.hash_one(key_of(*id).unwrap_or_default()));
        ends.push(keys.len());
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
        Known { local, question, .. }: Known<'_>,
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
