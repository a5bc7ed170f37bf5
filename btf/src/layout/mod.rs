//! The layout of structs and unions: members, holes, padding, and fields by path.

mod field_path;
mod parts;
#[cfg(test)]
mod tests;

pub use field_path::{FieldPathError, FieldStep, field_path, field_path_from};
pub use parts::{Layout, LayoutPart};
