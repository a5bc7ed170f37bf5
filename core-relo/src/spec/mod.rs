//! Access specs: the access string of a relocation, resolved to the members and elements of a type.

mod access;
mod inline_vec;
mod parse;
mod text;

pub use access::{Accessor, Spec};
pub use inline_vec::InlineVec;
pub use parse::AccessStringError;
pub use text::{AccessText, SpecText};

pub(crate) use parse::parse_access;
