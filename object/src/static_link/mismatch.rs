//! Differences between the types of one symbol in two files.

use crate::object::MapParseError;
use core_relo::{
    Text,
    btf::{Kind, WalkError},
};
use thiserror::Error;

/// A difference between the types of a symbol in an earlier file (`expected`) and in this file (`found`).
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeMismatch {
    /// The kinds differ.
    #[error("{found}, expected {expected}")]
    Kind {
        /// The kind in the earlier file.
        expected: Kind,
        /// The kind in this file.
        found: Kind,
    },
    /// The names differ.
    #[error("{kind} `{found}`, expected `{expected}`")]
    Name {
        /// The kind of both types.
        kind: Kind,
        /// The name in the earlier file.
        expected: Text,
        /// The name in this file.
        found: Text,
    },
    /// The sizes differ.
    #[error("{kind} of {found} bytes, expected {expected}")]
    Size {
        /// The kind of both types.
        kind: Kind,
        /// The size in the earlier file, in bytes.
        expected: u32,
        /// The size in this file, in bytes.
        found: u32,
    },
    /// The numbers of members or parameters differ.
    #[error("{kind} with {found} {}, expected {expected}", if *.kind == Kind::FuncProto { "parameters" } else { "members" })]
    Count {
        /// The kind of both types.
        kind: Kind,
        /// The number in the earlier file.
        expected: u32,
        /// The number in this file.
        found: u32,
    },
    /// The names or positions of a member differ.
    #[error("member {index}: `{found}` at bit {found_bit}, expected `{expected}` at bit {expected_bit}")]
    Member {
        /// The index of the member.
        index: u32,
        /// The name in the earlier file.
        expected: Text,
        /// The offset in the earlier file, in bits.
        expected_bit: u32,
        /// The name in this file.
        found: Text,
        /// The offset in this file, in bits.
        found_bit: u32,
    },
    /// A type cannot be followed.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The type of a symbol contains a type of a kind that cannot be compared.
    #[error("{kind} cannot be the type of a symbol")]
    Unsupported {
        /// The kind.
        kind: Kind,
    },
    /// One of the files has no BTF for the symbol.
    #[error("one of the files has no BTF for the symbol: compile with -g")]
    NoBtf,
    /// Comparing the types takes more than [`limits::LINK_STEPS`](crate::limits::LINK_STEPS).
    #[error("the types are too complex to compare")]
    TooManySteps,
}

core_relo::debug_as_message!(TypeMismatch);

/// A difference between the definitions of a map in an earlier file (`expected`) and in this file (`found`).
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapMismatch {
    /// A definition is invalid.
    #[error(transparent)]
    Definition(#[from] MapParseError),
    /// The BTF does not describe the map as a variable.
    #[error("the BTF describes a function, expected a variable")]
    NotVariable,
    /// A number differs.
    #[error("{field} {found}, expected {expected}")]
    Number {
        /// The name of the field.
        field: &'static str,
        /// The number in the earlier file.
        expected: u32,
        /// The number in this file.
        found: u32,
    },
    /// Only one of the definitions has the field.
    #[error("only one of the definitions has the field {field}")]
    Presence {
        /// The name of the field.
        field: &'static str,
    },
    /// The type of the key or value differs.
    #[error("{field}: {cause}")]
    Type {
        /// `key` or `value`.
        field: &'static str,
        /// The difference.
        #[source]
        cause: TypeMismatch,
    },
}

core_relo::debug_as_message!(MapMismatch);
