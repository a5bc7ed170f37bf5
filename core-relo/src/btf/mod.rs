//! BTF: a table of offsets over bytes it borrows or shares.
//!
//! [`Btf::parse`] makes one pass that finds every record and one that checks every reference; nothing is copied and no type
//! is allocated. [`Type`] is a `Copy` view whose accessors read the record where it lies. Ids and offsets are newtypes:
//! [`TypeId`] counts types (a split BTF's go on after its base's), [`StrOffset`] counts bytes of strings (likewise).
//!
//! The format: the kernel's `Documentation/bpf/btf.rst` and `include/uapi/linux/btf.h`.

mod amend;
mod build;
mod check;
mod dedup;
mod distill;
mod edit;
mod error;
mod geometry;
mod header;
mod import;
mod index;
mod kind;
mod raw;
mod reference;
mod rewrite;
mod table;
#[cfg(test)]
mod tests;
mod ty;
mod value;
mod view;
mod walk;

pub use build::{Builder, BuiltMember};
pub use dedup::{DedupError, Deduped, dedup, dedup_into};
pub use edit::Edit;
pub use error::{BtfError, WalkError};
pub use geometry::Extent;
pub use import::{Import, ImportError};
pub use index::NameIndex;
pub use kind::Kind;
pub use raw::RawType;
pub use ty::{Members, Params, SecInfos, Type, Variants};
pub use value::{EnumValue, Group, Place, Scalar, Value, ValueText, Visit};
pub use view::{ArrayInfo, IntInfo, Member, Param, SecInfo, Variant};

pub(crate) use header::{MAGIC, endian_of};

use crate::{
    data::Data,
    endian::Endian,
    ids::{ByteSize, StrOffset, TypeId, to_u32},
    limits,
    name::Name,
};
use alloc::{sync::Arc, vec::Vec};
use header::Header;

/// The types of a kernel, a module or a BPF object.
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Kind}, Endian};
///
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// b.structure("pair", 16, &[("a", long, 0), ("b", long, 64)]);
/// let btf = Btf::parse(b.finish()).unwrap();
///
/// let pair = btf.find(b"pair", Kind::Struct).unwrap();
/// assert_eq!(pair.members().map(|m| m.name.to_string()).collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(btf.size_of(pair.id()).unwrap().0, 16);
/// ```
#[derive(Clone, Debug)]
pub struct Btf<'d> {
    data: Data<'d>,
    header: Header,
    base: Option<Arc<Self>>,
    first_id: TypeId,
    string_start: u32,
    offsets: Vec<u32>,
    pointer_size: Option<ByteSize>,
}

impl<'d> Btf<'d> {
    /// Parses a BTF of its own: a kernel's, a BPF object's.
    pub fn parse(data: impl Into<Data<'d>>) -> Result<Self, BtfError> {
        Self::parse_on(data.into(), None)
    }

    /// Parses a split BTF (a module's), whose ids and strings go on where those of `base` end.
    pub fn parse_split(data: impl Into<Data<'d>>, base: Arc<Self>) -> Result<Self, BtfError> {
        Self::parse_on(data.into(), Some(base))
    }

    /// Parses a split BTF that was made upon `distilled`, the few base types it needs (`.BTF.base`), and relocates it onto
    /// the real `base` (libbpf: `btf__relocate`).
    ///
    /// The result refers to `base` alone: ids and strings are rewritten in a copy.
    pub fn relocate_split(
        data: impl Into<Data<'d>>,
        distilled: impl Into<Data<'d>>,
        base: Arc<Self>,
    ) -> Result<Self, BtfError> {
        let distilled = Arc::new(Self::parse(distilled)?);
        let split = Self::parse_split(data, Arc::clone(&distilled))?;
        distill::relocate(&split, &distilled, base)
    }

    fn parse_on(data: Data<'d>, base: Option<Arc<Self>>) -> Result<Self, BtfError> {
        let header = Header::parse(&data)?;
        let (first_id, string_start) = match &base {
            None => (TypeId(1), 0),
            Some(base) => {
                if base.endian() != header.endian {
                    return Err(BtfError::BaseEndian);
                }
                if base.levels() >= limits::SPLIT_LEVELS {
                    return Err(BtfError::TooManyBases { limit: limits::SPLIT_LEVELS });
                }
                (base.end_id(), base.string_end())
            }
        };
        string_start.checked_add(header.string_len()).ok_or(BtfError::TooManyTypes)?;
        check_strings(data.get(header.strings.clone()).unwrap_or_default(), base.is_some())?;
        let offsets = table::scan(&data, &header, first_id)?;
        let mut btf = Self { data, header, base, first_id, string_start, offsets, pointer_size: None };
        check::references(&btf)?;
        btf.pointer_size = walk::pointer_size(&btf);
        Ok(btf)
    }

