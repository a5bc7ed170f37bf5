//! Values of a BTF type as the user types them: parsed to bytes.

pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod text;
