//! A builder for BTF with types of every kind, in either byte order.

use super::output::assemble;
use crate::{
    endian::{Endian, high32, low32},
    format::{Info, Kind},
    ids::{StrOffset, TypeId, to_u32, to_usize},
    parse::Btf,
    view::SecInfo,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// A builder that adds types to a BTF. Each method that adds a type returns its id.
///
/// Ids ascend from 1, or from the end of the base. A type may refer to a type that is added later.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian};
/// let mut b = Builder::new(Endian::Big);
/// let int = b.int("int", 4, Builder::SIGNED);
/// b.typedef("pid_t", int);
/// assert_eq!(Btf::parse(b.finish()).unwrap().end_id().0, 3);
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    endian: Endian,
    next_id: TypeId,
    first_id: TypeId,
    string_start: u32,
    types: Vec<u8>,
    /// The offset of each record in `types`.
    starts: Vec<u32>,
    strings: Vec<u8>,
    known: HashMap<Vec<u8>, StrOffset>,
    layout: Option<Vec<[u8; 2]>>,
}

/// A member for [`Builder::composite`].
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "written out by callers; the record holds no more")]
pub struct BuiltMember<'a> {
    /// The name, empty for an anonymous member.
    pub name: &'a str,
    /// The type.
    pub ty: TypeId,
    /// The offset in bits.
    pub bit_offset: u32,
    /// The width in bits of a bitfield, else 0.
    pub bitfield_bits: u8,
}

/// A record for [`Builder::raw`]: the fields of `struct btf_type` behind its name, and what follows.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "written out by callers; the record holds no more")]
pub struct BuiltRecord<'w> {
    /// The kind.
    pub kind: Kind,
    /// The number of members, parameters, enumerators or variables; the linkage of a FUNC.
    pub vlen: u32,
    /// The flag whose meaning depends on the kind.
    pub kflag: bool,
    /// The size in bytes, or the id of a type.
    pub size_or_type: u32,
    /// The words after `struct btf_type`.
    pub words: &'w [u32],
}

impl BuiltRecord<'_> {
    /// Creates a record without elements, whose other fields are 0.
    pub const fn new(kind: Kind) -> Self {
        Self { kind, vlen: 0, kflag: false, size_or_type: 0, words: &[] }
    }
}

impl Builder {
    /// The encoding of a signed integer.
    pub const SIGNED: u8 = 1;
    /// The encoding of a character.
    pub const CHAR: u8 = 2;
    /// The encoding of a `_Bool`.
    pub const BOOL: u8 = 4;

    /// Returns a builder for a BTF without a base.
    pub fn new(endian: Endian) -> Self {
        Self {
            endian,
            next_id: TypeId(1),
            first_id: TypeId(1),
            string_start: 0,
            types: Vec::new(),
            starts: Vec::new(),
            strings: Vec::from([0]),
            known: HashMap::new(),
            layout: None,
        }
    }

    /// Returns a builder for a BTF split from `base`.
    pub fn split(base: &Btf<'_>) -> Self {
        Self {
            next_id: base.end_id(),
            first_id: base.end_id(),
            string_start: base.string_end(),
            strings: Vec::new(),
            ..Self::new(base.endian())
        }
    }

    /// Returns a builder for a BTF split from `base`, in which the strings of the base are not repeated.
    pub fn split_with_strings(base: &Btf<'_>) -> Self {
        let mut builder = Self::split(base);
        let mut from = Some(base);
        while let Some(btf) = from {
            let mut at = btf.string_start();
            for string in btf.strings_section().split(|byte| *byte == 0) {
                if !string.is_empty() {
                    builder.known.entry_ref(string).or_insert(StrOffset(at));
                }
                at = at.saturating_add(to_u32(string.len())).saturating_add(1);
            }
            from = btf.base().map(|base| &**base);
        }
        builder
    }

    /// Returns a builder with the same strings, at the same offsets, and no types.
    #[must_use]
    pub fn without_types(&self) -> Self {
        Self {
            next_id: self.first_id,
            strings: self.strings.clone(),
            known: self.known.clone(),
            layout: self.layout.clone(),
            types: Vec::new(),
            starts: Vec::new(),
            ..*self
        }
    }