    /// The data's byte order.
    pub fn endian(&self) -> Endian {
        self.header.endian
    }

    /// The size of a pointer: that of the first `long`, as libbpf's `determine_ptr_size` finds it, or as
    /// [set](Self::set_pointer_size); 8 where neither is known.
    ///
    /// The host's pointer size, which libbpf falls back on, plays no part.
    pub fn pointer_size(&self) -> ByteSize {
        self.pointer_size.unwrap_or(ByteSize(8))
    }

    /// Whether the BTF itself, or a caller, said how large pointers are.
    pub fn pointer_size_is_known(&self) -> bool {
        self.pointer_size.is_some()
    }

    /// Overrides the pointer size: a minimised BTF without `long`, an ELF file whose class tells.
    pub fn set_pointer_size(&mut self, size: ByteSize) {
        self.pointer_size = Some(size);
    }

    /// The BTF this one is split from.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// The id of the first own type: 1, or where the base ends.
    pub fn first_id(&self) -> TypeId {
        self.first_id
    }

    /// One past the last id; the number of types, `void` and the base's included.
    pub fn end_id(&self) -> TypeId {
        TypeId(self.first_id.0.saturating_add(to_u32(self.offsets.len())))
    }

    /// The type of this id, the base's included; id 0 is `void`.
    pub fn ty(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type::void(self));
        }
        match id.0.checked_sub(self.first_id.0) {
            None => self.base.as_ref()?.ty(id),
            Some(own) => Type::at(self, id, *self.offsets.get(TypeId(own).index())?),
        }
    }

    /// The string at an offset, the base's included.
    pub fn name(&self, at: StrOffset) -> Option<Name<'_>> {
        match at.0.checked_sub(self.string_start) {
            None => self.base.as_ref()?.name(at),
            Some(own) => {
                let strings = self.data.get(self.header.strings.clone())?;
                let rest = strings.get(StrOffset(own).index()..)?;
                let len = rest.iter().position(|b| *b == 0)?;
                rest.get(..len).map(Name::new)
            }
        }
    }

    /// The own types in order of id, neither `void` nor the base's.
    pub fn types(&self) -> impl Iterator<Item = Type<'_>> {
        self.offsets.iter().zip(self.first_id.0..).filter_map(|(at, id)| Type::at(self, TypeId(id), *at))
    }

    /// The first type of this name and kind, the base's first.
    pub fn find(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        let in_base = self.base.as_ref().and_then(|base| base.find(name, kind));
        in_base.or_else(|| self.find_own(name, kind))
    }

    /// The first own type of this name and kind, the base left out (libbpf: `btf__find_by_name_kind_own`).
    pub fn find_own(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        self.types().find(|t| t.kind() == kind && self.is_named(t.name_offset(), name))
    }

    /// Whether this very string lies at an offset; cheaper than reading what does.
    fn is_named(&self, at: StrOffset, name: &[u8]) -> bool {
        let Some(own) = at.0.checked_sub(self.string_start) else {
            return self.base.as_ref().is_some_and(|base| base.is_named(at, name));
        };
        let strings = self.data.get(self.header.strings.clone()).unwrap_or_default();
        let rest = strings.get(StrOffset(own).index()..).unwrap_or_default();
        matches!(rest.strip_prefix(name), Some([0, ..]))
    }

    /// The bytes this was parsed from.
    pub fn as_bytes(&self) -> &[u8] {
        &self.data
    }

    /// One past the last string offset, the base's strings included.
    pub(crate) fn string_end(&self) -> u32 {
        self.string_start.saturating_add(self.header.string_len())
    }

    fn levels(&self) -> u32 {
        self.base.as_ref().map_or(1, |base| base.levels().saturating_add(1))
    }
}

/// A string section begins (without a base) and ends with NUL; a split BTF may have none (libbpf: `btf_parse_str_sec`).
fn check_strings(strings: &[u8], has_base: bool) -> Result<(), BtfError> {
    for (block, offset) in strings.chunks_exact(limits::STRING_BLOCK).zip((0..).step_by(limits::STRING_BLOCK))
    {
        if !block.contains(&0) {
            return Err(BtfError::LongString { offset });
        }
    }
    let must = match (strings.first(), strings.last()) {
        (None, _) if has_base => return Ok(()),
        (None, _) => "hold anything",
        (_, Some(last)) if *last != 0 => "end with NUL",
        (Some(first), _) if *first != 0 && !has_base => "begin with NUL",
        _ => return Ok(()),
    };
    Err(BtfError::Strings { must, split_without_base: must == "begin with NUL" })
}
