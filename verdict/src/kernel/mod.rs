//! What a kernel offers, with the evidence.

mod answer;

pub use answer::{Answer, Evidence, EvidenceSource};
