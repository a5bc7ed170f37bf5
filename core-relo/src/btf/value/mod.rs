//! Bytes read by their type: a walk that tells a visitor what a value consists of, and its text.
//!
//! Nothing here trusts either side: types may contain themselves, bytes may end early. A walk goes [`limits::VALUE_DEPTH`]
//! levels down and takes steps in proportion to the bytes; what lies beyond is [`Scalar::Omitted`].

mod bits;
mod scalar;
#[cfg(test)]
mod tests;
mod text;

pub use scalar::{EnumValue, Scalar};
pub use text::ValueText;

use super::{Btf, Extent, Kind, Type};
use crate::{
    ids::{TypeId, to_u32, to_usize},
    limits,
    name::Name,
};
use core::{fmt, ops::ControlFlow};

/// A value: a type, and the bytes of it in the byte order of its BTF.
#[derive(Clone, Copy, Debug)]
pub struct Value<'v> {
    btf: &'v Btf<'v>,
    ty: TypeId,
    bytes: &'v [u8],
}

/// Where in a value something is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Place<'v> {
    /// The name of the member or variable; empty of an anonymous member, an element, and the value itself.
    pub name: Name<'v>,
    /// Its number among elements of an array.
    pub index: Option<u32>,
    /// Its type as declared, typedefs and all.
    pub ty: TypeId,
    /// The BTF of that.
    pub btf: &'v Btf<'v>,
}

/// What consists of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// A struct's members.
    Struct,
    /// A union's members, all of them.
    Union,
    /// The variables of a data section.
    Section,
    /// The elements of an array.
    Array {
        /// How many the type has.
        len: u32,
        /// Whether they are structs, unions or arrays.
        of_groups: bool,
    },
}

/// What a value consists of, told in order.
pub trait Visit {
    /// What ends a walk early.
    type Error;

    /// Parts begin; they end with [`close`](Self::close).
    fn open(&mut self, at: &Place<'_>, group: Group) -> Result<(), Self::Error>;

    /// The parts of the last opened group are at their end.
    fn close(&mut self, group: Group) -> Result<(), Self::Error>;

    /// Something without parts.
    fn scalar(&mut self, at: &Place<'_>, scalar: Scalar<'_>) -> Result<(), Self::Error>;
}

impl<'d> Btf<'d> {
    /// `bytes` as a value of type `ty`: to print it, or to [visit](Value::visit) its parts.
    ///
    /// ```
    /// use core_relo::{Endian, btf::{Btf, Builder}};
    ///
    /// let mut b = Builder::new(Endian::Little);
    /// let int = b.int("int", 4, Builder::SIGNED);
    /// let char = b.int("char", 1, Builder::SIGNED);
    /// let comm = b.array(char, int, 4);
    /// let event = b.structure("event", 8, &[("pid", int, 0), ("comm", comm, 32)]);
    /// let btf = Btf::parse(b.finish()).unwrap();
    ///
    /// let value = btf.value(event, &[7, 0, 0, 0, b's', b'h', 0, 0]);
    /// assert_eq!(value.to_string(), r#"(struct event){.pid = (int)7, .comm = (char[4])"sh"}"#);
    /// assert_eq!(value.text().types(false).to_string(), r#"{.pid = 7, .comm = "sh"}"#);
    /// ```
    pub fn value<'v>(&'v self, ty: TypeId, bytes: &'v [u8]) -> Value<'v>
    where
        'd: 'v,
    {
        Value { btf: self, ty, bytes }
    }
}

impl<'v> Value<'v> {
    /// Tells `visitor` what the value consists of.
    pub fn visit<V: Visit>(&self, visitor: &mut V) -> Result<(), V::Error> {
        let place = Place { name: Name::default(), index: None, ty: self.ty, btf: self.btf };
        let of_bytes = to_u32(self.bytes.len()).saturating_mul(limits::VALUE_STEPS_PER_BYTE);
        let steps = limits::VALUE_STEPS.saturating_add(of_bytes);
        let mut walk = Walk { btf: self.btf, visitor, steps };
        walk.value(place, Bytes { data: self.bytes, extent: None }, limits::VALUE_DEPTH).map(drop)
    }

    /// The value as C writes it, with a choice of what to leave out.
    pub fn text(self) -> ValueText<'v> {
        ValueText::new(self)
    }

    /// Its type.
    pub fn ty(&self) -> TypeId {
        self.ty
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'v [u8] {
        self.bytes
    }
}

/// As [`text`](Value::text) with types: on one line, or with `{:#}` a member a line.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

/// Where a part lies: from the start of `data`, or for a bitfield at bits of it.
#[derive(Clone, Copy)]
struct Bytes<'v> {
    data: &'v [u8],
    extent: Option<Extent>,
}

struct Walk<'v, 'w, V> {
    btf: &'v Btf<'v>,
    visitor: &'w mut V,
    steps: u32,
}

/// Whether to go on; not after the last step.
type Went<E> = Result<ControlFlow<()>, E>;

