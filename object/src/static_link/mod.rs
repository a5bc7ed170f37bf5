//! Links several BPF objects into one object, like `bpftool gen object` and libbpf's `bpf_linker`.
//!
//! The linker concatenates sections of one name and resolves symbols: a strong definition takes precedence over weak ones, and
//! an extern needs a definition of a compatible type. It moves relocations, merges and deduplicates types, and rewrites
//! `.BTF.ext`. The output has the byte order of the inputs. It is byte for byte the output of libbpf, apart from the exceptions in
//! docs/libbpf-differences.md.
//!
//! ```
//! use core_relo_object::static_link::{LinkError, Linker};
//!
//! fn link(files: &[(&str, &[u8])]) -> Result<Vec<u8>, LinkError> {
//!     files.iter().try_fold(Linker::new(), |linker, (name, bytes)| linker.add(name, bytes))?.finish()
//! }
//! # assert_eq!(link(&[]), Err(LinkError::NoObjects));
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

pub use error::{LinkError, RelocationError, SectionError, SymbolError, TypeError};
pub use linker::Linker;
pub use mismatch::{MapMismatch, TypeMismatch};
