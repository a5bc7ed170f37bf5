//! Types and values as text: bpftool's raw notation and JSON, C declarations, and values as C writes them,
//! printed and parsed.

mod c_type;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "text")]
mod raw;
#[cfg(feature = "text")]
mod test_support;
#[cfg(feature = "text")]
mod value;
#[cfg(feature = "text")]
mod value_parser;

pub use c_type::CType;
#[cfg(feature = "text")]
pub use raw::RawType;
#[cfg(feature = "text")]
pub use value::{
    Aggregate, EnumValue, ExtendedFloat, LongDouble, Scalar, Value, ValueLocation, ValueText, ValueVisitor,
};
#[cfg(feature = "text")]
pub use value_parser::{Signedness, ValueError, ValueParser, parse_number};
