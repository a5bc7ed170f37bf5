//! The search for similar names, for all records of a plan.

use super::{
    members::MemberSearch,
    namesakes::{NamesakeSearch, find_similar_enumerators},
    near_match::NearMatch,
    types::TypeSearch,
};
use crate::{
    explain::missing::MissingItem,
    limits,
    plan::Plan,
    resolve::{OutOfSteps, StepBudget},
};
use alloc::{rc::Rc, vec::Vec};
use hashbrown::HashMap;

/// A search for similar names that all records of a plan share.
///
/// Each distinct missing item is searched once. A pass over the whole target serves all missing items of the
/// plan.
pub(in crate::explain) struct NearSearch<'p> {
    plan: &'p Plan<'p>,
    steps: StepBudget,
    results: HashMap<MissingItem<'p>, Rc<[NearMatch]>>,
    types: TypeSearch<'p>,
    members: MemberSearch<'p>,
    namesakes: NamesakeSearch<'p>,
}

impl<'p> NearSearch<'p> {
    pub(in crate::explain) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            steps: StepBudget::new(limits::NEAR_STEPS),
            results: HashMap::new(),
            types: TypeSearch::default(),
            members: MemberSearch::default(),
            namesakes: NamesakeSearch::default(),
        }
    }

    /// Returns the similar names, the nearest first. If the steps are used up, returns a note that the search
    /// was omitted.
    pub(in crate::explain) fn find(&mut self, missing: MissingItem<'p>) -> Rc<[NearMatch]> {
        if let Some(known) = self.results.get(&missing) {
            return Rc::clone(known);
        }
        let Ok(near) = self.search(missing) else {
            // After the first omitted search, all later searches are omitted, too.
            self.steps = StepBudget::new(0);
            let what = "not searched: earlier relocations used up the steps of the search for similar names";
            return Rc::new([NearMatch::new(what, "")]);
        };
        if self.results.len() >= limits::NEAR_ANSWERS {
            self.results.clear();
        }
        let near: Rc<[NearMatch]> = near.into();
        self.results.insert(missing, Rc::clone(&near));
        near
    }

    /// Returns the number of used steps.
    #[cfg(test)]
    pub(in crate::explain) fn steps(&self) -> u32 {
        limits::NEAR_STEPS.abs_diff(self.steps.remaining())
    }

    fn search(&mut self, missing: MissingItem<'p>) -> Result<Vec<NearMatch>, OutOfSteps> {
        let (plan, steps) = (self.plan, &mut self.steps);
        match missing {
            MissingItem::Type(root) => self.types.find(plan, root, steps),
            MissingItem::Member { btf_index, ty, name } => {
                let Some(target) = plan.target().btf(btf_index) else { return Ok(Vec::new()) };
                let similar = self.members.find_similar((btf_index, &target.btf), ty, name, steps)?;
                if !similar.is_empty() {
                    return Ok(similar);
                }
                let mut near = self.members.find_sharing_words((btf_index, &target.btf), ty, name, steps)?;
                near.extend(self.namesakes.find_members(plan, ty, name, steps)?);
                Ok(near)
            }
            MissingItem::Enumerator { btf_index, ty, name } => {
                let Some(target) = plan.target().btf(btf_index) else { return Ok(Vec::new()) };
                let mut near = find_similar_enumerators(&target.btf, ty, name, steps)?;
                near.extend(self.namesakes.find_enumerators(plan, ty, name, steps)?);
                Ok(near)
            }
        }
    }
}