    /// Adds a layout section: for each kind, in order of its number, the bytes after the first twelve and the
    /// bytes of an element.
    pub fn layout(&mut self, entries: &[[u8; 2]]) -> &mut Self {
        self.layout = Some(entries.to_vec());
        self
    }

    /// Adds an INT of `size` bytes.
    pub fn int(&mut self, name: &str, size: u32, encoding: u8) -> TypeId {
        let bits = u8::try_from(size.saturating_mul(8)).unwrap_or(u8::MAX);
        self.legacy_bitfield(name, size, encoding, 0, bits)
    }

    /// Adds an INT of `bits` bits, `offset` bits into its storage: a bitfield before Linux 5.0.
    pub fn legacy_bitfield(&mut self, name: &str, size: u32, encoding: u8, offset: u8, bits: u8) -> TypeId {
        let id = self.record(name, Kind::Int, 0, false, size);
        let word = (u32::from(encoding) << 24) | (u32::from(offset) << 16) | u32::from(bits);
        self.words(&[word]);
        id
    }

    /// Adds a FLOAT of `size` bytes.
    pub fn float(&mut self, name: &str, size: u32) -> TypeId {
        self.record(name, Kind::Float, 0, false, size)
    }

    /// Adds a PTR.
    pub fn pointer(&mut self, target: TypeId) -> TypeId {
        self.record("", Kind::Ptr, 0, false, target.0)
    }

    /// Adds an ARRAY of one dimension.
    pub fn array(&mut self, element: TypeId, index: TypeId, nelems: u32) -> TypeId {
        let id = self.record("", Kind::Array, 0, false, 0);
        self.words(&[element.0, index.0, nelems]);
        id
    }

    /// Adds a STRUCT without bitfields: name, type and offset in bits of each member.
    pub fn structure(&mut self, name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        self.composite(Kind::Struct, name, size, &without_bitfields(members))
    }

    /// Adds a UNION without bitfields.
    pub fn union(&mut self, name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        self.composite(Kind::Union, name, size, &without_bitfields(members))
    }

