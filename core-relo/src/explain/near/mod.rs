//! What the target has that comes near to what it lacks.

mod members;
mod namesakes;
mod types;

use super::{similar::Pattern, text::text};
use crate::{
    ids::{TypeId, to_u32},
    limits,
    name::Name,
    plan::Plan,
};
use alloc::{rc::Rc, string::String, vec::Vec};
use core::fmt::{Display, Formatter, Result as FmtResult};
use hashbrown::HashMap;
use members::MembersSearch;
use namesakes::Namesakes;
use types::TypesSearch;

/// How many of each sort are named.
const FEW: usize = 3;

/// Something near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Near {
    /// `struct task_struct.state`
    pub(super) what: String,
    /// Its type in C's words, and more: `(long int, offset 24)`.
    pub(super) detail: String,
    /// A declaration of it for a local flavour, if it is a member of the very type: `long int state;`
    pub(super) declaration: Option<String>,
}

impl Near {
    fn new(what: impl Display, detail: impl Display) -> Self {
        Self { what: text(what), detail: text(detail), declaration: None }
    }
}

impl Display for Near {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        if self.detail.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{} ({})", self.what, self.detail)
        }
    }
}

/// What the target lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Missing<'p> {
    /// The type of this id in the object.
    Type(TypeId),
    /// A member of this name in a composite of a source.
    Member { source: usize, ty: TypeId, name: Name<'p> },
    /// An enumerator of this name in an enumeration of a source.
    Variant { source: usize, ty: TypeId, name: Name<'p> },
}

/// The steps of all searches are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutOfSteps;

/// Steps that the searches of one plan may still take.
#[derive(Debug)]
struct Budget {
    left: u32,
}

impl Budget {
    fn take(&mut self, steps: u32) -> Result<(), OutOfSteps> {
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        if enough { Ok(()) } else { Err(OutOfSteps) }
    }

    /// Takes as many steps as reading a name costs.
    fn take_name(&mut self, name: Name<'_>) -> Result<(), OutOfSteps> {
        self.take(to_u32(name.as_bytes().len() / 64).saturating_add(1))
    }
}

/// Searches for what comes near, on behalf of all records of a plan. Each distinct question is answered once, and the passes over
/// the whole target answer all questions of the plan.
#[derive(Debug)]
pub(super) struct NearSearch<'p> {
    plan: &'p Plan<'p>,
    budget: Budget,
    answers: HashMap<Missing<'p>, Rc<[Near]>>,
    types: TypesSearch<'p>,
    members: MembersSearch<'p>,
    namesakes: Namesakes<'p>,
}

impl<'p> NearSearch<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            budget: Budget { left: limits::NEAR_STEPS },
            answers: HashMap::new(),
            types: TypesSearch::default(),
            members: MembersSearch::default(),
            namesakes: Namesakes::default(),
        }
    }

    /// What comes near, nearest first; that nothing was searched if the steps are used up.
    pub(super) fn find(&mut self, missing: Missing<'p>) -> Rc<[Near]> {
        if let Some(known) = self.answers.get(&missing) {
            return Rc::clone(known);
        }
        let Ok(near) = self.search(missing) else {
            self.budget.left = 0;
            let what = "not searched: earlier relocations took all steps that near names are searched with";
            return Rc::new([Near::new(what, "")]);
        };
        if self.answers.len() >= limits::NEAR_ANSWERS {
            self.answers.clear();
        }
        let near: Rc<[Near]> = near.into();
        self.answers.insert(missing, Rc::clone(&near));
        near
    }

    /// Steps taken so far.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u32 {
        limits::NEAR_STEPS.saturating_sub(self.budget.left)
    }

    fn search(&mut self, missing: Missing<'p>) -> Result<Vec<Near>, OutOfSteps> {
        let (plan, budget) = (self.plan, &mut self.budget);
        match missing {
            Missing::Type(root) => self.types.find(plan, root, budget),
            Missing::Member { source, ty, name } => {
                let Some(of) = plan.target().source(source) else { return Ok(Vec::new()) };
                let near = self.members.find((source, &of.btf), ty, name, budget)?;
                if !near.is_empty() {
                    return Ok(near);
                }
                self.namesakes.members(plan, ty, name, budget)
            }
            Missing::Variant { source, ty, name } => {
                let Some(of) = plan.target().source(source) else { return Ok(Vec::new()) };
                let mut near = namesakes::similar_variants(&of.btf, ty, name, budget)?;
                near.extend(self.namesakes.variants(plan, ty, name, budget)?);
                Ok(near)
            }
        }
    }
}
