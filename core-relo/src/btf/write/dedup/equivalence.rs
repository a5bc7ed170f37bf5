//! Comparison of two graphs of types.

use super::{DedupError, Deduplicator, UNMAPPED, UNRESOLVED, bad_kind, records::Record, usize_of};
use crate::{btf::format::Kind, limits};

/// The result of comparing two records.
enum Comparison {
    Equal,
    /// The candidate is a definition of the canonical FWD.
    EqualIfDefinition,
    Different,
    /// The records are equal if the types to which they refer are equal.
    EqualIfTargets,
}

impl Deduplicator {
    /// Returns whether the graph of a candidate type equals that of a canonical type (libbpf: `btf_dedup_is_equiv`; a stack of
    /// pairs replaces its recursion). Stores in `hypot_map` the candidate type of each canonical type.
    pub(super) fn is_equivalent(&mut self, cand: u32, canon: u32) -> Result<bool, DedupError> {
        self.clear_hypot_map()?;
        self.defines_base_forward = false;
        self.pairs.clear();
        self.pairs.push((cand, canon));
        while let Some((cand, canon)) = self.pairs.pop() {
            self.step(1)?;
            if self.resolve(cand)? == self.resolve(canon)? {
                continue;
            }
            let canon = self.resolve_fwd(canon)?;
            match self.hypot_map.get(usize_of(canon)).copied().ok_or(UNMAPPED)? {
                UNRESOLVED => self.set_hypot(canon, cand)?,
                known if known == cand || self.is_identical(known, cand, limits::IDENTICAL_LEVELS)? => {
                    continue;
                }
                _ => return Ok(false),
            }
            let comparison = self.compare(cand, canon)?;
            self.defines_base_forward |=
                canon < self.first_own && matches!(comparison, Comparison::EqualIfDefinition);
            match comparison {
                Comparison::Equal | Comparison::EqualIfDefinition => {}
                Comparison::Different => return Ok(false),
                Comparison::EqualIfTargets => {
                    let before = self.pairs.len();
                    let (cand, canon) = (self.records.get(cand)?, self.records.get(canon)?);
                    self.pairs.extend(pairs(cand, canon).rev());
                    self.step(self.pairs.len().saturating_sub(before))?;
                }
            }
        }
        Ok(true)
    }

    fn compare(&self, cand_id: u32, canon_id: u32) -> Result<Comparison, DedupError> {
        let (cand, canon) = (self.records.get(cand_id)?, self.records.get(canon_id)?);
        let same = |yes: bool| if yes { Comparison::Equal } else { Comparison::Different };
        if cand.name() != canon.name() {
            return Ok(Comparison::Different);
        }
        match (cand.kind(), canon.kind()) {
            (Kind::Fwd, Kind::Fwd) => return Ok(same(cand.common() == canon.common())),
            (Kind::Fwd, real) => return Ok(same(cand.declared_kind() == real)),
            (real, Kind::Fwd) if canon.declared_kind() == real => return Ok(Comparison::EqualIfDefinition),
            (_, Kind::Fwd) => return Ok(Comparison::Different),
            (a, b) if a != b => return Ok(Comparison::Different),
            _ => {}
        }
        let targets = |alike: bool| if alike { Comparison::EqualIfTargets } else { Comparison::Different };
        Ok(match cand.kind() {
            Kind::Int => same(cand.words() == canon.words()),
            Kind::Float => same(cand.common() == canon.common()),
            Kind::Enum | Kind::Enum64 => same(cand.is_like_enum(canon)),
            Kind::Array => targets(cand.is_like_array(canon)),
            Kind::Struct | Kind::Union => {
                self.step(cand.words().len())?;
                targets(cand.is_like_composite(canon))
            }
            Kind::FuncProto => targets(cand.is_like_function(canon)),
            kind if has_target_only(kind) => targets(cand.name_and_info() == canon.name_and_info()),
            _ => return Err(bad_kind(cand_id, cand)),
        })
    }

    /// Returns the definition of a FWD if it is known, else the type itself (libbpf: `resolve_fwd_id`).
    fn resolve_fwd(&self, id: u32) -> Result<u32, DedupError> {
        if self.records.get(id)?.kind() != Kind::Fwd {
            return Ok(id);
        }
        let end = self.resolve(id)?;
        Ok(if self.records.get(end)?.kind() == Kind::Fwd { id } else { end })
    }

    /// Returns whether two types of one graph are identical. A compiler may write a type twice, and refer to both copies
    /// (libbpf: `btf_dedup_identical_types`, which ignores the element types of arrays).
    fn is_identical(&self, first: u32, second: u32, levels: u32) -> Result<bool, DedupError> {
        let (mut first, mut second) = (first, second);
        loop {
            self.step(1)?;
            let (a, b) = (self.records.get(first)?, self.records.get(second)?);
            if levels == 0 || a.kind() != b.kind() {
                return Ok(false);
            }
            let alike = match a.kind() {
                Kind::Void => return Ok(true),
                Kind::Int => return Ok(a.words() == b.words()),
                Kind::Fwd | Kind::Float => return Ok(a.common() == b.common()),
                Kind::Enum | Kind::Enum64 => return Ok(a.is_like_enum(b)),
                kind if has_target_only(kind) => {
                    if a.name_and_info() != b.name_and_info() {
                        return Ok(false);
                    }
                    (first, second) = (a.word(2), b.word(2));
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
            for (first, second) in pairs(a, b) {
                if first != second && !self.is_identical(first, second, levels.saturating_sub(1))? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
    }

    fn set_hypot(&mut self, canon: u32, cand: u32) -> Result<(), DedupError> {
        *self.hypot_map.get_mut(usize_of(canon)).ok_or(UNMAPPED)? = cand;
        self.hypot_list.push(canon);
        Ok(())
    }

    fn clear_hypot_map(&mut self) -> Result<(), DedupError> {
        for id in self.hypot_list.drain(..) {
            *self.hypot_map.get_mut(usize_of(id)).ok_or(UNMAPPED)? = UNRESOLVED;
        }
        Ok(())
    }
}

/// Returns whether two types of this kind are equal if their names, info words and targets are equal.
fn has_target_only(kind: Kind) -> bool {
    kind.is_modifier_or_typedef() || matches!(kind, Kind::Ptr | Kind::Func)
}

/// Returns the pairs of types to which two records of one kind refer, in libbpf's order.
fn pairs(a: Record<'_>, b: Record<'_>) -> impl DoubleEndedIterator<Item = (u32, u32)> {
    let (words, has_members, has_params) = match a.kind() {
        Kind::Array => (&[4, 3][..], false, false),
        Kind::Struct | Kind::Union => (&[][..], true, false),
        Kind::FuncProto => (&[2][..], false, true),
        _ => (&[2][..], false, false),
    };
    let all_if = |yes: bool| if yes { usize::MAX } else { 0 };
    let members = a.members().zip(b.members()).map(|([_, a, _], [_, b, _])| (a, b));
    let params = a.params().zip(b.params()).map(|([_, a], [_, b])| (a, b));
    let words = words.iter().map(move |at| (a.word(*at), b.word(*at)));
    words.chain(members.take(all_if(has_members))).chain(params.take(all_if(has_params)))
}
