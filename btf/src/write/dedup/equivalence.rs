//! Comparison of two graphs of types.

use super::{
    DedupError, Deduplicator, UNMAPPED, UNRESOLVED, bad_kind,
    records::{Record, SHORT_RECORD},
    usize_of,
};
use crate::{format::Kind, limits};

/// The result of comparing two records.
enum Comparison {
    Equal,
    /// The candidate is a definition of the canonical FWD.
    EqualIfDefinition,
    Different,
    /// The records are equal if the types to which they refer are equal.
    EqualIfTargets,
}

/// The targets of two types that are being compared: positions of the next ones in the words of all records.
pub(super) struct Comparing {
    cand: usize,
    canon: usize,
    left: usize,
    distance: isize,
}

impl Deduplicator {
    /// Returns whether the graph of a candidate type equals that of a canonical type (libbpf:
    /// `btf_dedup_is_equiv`; a stack replaces its recursion). Stores in `hypot_map` the candidate type of
    /// each canonical type.
    pub(super) fn is_equivalent(&mut self, cand: u32, canon: u32) -> Result<bool, DedupError> {
        self.clear_hypot_map()?;
        self.defines_base_forward = false;
        self.comparing.clear();
        if !self.begin_comparison(cand, canon)? {
            return Ok(false);
        }
        while let Some(top) = self.comparing.last_mut() {
            let Some(left) = top.left.checked_sub(1) else {
                self.comparing.pop();
                continue;
            };
            top.left = left;
            let (cand, canon) = (self.records.word_at(top.cand)?, self.records.word_at(top.canon)?);
            top.cand = top.cand.wrapping_add_signed(top.distance);
            top.canon = top.canon.wrapping_add_signed(top.distance);
            if !self.begin_comparison(cand, canon)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares two records. Returns `false` if they differ, and puts them on the stack if the types to which
    /// they refer decide.
    fn begin_comparison(&mut self, cand: u32, canon: u32) -> Result<bool, DedupError> {
        self.step(1)?;
        if self.resolve(cand)? == self.resolve(canon)? {
            return Ok(true);
        }
        let canon = self.resolve_fwd(canon)?;
        match self.hypot_map.get(usize_of(canon)).copied().ok_or(UNMAPPED)? {
            UNRESOLVED => self.set_hypot(canon, cand)?,
            known if known == cand => return Ok(true),
            known => return self.is_identical(known, cand, limits::IDENTICAL_LEVELS),
        }
        let comparison = self.compare(cand, canon)?;
        self.defines_base_forward |=
            canon < self.first_own && matches!(comparison, Comparison::EqualIfDefinition);
        match comparison {
            Comparison::Equal | Comparison::EqualIfDefinition => Ok(true),
            Comparison::Different => Ok(false),
            Comparison::EqualIfTargets => {
                let Targets { first, distance, count } = targets(self.records.get(cand)?);
                let start = |id| self.records.start(id)?.checked_add(first).ok_or(SHORT_RECORD);
                let (cand, canon) = (start(cand)?, start(canon)?);
                self.comparing.push(Comparing { cand, canon, left: count, distance });
                Ok(true)
            }
        }
    }

    #[inline]
    fn compare(&self, cand_id: u32, canon_id: u32) -> Result<Comparison, DedupError> {
        let (cand, canon) = (self.records.get(cand_id)?, self.records.get(canon_id)?);
        let same = |yes: bool| if yes { Comparison::Equal } else { Comparison::Different };
        let kind = cand.kind();
        if cand.name_and_info() != canon.name_and_info() {
            return Ok(match (kind, canon.kind()) {
                _ if cand.name() != canon.name() => Comparison::Different,
                (Kind::Fwd, real) => same(cand.declared_kind() == real),
                (real, Kind::Fwd) if canon.declared_kind() == real => Comparison::EqualIfDefinition,
                (Kind::Enum | Kind::Enum64, same_kind) if kind == same_kind => same(cand.is_like_enum(canon)),
                _ => Comparison::Different,
            });
        }
        let targets = |alike: bool| if alike { Comparison::EqualIfTargets } else { Comparison::Different };
        Ok(match kind {
            Kind::Fwd | Kind::Float => same(cand.common() == canon.common()),
            Kind::Int => same(cand.words() == canon.words()),
            Kind::Enum | Kind::Enum64 => same(cand.is_like_enum(canon)),
            Kind::Array => targets(cand.is_like_array(canon)),
            Kind::Struct | Kind::Union => {
                self.step(cand.words().len())?;
                targets(cand.is_like_composite(canon))
            }
            Kind::FuncProto => targets(cand.is_like_function(canon)),
            kind if has_target_only(kind) => Comparison::EqualIfTargets,
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

    /// Returns whether two types of one graph are identical. A compiler may write a type twice, and refer to
    /// both copies (libbpf: `btf_dedup_identical_types`, which ignores the element types of arrays).
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
                    (first, second) = (a.common()[2], b.common()[2]);
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
            for (first, second) in (0..).map_while(|nth| target_pair(a, b, nth)) {
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

/// The words of a record that are types to which it refers, in libbpf's order.
pub(super) struct Targets {
    pub(super) first: usize,
    pub(super) distance: isize,
    pub(super) count: usize,
}

#[expect(clippy::inline_always, reason = "the way of the result through memory took a tenth of the time")]
#[inline(always)]
pub(super) fn targets(record: Record<'_>) -> Targets {
    let (first, distance, count) = match record.kind() {
        Kind::Array => (4, -1, 2),
        Kind::Struct | Kind::Union => (4, 3, record.members().len()),
        Kind::FuncProto => (2, 2, record.words().len() / 2),
        _ => (2, 0, 1),
    };
    Targets { first, distance, count }
}

/// Returns the nth pair of types to which two records of one kind refer, in libbpf's order.
fn target_pair(a: Record<'_>, b: Record<'_>, nth: usize) -> Option<(u32, u32)> {
    let Targets { first, distance, count } = targets(a);
    let at = first.checked_add_signed(distance.checked_mul(isize::try_from(nth).ok()?)?)?;
    (nth < count).then_some(())?;
    Some((a.words().get(at).copied()?, b.words().get(at).copied()?))
}
