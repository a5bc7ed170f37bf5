//! Writes BTF of every kind, in either byte order.

use super::{Btf, Kind, SecInfo, header::MAGIC, kind::Info};
use crate::{
    endian::{Endian, high32, low32},
    ids::{StrOffset, TypeId, to_u32, to_usize},
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// Makes a BTF type by type; each method returns the new type's id.
///
/// A type may be referred to before it is made: ids are given out in order, from 1 or from where the base ends.
///
/// ```
/// use core_relo::{btf::{Btf, Builder}, Endian};
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
    /// Where each record begins in `types`.
    starts: Vec<u32>,
    strings: Vec<u8>,
    known: HashMap<Vec<u8>, StrOffset>,
    layout: Option<Vec<[u8; 2]>>,
}

/// A member for [`Builder::composite`].
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "written out by callers; the record holds no more")]
pub struct BuiltMember<'a> {
    /// Its name; empty for an anonymous member.
    pub name: &'a str,
    /// Its type.
    pub ty: TypeId,
    /// Its offset in bits.
    pub bit_offset: u32,
    /// Its width in bits, 0 if it is no bitfield.
    pub bitfield_bits: u8,
}

impl Builder {
    /// Encoding of a signed integer.
    pub const SIGNED: u8 = 1;
    /// Encoding of a character.
    pub const CHAR: u8 = 2;
    /// Encoding of a `_Bool`.
    pub const BOOL: u8 = 4;

    /// A BTF of its own.
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

    /// A BTF split from `base`.
    pub fn split(base: &Btf<'_>) -> Self {
        Self {
            next_id: base.end_id(),
            first_id: base.end_id(),
            string_start: base.string_end(),
            strings: Vec::new(),
            ..Self::new(base.endian())
        }
    }

    /// Another one that has these strings, where they lie here, and no types.
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

    /// Adds the layout section (header of 32 bytes): `fixed` and `each` bytes for each kind, in order of their number.
    pub fn layout(&mut self, entries: &[[u8; 2]]) -> &mut Self {
        self.layout = Some(entries.to_vec());
        self
    }

    /// An INT of `size` bytes.
    pub fn int(&mut self, name: &str, size: u32, encoding: u8) -> TypeId {
        let bits = u8::try_from(size.saturating_mul(8)).unwrap_or(u8::MAX);
        self.legacy_bitfield(name, size, encoding, 0, bits)
    }

    /// An INT whose value is `bits` wide, `offset` bits into its storage: how bitfields were told before Linux 5.0.
    pub fn legacy_bitfield(&mut self, name: &str, size: u32, encoding: u8, offset: u8, bits: u8) -> TypeId {
        let id = self.record(name, Kind::Int, 0, false, size);
        let word = (u32::from(encoding) << 24) | (u32::from(offset) << 16) | u32::from(bits);
        self.words(&[word]);
        id
    }

    /// A FLOAT of `size` bytes.
    pub fn float(&mut self, name: &str, size: u32) -> TypeId {
        self.record(name, Kind::Float, 0, false, size)
    }

    /// A PTR.
    pub fn pointer(&mut self, target: TypeId) -> TypeId {
        self.record("", Kind::Ptr, 0, false, target.0)
    }

    /// An ARRAY of one dimension.
    pub fn array(&mut self, element: TypeId, index: TypeId, nelems: u32) -> TypeId {
        let id = self.record("", Kind::Array, 0, false, 0);
        self.words(&[element.0, index.0, nelems]);
        id
    }

    /// A STRUCT without bitfields: name, type and offset in bits of each member.
    pub fn structure(&mut self, name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        self.composite(Kind::Struct, name, size, &plain(members))
    }

    /// A UNION without bitfields.
    pub fn union(&mut self, name: &str, size: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        self.composite(Kind::Union, name, size, &plain(members))
    }

    /// A STRUCT or UNION; the record's flag is set if any member is a bitfield.
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

    /// A FWD: of a union if `is_union`, else of a struct.
    pub fn forward(&mut self, name: &str, is_union: bool) -> TypeId {
        self.record(name, Kind::Fwd, 0, is_union, 0)
    }

    /// An ENUM; values are cut to 32 bits.
    pub fn enumeration(&mut self, name: &str, size: u32, signed: bool, variants: &[(&str, i64)]) -> TypeId {
        let id = self.record(name, Kind::Enum, variants.len(), signed, size);
        for (name, value) in variants {
            let name = self.string(name);
            self.words(&[name.0, low32(value.cast_unsigned())]);
        }
        id
    }

    /// An ENUM64.
    pub fn enumeration64(&mut self, name: &str, size: u32, signed: bool, variants: &[(&str, u64)]) -> TypeId {
        let id = self.record(name, Kind::Enum64, variants.len(), signed, size);
        for (name, value) in variants {
            let name = self.string(name);
            self.words(&[name.0, low32(*value), high32(*value)]);
        }
        id
    }

    /// A TYPEDEF.
    pub fn typedef(&mut self, name: &str, target: TypeId) -> TypeId {
        self.record(name, Kind::Typedef, 0, false, target.0)
    }

    /// A CONST, VOLATILE or RESTRICT.
    pub fn modifier(&mut self, kind: Kind, target: TypeId) -> TypeId {
        self.record("", kind, 0, false, target.0)
    }

