//! Global variables of programs, which user space can read and set.

mod declared;
mod error;
mod fit;
mod initial;
mod path;
mod resized;
mod shape;
mod types;
mod variable;

pub use error::GlobalError;
pub use fit::{check_size, check_type, check_value};
pub use initial::InitialValues;
pub use path::find_global;
pub(crate) use resized::resized;
pub use shape::{Element, RustType, Shape};
pub use types::ObjectTypes;
pub(crate) use variable::collect;
pub use variable::{Global, GlobalKind};
