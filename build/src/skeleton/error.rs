//! Errors of generating a skeleton.

use core_relo::{Text, TypeId, btf::WalkError};
use core_relo_adaptive::variants::VariantError;
use core_relo_object::{load_plan::LoadPlanError, object::ObjectError};
use thiserror::Error;

/// The reason why no skeleton can be generated.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// The object cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object's declarations of variants are wrong.
    #[error(transparent)]
    Variants(#[from] VariantError),
    /// The struct_ops maps of the object cannot be read.
    #[error(transparent)]
    StructOps(#[from] LoadPlanError),
    /// The module of the skeleton would have the name of a crate, whose paths then mean the module.
    #[error("the skeleton's module would be called `{name}`, as a crate that programs use")]
    CrateName {
        /// The name of the module and of the crate.
        name: Text,
    },
    /// A variable is a common symbol (`SHN_COMMON`), which loaders do not place.
    #[error(
        "variable `{name}` is uninitialised and in no section (a common symbol): compile with -fno-common"
    )]
    Common {
        /// The variable's name.
        name: Text,
    },
    /// The object has no BTF, from which types come.
    #[error("the object has no BTF, which describes its types: compile it with -g")]
    NoBtf,
    /// The object has the other byte order than the object for the same skeleton before it, or the two differ
    /// otherwise.
    #[error("the objects for little-endian and big-endian machines differ: {what}")]
    Different {
        /// The difference.
        what: Text,
    },
    /// A type cannot be a Rust type.
    #[error("type {id}{}: {problem}", name_note(.name))]
    Type {
        /// The type's id in the object's BTF.
        id: TypeId,
        /// The type's name, empty if anonymous.
        name: Text,
        /// The reason.
        problem: &'static str,
    },
    /// A reference between types cannot be followed.
    #[error("type {id}: {cause}")]
    Walk {
        /// The id of the first type.
        id: TypeId,
        /// The error that stopped the walk.
        #[source]
        cause: WalkError,
    },
    /// A type that the caller asked for does not exist.
    #[error(
        "the object's BTF has no type `{name}`: types that no program, map or variable uses are not in an object"
    )]
    NoSuchType {
        /// The requested name.
        name: Text,
    },
    /// A map that the caller named does not exist, or its records have no events.
    #[error("map `{name}`: the object has no such ring buffer or perf event array")]
    NoSuchMap {
        /// The requested name.
        name: Text,
    },
    /// A map that the caller named does not exist.
    #[error("map `{name}`: the object has no such map")]
    NoMap {
        /// The requested name.
        name: Text,
    },
    /// A kind of event refers to something that does not exist.
    #[error("events of map `{map}`: {problem}")]
    EventKind {
        /// The map's name.
        map: Text,
        /// The problem.
        problem: Text,
    },
    /// The skeleton would be longer than the limit.
    #[error("the skeleton would have more than {limit} bytes: the object's types are too large")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

core_relo::debug_as_message!(SkeletonError);

fn name_note(name: &Text) -> String {
    if name.is_empty() { String::new() } else { format!(" `{name}`") }
}
