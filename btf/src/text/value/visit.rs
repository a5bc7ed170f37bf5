//! Visits of the parts of a value.
//!
//! Types may contain themselves, and bytes may end early. A visit goes [`limits::VALUE_DEPTH`] levels down,
//! and takes a number of steps in proportion to the bytes. Deeper and further parts are [`Scalar::Omitted`].

use super::scalar::{self, LongDouble, Scalar};
use crate::{
    data::rest_from,
    format::Kind,
    ids::{TypeId, to_u32, to_usize},
    limits,
    name::Name,
    parse::Btf,
    view::{Extent, IntInfo, Type},
};
use core::ops::ControlFlow;

/// A value: a type, and bytes in the byte order of its BTF.
#[derive(Clone, Copy, Debug)]
pub struct Value<'v> {
    btf: &'v Btf<'v>,
    ty: TypeId,
    bytes: &'v [u8],
    long_double: LongDouble,
}

/// The location of a part in a value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ValueLocation<'v> {
    /// The name of a member or variable. Anonymous members, elements, and the value itself have no name.
    pub name: Name<'v>,
    /// The index of an element in its array.
    pub index: Option<u32>,
    /// The declared type, with typedefs and modifiers.
    pub ty: TypeId,
    /// The BTF of the type.
    pub btf: &'v Btf<'v>,
}

/// A kind of value that consists of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aggregate {
    /// A struct's members.
    Struct,
    /// All members of a union.
    Union,
    /// The variables of a data section.
    Section,
    /// The elements of an array.
    Array {
        /// The number of elements in the type. For a flexible array, the number of elements in the bytes.
        len: u32,
        /// Whether the elements are structs, unions or arrays.
        of_aggregates: bool,
    },
}

/// A visitor of the parts of a value, in order.
pub trait ValueVisitor {
    /// An error that ends the visit.
    type Error;

    /// Begins an aggregate. Its parts follow until [`close`](Self::close).
    fn open(&mut self, location: &ValueLocation<'_>, aggregate: Aggregate) -> Result<(), Self::Error>;

    /// Ends the aggregate that was opened last.
    fn close(&mut self, aggregate: Aggregate) -> Result<(), Self::Error>;

    /// Visits a scalar value.
    fn scalar(&mut self, location: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Self::Error>;
}

impl<'d> Btf<'d> {
    /// Returns `bytes` as a value of type `ty`, to print or to [visit](Value::visit).
    ///
    /// ```
    /// use core_relo_btf::{Btf, Builder, Endian};
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
        Value { btf: self, ty, bytes, long_double: LongDouble::default() }
    }
}

impl<'v> Value<'v> {
    /// Sets the format of floating-point numbers with more than 8 bytes. By default, it is unknown, and they
    /// are [`Scalar::Raw`].
    #[must_use]
    pub fn long_double(mut self, format: LongDouble) -> Self {
        self.long_double = format;
        self
    }

    /// Calls `visitor` with the parts of the value.
    pub fn visit<V: ValueVisitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        let location = ValueLocation { name: Name::default(), index: None, ty: self.ty, btf: self.btf };
        let of_bytes = to_u32(self.bytes.len()).saturating_mul(limits::VALUE_STEPS_PER_BYTE);
        let steps = limits::VALUE_STEPS.saturating_add(of_bytes);
        let mut walk = Walk { btf: self.btf, visitor, steps, long_double: self.long_double };
        walk.value(location, Bytes { data: self.bytes, extent: None }, limits::VALUE_DEPTH).map(drop)
    }

    /// Returns the BTF of the type.
    pub fn btf(&self) -> &'v Btf<'v> {
        self.btf
    }

    /// Returns the type.
    pub fn ty(&self) -> TypeId {
        self.ty
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &'v [u8] {
        self.bytes
    }
}

/// The bytes of a part, or the bytes and the bits of a bitfield.
#[derive(Clone, Copy)]
struct Bytes<'v> {
    data: &'v [u8],
    extent: Option<Extent>,
}

