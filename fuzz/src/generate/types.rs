//! Generator of BTF: all kinds, split and distilled BTF, valid, cyclic and invalid references.

use super::{below, one_in};
use arbitrary::{Arbitrary, Result, Unstructured};
use core_relo::{
    TypeId,
    btf::{Btf, Builder, BuiltRecord, Kind},
};

/// Names that objects and targets share, so that records have candidates. Some names are flavours.
const NAMES: [&str; 20] = [
    "",
    "task_struct",
    "task_struct___v2",
    "mm_struct",
    "pid",
    "tgid",
    "flags",
    "comm",
    "int",
    "long unsigned int",
    "char",
    "a",
    "b",
    "c",
    "e",
    "E_ONE",
    "E_TWO",
    "pid_t",
    "tcp_congestion_ops",
    "a___b___c",
];

/// The generated kinds. Kinds that relocations use come first and occur several times.
const KINDS: [Kind; 25] = [
    Kind::Int,
    Kind::Struct,
    Kind::Ptr,
    Kind::Array,
    Kind::Union,
    Kind::Struct,
    Kind::Enum,
    Kind::Fwd,
    Kind::Typedef,
    Kind::Volatile,
    Kind::Const,
    Kind::Restrict,
    Kind::Func,
    Kind::FuncProto,
    Kind::Var,
    Kind::Datasec,
    Kind::Float,
    Kind::DeclTag,
    Kind::TypeTag,
    Kind::Enum64,
    Kind::Struct,
    Kind::Union,
    Kind::Int,
    Kind::Ptr,
    Kind::Array,
];

/// The kinds of a distilled base.
const DISTILLED: [Kind; 6] = [Kind::Int, Kind::Float, Kind::Enum, Kind::Struct, Kind::Union, Kind::Fwd];

/// The allowed targets of references.
#[derive(Clone, Copy, PartialEq, Eq)]
enum References {
    /// Earlier types only.
    Earlier,
    /// Any type, including the type itself.
    Any,
    /// Any type, and sometimes an id out of range.
    OutOfRange,
}

/// A generated type, with the facts that access strings need.
#[derive(Clone)]
pub struct Generated {
    pub id: TypeId,
    pub kind: Kind,
    /// The types of the members, or the target of a modifier, pointer or array.
    pub parts: Vec<TypeId>,
    /// The number of enumerators.
    pub variants: usize,
}

/// Types under construction.
pub struct Types {
    pub builder: Builder,
    pub all: Vec<Generated>,
    first: TypeId,
    end: u32,
    references: References,
}

/// Generates types in a builder without own types.
pub fn types(u: &mut Unstructured<'_>, builder: Builder) -> Result<Types> {
    let references = *u.choose(&[References::Earlier, References::Any, References::OutOfRange])?;
    let count = below(u, 48)? as u32;
    let first = builder.next_id();
    let mut types = Types { builder, all: Vec::new(), first, end: first.0 + count, references };
    if one_in(u, 32)? {
        types.builder.layout(&[[0, 0]; 20]);
    }
    for _ in 0..count {
        let generated = types.add(u)?;
        types.all.push(generated);
    }
    if one_in(u, 32)? {
        types.repeat(u)?;
    }
    Ok(types)
}

/// Generates a distilled base with names, kinds and sizes of some types of a BTF.
pub fn distilled(u: &mut Unstructured<'_>, btf: &Btf<'_>) -> Result<Builder> {
    let mut builder = Builder::new(btf.endian());
    for ty in btf.types().filter(|ty| DISTILLED.contains(&ty.kind()) && !ty.name().is_empty()) {
        if one_in(u, 3)? {
            let trailer: &[u32] = if ty.kind() == Kind::Int { &[32] } else { &[] };
            builder.raw(
                ty.name().as_bytes(),
                BuiltRecord {
                    kflag: ty.kflag(),
                    size_or_type: ty.size_or_type(),
                    words: trailer,
                    ..BuiltRecord::new(ty.kind())
                },
            );
        }
    }
    Ok(builder)
}

impl Types {
    /// Generates a name.
    pub fn name(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
        if one_in(u, 64)? {
            let len = below(u, 24)?;
            return Ok(u.bytes(len.min(u.len()))?.iter().map(|byte| *byte | 1).collect());
        }
        if one_in(u, 255)? && one_in(u, 16)? {
            return Ok(vec![b'x'; 70_000]);
        }
        Ok(u.choose(&NAMES)?.as_bytes().to_vec())
    }

    /// Returns one of the generated types.
    pub fn pick(&self, u: &mut Unstructured<'_>) -> Result<Option<&Generated>> {
        if self.all.is_empty() { Ok(None) } else { u.choose(&self.all).map(Some) }
    }

    /// Finds a generated type by its id.
    pub fn get(&self, id: TypeId) -> Option<&Generated> {
        self.all.get(id.0.checked_sub(self.first.0)? as usize)
    }

    /// Generates a reference to a type.
    fn reference(&self, u: &mut Unstructured<'_>) -> Result<TypeId> {
        let end = match self.references {
            References::Earlier => self.builder.next_id().0,
            References::Any => self.end,
            References::OutOfRange if one_in(u, 32)? => return u32::arbitrary(u).map(TypeId),
            References::OutOfRange => self.end,
        };
        below(u, end.max(1) as usize).map(|id| TypeId(id as u32))
    }

