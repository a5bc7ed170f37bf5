//! Types and values as text: bpftool's raw notation, C declarations, and values as C writes them.

mod c_type;
#[cfg(feature = "text")]
mod raw;
#[cfg(feature = "text")]
mod value;

pub use c_type::CType;
#[cfg(feature = "text")]
pub use raw::RawType;
#[cfg(feature = "text")]
pub use value::{
    Aggregate, EnumValue, ExtendedFloat, LongDouble, Scalar, Value, ValueLocation, ValueText, ValueVisitor,
};
