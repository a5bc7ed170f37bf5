//! Instructions that have requirements.

use super::need::NeedId;

/// An instruction that has a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a site is an instruction and its requirement")]
pub struct Site {
    /// The index of the instruction in the linked program.
    pub insn: u32,
    /// The requirement.
    pub need: NeedId,
}
