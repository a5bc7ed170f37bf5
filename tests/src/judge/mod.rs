//! libbpf as the judge: its own relocation functions, driven record by record over a whole object.
//!
//! `bpf_object__prepare` stops at the first record in error, needs a kernel, and takes only objects of the host's byte order.
//! So the functions below it are called instead, in the order in which `bpf_object__relocate_core` calls them: candidates
//! by `bpf_core_add_cands` (the main BTF, and only if it has none the modules), values by `bpf_core_calc_relo_insn`, which
//! narrows the list of candidates kept for each local type, and words by `bpf_core_patch_insn`. Reading the ELF and
//! `.BTF.ext` is the judge's own, apart from the project's.

mod ffi;
mod linker;
mod object;
pub mod relo_core;
mod relocate;

pub use ffi::{Btf, LoadedByLibbpf, Prepared, Values, load, logged, prepare};
pub use linker::{link, open};
pub use object::JudgedObject;
pub use relocate::{JudgedTarget, records};
