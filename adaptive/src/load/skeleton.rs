//! Loads of skeletons whose objects have variants.

use super::{
    adapt::{AdaptiveLoad, AdaptiveLoader},
    error::AdaptiveError,
};
use crate::{startup_report::StartupReport, variants::VariantTable};
use core_relo::Text;
use core_relo_loader::{Loader, attach::Link, load::Loaded, skeleton::SkeletonError};
use thiserror::Error;

/// The reason why no variants of a skeleton's object are loaded.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdaptiveSkeletonError {
    /// The settings do not fit the object, or the skeleton does not fit the loaded object.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// No variants of the object can be loaded.
    #[error("{object}: {problem}")]
    Adaptive {
        /// The skeleton's name.
        object: Text,
        /// The problem.
        problem: Text,
        /// What was tried. `None` if the object's table of variants is wrong.
        report: Option<Box<StartupReport>>,
    },
}

core_relo::debug_as_message!(AdaptiveSkeletonError);

/// Loads the variants of a skeleton's object. Skeletons call this.
#[doc(hidden)]
pub fn load_skeleton(loader: &Loader<'_, '_>) -> Result<(Loaded, StartupReport), AdaptiveSkeletonError> {
    let adapted = adaptive_loader(loader).and_then(|adaptive| adaptive.load());
    let AdaptiveLoad { value, report } = adapted.map_err(|error| skeleton_error(loader, &error))?;
    Ok((value, report))
}

/// Loads and attaches the variants of a skeleton's object. Skeletons call this.
#[doc(hidden)]
pub fn attach_skeleton(
    loader: &Loader<'_, '_>,
) -> Result<(Loaded, Vec<Link>, StartupReport), AdaptiveSkeletonError> {
    let adapted = adaptive_loader(loader).and_then(|adaptive| adaptive.load_and_attach());
    let AdaptiveLoad { value, report } = adapted.map_err(|error| skeleton_error(loader, &error))?;
    let (loaded, links) = value;
    Ok((loaded, links, report))
}

/// Creates a loader by the table in the object's declaration tags.
fn adaptive_loader<'l, 'o, 'd>(
    loader: &'l Loader<'o, 'd>,
) -> Result<AdaptiveLoader<'l, 'o, 'd>, AdaptiveError> {
    Ok(AdaptiveLoader::new(loader, &VariantTable::from_object(loader.object())?)?)
}

/// Returns the error of a skeleton, which begins with the object's name.
pub(super) fn skeleton_error(loader: &Loader<'_, '_>, error: &AdaptiveError) -> AdaptiveSkeletonError {
    let problem = match error {
        AdaptiveError::Load { cause, .. } => cause.without_object(),
        other => other.to_string(),
    };
    AdaptiveSkeletonError::Adaptive {
        object: loader.settings().name.as_str().into(),
        problem: problem.into(),
        report: error.report().cloned().map(Box::new),
    }
}