    /// Generates a type.
    fn add(&mut self, u: &mut Unstructured<'_>) -> Result<Generated> {
        let kind = if one_in(u, 128)? { Kind::from_raw(u8::arbitrary(u)?) } else { *u.choose(&KINDS)? };
        let name = Self::name(u)?;
        let mut generated = Generated { id: self.builder.next_id(), kind, parts: Vec::new(), variants: 0 };
        let (mut vlen, mut kflag, mut third, mut words) = (0u32, false, 0u32, Vec::new());
        match kind {
            Kind::Int => {
                third = *u.choose(&[4u32, 8, 1, 2, 16])?;
                let bits = if one_in(u, 8)? { u32::from(u8::arbitrary(u)?) } else { third * 8 };
                let (encoding, offset) = (*u.choose(&[0u32, 1, 2, 4])?, u32::from(one_in(u, 16)?));
                words.push((encoding << 24) | (offset << 16) | bits);
            }
            Kind::Float => third = *u.choose(&[8, 4, 2, 12, 16, 3])?,
            Kind::Array => {
                let element = self.reference(u)?;
                generated.parts.push(element);
                let count = *u.choose(&[2, 1, 0, 16, 1 << 20, u32::MAX])?;
                words.extend([element.0, self.reference(u)?.0, count]);
            }
            Kind::Struct | Kind::Union => {
                kflag = one_in(u, 3)?;
                vlen = below(u, 8)? as u32;
                let mut bit = 0u32;
                for _ in 0..vlen {
                    let (name, ty) = (Self::name(u)?, self.reference(u)?);
                    let width = if kflag { u32::from(u8::arbitrary(u)?) % 65 } else { 0 };
                    if one_in(u, 32)? {
                        bit = u32::arbitrary(u)?;
                    }
                    let name = self.builder.string_bytes(&name);
                    words.extend([name.0, ty.0, if kflag { (width << 24) | (bit & 0xff_ffff) } else { bit }]);
                    generated.parts.push(ty);
                    if kind == Kind::Struct {
                        bit = bit.wrapping_add(*u.choose(&[32, 64, 8, 1, 3, 128])?);
                    }
                }
                third = if one_in(u, 32)? { u32::arbitrary(u)? } else { bit.div_ceil(8) };
            }
            Kind::Enum | Kind::Enum64 => {
                kflag = bool::arbitrary(u)?;
                third = *u.choose(&[4, 8, 1, 2, 0, 5])?;
                vlen = below(u, 5)? as u32;
                generated.variants = vlen as usize;
                for _ in 0..vlen {
                    let name = Self::name(u)?;
                    words.extend([self.builder.string_bytes(&name).0, u32::arbitrary(u)?]);
                    if kind == Kind::Enum64 {
                        words.push(u32::arbitrary(u)?);
                    }
                }
            }
            Kind::Fwd => kflag = bool::arbitrary(u)?,
            Kind::FuncProto => {
                third = self.reference(u)?.0;
                vlen = below(u, 6)? as u32;
                for _ in 0..vlen {
                    let name = Self::name(u)?;
                    words.extend([self.builder.string_bytes(&name).0, self.reference(u)?.0]);
                }
            }
            Kind::Datasec => {
                vlen = below(u, 4)? as u32;
                third = u32::from(u8::arbitrary(u)?);
                for at in 0..vlen {
                    words.extend([self.reference(u)?.0, at * 8, 8]);
                }
            }
            _ => {
                third = self.reference(u)?.0;
                generated.parts.push(TypeId(third));
                match kind {
                    Kind::Func => vlen = below(u, 3)? as u32,
                    Kind::Var => words.push(below(u, 3)? as u32),
                    Kind::DeclTag => words.push(*u.choose(&[u32::MAX, 0, 1, 7])?),
                    _ => {}
                }
            }
        }
        let is_anonymous = matches!(
            kind,
            Kind::Ptr | Kind::Array | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::FuncProto
        );
        let name = if is_anonymous && !one_in(u, 64)? { &[] } else { &*name };
        self.builder.raw(name, BuiltRecord { kind, vlen, kflag, size_or_type: third, words: &words });
        Ok(generated)
    }

    /// Adds one kind of type many times: chains of modifiers, nested arrays, structs of one name.
    fn repeat(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let count = *u.choose(&[100u32, 300, 2_000])?;
        let kind = *u.choose(&[Kind::Typedef, Kind::Const, Kind::Array, Kind::Struct, Kind::Ptr])?;
        let (name, mut previous) = (Self::name(u)?, self.reference(u)?);
        for _ in 0..count {
            let name = if matches!(kind, Kind::Typedef | Kind::Struct) { &*name } else { &[] };
            let none = self.builder.string_bytes(b"").0;
            previous = match kind {
                Kind::Array => self
                    .builder
                    .raw(name, BuiltRecord { words: &[previous.0, previous.0, 2], ..BuiltRecord::new(kind) }),
                Kind::Struct => self.builder.raw(
                    name,
                    BuiltRecord {
                        vlen: 1,
                        size_or_type: 8,
                        words: &[none, previous.0, 0],
                        ..BuiltRecord::new(kind)
                    },
                ),
                _ => {
                    self.builder.raw(name, BuiltRecord { size_or_type: previous.0, ..BuiltRecord::new(kind) })
                }
            };
        }
        Ok(())
    }
}
