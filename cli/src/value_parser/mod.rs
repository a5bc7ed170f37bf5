//! Values of a BTF type as the user types them: parsed to bytes.

pub(crate) mod element;
mod float;
mod notation;
#[cfg(test)]
mod round_trip_tests;
pub(crate) mod text;
mod write;
