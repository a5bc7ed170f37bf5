//! Whether two types and all they refer to are the same.

use super::{DedupError, OPEN, State, bad_kind, records::Record, usize_of};
use crate::{btf::Kind, limits};
use alloc::vec::Vec;

/// What two records have to say about each other.
enum Verdict {
    Same,
    Different,
    /// Alike, if the types they refer to are: pairs in order.
    If(Vec<(u32, u32)>),
}

impl State {
    /// Walks both graphs side by side and remembers in `supposed` which type of the kept graph is which of the new one
    /// (libbpf: `btf_dedup_is_equiv`; a list of pairs stands for its recursion).
    pub(super) fn equivalent(&mut self, new: u32, kept: u32) -> Result<bool, DedupError> {
        self.forget();
        let mut pairs = Vec::from([(new, kept)]);
        while let Some((new, kept)) = pairs.pop() {
            self.step(1)?;
            if self.resolve(new)? == self.resolve(kept)? {
                continue;
            }
            let kept = self.definition(kept)?;
            match self.supposed.get(usize_of(kept)).copied().unwrap_or(OPEN) {
                OPEN => self.suppose(kept, new),
                known if known == new || self.identical(known, new, limits::IDENTICAL_LEVELS)? => continue,
                _ => return Ok(false),
            }
            match self.compare(new, kept)? {
                Verdict::Same => {}
                Verdict::Different => return Ok(false),
                Verdict::If(below) => {
                    self.step(below.len())?;
                    pairs.extend(below.into_iter().rev());
                }
            }
        }
        Ok(true)
    }

    fn compare(&self, new_id: u32, kept_id: u32) -> Result<Verdict, DedupError> {
        let (new, kept) = (self.records.get(new_id), self.records.get(kept_id));
        let same = |yes: bool| if yes { Verdict::Same } else { Verdict::Different };
        if new.name() != kept.name() {
            return Ok(Verdict::Different);
        }
        match (new.kind(), kept.kind()) {
            (Kind::Fwd, Kind::Fwd) => return Ok(same(new.common() == kept.common())),
            (Kind::Fwd, real) => return Ok(same(new.declares() == real)),
            (real, Kind::Fwd) => return Ok(same(kept.declares() == real)),
            (a, b) if a != b => return Ok(Verdict::Different),
            _ => {}
        }
        let pairs = |alike: bool| if alike { Verdict::If(pairs(new, kept)) } else { Verdict::Different };
        Ok(match new.kind() {
            Kind::Int => same(new.words() == kept.words()),
            Kind::Float => same(new.common() == kept.common()),
            Kind::Enum | Kind::Enum64 => same(new.is_like_enum(kept)),
            Kind::Array => pairs(new.is_like_array(kept)),
            Kind::Struct | Kind::Union => {
                self.step(new.words().len())?;
                pairs(new.is_like_composite(kept))
            }
            Kind::FuncProto => pairs(new.is_like_function(kept)),
            kind if refers_once(kind) => pairs(new.head() == kept.head()),
            _ => return Err(bad_kind(new_id, new)),
        })
    }

    /// A FWD's definition, if it was found (libbpf: `resolve_fwd_id`).
    fn definition(&self, id: u32) -> Result<u32, DedupError> {
        if self.records.get(id).kind() != Kind::Fwd {
            return Ok(id);
        }
        let end = self.resolve(id)?;
        Ok(if self.records.get(end).kind() == Kind::Fwd { id } else { end })
    }

    /// Whether two types of one graph are written alike: compilers may write a type twice, and use both
    /// (libbpf: `btf_dedup_identical_types`, which takes arrays of one length for alike whatever their elements).
    fn identical(&self, one: u32, two: u32, levels: u32) -> Result<bool, DedupError> {
        let (mut one, mut two) = (one, two);
        loop {
            self.step(1)?;
            let (a, b) = (self.records.get(one), self.records.get(two));
            if levels == 0 || a.kind() != b.kind() {
                return Ok(false);
            }
            let alike = match a.kind() {
                Kind::Void => return Ok(true),
                Kind::Int => return Ok(a.words() == b.words()),
                Kind::Fwd | Kind::Float => return Ok(a.common() == b.common()),
                Kind::Enum | Kind::Enum64 => return Ok(a.is_like_enum(b)),
                kind if refers_once(kind) => {
                    if a.head() != b.head() {
                        return Ok(false);
                    }
                    (one, two) = (a.word(2), b.word(2));
                    continue;
                }
                Kind::Array => a.is_like_array(b),
                Kind::Struct | Kind::Union => a.is_like_composite(b),
                Kind::FuncProto => a.is_like_function(b),
                _ => false,
            };
            self.step(a.words().len())?;
            if !alike {
                return Ok(false);
            }
            for (one, two) in pairs(a, b) {
                if one != two && !self.identical(one, two, levels.saturating_sub(1))? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
    }

    fn suppose(&mut self, kept: u32, new: u32) {
        self.met.push(kept);
        if let Some(place) = self.supposed.get_mut(usize_of(kept)) {
            *place = new;
        }
    }

    fn forget(&mut self) {
        for id in self.met.drain(..) {
            if let Some(place) = self.supposed.get_mut(usize_of(id)) {
                *place = OPEN;
            }
        }
    }
}

/// Kinds that refer to one type, by their third word.
fn refers_once(kind: Kind) -> bool {
    kind.is_modifier_or_typedef() || matches!(kind, Kind::Ptr | Kind::Func)
}

/// The types that two records of one kind refer to, in libbpf's order.
fn pairs(a: Record<'_>, b: Record<'_>) -> Vec<(u32, u32)> {
    let third = (a.word(2), b.word(2));
    match a.kind() {
        Kind::Array => Vec::from([(a.word(4), b.word(4)), (a.word(3), b.word(3))]),
        Kind::Struct | Kind::Union => {
            a.members().zip(b.members()).map(|([_, a, _], [_, b, _])| (a, b)).collect()
        }
        Kind::FuncProto => {
            let params = a.params().zip(b.params()).map(|([_, a], [_, b])| (a, b));
            core::iter::once(third).chain(params).collect()
        }
        _ => Vec::from([third]),
    }
}
