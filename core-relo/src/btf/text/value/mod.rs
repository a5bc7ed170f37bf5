//! Values: bytes that are interpreted by a type. A visitor reads the parts of a value, or the value is printed as C.

mod bits;
mod scalar;
#[cfg(test)]
mod tests;
mod text;
mod visit;

pub use scalar::{EnumValue, Scalar};
pub use text::ValueText;
pub use visit::{Aggregate, Value, ValueLocation, ValueVisitor};
