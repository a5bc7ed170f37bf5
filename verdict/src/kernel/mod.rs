//! What a kernel offers, with the evidence.

mod answer;
mod facts;

pub use answer::{Answer, Evidence, EvidenceSource};
pub use facts::*;