    /// Adds a STRUCT or UNION, with the kflag if any member is a bitfield.
    pub fn composite(&mut self, kind: Kind, name: &str, size: u32, members: &[BuiltMember<'_>]) -> TypeId {
        let kflag = members.iter().any(|m| m.bitfield_bits > 0);
        let id = self.record(name, kind, members.len(), kflag, size);
        for m in members {
            let name = self.string(m.name);
            let offset = if kflag {
                (u32::from(m.bitfield_bits) << 24) | (m.bit_offset & 0x00ff_ffff)
            } else {
                m.bit_offset
            };
            self.words(&[name.0, m.ty.0, offset]);
        }
        id
    }

    /// Adds a FWD of a STRUCT or UNION.
    pub fn forward(&mut self, name: &str, kind: Kind) -> TypeId {
        self.record(name, Kind::Fwd, 0, kind == Kind::Union, 0)
    }

    /// Adds an ENUM with unsigned values, which are truncated to 32 bits.
    pub fn enumeration(&mut self, name: &str, size: u32, enumerators: &[(&str, i64)]) -> TypeId {
        self.enumeration_record(name, size, false, enumerators)
    }

    /// Adds an ENUM with signed values, which are truncated to 32 bits.
    pub fn signed_enumeration(&mut self, name: &str, size: u32, enumerators: &[(&str, i64)]) -> TypeId {
        self.enumeration_record(name, size, true, enumerators)
    }

    fn enumeration_record(
        &mut self,
        name: &str,
        size: u32,
        is_signed: bool,
        enumerators: &[(&str, i64)],
    ) -> TypeId {
        let id = self.record(name, Kind::Enum, enumerators.len(), is_signed, size);
        for (name, value) in enumerators {
            let name = self.string(name);
            self.words(&[name.0, low32(value.cast_unsigned())]);
        }
        id
    }

    /// Adds an ENUM64 with unsigned values.
    pub fn enumeration64(&mut self, name: &str, size: u32, enumerators: &[(&str, u64)]) -> TypeId {
        self.enumeration64_record(name, size, false, enumerators)
    }

    /// Adds an ENUM64 with signed values, as their bits.
    pub fn signed_enumeration64(&mut self, name: &str, size: u32, enumerators: &[(&str, u64)]) -> TypeId {
        self.enumeration64_record(name, size, true, enumerators)
    }

    fn enumeration64_record(
        &mut self,
        name: &str,
        size: u32,
        is_signed: bool,
        enumerators: &[(&str, u64)],
    ) -> TypeId {
        let id = self.record(name, Kind::Enum64, enumerators.len(), is_signed, size);
        for (name, value) in enumerators {
            let name = self.string(name);
            self.words(&[name.0, low32(*value), high32(*value)]);
        }
        id
    }

    /// Adds a TYPEDEF.
    pub fn typedef(&mut self, name: &str, target: TypeId) -> TypeId {
        self.record(name, Kind::Typedef, 0, false, target.0)
    }

    /// Adds a CONST, VOLATILE or RESTRICT.
    pub fn modifier(&mut self, kind: Kind, target: TypeId) -> TypeId {
        self.record("", kind, 0, false, target.0)
    }

    /// Adds a TYPE_TAG.
    pub fn type_tag(&mut self, name: &str, target: TypeId) -> TypeId {
        self.record(name, Kind::TypeTag, 0, false, target.0)
    }

    /// Adds a TYPE_TAG with the flag that GCC and newer clang set for other attributes than `btf_type_tag`.
    pub fn type_attribute(&mut self, name: &str, target: TypeId) -> TypeId {
        self.record(name, Kind::TypeTag, 0, true, target.0)
    }

    /// Adds a DECL_TAG on `target`, or on its member or parameter number `component` (-1 for `target`
    /// itself).
    pub fn decl_tag(&mut self, name: &str, target: TypeId, component: i32) -> TypeId {
        self.raw(
            name,
            BuiltRecord {
                size_or_type: target.0,
                words: &[component.cast_unsigned()],
                ..BuiltRecord::new(Kind::DeclTag)
            },
        )
    }

    /// Adds a DECL_TAG with the flag that GCC and newer clang set for other attributes than `btf_decl_tag`.
    pub fn decl_attribute(&mut self, name: &str, target: TypeId, component: i32) -> TypeId {
        self.raw(
            name,
            BuiltRecord {
                kflag: true,
                size_or_type: target.0,
                words: &[component.cast_unsigned()],
                ..BuiltRecord::new(Kind::DeclTag)
            },
        )
    }

    /// Adds a FUNC_PROTO that returns `ret`.
    pub fn func_proto(&mut self, ret: TypeId, params: &[(&str, TypeId)]) -> TypeId {
        let id = self.record("", Kind::FuncProto, params.len(), false, ret.0);
        for (name, ty) in params {
            let name = self.string(name);
            self.words(&[name.0, ty.0]);
        }
        id
    }

    /// Adds a FUNC; linkage 0 static, 1 global, 2 extern.
    pub fn func(&mut self, name: &str, proto: TypeId, linkage: u8) -> TypeId {
        self.record(name, Kind::Func, usize::from(linkage), false, proto.0)
    }

    /// Adds a VAR; linkage as for a FUNC.
    pub fn var(&mut self, name: &str, ty: TypeId, linkage: u32) -> TypeId {
        let id = self.record(name, Kind::Var, 0, false, ty.0);
        self.words(&[linkage]);
        id
    }

    /// Adds a DATASEC: type, offset and size in bytes of each variable.
    pub fn datasec(&mut self, name: impl AsRef<[u8]>, size: u32, vars: &[(TypeId, u32, u32)]) -> TypeId {
        let id = self.raw(
            name,
            BuiltRecord { vlen: to_u32(vars.len()), size_or_type: size, ..BuiltRecord::new(Kind::Datasec) },
        );
        for (ty, offset, size) in vars {
            self.words(&[ty.0, *offset, *size]);
        }
        id
    }

    /// Adds a record of any kind with any words after `struct btf_type`. The record is not validated.
    pub fn raw(&mut self, name: impl AsRef<[u8]>, record: BuiltRecord<'_>) -> TypeId {
        let BuiltRecord { kind, vlen, kflag, size_or_type, words } = record;
        let name = self.string_bytes(name.as_ref());
        let id = self.record_words(&[name.0, Info::new(kind, vlen, kflag).0, size_or_type]);
        self.words(words);
        id
    }

    /// Adds a string, unless it exists, and returns its offset.
    pub fn string(&mut self, s: &str) -> StrOffset {
        self.string_bytes(s.as_bytes())
    }

    /// Adds a string that need not be UTF-8, unless it exists, and returns its offset.
    pub fn string_bytes(&mut self, s: &[u8]) -> StrOffset {
        if s.is_empty() {
            return StrOffset(0);
        }
        if let Some(at) = self.known.get(s) {
            return *at;
        }
        let at = StrOffset(self.string_start.saturating_add(to_u32(self.strings.len())));
        self.strings.extend_from_slice(s);
        self.strings.push(0);
        self.known.insert(s.to_vec(), at);
        at
    }

    /// Returns the id of the next type.
    pub fn next_id(&self) -> TypeId {
        self.next_id
    }

    /// Returns the bytes of the BTF.
    pub fn finish(&self) -> Vec<u8> {
        let layout = self.layout.as_ref().map(|sizes| {
            sizes.iter().flat_map(|[fixed, element]| [*fixed, *element, 0, 0]).collect::<Vec<u8>>()
        });
        assemble(self.endian, &self.types, layout.as_deref(), &self.strings)
    }

    /// Returns the id of the first type, which follows those of the base.
    #[cfg(feature = "transform")]
    pub(super) fn first_id(&self) -> TypeId {
        self.first_id
    }

    /// Returns the length of the type section in bytes.
    #[cfg(feature = "transform")]
    pub(super) fn types_len(&self) -> usize {
        self.types.len()
    }

    fn record(&mut self, name: &str, kind: Kind, vlen: usize, kflag: bool, third: u32) -> TypeId {
        self.raw(
            name,
            BuiltRecord { vlen: to_u32(vlen), kflag, size_or_type: third, ..BuiltRecord::new(kind) },
        )
    }

    /// Adds a record of these words.
    pub(super) fn record_words(&mut self, words: &[u32]) -> TypeId {
        self.starts.push(to_u32(self.types.len()));
        self.words(words);
        let id = self.next_id;
        self.next_id = id.next();
        id
    }

    pub(super) fn kind(&self, id: TypeId) -> Option<Kind> {
        self.word(id, 1).map(|info| Info(info).kind())
    }

    /// Returns the offset of a word in the type section.
    fn offset_of(&self, id: TypeId, word: usize) -> Option<usize> {
        let start = self.starts.get(to_usize(id.0.checked_sub(self.first_id.0)?))?;
        word.checked_mul(4)?.checked_add(to_usize(*start))
    }

    pub(super) fn word(&self, id: TypeId, word: usize) -> Option<u32> {
        self.endian.u32(&self.types, self.offset_of(id, word)?)
    }

    pub(super) fn set_word(&mut self, id: TypeId, word: usize, value: u32) -> bool {
        let bytes = self.endian.u32_bytes(value);
        let word = self.offset_of(id, word).and_then(|at| self.types.get_mut(at..)?.first_chunk_mut::<4>());
        word.map(|word| *word = bytes).is_some()
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.endian.put_u32(&mut self.types, *word);
        }
    }
}

impl From<SecInfo> for (TypeId, u32, u32) {
    fn from(info: SecInfo) -> Self {
        (info.ty, info.offset, info.size)
    }
}

/// Returns members without bitfields.
fn without_bitfields<'a>(members: &[(&'a str, TypeId, u32)]) -> Vec<BuiltMember<'a>> {
    let member = |&(name, ty, bit_offset)| BuiltMember { name, ty, bit_offset, bitfield_bits: 0 };
    members.iter().map(member).collect()
}
