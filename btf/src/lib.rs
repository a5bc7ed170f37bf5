//! BTF, the type information of BPF objects and kernels: parsing, views of types, search, and writing.
//!
//! [`Btf::parse`] finds every record and validates every reference. It copies nothing and allocates no type.
//! [`Type`] is a `Copy` view whose accessors read the record in place. Ids and offsets are newtypes:
//! [`TypeId`] counts types, and [`StrOffset`] counts bytes of strings. In a split BTF both continue after
//! those of its base.
//!
//! ```
//! use core_relo_btf::{Btf, Builder, CType, Endian, Kind};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut kernel = Builder::new(Endian::native());
//! # let int = kernel.int("int", 4, Builder::SIGNED);
//! # let task = kernel.structure("task_struct", 0, &[]);
//! # let parent = kernel.pointer(task);
//! # kernel.structure("task_struct", 24, &[("pid", int, 0), ("parent", parent, 64)]);
//! # let bytes = kernel.finish(); // on Linux: std::fs::read("/sys/kernel/btf/vmlinux")?
//! let btf = Btf::parse(bytes)?;
//! let task = btf.find(b"task_struct", Kind::Struct).ok_or("no task_struct")?;
//! for member in task.members() {
//!     println!("{:>6} {}", member.bit_offset.0 / 8, CType::new(&btf, member.ty));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | directory | contents |
//! |---|---|
//! | `format` | kinds, the info word, and the words of a record that refer to names and types |
//! | `parse` | header, scans for records, validation, errors, and [`Btf`] |
//! | `view` | [`Type`] and its elements, modifiers and sizes |
//! | `search` | types by name: all types, [`NameIndex`], [`TypeQuery`], [`FlavourFilter`], sorted BTF, [`ModuleFilter`] |
//! | `layout` | holes and padding of structs, fields by path |
//! | `write` | [`Builder`], [`Editor`], [`Importer`], deduplication, sorting, conversion, distillation and relocation of split BTF |
//! | `text` | bpftool's raw notation, C declarations, values, printed and parsed |
//! | `c_header` | C headers: `vmlinux.h` |
//! | `kernel_check` | the kernel's rules for a BTF that is loaded |
//!
//! Each directory uses only the directories above it in the table.
//!
//! # Features
//!
//! All features but `serde` are on by default.
//!
//! | feature | contents |
//! |---|---|
//! | `c-header` | C headers |
//! | `kernel-check` | the kernel's rules |
//! | `serde` | types (with the keys of bpftool) and values as JSON: `serde::Serialize` |
//! | `text` | values by their types, printed and parsed; bpftool's raw notation |
//! | `transform` | import of types into another BTF, deduplication, sorting, conversion to another byte order, distilled bases |
//!
//! The format: the kernel's `Documentation/bpf/btf.rst` and `include/uapi/linux/btf.h`.
//!
//! # What it does not do
//!
//! This crate reads no files, parses no ELF and makes no system calls. `core-relo` relocates BPF objects
//! (CO-RE), `core-relo-dwarf` makes BTF from debug information.
//!
//! # Hostile input
//!
//! BTF may be hostile. No input makes this crate panic or recurse without bound. Time and memory stay in
//! proportion to the size of the input. The limits are in [`limits`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "c-header")]
mod c_header;
mod data;
mod endian;
#[doc(hidden)]
pub mod error_text;
pub mod escape;
mod format;
mod ids;
#[cfg(feature = "kernel-check")]
mod kernel_check;
mod layout;
pub mod limits;
mod name;
mod parse;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod write;

#[cfg(feature = "c-header")]
pub use c_header::{CHeader, HeaderRoots, LayoutError, Redefinitions};
pub use data::Data;
pub use endian::Endian;
pub use escape::{Escaped, EscapedLines, Text};
pub use format::Kind;
pub use ids::{BitOffset, ByteOffset, ByteSize, StrOffset, TypeId};
#[cfg(feature = "kernel-check")]
pub use kernel_check::{
    BtfPlace, BtfRule, BtfViolation, BtfViolations, Element, KernelBtfRules, ManagedError, ManagedField,
    NameError, NameUse, TypeIdError, ViolatingType, Violations, kernel_violations,
};
pub use layout::{FieldPathError, FieldStep, Layout, LayoutPart, field_path, field_path_from};
pub use name::{Name, ShortName};
pub use parse::{Btf, BtfError, MAGIC, endian_of};
pub use search::{FlavourFilter, ModuleFilter, NameIndex, TypeQuery};
pub use text::CType;
#[cfg(feature = "text")]
pub use text::{
    Aggregate, EnumValue, ExtendedFloat, LongDouble, RawType, Scalar, Signedness, Value, ValueError,
    ValueLocation, ValueParser, ValueText, ValueVisitor, parse_number,
};
pub use view::{
    ArrayInfo, Enumerator, Enumerators, Extent, IntInfo, Member, Members, Param, Params, SecInfo, SecInfos,
    Type, WalkError,
};
pub use write::{Builder, BuiltMember, BuiltRecord, Editor};
#[cfg(feature = "transform")]
pub use write::{
    ConvertError, DedupError, DedupResult, DistilError, DistilledBtf, ImportError, Importer, LayoutChange,
    SortResult, convert, dedup, dedup_into, distil_base, sort,
};
