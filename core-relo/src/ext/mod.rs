//! The section `.BTF.ext`: information about instructions, in terms of the object's types and strings.
//!
//! Its three subsections hold the types of functions, the source lines and the CO-RE relocations. Each is a
//! record size followed by groups of records, a group for each ELF section. A broken `.BTF.ext` is an error
//! here; libbpf warns and loads the code without relocations.

mod btf_ext;
mod builder;
mod core_relo;
mod error;
mod func;
mod kernel_check;
mod line;
mod records;

pub use btf_ext::BtfExt;
pub use builder::{ExtBuilder, ExtPart};
pub use core_relo::{CoreRelo, RelocKind};
pub use error::ExtError;
pub use func::FuncInfo;
pub use kernel_check::{InfoPlace, InfoRule, InfoViolation, ProgramInfo, RecordForm, SentRecords};
pub use line::LineInfo;
pub use records::{ExtRecord, Records, Section, Sections};

#[cfg(test)]
mod tests;
