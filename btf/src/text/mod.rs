//! Types and values as text: bpftool's raw notation, C declarations, and values as C writes them.

mod c_type;
mod raw;
mod value;

pub use c_type::CType;
pub use raw::RawType;
pub use value::{
    Aggregate, EnumValue, ExtendedFloat, LongDouble, Scalar, Value, ValueLocation, ValueText, ValueVisitor,
};
