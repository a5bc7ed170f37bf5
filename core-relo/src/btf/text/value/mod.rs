//! Values: bytes that are read by their type, visited part by part or printed as C.

mod bits;
mod scalar;
#[cfg(test)]
mod tests;
mod text;
mod visit;

pub use scalar::{EnumValue, Scalar};
pub use text::ValueText;
pub use visit::{Aggregate, Value, ValueLocation, ValueVisitor};
