//! What two implementations are compared by, record by record.

use crate::exceptions::Exception;
use core_relo::{Endian, insn::Insn};

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The words after: 8 bytes, or 16 of an `ld_imm64`, as they lie in the section.
    Words(Vec<u8>),
    /// Refused; the text is for people and is not compared.
    Error(String),
    /// No function covers the instruction.
    Skipped,
}

/// One record's outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The ELF section.
    pub section: String,
    /// The record's number in its group.
    pub index: u32,
    /// Its kind's number.
    pub kind: u32,
    /// Its root type.
    pub root: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The local value, and the target's if there is one; nothing if the record was refused before there were any.
    pub values: Option<(u64, Option<u64>)>,
    /// Why the judgement is not libbpf's own, if it is not.
    pub exception: Option<Exception>,
    /// What was said about it.
    pub log: String,
}

impl Record {
    /// Whether its instruction was made one that the verifier refuses.
    pub fn poisoned(&self) -> bool {
        let poison = [Endian::Little, Endian::Big].map(|endian| Insn::POISON.encode(endian));
        matches!(&self.outcome, Outcome::Words(words) if poison.iter().any(|poison| words.starts_with(poison)))
    }

    /// Whether two implementations came to the same.
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
