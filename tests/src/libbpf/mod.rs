//! libbpf as the reference implementation: its relocation functions, called for each record of an object.
//!
//! `bpf_object__prepare` stops at the first failing record, needs a kernel, and accepts only objects of the
//! host's byte order. This module calls the underlying functions instead, in the order of
//! `bpf_object__relocate_core`:
//!
//! * `bpf_core_add_cands` finds the candidates, in the vmlinux BTF or, if it has none, in the modules;
//! * `bpf_core_calc_relo_insn` computes the values and narrows the list of candidates of the local type;
//! * `bpf_core_patch_insn` changes the instruction.
//!
//! ELF and `.BTF.ext` are parsed here, independently of core-relo's parsers.

mod ffi;
mod linker;
mod object;
pub mod relo_core;
mod relocate;

pub use ffi::{Btf, LoadedByLibbpf, Prepared, ValuePrinter, ValueStyle, load, prepare, with_log};
pub use linker::{link, open};
pub use object::LibbpfObject;
pub use relocate::{LibbpfTarget, records};
