//! BTF: parsing, views of types, search, and writing.
//!
//! [`Btf::parse`] finds every record and validates every reference. It copies nothing and allocates no type. [`Type`] is a `Copy`
//! view whose accessors read the record in place. Ids and offsets are newtypes: [`TypeId`](crate::TypeId) counts types, and
//! [`StrOffset`](crate::StrOffset) counts bytes of strings. In a split BTF both continue after those of its base.
//!
//! | directory | contents |
//! |---|---|
//! | `format` | kinds, the info word, and the words of a record that refer to names and types |
//! | `parse` | header, scans for records, validation, errors, and [`Btf`] |
//! | `view` | [`Type`] and its elements, modifiers and sizes |
//! | `search` | types by name: all types, [`NameIndex`], [`TypeQuery`], sorted BTF, [`ModuleFilter`] |
//! | `layout` | holes and padding of structs, fields by path |
//! | `write` | [`Builder`], [`Editor`], [`Importer`], deduplication, sorting, conversion, distillation and relocation of split BTF |
//! | `text` | bpftool's raw notation, C declarations, values |
//! | `c_header` | C headers: `vmlinux.h` |
//! | `kernel_check` | the kernel's rules for a BTF that is loaded |
//!
//! Each directory uses only the directories above it in the table.
//!
//! The format: the kernel's `Documentation/bpf/btf.rst` and `include/uapi/linux/btf.h`.

mod c_header;
mod format;
mod kernel_check;
mod layout;
mod parse;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod write;

pub use c_header::{CHeader, HeaderRoots, LayoutError, Redefinitions};
pub use format::Kind;
pub use kernel_check::{
    BtfPlace, BtfRule, BtfViolation, BtfViolations, Element, KernelBtfRules, ManagedError, ManagedField,
    NameError, NameUse, TypeIdError, ViolatingType, Violations, kernel_violations,
};
pub use layout::{FieldPathError, FieldStep, Layout, LayoutPart, field_path, field_path_from};
pub use parse::{Btf, BtfError};
pub use search::{ModuleFilter, NameIndex, TypeQuery};
pub use text::{
    Aggregate, CType, EnumValue, ExtendedFloat, LongDouble, RawType, Scalar, Value, ValueLocation, ValueText,
    ValueVisitor,
};
pub use view::{
    ArrayInfo, Enumerator, Enumerators, Extent, IntInfo, Member, Members, Param, Params, SecInfo, SecInfos,
    Type, WalkError,
};
pub use write::{
    Builder, BuiltMember, ConvertError, DedupError, DedupResult, DistilError, DistilledBtf, Editor,
    ImportError, Importer, LayoutChange, SortResult, convert, dedup, dedup_into, distil_base, sort,
};

pub(crate) use parse::{KindSet, MAGIC, NamePrefix, Strings, endian_of};
