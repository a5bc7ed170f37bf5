//! The verdict on the programs of an object.

mod model;

pub use model::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, SourceLine, Verdict};
