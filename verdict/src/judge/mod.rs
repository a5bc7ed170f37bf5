//! The verdict on the programs of an object.

mod construct;
mod model;

pub use model::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, SourceLine, Verdict};
