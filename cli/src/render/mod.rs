//! Plans as text.

pub(crate) mod explained;
pub(crate) mod kernel;
pub(crate) mod planned;
pub(crate) mod style;
pub(crate) mod table;
