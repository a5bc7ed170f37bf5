//! Views of types: their records, elements, modifiers and sizes.

mod elements;
mod error;
mod extent;
mod ty;
mod walk;

pub use elements::{ArrayInfo, Enumerator, IntInfo, Member, Param, SecInfo};
pub use error::WalkError;
pub use extent::Extent;
pub use ty::{Enumerators, Members, Params, SecInfos, Type};
