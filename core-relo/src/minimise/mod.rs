//! Minimal BTF: the part of a kernel's types on which plans depend.
//!
//! [`Needs`] collects the types, members and enumerators that plans read. [`Needs::minimise`] writes a BTF
//! with these only, with new ids. A plan against the minimal BTF is the same as against the full BTF: the
//! same decisions, values, patched instructions, warnings and errors. Only type ids within errors and
//! warnings differ, and explanations, which list members that were left out.
//!
//! The following is kept:
//!
//! * every candidate of every root type, even if no record matches the candidate, in the original order;
//! * the members on the way to an accessed field, with the types that decide about compatibility, size and
//!   sign;
//! * the enumerators that records name;
//! * all members and enumerators that TYPE_MATCHES compares;
//! * the first `long`, which gives the size of a pointer;
//! * the declarations that a caller adds, such as attach targets and kfuncs.
//!
//! A reference to a type that is not needed becomes `void`. [`Needs::mark`] marks the BTF, so that readers do
//! not take the absence of a type for its absence in the kernel.
//!
//! ```
//! use core_relo::{btf::{Btf, Builder, Kind}, minimise::Needs, Endian, Target};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut kernel = Builder::new(Endian::Little);
//! let long = kernel.int("long unsigned int", 8, 0);
//! kernel.structure("task_struct", 8, &[("flags", long, 0)]);
//! let proto = kernel.func_proto(long, &[]);
//! kernel.func("do_exit", proto, 1);
//! let target = Target::new("vmlinux", Arc::new(Btf::parse(kernel.finish())?));
//!
//! let mut needs = Needs::new(&target);
//! assert!(needs.add_declaration(b"do_exit", Kind::Func));
//! let minimal = needs.minimise()?;
//! let btf = Btf::parse(minimal.vmlinux().bytes().to_vec())?;
//! assert!(btf.find(b"do_exit", Kind::Func).is_some());
//! assert!(btf.find(b"task_struct", Kind::Struct).is_none());
//! # Ok(())
//! # }
//! ```

mod access;
mod declaration;
mod error;
mod first_members;
mod marker;
mod needs;
mod shape;
#[cfg(test)]
mod tests;
mod type_table;
mod write;

pub use declaration::Detail;
pub use error::MinimiseError;
pub use marker::MinimalBtf;
pub use needs::Needs;
pub use write::{MinimisedBtf, MinimisedTarget};
