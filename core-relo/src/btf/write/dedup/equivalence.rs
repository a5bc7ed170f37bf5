//! Comparison of two graphs of types.

use super::{DedupError, Deduplicator, UNRESOLVED, bad_kind, records::Record, usize_of};
use crate::{btf::format::Kind, limits};
use alloc::vec::Vec;

/// The result of comparing two records.
enum Comparison {
    Equal,
    Different,
    /// The records are equal if these pairs of types are.
    EqualIf(Vec<(u32, u32)>),
}

impl Deduplicator {
    /// Compares both graphs, and stores in `hypot_map` the new type of each kept type (libbpf: `btf_dedup_is_equiv`; a stack of
    /// pairs replaces its recursion).
    pub(super) fn equivalent(&mut self, new: u32, kept: u32) -> Result<bool, DedupError> {
        self.clear_hypot_map();
        let mut pairs = Vec::from([(new, kept)]);
        while let Some((new, kept)) = pairs.pop() {
            self.step(1)?;
            if self.resolve(new)? == self.resolve(kept)? {
                continue;
            }
            let kept = self.definition(kept)?;
            match self.hypot_map.get(usize_of(kept)).copied().unwrap_or(UNRESOLVED) {
                UNRESOLVED => self.set_hypot(kept, new),
                known if known == new || self.identical(known, new, limits::IDENTICAL_LEVELS)? => continue,
                _ => return Ok(false),
            }
            match self.compare(new, kept)? {
                Comparison::Equal => {}
                Comparison::Different => return Ok(false),
                Comparison::EqualIf(below) => {
                    self.step(below.len())?;
                    pairs.extend(below.into_iter().rev());
                }
            }
        }
        Ok(true)
    }

    fn compare(&self, new_id: u32, kept_id: u32) -> Result<Comparison, DedupError> {
        let (new, kept) = (self.records.get(new_id), self.records.get(kept_id));
        let same = |yes: bool| if yes { Comparison::Equal } else { Comparison::Different };
        if new.name() != kept.name() {
            return Ok(Comparison::Different);
        }
        match (new.kind(), kept.kind()) {
            (Kind::Fwd, Kind::Fwd) => return Ok(same(new.common() == kept.common())),
            (Kind::Fwd, real) => return Ok(same(new.declares() == real)),
            (real, Kind::Fwd) => return Ok(same(kept.declares() == real)),
            (a, b) if a != b => return Ok(Comparison::Different),
            _ => {}
        }
        let pairs =
            |alike: bool| if alike { Comparison::EqualIf(pairs(new, kept)) } else { Comparison::Different };
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
            kind if has_target_only(kind) => pairs(new.head() == kept.head()),
            _ => return Err(bad_kind(new_id, new)),
        })
    }

    /// Returns the definition of a FWD if it is known, else the type itself (libbpf: `resolve_fwd_id`).
    fn definition(&self, id: u32) -> Result<u32, DedupError> {
        if self.records.get(id).kind() != Kind::Fwd {
            return Ok(id);
        }
        let end = self.resolve(id)?;
        Ok(if self.records.get(end).kind() == Kind::Fwd { id } else { end })
    }

    /// Returns whether two types of one graph are identical. Compilers may write a type twice, and use both
    /// (libbpf: `btf_dedup_identical_types`, which ignores the element types of arrays).
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
                kind if has_target_only(kind) => {
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

    fn set_hypot(&mut self, kept: u32, new: u32) {
        self.hypot_list.push(kept);
        if let Some(place) = self.hypot_map.get_mut(usize_of(kept)) {
            *place = new;
        }
    }

    fn clear_hypot_map(&mut self) {
        for id in self.hypot_list.drain(..) {
            if let Some(place) = self.hypot_map.get_mut(usize_of(id)) {
                *place = UNRESOLVED;
            }
        }
    }
}

/// Returns whether a type of this kind is equal to another if its name, its info word and its target are.
fn has_target_only(kind: Kind) -> bool {
    kind.is_modifier_or_typedef() || matches!(kind, Kind::Ptr | Kind::Func)
}

/// Returns the pairs of types to which two records of one kind refer, in libbpf's order.
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
