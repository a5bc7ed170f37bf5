//! How what two files say of one symbol differs.

use crate::object::MapError;
use core_relo::{
    Text,
    btf::{Kind, WalkError},
};
use thiserror::Error;

/// How the types of two symbols of one name differ.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeMismatch {
    /// Of different kinds.
    #[error("{first} there, {second} here")]
    Kind {
        /// There.
        first: Kind,
        /// Here.
        second: Kind,
    },
    /// Of different names.
    #[error("{kind} `{first}` there, `{second}` here")]
    Name {
        /// What they are.
        kind: Kind,
        /// There.
        first: Text,
        /// Here.
        second: Text,
    },
    /// Of different size.
    #[error("{kind} of {first} bytes there, of {second} here")]
    Size {
        /// What they are.
        kind: Kind,
        /// There.
        first: u32,
        /// Here.
        second: u32,
    },
    /// Of different numbers of members or parameters.
    #[error("{kind} of {first} elements there, of {second} here")]
    Elements {
        /// What they are.
        kind: Kind,
        /// There.
        first: u32,
        /// Here.
        second: u32,
    },
    /// A member differs in name or place.
    #[error("member {index} is `{first}` at bit {first_at} there, `{second}` at bit {second_at} here")]
    Member {
        /// Its number.
        index: u32,
        /// Its name there.
        first: Text,
        /// Its offset there.
        first_at: u32,
        /// Its name here.
        second: Text,
        /// Its offset here.
        second_at: u32,
    },
    /// A type cannot be followed.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// A kind that no symbol's type has.
    #[error("{kind} cannot be the type of a symbol")]
    Unsupported {
        /// The kind.
        kind: Kind,
    },
    /// One of the two has no BTF.
    #[error("it has no BTF there")]
    NoBtf,
    /// The types were made to take more work than real ones do.
    #[error("the types are too entangled to be compared")]
    TooManySteps,
}

/// How two definitions of one map differ.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapMismatch {
    /// One cannot be read.
    #[error(transparent)]
    Definition(#[from] MapError),
    /// It is no variable.
    #[error("it is no variable")]
    NotVariable,
    /// A number differs, or one has what the other has not.
    #[error("they differ in {field}")]
    Field {
        /// Name of the field.
        field: &'static str,
    },
    /// The type of key or value differs.
    #[error("{field}: {cause}")]
    Type {
        /// `key` or `value`.
        field: &'static str,
        /// How.
        #[source]
        cause: TypeMismatch,
    },
}
