//! Values of a BTF type as the user types them: parsed to bytes.

pub(crate) mod element;
pub(crate) mod json;
pub(crate) mod text;
