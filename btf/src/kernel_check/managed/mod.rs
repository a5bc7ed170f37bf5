//! Fields that the kernel manages, such as locks and lists: their types, the kernels' rules for them, and the
//! reasons for which a struct with such fields is refused.

mod error;
mod features;
mod field;

pub use error::ManagedError;
pub(super) use features::{ManagedFeatures, ManagedRules};
pub use field::ManagedField;
