//! The outcome of one relocation record, in a form that both implementations share.

use crate::exceptions::Exception;
use core_relo::{Endian, insn::Insn};

/// The result of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The instruction after relocation, in the byte order of the section: 8 bytes, or 16 bytes for
    /// `ld_imm64`.
    Words(Vec<u8>),
    /// The record is refused. The text is informative and is not compared.
    Error(String),
    /// No function covers the instruction.
    Skipped,
}

/// One record with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The ELF section.
    pub section: String,
    /// The index of the record in its group.
    pub index: u32,
    /// The number of the relocation kind.
    pub kind: u32,
    /// The id of the root type.
    pub root: u32,
    /// The result.
    pub outcome: Outcome,
    /// The local value and, unless the record is poisoned, the target value. `None` if the record failed
    /// before.
    pub values: Option<(u64, Option<u64>)>,
    /// The reason why the expected outcome differs from libbpf's.
    pub exception: Option<Exception>,
    /// The explanation, or libbpf's log.
    pub log: String,
}

impl Record {
    /// Returns true if the instruction was replaced by the poisoned call.
    pub fn is_poisoned(&self) -> bool {
        let poison = [Endian::Little, Endian::Big].map(|endian| Insn::POISON.encode(endian));
        matches!(&self.outcome, Outcome::Words(words) if poison.iter().any(|poison| words.starts_with(poison)))
    }

    /// Returns true if two implementations have the same result for the record.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same_place = (&self.section, self.index, self.kind, self.root)
            == (&other.section, other.index, other.kind, other.root);
        let same_outcome = match (&self.outcome, &other.outcome) {
            (Outcome::Error(_), Outcome::Error(_)) => true,
            (Outcome::Words(one), Outcome::Words(two)) => one == two && self.values == other.values,
            (one, two) => one == two,
        };
        same_place && same_outcome
    }
}
