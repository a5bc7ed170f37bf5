//! The verdicts on an object with the settings of a load.

use super::{answers::KernelAnswers, error::JudgeError, model::ObjectVerdict, object::judge};
use crate::{loaders::LoaderKind, requirements::ObjectNeeds};
use core_relo::{Plan, Relocs};
use core_relo_object::{link::LinkError, load_plan::Settings, object::Object};
use thiserror::Error;

/// A reason why no verdict is possible.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadJudgeError {
    /// libbpf would not open the object.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The requirements, the plan and the kernel's answers do not belong together.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

core_relo::debug_as_message!(LoadJudgeError);

impl KernelAnswers<'_, '_> {
    /// Returns the verdict on an object of the table with the settings of a load. `plan` relocates the object
    /// against the kernel.
    pub fn judge_load(
        &self,
        object: &Object<'_>,
        relocs: &Relocs<'_>,
        plan: &Plan<'_>,
        settings: &Settings,
    ) -> Result<ObjectVerdict, LoadJudgeError> {
        // The requirements are in the table already, so that they get the same indices.
        let mut table = self.table.clone();
        let mut needs = ObjectNeeds::collect_for(LoaderKind::CoreRelo, object, relocs, &mut table)?;
        needs.apply_settings(settings, &mut table);
        needs.judge_as_load();
        Ok(judge(&needs, plan, self)?)
    }
}
