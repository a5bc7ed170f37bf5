//! The record format: kinds, the info word, and which words of a record refer to names and types.

mod info;
mod kind;
mod layout;

pub(crate) use info::Info;
pub use kind::Kind;
#[cfg(feature = "transform")]
pub(crate) use layout::{IdWords, RecordLayout};
pub(crate) use layout::{RecordSize, References, WordMeaning};
