//! The parts of an ELF file that conversion needs: debug sections, decompressed and relocated, and symbols.

mod compressed;
mod relocate;
mod relocation_kinds;
mod sections;
mod symbols;

pub(crate) use sections::{DebugSections, Slice};
pub(crate) use symbols::PerCpuSymbols;
