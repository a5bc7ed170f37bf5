//! Global variables of BPF programs that user space can read and set.

mod declared_types;
mod error;
mod member_layout;
mod name_index;
mod object_types;
mod path;
mod resize;
mod rust_type;
mod type_check;
mod variable;

pub use error::GlobalError;
pub use member_layout::{LayoutMismatch, check_layout};
pub(crate) use name_index::GlobalIndex;
pub use object_types::ObjectTypes;
pub use path::find_global;
pub(crate) use path::find_path;
pub(crate) use resize::{resize_array, resize_arrays};
pub use rust_type::{Element, MemberShape, RustType, Shape};
pub use type_check::{check_size, check_type, check_value};
pub(crate) use variable::collect;
pub use variable::{Global, GlobalKind};
