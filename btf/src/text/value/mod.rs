//! Values: bytes that are interpreted by a type. A visitor reads the parts of a value, or the value is
//! printed as C.

mod bits;
mod extended;
#[cfg(feature = "serde")]
mod json;
mod scalar;
#[cfg(test)]
mod tests;
mod text;
mod visit;

pub use extended::ExtendedFloat;
pub use scalar::{EnumValue, LongDouble, Scalar};
pub(super) use scalar::{NAN_32, NAN_64};
pub use text::ValueText;
pub use visit::{Aggregate, Value, ValueLocation, ValueVisitor};
