//! A bound on work: types can be made so that looking through them takes exponential time.

use super::MatchError;
use crate::{ids::to_u32, name::Name};

/// Steps that may still be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    left: u32,
}

impl Steps {
    /// So many and no more.
    pub(crate) const fn new(limit: u32) -> Self {
        Self { left: limit }
    }

    /// Takes one.
    pub(crate) fn take(&mut self) -> Result<(), MatchError> {
        self.left = self.left.checked_sub(1).ok_or(MatchError::TooManySteps)?;
        Ok(())
    }

    /// Takes as many as comparing a name costs.
    pub(crate) fn take_name(&mut self, name: Name<'_>) -> Result<(), MatchError> {
        self.take_names(1, name)
    }

    /// Takes as many as comparing a name with so many others costs.
    pub(crate) fn take_names(&mut self, others: u32, name: Name<'_>) -> Result<(), MatchError> {
        let each = to_u32(name.as_bytes().len() / 64).saturating_add(1);
        let cost = each.checked_mul(others).ok_or(MatchError::TooManySteps)?;
        self.left = self.left.checked_sub(cost).ok_or(MatchError::TooManySteps)?;
        Ok(())
    }

    /// How many are left.
    pub(crate) const fn left(self) -> u32 {
        self.left
    }
}
