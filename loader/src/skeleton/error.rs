//! Errors of opening and loading a skeleton.

use crate::{load::LoadError, maps::MapError, object::ObjectError};
use core_relo::Text;
use core_relo_object::load_plan::LoadPlanError;
use thiserror::Error;

/// The reason why a skeleton cannot be opened or loaded.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// The object in the executable cannot be read.
    #[error("{object}: {cause}")]
    Object {
        /// The skeleton's name.
        object: Text,
        /// The error of the parser.
        #[source]
        cause: ObjectError,
    },
    /// The initial value of a variable cannot be read or set.
    #[error("{object}: {cause}")]
    Global {
        /// The skeleton's name.
        object: Text,
        /// The error.
        #[source]
        cause: LoadPlanError,
    },
    /// A variable has another size than in the skeleton, which was generated from another object.
    #[error(
        "{object}: variable `{variable}`: {found} bytes, expected {expected}: generate the skeleton again"
    )]
    Stale {
        /// The skeleton's name.
        object: Text,
        /// The variable.
        variable: &'static str,
        /// The size in the object in bytes.
        found: usize,
        /// The size in the skeleton in bytes.
        expected: usize,
    },
    /// The object cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A map was not created, because its settings say so, but its field is no `Option`.
    #[error(
        "{object}: map `{map}` was not created, but its field in the skeleton is no `Option`\nhelp: make it one by \
         `Builder::optional_map({map:?})` in build.rs, or by `core-relo gen rust --optional-map {map}`"
    )]
    NotCreated {
        /// The skeleton's name.
        object: Text,
        /// The map.
        map: Text,
    },
    /// A map of the loaded object cannot be opened as the skeleton's type.
    #[error("{object}: {cause}")]
    Map {
        /// The skeleton's name.
        object: Text,
        /// The error.
        #[source]
        cause: MapError,
    },
}

core_relo::debug_as_message!(SkeletonError);
