//! A type's record, read where it lies.

use super::{ArrayInfo, Btf, IntInfo, Kind, Member, Param, SecInfo, Variant, WalkError, kind::Info, strings};
use crate::{
    endian::{Endian, signed32},
    ids::{BitOffset, ByteSize, StrOffset, TypeId, to_usize},
    name::Name,
};
use core::{fmt, ops::Range};

/// A view of one type.
#[derive(Clone, Copy)]
pub struct Type<'b> {
    btf: &'b Btf<'b>,
    id: TypeId,
    name_offset: StrOffset,
    info: Info,
    third: u32,
    trailer: &'b [u8],
}

impl<'b> Type<'b> {
    /// Type 0.
    pub(crate) fn void<'d: 'b>(btf: &'b Btf<'d>) -> Self {
        Self { btf, id: TypeId::VOID, name_offset: StrOffset(0), info: Info(0), third: 0, trailer: &[] }
    }

    /// The record at `at` bytes into the data of `btf`.
    #[inline]
    pub(crate) fn at<'d: 'b>(btf: &'b Btf<'d>, id: TypeId, at: usize) -> Option<Self> {
        let record = btf.data.get(at..btf.header.types.end)?;
        Self::of(btf, btf.header.endian, id, record)
    }

    /// The record that `record` begins with; `e` is the byte order of `btf`.
    #[inline]
    pub(super) fn of<'d: 'b>(btf: &'b Btf<'d>, e: Endian, id: TypeId, record: &'b [u8]) -> Option<Self> {
        let (head, trailer) = record.split_first_chunk::<12>()?;
        let [n0, n1, n2, n3, i0, i1, i2, i3, t0, t1, t2, t3] = *head;
        Some(Self {
            btf,
            id,
            name_offset: StrOffset(e.word([n0, n1, n2, n3])),
            info: Info(e.word([i0, i1, i2, i3])),
            third: e.word([t0, t1, t2, t3]),
            trailer,
        })
    }

    /// The BTF through which the type was found; ids it refers to are that BTF's.
    pub fn btf(self) -> &'b Btf<'b> {
        self.btf
    }

    /// Its number.
    pub fn id(self) -> TypeId {
        self.id
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.info.kind()
    }

