//! A view of a type, whose record is read in place.

use super::{
    elements::{ArrayInfo, Enumerator, IntInfo, Member, Param, SecInfo},
    error::WalkError,
};
use crate::{
    endian::{Endian, signed32},
    format::{Info, Kind, References},
    ids::{BitOffset, ByteSize, StrOffset, TypeId, to_usize},
    name::Name,
    parse::{Btf, starts_with_string},
};
use core::{fmt, ops::Range};

/// A view of a type.
#[derive(Clone, Copy)]
pub struct Type<'b> {
    btf: &'b Btf<'b>,
    id: TypeId,
    name_offset: StrOffset,
    info: Info,
    /// The third word of the record: a size, a type, or nothing.
    third_word: u32,
    /// The bytes after the record's first twelve, to the end of the type section.
    trailer: &'b [u8],
}

impl Btf<'_> {
    /// Returns the type with this id, the base's included. Id 0 is `void`.
    #[inline]
    pub fn ty(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type::void(self));
        }
        match self.own_index(id) {
            None => self.base()?.ty(id),
            Some(own_index) => Type::from_section(self, self.types_section(), own_index),
        }
    }

    /// Returns the own types in order of id, without `void` and the base's types.
    pub fn types(&self) -> impl Iterator<Item = Type<'_>> {
        let types = self.types_section();
        (0..self.table.len()).map_while(move |own_index| Type::from_section(self, types, own_index))
    }

    /// Returns the types of the bases and the own types in order of id, without `void`.
    pub fn all_types(&self) -> impl Iterator<Item = Type<'_>> {
        (1..self.end_id().0).map_while(|id| self.ty(TypeId(id)))
    }
}

impl<'b> Type<'b> {
    /// Returns type 0.
    pub(crate) fn void<'d: 'b>(btf: &'b Btf<'d>) -> Self {
        Self { btf, id: TypeId::VOID, name_offset: StrOffset(0), info: Info(0), third_word: 0, trailer: &[] }
    }

    /// Returns the type with this own index; `types` is the type section of `btf`.
    #[inline]
    pub(crate) fn from_section<'d: 'b>(btf: &'b Btf<'d>, types: &'b [u8], own_index: usize) -> Option<Self> {
        let record = types.get(btf.table.offset(own_index, types.len())?..)?;
        Self::from_record(btf, btf.endian(), own_index, record)
    }

    /// Returns the type with this own index, whose record is at the start of `record`; `endian` is the byte
    /// order of `btf`.
    #[inline]
    pub(crate) fn from_record<'d: 'b>(
        btf: &'b Btf<'d>,
        endian: Endian,
        own_index: usize,
        record: &'b [u8],
    ) -> Option<Self> {
        let id = btf.id_at(own_index);
        let (common, trailer) = record.split_first_chunk::<12>()?;
        let [n0, n1, n2, n3, i0, i1, i2, i3, t0, t1, t2, t3] = *common;
        Some(Self {
            btf,
            id,
            name_offset: StrOffset(endian.word([n0, n1, n2, n3])),
            info: Info(endian.word([i0, i1, i2, i3])),
            third_word: endian.word([t0, t1, t2, t3]),
            trailer,
        })
    }

    /// Returns the BTF that contains the type. Ids in the record are ids of this BTF.
    pub fn btf(self) -> &'b Btf<'b> {
        self.btf
    }

    /// Returns the type's id.
    pub fn id(self) -> TypeId {
        self.id
    }

    /// Returns the type's kind.
    pub fn kind(self) -> Kind {
        self.info.kind()
    }

