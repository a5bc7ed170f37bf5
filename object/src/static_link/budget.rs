//! The limit on the work of comparing types.

use super::mismatch::TypeMismatch;
use crate::limits;
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};

/// The steps that are left for comparing the types of all symbols.
#[derive(Debug)]
pub(super) struct ComparisonBudget {
    steps_left: u32,
}

impl Default for ComparisonBudget {
    fn default() -> Self {
        Self { steps_left: limits::LINK_STEPS }
    }
}

impl ComparisonBudget {
    /// Charges a number of steps.
    pub(super) fn charge(&mut self, steps: u32) -> Result<(), TypeMismatch> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(TypeMismatch::TooManySteps)?;
        Ok(())
    }

    /// Charges the steps of reading a name.
    pub(super) fn charge_name(&mut self, name: &[u8]) -> Result<(), TypeMismatch> {
        let steps = u32::try_from(name.len() / limits::LINK_STEP_BYTES);
        self.charge(steps.map_err(|_too_long| TypeMismatch::TooManySteps)?)
    }

    /// Strips modifiers and typedefs of a type, and charges the steps.
    pub(super) fn strip<'b>(&mut self, btf: &'b Btf<'b>, id: TypeId) -> Result<Type<'b>, TypeMismatch> {
        let ty = btf.strip(id)?;
        self.charge(if ty.id() == id { 1 } else { limits::LINK_STEPS_STRIPPED })?;
        Ok(ty)
    }
}