struct Walk<'v, 'w, V> {
    btf: &'v Btf<'v>,
    visitor: &'w mut V,
    steps: u32,
    long_double: LongDouble,
}

/// The result of visiting a part: continue, or stop after the last step.
type Visited<E> = Result<ControlFlow<()>, E>;

impl<'v, V: ValueVisitor> Walk<'v, '_, V> {
    /// Takes `n` steps. Returns `false` if fewer were left; the visit then ends.
    fn step(&mut self, n: u32) -> bool {
        let left = self.steps.checked_sub(n);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    fn value(&mut self, location: ValueLocation<'v>, bytes: Bytes<'v>, depth: u32) -> Visited<V::Error> {
        // The steps for a name grow with its length.
        if !self.step(to_u32(location.name.as_bytes().len() / 32).saturating_add(1)) {
            self.visitor.scalar(&location, Scalar::Omitted)?;
            return Ok(ControlFlow::Break(()));
        }
        let mut hops = 0;
        let stripped = self.btf.strip_counting(location.ty, &mut hops);
        // Each element of a long array skips the same chain of modifiers.
        self.steps = self.steps.saturating_sub(hops / 4);
        let Ok(ty) = stripped else {
            return self.scalar(&location, Scalar::Raw(bytes.data));
        };
        let Some(deeper) = depth.checked_sub(1) else {
            return self.scalar(&location, Scalar::Omitted);
        };
        match ty.kind() {
            Kind::Struct | Kind::Union => self.composite(&location, ty, bytes.data, deeper),
            Kind::Array => self.array(&location, ty, bytes.data, deeper),
            Kind::Datasec => self.section(&location, ty, bytes.data, deeper),
            Kind::Var => match ty.target() {
                Some(target) => {
                    self.value(ValueLocation { name: ty.name(), ty: target, ..location }, bytes, deeper)
                }
                None => self.scalar(&location, Scalar::Raw(bytes.data)),
            },
            _ => {
                // The name of an enumerator is searched for.
                self.steps = self.steps.saturating_sub(ty.vlen() / 64);
                let scalar = scalar::read(self.btf, ty, bytes.data, bytes.extent, self.long_double);
                if let Scalar::Enum(value) = scalar {
                    self.steps = self.steps.saturating_sub(to_u32(value.name_bytes() / 32));
                }
                self.scalar(&location, scalar)
            }
        }
    }

    fn scalar(&mut self, location: &ValueLocation<'v>, scalar: Scalar<'_>) -> Visited<V::Error> {
        self.visitor.scalar(location, scalar)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Visits an aggregate and its parts. A part without bytes lies after the end of the data, and is the
    /// last one.
    fn aggregate(
        &mut self,
        location: &ValueLocation<'v>,
        aggregate: Aggregate,
        parts: impl Iterator<Item = (ValueLocation<'v>, Option<Bytes<'v>>)>,
        depth: u32,
    ) -> Visited<V::Error> {
        self.visitor.open(location, aggregate)?;
        let mut flow = ControlFlow::Continue(());
        for (location, bytes) in parts {
            let Some(bytes) = bytes else {
                self.visitor.scalar(&location, Scalar::CutOff)?;
                break;
            };
            flow = self.value(location, bytes, depth)?;
            if flow.is_break() {
                break;
            }
        }
        self.visitor.close(aggregate)?;
        Ok(flow)
    }

    fn composite(
        &mut self,
        location: &ValueLocation<'v>,
        ty: Type<'v>,
        data: &'v [u8],
        depth: u32,
    ) -> Visited<V::Error> {
        let btf = self.btf;
        let aggregate = if ty.kind() == Kind::Union { Aggregate::Union } else { Aggregate::Struct };
        let has_more = ty.size().is_some_and(|size| data.len() > to_usize(size.0));
        let last = ty.vlen().checked_sub(1).filter(|_| has_more && aggregate == Aggregate::Struct);
        let members = (0u32..).zip(ty.members()).map(move |(index, member)| {
            let extent = btf.member_extent(&member).ok().filter(|extent| extent.is_bitfield);
            let data = match extent {
                Some(_) => data,
                // The bytes of a flexible array follow the struct.
                None if Some(index) == last && is_flexible_array(btf, member.ty) => {
                    rest_from(data, to_usize(member.bit_offset.0 / 8))
                }
                None => part(btf, member.ty, data, to_usize(member.bit_offset.0 / 8)),
            };
            let location = ValueLocation { name: member.name, index: None, ty: member.ty, btf };
            (location, Some(Bytes { data, extent }))
        });
        self.aggregate(location, aggregate, members, depth)
    }

    fn array(
        &mut self,
        location: &ValueLocation<'v>,
        ty: Type<'v>,
        data: &'v [u8],
        depth: u32,
    ) -> Visited<V::Error> {
        let btf = self.btf;
        let Some(array) = ty.array() else { return self.scalar(location, Scalar::Raw(data)) };
        let element = btf.strip(array.element).ok();
        let size = btf.size_of(array.element).map_or(0, |size| to_usize(size.0));
        // An array without elements is flexible: it has as many elements as there are bytes for.
        let len = match array.nelems {
            0 => to_u32(data.len().checked_div(size).unwrap_or(0)),
            len => len,
        };
        if element.is_some_and(is_char) {
            let chars = data.get(..to_usize(len)).unwrap_or(data);
            // The steps for a string grow with its length.
            self.steps = self.steps.saturating_sub(to_u32(chars.len() / 32));
            return self.scalar(location, Scalar::Text { bytes: chars, len });
        }
        let of_aggregates = element.is_some_and(|ty| ty.kind().is_composite() || ty.kind() == Kind::Array);
        let elements = (0..len).map(move |index| {
            let start = to_usize(index).checked_mul(size);
            let rest = start.map_or(&[][..], |start| rest_from(data, start));
            let is_cut_off = rest.is_empty() && size > 0;
            let bytes = Bytes { data: rest.get(..size).unwrap_or(rest), extent: None };
            let location =
                ValueLocation { name: Name::default(), index: Some(index), ty: array.element, btf };
            (location, (!is_cut_off).then_some(bytes))
        });
        self.aggregate(location, Aggregate::Array { len, of_aggregates }, elements, depth)
    }

    fn section(
        &mut self,
        location: &ValueLocation<'v>,
        ty: Type<'v>,
        data: &'v [u8],
        depth: u32,
    ) -> Visited<V::Error> {
        let btf = self.btf;
        let variables = ty.secinfos().map(move |info| {
            let rest = rest_from(data, to_usize(info.offset));
            let bytes = Bytes { data: rest.get(..to_usize(info.size)).unwrap_or(rest), extent: None };
            let name = btf.ty(info.ty).map_or(Name::new(b""), Type::name);
            (ValueLocation { name, index: None, ty: info.ty, btf }, Some(bytes))
        });
        self.aggregate(location, Aggregate::Section, variables, depth)
    }
}

/// Returns the bytes of a part of type `ty`, or fewer if the data ends early.
fn part<'v>(btf: &Btf<'_>, ty: TypeId, data: &'v [u8], start: usize) -> &'v [u8] {
    let rest = rest_from(data, start);
    match btf.size_of(ty) {
        Ok(size) => rest.get(..to_usize(size.0)).unwrap_or(rest),
        Err(_) => rest,
    }
}

/// Returns whether a type is an array without elements.
fn is_flexible_array(btf: &Btf<'_>, ty: TypeId) -> bool {
    btf.strip(ty).ok().and_then(Type::array).is_some_and(|array| array.nelems == 0)
}

/// Returns whether an array of this type is a string. `char` is a character; `unsigned char` is a byte,
/// unless its encoding is CHAR.
fn is_char(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| {
        let named = ty.name().as_bytes() == b"char" || int.encoding & IntInfo::CHAR != 0;
        named && int.bits == 8 && int.offset == 0 && ty.size_or_type() == 1
    })
}