    /// Its name; empty if anonymous.
    pub fn name(self) -> Name<'b> {
        self.btf.name(self.name_offset).unwrap_or_default()
    }

    /// Where its name lies.
    pub fn name_offset(self) -> StrOffset {
        self.name_offset
    }

    /// Its number of members, enumerators, parameters or variables; a `FUNC`'s linkage.
    pub fn vlen(self) -> u32 {
        self.info.vlen()
    }

    /// The record's flag: bitfields in a composite, a union in a FWD, signed in an enum, an attribute in a tag.
    pub fn kflag(self) -> bool {
        self.info.kflag()
    }

    /// The record's third word, whatever it means.
    pub fn size_or_type(self) -> u32 {
        self.third
    }

    /// Its size in bytes if the record says so: INT, FLOAT, composites, enums, DATASEC.
    pub fn size(self) -> Option<ByteSize> {
        matches!(
            self.kind(),
            Kind::Int | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Datasec | Kind::Float
        )
        .then_some(ByteSize(self.third))
    }

    /// The one type it refers to: of a PTR, TYPEDEF, modifier, FUNC, VAR or tag; the return type of a FUNC_PROTO.
    pub fn target(self) -> Option<TypeId> {
        matches!(
            self.kind(),
            Kind::Ptr
                | Kind::Typedef
                | Kind::Volatile
                | Kind::Const
                | Kind::Restrict
                | Kind::Func
                | Kind::FuncProto
                | Kind::Var
                | Kind::DeclTag
                | Kind::TypeTag
        )
        .then_some(TypeId(self.third))
    }

    /// Element and length, if it is an array.
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

    /// How it is encoded, if it is an INT.
    pub fn int(self) -> Option<IntInfo> {
        if self.kind() != Kind::Int {
            return None;
        }
        let [encoding, offset, _, bits] = Endian::Big.u32_bytes(self.word(0)?);
        Some(IntInfo { encoding: encoding & 0xf, offset, bits })
    }

    /// Linkage of a VAR or FUNC: 0 static, 1 global, 2 extern.
    pub fn linkage(self) -> Option<u32> {
        match self.kind() {
            Kind::Var => self.word(0),
            Kind::Func => Some(self.vlen()),
            _ => None,
        }
    }

    /// Which member or parameter a DECL_TAG is on; -1 for the declaration itself.
    pub fn component_index(self) -> Option<i32> {
        if self.kind() != Kind::DeclTag {
            return None;
        }
        self.word(0).map(signed32)
    }

    /// Members of a struct or union; nothing for other kinds.
    pub fn members(self) -> Members<'b> {
        Members { ty: self, next: 0, end: if self.kind().is_composite() { self.vlen() } else { 0 } }
    }

    /// The member of this number.
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
            name: self.btf.name(name_offset).unwrap_or_default(),
            name_offset,
            ty: TypeId(self.word(at.checked_add(4)?)?),
            bit_offset: BitOffset(bit_offset),
            bitfield_bits,
        })
    }

    /// The first of these members that bears `name`, or none, or one that does not exist. Of the others not even the length of the
    /// name is asked for.
    pub(crate) fn next_member(self, among: Range<u32>, name: &[u8]) -> Option<Member<'b>> {
        if !self.kind().is_composite() {
            return None;
        }
        let (strings, endian) = (self.btf.strings(), self.btf.header.endian);
        let (from, to) = (among.start, among.end.min(self.vlen()));
        let members = self.trailer.as_chunks::<12>().0.get(to_usize(from)..to_usize(to))?;
        let is_it = |raw: &[u8; 12]| {
            let [n0, n1, n2, n3, ..] = *raw;
            let Some(rest) = strings.tail(StrOffset(endian.word([n0, n1, n2, n3]))) else { return true };
            match rest.first() {
                Some(0) => true,
                first => first == name.first() && strings::is(rest, name),
            }
        };
        let (_, index) = members.iter().zip(from..).find(|(raw, _)| is_it(raw))?;
        self.member(index)
    }

    /// Enumerators of an ENUM or ENUM64; nothing for other kinds.
    pub fn variants(self) -> Variants<'b> {
        Variants { ty: self, next: 0, end: if self.kind().is_enum() { self.vlen() } else { 0 } }
    }

    /// The enumerator of this number.
    pub fn variant(self, index: u32) -> Option<Variant<'b>> {
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
        let name = self.btf.name(name_offset).unwrap_or_default();
        Some(Variant { index, name, name_offset, value, signed: self.kflag(), wide })
    }

    /// Parameters of a FUNC_PROTO; nothing for other kinds.
    pub fn params(self) -> Params<'b> {
        Params { ty: self, next: 0, end: if self.kind() == Kind::FuncProto { self.vlen() } else { 0 } }
    }

    /// The parameter of this number.
    pub fn param(self, index: u32) -> Option<Param<'b>> {
        if self.kind() != Kind::FuncProto || index >= self.vlen() {
            return None;
        }
        let at = to_usize(index).checked_mul(8)?;
        let name_offset = StrOffset(self.word(at)?);
        let ty = TypeId(self.word(at.checked_add(4)?)?);
        Some(Param { name: self.btf.name(name_offset).unwrap_or_default(), name_offset, ty })
    }

    /// Variables of a DATASEC; nothing for other kinds.
    pub fn secinfos(self) -> SecInfos<'b> {
        SecInfos { ty: self, next: 0, end: if self.kind() == Kind::Datasec { self.vlen() } else { 0 } }
    }

    /// The variable of this number.
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

    /// An error if `name`, which an element of it has at that offset, is empty because there is none.
    #[inline]
    pub(crate) fn check_element_name(self, name: Name<'_>, at: StrOffset) -> Result<(), WalkError> {
        if name.is_empty() && at.0 != 0 && self.btf.name(at).is_none() {
            return Err(WalkError::NoName { ty: self.id, offset: at.0 });
        }
        Ok(())
    }

    /// The record's second word.
    pub(super) fn info(self) -> u32 {
        self.info.0
    }

    /// The bytes after the record's first twelve, and whatever follows the record.
    #[inline]
    pub(super) fn trailer(self) -> &'b [u8] {
        self.trailer
    }

    #[inline]
    fn word(self, at: usize) -> Option<u32> {
        self.btf.header.endian.u32(self.trailer, at)
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
    Variants, Variant<'b>, variant;
    /// The parameters of a function, in order.
    Params, Param<'b>, param;
    /// The variables of a section, in order.
    SecInfos, SecInfo, secinfo;
}
