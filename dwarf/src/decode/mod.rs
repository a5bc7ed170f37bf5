//! Entries of a unit, decoded: the types, functions and variables, with their parts. References are places.

mod attributes;
mod context;
mod decoder;
mod entry;
mod parts;
mod symbols;
mod unit;
mod values;

pub(crate) use context::{Contexts, UnitContext};
pub(crate) use decoder::{UnitDecoder, Wanted};
pub(crate) use entry::{DeclTag, DeclTagValue, Entries, Entry, Enumerator, Member, Param, Shape};