impl<'v, V: Visit> Walk<'v, '_, V> {
    /// Takes steps as long as there are some.
    fn step(&mut self, n: u32) -> bool {
        let left = self.steps.checked_sub(n);
        self.steps = left.unwrap_or_default();
        left.is_some()
    }

    fn value(&mut self, at: Place<'v>, bytes: Bytes<'v>, depth: u32) -> Went<V::Error> {
        // A name costs what it takes to read and print it.
        if !self.step(to_u32(at.name.as_bytes().len() / 32).saturating_add(1)) {
            self.visitor.scalar(&at, Scalar::Omitted)?;
            return Ok(ControlFlow::Break(()));
        }
        let mut hops = 0;
        let stripped = self.btf.strip_in(at.ty, &mut hops);
        // Of a long array, each element's chain is gone through.
        self.steps = self.steps.saturating_sub(hops / 4);
        let Ok(ty) = stripped else {
            return self.scalar(&at, Scalar::Raw(bytes.data));
        };
        let Some(deeper) = depth.checked_sub(1) else {
            return self.scalar(&at, Scalar::Omitted);
        };
        match ty.kind() {
            Kind::Struct | Kind::Union => self.composite(&at, ty, bytes.data, deeper),
            Kind::Array => self.array(&at, ty, bytes.data, deeper),
            Kind::Datasec => self.section(&at, ty, bytes.data, deeper),
            Kind::Var => match ty.target() {
                Some(target) => self.value(Place { name: ty.name(), ty: target, ..at }, bytes, deeper),
                None => self.scalar(&at, Scalar::Raw(bytes.data)),
            },
            _ => {
                // The name of an enumerator is searched for.
                self.steps = self.steps.saturating_sub(ty.vlen() / 64);
                self.scalar(&at, scalar::read(self.btf, ty, bytes.data, bytes.extent))
            }
        }
    }

    fn scalar(&mut self, at: &Place<'v>, scalar: Scalar<'_>) -> Went<V::Error> {
        self.visitor.scalar(at, scalar)?;
        Ok(ControlFlow::Continue(()))
    }

    fn composite(&mut self, at: &Place<'v>, ty: Type<'v>, data: &'v [u8], depth: u32) -> Went<V::Error> {
        let group = if ty.kind() == Kind::Union { Group::Union } else { Group::Struct };
        self.visitor.open(at, group)?;
        let mut went = ControlFlow::Continue(());
        for member in ty.members() {
            let place = Place { name: member.name, index: None, ty: member.ty, btf: self.btf };
            let extent = self.btf.member_extent(&member).ok();
            let bytes = match extent.filter(|e| e.is_bitfield) {
                Some(extent) => Bytes { data, extent: Some(extent) },
                None => Bytes {
                    data: self.part(member.ty, data, to_usize(member.bit_offset.0 / 8)),
                    extent: None,
                },
            };
            went = self.value(place, bytes, depth)?;
            if went.is_break() {
                break;
            }
        }
        self.visitor.close(group)?;
        Ok(went)
    }

    fn array(&mut self, at: &Place<'v>, ty: Type<'v>, data: &'v [u8], depth: u32) -> Went<V::Error> {
        let Some(array) = ty.array() else { return self.scalar(at, Scalar::Raw(data)) };
        let element = self.btf.strip(array.element).ok();
        if element.is_some_and(is_char) {
            let chars = data.get(..to_usize(array.nelems)).unwrap_or(data);
            // A string costs what it takes to print.
            self.steps = self.steps.saturating_sub(to_u32(chars.len() / 32));
            return self.scalar(at, Scalar::Text { bytes: chars, len: array.nelems });
        }
        let of_groups = element.is_some_and(|ty| ty.kind().is_composite() || ty.kind() == Kind::Array);
        let group = Group::Array { len: array.nelems, of_groups };
        self.visitor.open(at, group)?;
        let size = self.btf.size_of(array.element).map_or(0, |size| to_usize(size.0));
        let mut went = ControlFlow::Continue(());
        for index in 0..array.nelems {
            let place = Place { name: Name::default(), index: Some(index), ty: array.element, btf: self.btf };
            let start = to_usize(index).checked_mul(size);
            let part = start.and_then(|start| data.get(start..)).unwrap_or_default();
            if part.is_empty() && size > 0 {
                // Whatever follows is cut off as well.
                self.visitor.scalar(&place, Scalar::CutOff)?;
                break;
            }
            let part = part.get(..size).unwrap_or(part);
            went = self.value(place, Bytes { data: part, extent: None }, depth)?;
            if went.is_break() {
                break;
            }
        }
        self.visitor.close(group)?;
        Ok(went)
    }

    fn section(&mut self, at: &Place<'v>, ty: Type<'v>, data: &'v [u8], depth: u32) -> Went<V::Error> {
        self.visitor.open(at, Group::Section)?;
        let mut went = ControlFlow::Continue(());
        for info in ty.secinfos() {
            let rest = data.get(to_usize(info.offset)..).unwrap_or_default();
            let part = rest.get(..to_usize(info.size)).unwrap_or(rest);
            let name = self.btf.ty(info.ty).map(Type::name).unwrap_or_default();
            let place = Place { name, index: None, ty: info.ty, btf: self.btf };
            went = self.value(place, Bytes { data: part, extent: None }, depth)?;
            if went.is_break() {
                break;
            }
        }
        self.visitor.close(Group::Section)?;
        Ok(went)
    }

    /// The bytes of a part of type `ty`, fewer if they end early.
    fn part(&self, ty: TypeId, data: &'v [u8], start: usize) -> &'v [u8] {
        let rest = data.get(start..).unwrap_or_default();
        match self.btf.size_of(ty) {
            Ok(size) => rest.get(..to_usize(size.0)).unwrap_or(rest),
            Err(_) => rest,
        }
    }
}

/// Whether an array of this is a string: `char`, signed or not; `unsigned char` is a byte, unless the compiler says CHAR.
fn is_char(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| {
        let named = ty.name().as_bytes() == b"char" || int.encoding & super::IntInfo::CHAR != 0;
        named && int.bits == 8 && int.offset == 0 && ty.size_or_type() == 1
    })
}