    /// Returns the type's name, empty if anonymous.
    #[inline]
    pub fn name(self) -> Name<'b> {
        self.btf.checked_name(self.name_offset)
    }

    /// Returns the offset of the type's name.
    pub fn name_offset(self) -> StrOffset {
        self.name_offset
    }

    /// Returns the number of members, enumerators, parameters or variables, or the linkage of a FUNC.
    pub fn vlen(self) -> u32 {
        self.info.vlen()
    }

    /// Returns the record's kflag: a composite has bitfields, a FWD is a union, an enum is signed, a tag is
    /// an attribute.
    pub fn kflag(self) -> bool {
        self.info.kflag()
    }

    /// Returns the record's third word.
    pub fn size_or_type(self) -> u32 {
        self.third_word
    }

    /// Returns the size in the record of an INT, FLOAT, composite, enum or DATASEC.
    #[inline]
    pub fn size(self) -> Option<ByteSize> {
        matches!(
            self.kind(),
            Kind::Int | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Datasec | Kind::Float
        )
        .then_some(ByteSize(self.third_word))
    }

    /// Returns the type to which a PTR, TYPEDEF, modifier, FUNC, VAR or tag refers, or the return type of a
    /// FUNC_PROTO.
    #[inline]
    pub fn target(self) -> Option<TypeId> {
        self.kind().has_target().then_some(TypeId(self.third_word))
    }

    /// Returns the element type and the length of an ARRAY.
    #[inline]
    pub fn array(self) -> Option<ArrayInfo> {
        if self.kind() != Kind::Array {
            return None;
        }
        Some(ArrayInfo {
            element: TypeId(self.word(0)?),
            index: TypeId(self.word(4)?),
            nelems: self.word(8)?,
        })
    }

    /// Returns the encoding of an INT.
    pub fn int(self) -> Option<IntInfo> {
        if self.kind() != Kind::Int {
            return None;
        }
        let [encoding, offset, _, bits] = Endian::Big.u32_bytes(self.word(0)?);
        Some(IntInfo { encoding: encoding & 0xf, offset, bits })
    }

    /// Returns the linkage of a VAR or FUNC: 0 static, 1 global, 2 extern.
    pub fn linkage(self) -> Option<u32> {
        match self.kind() {
            Kind::Var => self.word(0),
            Kind::Func => Some(self.vlen()),
            _ => None,
        }
    }

    /// Returns the name of the linkage in bpftool's raw dump.
    #[cfg(any(feature = "serde", feature = "text"))]
    pub(crate) fn linkage_name(self) -> &'static str {
        match self.linkage() {
            Some(0) => "static",
            Some(1) => "global",
            Some(2) => "extern",
            _ => "(unknown)",
        }
    }

    /// Returns the index of the member or parameter that a DECL_TAG marks, or -1 for the declaration itself.
    pub fn component_index(self) -> Option<i32> {
        if self.kind() != Kind::DeclTag {
            return None;
        }
        self.word(0).map(signed32)
    }

    /// Returns the members of a struct or union; other kinds have none.
    #[inline]
    pub fn members(self) -> Members<'b> {
        Members { ty: self, next: 0, end: if self.kind().is_composite() { self.vlen() } else { 0 } }
    }

    /// Returns the member at this index.
    #[inline]
    pub fn member(self, index: u32) -> Option<Member<'b>> {
        if !self.kind().is_composite() || index >= self.vlen() {
            return None;
        }
        let at = to_usize(index).checked_mul(12)?;
        let name_offset = StrOffset(self.word(at)?);
        let offset = self.word(at.checked_add(8)?)?;
        let (bit_offset, bitfield_bits) =
            if self.kflag() { (offset & 0x00ff_ffff, offset >> 24) } else { (offset, 0) };
        Some(Member {
            index,
            name: self.btf.checked_name(name_offset),
            name_offset,
            ty: TypeId(self.word(at.checked_add(4)?)?),
            bit_offset: BitOffset(bit_offset),
            bitfield_bits,
        })
    }

    /// Returns the first of these members that is called `name`, is anonymous, or has a name that does not
    /// exist.
    ///
    /// Members with other names are skipped by their first byte.
    pub fn next_member(self, range: Range<u32>, name: &[u8]) -> Option<Member<'b>> {
        if !self.kind().is_composite() {
            return None;
        }
        let (strings, endian) = (self.btf.strings(), self.btf.endian());
        let (from, to) = (range.start, range.end.min(self.vlen()));
        let members = self.trailer.as_chunks::<12>().0.get(to_usize(from)..to_usize(to))?;
        let may_match = |raw: &[u8; 12]| {
            let [n0, n1, n2, n3, ..] = *raw;
            let Some(rest) = strings.tail(StrOffset(endian.word([n0, n1, n2, n3]))) else { return true };
            match rest.first() {
                Some(0) => true,
                first => first == name.first() && starts_with_string(rest, name),
            }
        };
        let (_, index) = members.iter().zip(from..).find(|(raw, _)| may_match(raw))?;
        self.member(index)
    }

    /// Returns the enumerators of an ENUM or ENUM64; other kinds have none.
    #[inline]
    pub fn enumerators(self) -> Enumerators<'b> {
        Enumerators { ty: self, next: 0, end: if self.kind().is_enum() { self.vlen() } else { 0 } }
    }

    /// Returns the enumerator at this index.
    pub fn enumerator(self, index: u32) -> Option<Enumerator<'b>> {
        if !self.kind().is_enum() || index >= self.vlen() {
            return None;
        }
        let wide = self.kind() == Kind::Enum64;
        let at = to_usize(index).checked_mul(if wide { 12 } else { 8 })?;
        let name_offset = StrOffset(self.word(at)?);
        let low = self.word(at.checked_add(4)?)?;
        let value = if wide {
            (u64::from(self.word(at.checked_add(8)?)?) << 32) | u64::from(low)
        } else {
            i64::from(signed32(low)).cast_unsigned()
        };
        let name = self.btf.checked_name(name_offset);
        Some(Enumerator { index, name, name_offset, value, signed: self.kflag(), wide })
    }

    /// Returns the parameters of a FUNC_PROTO; other kinds have none.
    pub fn params(self) -> Params<'b> {
        Params { ty: self, next: 0, end: if self.kind() == Kind::FuncProto { self.vlen() } else { 0 } }
    }

    /// Returns the parameter at this index.
    pub fn param(self, index: u32) -> Option<Param<'b>> {
        if self.kind() != Kind::FuncProto || index >= self.vlen() {
            return None;
        }
        let at = to_usize(index).checked_mul(8)?;
        let name_offset = StrOffset(self.word(at)?);
        let ty = TypeId(self.word(at.checked_add(4)?)?);
        Some(Param { name: self.btf.checked_name(name_offset), name_offset, ty })
    }

    /// Returns the variables of a DATASEC; other kinds have none.
    pub fn secinfos(self) -> SecInfos<'b> {
        SecInfos { ty: self, next: 0, end: if self.kind() == Kind::Datasec { self.vlen() } else { 0 } }
    }

    /// Returns the variable at this index.
    pub fn secinfo(self, index: u32) -> Option<SecInfo> {
        if self.kind() != Kind::Datasec || index >= self.vlen() {
            return None;
        }
        let at = to_usize(index).checked_mul(12)?;
        Some(SecInfo {
            ty: TypeId(self.word(at)?),
            offset: self.word(at.checked_add(4)?)?,
            size: self.word(at.checked_add(8)?)?,
        })
    }

    /// Returns an error if the `name` of an element is empty because its offset lies outside the strings.
    #[inline]
    pub fn check_element_name(self, name: Name<'_>, at: StrOffset) -> Result<(), WalkError> {
        if name.is_empty() && at.0 != 0 && self.btf.name(at).is_none() {
            return Err(WalkError::NoName { ty: self.id, offset: at.0 });
        }
        Ok(())
    }

    /// Calls `visit` with each type id in the record. The references of a type of unknown kind are not known.
    pub fn for_each_reference(self, mut visit: impl FnMut(TypeId)) {
        let Some(layout) = self.kind().layout() else { return };
        let trailer = self.trailer.as_chunks::<4>().0;
        let record_words = to_usize(layout.size().record_len(self.vlen()) / 4);
        for index in References::new(self.kind(), record_words).ids() {
            match index.checked_sub(3).map(|index| trailer.get(index)) {
                None => visit(TypeId(self.third_word)),
                Some(Some(word)) => visit(TypeId(self.btf.endian().word(*word))),
                Some(None) => {}
            }
        }
    }

    /// Returns the record's second word.
    #[cfg(feature = "transform")]
    pub(crate) fn info(self) -> u32 {
        self.info.0
    }

    /// Returns the bytes after the record's first twelve, to the end of the type section.
    #[cfg(feature = "transform")]
    #[inline]
    pub(crate) fn trailer(self) -> &'b [u8] {
        self.trailer
    }

    #[inline]
    fn word(self, at: usize) -> Option<u32> {
        self.btf.endian().u32(self.trailer, at)
    }
}

impl fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {} '{}'", self.id, self.kind(), self.name())
    }
}

macro_rules! elements {
    ($($(#[$doc:meta])* $name:ident, $item:ty, $get:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'b> {
            ty: Type<'b>,
            next: u32,
            end: u32,
        }

        impl<'b> Iterator for $name<'b> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                if self.next >= self.end {
                    return None;
                }
                let item = self.ty.$get(self.next);
                self.next = self.next.saturating_add(1);
                item
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = to_usize(self.end.saturating_sub(self.next));
                (left, Some(left))
            }
        }

        impl ExactSizeIterator for $name<'_> {}
    )*};
}

elements! {
    /// The members of a composite, in order.
    Members, Member<'b>, member;
    /// The enumerators of an enum, in order.
    Enumerators, Enumerator<'b>, enumerator;
    /// The parameters of a function, in order.
    Params, Param<'b>, param;
    /// The variables of a section, in order.
    SecInfos, SecInfo, secinfo;
}