    /// A TYPE_TAG; `attribute` is the flag that GCC and newer clang set for other attributes.
    pub fn type_tag(&mut self, name: &str, target: TypeId, attribute: bool) -> TypeId {
        self.record(name, Kind::TypeTag, 0, attribute, target.0)
    }

    /// A DECL_TAG on `target`, or on its member or parameter number `component` (-1: on itself).
    pub fn decl_tag(&mut self, name: &str, target: TypeId, component: i32, attribute: bool) -> TypeId {
        let id = self.record(name, Kind::DeclTag, 0, attribute, target.0);
        self.words(&[component.cast_unsigned()]);
        id
    }

    /// A FUNC_PROTO returning `ret`.
    pub fn func_proto(&mut self, ret: TypeId, params: &[(&str, TypeId)]) -> TypeId {
        let id = self.record("", Kind::FuncProto, params.len(), false, ret.0);
        for (name, ty) in params {
            let name = self.string(name);
            self.words(&[name.0, ty.0]);
        }
        id
    }

    /// A FUNC; linkage 0 static, 1 global, 2 extern.
    pub fn func(&mut self, name: &str, proto: TypeId, linkage: u8) -> TypeId {
        self.record(name, Kind::Func, usize::from(linkage), false, proto.0)
    }

    /// A VAR; linkage as for a function.
    pub fn var(&mut self, name: &str, ty: TypeId, linkage: u32) -> TypeId {
        let id = self.record(name, Kind::Var, 0, false, ty.0);
        self.words(&[linkage]);
        id
    }

    /// A DATASEC: type, offset and size in bytes of each variable.
    pub fn datasec(&mut self, name: impl AsRef<[u8]>, size: u32, vars: &[(TypeId, u32, u32)]) -> TypeId {
        let id = self.raw(name, Kind::Datasec, to_u32(vars.len()), false, size, &[]);
        for (ty, offset, size) in vars {
            self.words(&[ty.0, *offset, *size]);
        }
        id
    }

    /// A record of any kind, trailing words and all: also what no compiler would write.
    pub fn raw(
        &mut self,
        name: impl AsRef<[u8]>,
        kind: Kind,
        vlen: u32,
        kflag: bool,
        third: u32,
        trailer: &[u32],
    ) -> TypeId {
        let name = self.string_bytes(name.as_ref());
        let id = self.record_words(&[name.0, Info::new(kind, vlen, kflag).0, third]);
        self.words(trailer);
        id
    }

    /// Puts a string into the string section, once, and tells where it lies.
    pub fn string(&mut self, s: &str) -> StrOffset {
        self.string_bytes(s.as_bytes())
    }

    /// As [`string`](Self::string), for names that are no UTF-8.
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

    /// The id the next type will have.
    pub fn next_id(&self) -> TypeId {
        self.next_id
    }

    /// The finished BTF.
    pub fn finish(&self) -> Vec<u8> {
        let layout: Vec<u8> =
            self.layout.iter().flatten().flat_map(|[fixed, each]| [*fixed, *each, 0, 0]).collect();
        let header_len: u32 = if self.layout.is_some() { 32 } else { 24 };
        let (types, strings) = (to_u32(self.types.len()), to_u32(self.strings.len()));
        // The layout lies between types and strings, where its words are aligned.
        let strings_at = types.saturating_add(to_u32(layout.len()));
        let mut out = Vec::new();
        self.endian.put_u16(&mut out, MAGIC);
        out.extend_from_slice(&[1, 0]);
        let mut words = Vec::from([header_len, 0, types, strings_at, strings]);
        if self.layout.is_some() {
            words.extend_from_slice(&[types, to_u32(layout.len())]);
        }
        for word in words {
            self.endian.put_u32(&mut out, word);
        }
        out.extend_from_slice(&self.types);
        out.extend_from_slice(&layout);
        out.extend_from_slice(&self.strings);
        out
    }

    fn record(&mut self, name: &str, kind: Kind, vlen: usize, kflag: bool, third: u32) -> TypeId {
        self.raw(name, kind, to_u32(vlen), kflag, third, &[])
    }

    /// A record of these words, all of them or its first ones.
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

    /// Where a word of a record lies in the types.
    fn place(&self, id: TypeId, word: usize) -> Option<usize> {
        let start = self.starts.get(to_usize(id.0.checked_sub(self.first_id.0)?))?;
        word.checked_mul(4)?.checked_add(to_usize(*start))
    }

    pub(super) fn word(&self, id: TypeId, word: usize) -> Option<u32> {
        self.endian.u32(&self.types, self.place(id, word)?)
    }

    pub(super) fn set_word(&mut self, id: TypeId, word: usize, value: u32) -> bool {
        let bytes = self.endian.u32_bytes(value);
        let place = self.place(id, word).and_then(|at| self.types.get_mut(at..)?.first_chunk_mut::<4>());
        place.map(|place| *place = bytes).is_some()
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

fn plain<'a>(members: &[(&'a str, TypeId, u32)]) -> Vec<BuiltMember<'a>> {
    let member = |&(name, ty, bit_offset)| BuiltMember { name, ty, bit_offset, bitfield_bits: 0 };
    members.iter().map(member).collect()
}
