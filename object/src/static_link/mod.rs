//! Static linking: joins several BPF objects into one object, like `bpftool gen object` (libbpf:
//! `struct bpf_linker`).
//!
//! The linker concatenates sections of the same name and resolves symbols. A strong definition takes
//! precedence over weak definitions. A definition must have a type that is compatible with the declaration of
//! the extern. The linker adjusts relocations, merges and deduplicates the BTF, and rewrites `.BTF.ext`.
//!
//! All inputs must have the same byte order, which is also the byte order of the output. The output equals
//! the output of libbpf byte for byte, except for the differences in docs/libbpf-differences.md.
//!
//! ```
//! use core_relo_object::static_link::{StaticLinkError, Linker};
//!
//! fn link(files: &[(&str, &[u8])]) -> Result<Vec<u8>, StaticLinkError> {
//!     files.iter().try_fold(Linker::new(), |linker, (name, bytes)| linker.add(name, bytes))?.finish()
//! }
//! # assert_eq!(link(&[]), Err(StaticLinkError::NoObjects));
//! # assert_eq!(link(&[("a.o", b"text")]).unwrap_err().to_string(), "a.o: not an ELF file");
//! ```

mod budget;
mod compare;
mod error;
mod ext;
mod ext_records;
mod globals;
mod index;
mod input;
mod input_symbol;
mod linker;
mod mismatch;
mod output_object;
mod output_symbol;
mod relocs;
mod section_data;
mod sections;
mod strings;
mod symbol_types;
mod symbols;
#[cfg(test)]
mod tests;
mod type_map;
mod types;
mod write;

pub use error::{RelocationError, SectionError, StaticLinkError, SymbolError, TypeError};
pub use linker::Linker;
pub use mismatch::{MapMismatch, TypeMismatch};
