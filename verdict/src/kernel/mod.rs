//! What a kernel offers, with the evidence.

mod answer;
mod facts;
mod helper_call;
mod helper_types;

pub use answer::{Answer, Evidence, EvidenceSource};
pub use facts::*;
pub use helper_call::may_call;
