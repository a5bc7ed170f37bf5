//! Values of a BTF type as the user types them: parsed to bytes.

pub(crate) mod element;
mod float;
pub(crate) mod json;
#[cfg(test)]
mod round_trip_tests;
pub(crate) mod text;
mod unique_keys;
