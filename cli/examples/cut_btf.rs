//! Cuts a few structs out of a kernel's BTF, to stand for that kernel in `core-relo demo`.
//!
//! ```text
//! cargo run -p core-relo-cli --example cut_btf -- KERNEL.btf OUT.btf task_struct linux_binprm …
//! ```
//!
//! The named structs keep every member where it is, the named enums every value. Other structs keep their
//! name and size, those behind pointers only their name.

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind, Type},
};
use std::{collections::HashMap, env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = env::args().skip(1).collect();
    let [kernel, out, names @ ..] = &*args else { return Err("usage: KERNEL.btf OUT.btf STRUCT...".into()) };
    let bytes = fs::read(kernel)?;
    let btf = Btf::parse(&bytes)?;
    let mut cut = Cut { btf: &btf, names, ids: HashMap::new(), queue: Vec::new() };
    if let Some(long) = btf.types().find(|t| t.kind() == Kind::Int && t.name().as_bytes() == b"long") {
        cut.id(long, Share::Whole);
    }
    for ty in btf.types() {
        if cut.is_named(ty) {
            cut.id(ty, Share::Whole);
        }
    }
    fs::write(out, cut.build(btf.endian()))?;
    Ok(())
}

/// How much of a type is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    Whole,
    /// Name and size.
    Shell,
    /// The name.
    Forward,
}

/// Types in the order in which they were first referred to; a type's place is its new id.
struct Cut<'b> {
    btf: &'b Btf<'b>,
    names: &'b [String],
    ids: HashMap<(TypeId, Share), TypeId>,
    queue: Vec<(TypeId, Share)>,
}

impl<'b> Cut<'b> {
    fn is_named(&self, ty: Type<'_>) -> bool {
        let name = ty.name().to_string();
        matches!(ty.kind(), Kind::Struct | Kind::Enum | Kind::Typedef) && self.names.contains(&name)
    }

    fn id(&mut self, ty: Type<'_>, share: Share) -> TypeId {
        let next = u32::try_from(self.ids.len()).map_or(u32::MAX, |n| n.saturating_add(1));
        *self.ids.entry((ty.id(), share)).or_insert_with(|| {
            self.queue.push((ty.id(), share));
            TypeId(next)
        })
    }

    /// The new id of a type that something kept refers to, by value or behind a pointer.
    fn refer(&mut self, id: TypeId, by_pointer: bool) -> TypeId {
        let Some(ty) = self.btf.ty(id) else { return TypeId::VOID };
        match ty.kind() {
            Kind::Void | Kind::FuncProto => TypeId::VOID,
            Kind::Struct | Kind::Union if self.is_named(ty) || (ty.name().is_empty() && !by_pointer) => {
                self.id(ty, Share::Whole)
            }
            Kind::Struct | Kind::Union if ty.name().is_empty() => TypeId::VOID,
            Kind::Struct | Kind::Union | Kind::Enum if by_pointer => self.id(ty, Share::Forward),
            Kind::Struct | Kind::Union => self.id(ty, Share::Shell),
            Kind::Enum if !self.is_named(ty) => self.id(ty, Share::Shell),
            // Behind a pointer a chain of names matters to nobody.
            Kind::Typedef if by_pointer => self.refer_target(ty, true),
            _ => self.id(ty, if by_pointer { Share::Forward } else { Share::Whole }),
        }
    }

    /// The new id of the type that a pointer, typedef or modifier refers to.
    fn refer_target(&mut self, ty: Type<'_>, by_pointer: bool) -> TypeId {
        ty.target().map_or(TypeId::VOID, |target| self.refer(target, by_pointer))
    }

    fn build(mut self, endian: Endian) -> Vec<u8> {
        let mut out = Builder::new(endian);
        let mut at = 0;
        while let Some((id, share)) = self.queue.get(at).copied() {
            if let Some(ty) = self.btf.ty(id) {
                self.emit(&mut out, ty, share);
            }
            at += 1;
        }
        out.finish()
    }

    fn emit(&mut self, out: &mut Builder, ty: Type<'_>, share: Share) {
        let name = &*ty.name().to_string();
        let size = ty.size().map_or(0, |s| s.0);
        let by_pointer = share == Share::Forward;
        match ty.kind() {
            Kind::Int => match ty.int() {
                Some(int) => out.int(name, size, int.encoding),
                None => out.int(name, size, 0),
            },
            Kind::Float => out.float(name, size),
            Kind::Ptr => {
                let to = self.refer_target(ty, true);
                out.pointer(to)
            }
            Kind::Array => {
                let array = ty.array();
                let element = array.map_or(TypeId::VOID, |a| self.refer(a.element, by_pointer));
                let index = array.map_or(TypeId::VOID, |a| self.refer(a.index, false));
                out.array(element, index, array.map_or(0, |a| a.nelems))
            }
            Kind::Struct | Kind::Union if share == Share::Whole => {
                let members: Vec<_> = ty
                    .members()
                    .map(|m| (m.name.to_string(), self.refer(m.ty, false), m.bit_offset.0, m.bitfield_bits))
                    .collect();
                let members: Vec<_> =
                    members.iter().map(|(n, t, at, bits)| member(n, *t, *at, *bits)).collect();
                out.composite(ty.kind(), name, size, &members)
            }
            Kind::Struct | Kind::Union if share == Share::Shell => out.composite(ty.kind(), name, size, &[]),
            Kind::Struct | Kind::Union | Kind::Enum if by_pointer => out.forward(name, ty.kind()),
            Kind::Fwd => out.forward(name, if ty.kflag() { Kind::Union } else { Kind::Struct }),
            Kind::Enum if share == Share::Shell => enumeration(out, ty, name, &[]),
            Kind::Enum => {
                let variants: Vec<_> =
                    ty.enumerators().map(|v| (v.name.to_string(), v.value.cast_signed())).collect();
                let variants: Vec<_> = variants.iter().map(|(n, v)| (&**n, *v)).collect();
                enumeration(out, ty, name, &variants)
            }
            Kind::Typedef => {
                let to = self.refer_target(ty, by_pointer);
                out.typedef(name, to)
            }
            Kind::TypeTag => {
                let to = self.refer_target(ty, by_pointer);
                if ty.kflag() { out.type_attribute(name, to) } else { out.type_tag(name, to) }
            }
            modifier => {
                let to = self.refer_target(ty, by_pointer);
                out.modifier(modifier, to)
            }
        };
    }
}

/// Adds an enumeration with the signedness and size of a type.
fn enumeration(out: &mut Builder, ty: Type<'_>, name: &str, values: &[(&str, i64)]) -> TypeId {
    let size = ty.size().map_or(0, |size| size.0);
    match ty.kflag() {
        true => out.signed_enumeration(name, size, values),
        false => out.enumeration(name, size, values),
    }
}

fn member<'m>(name: &'m str, ty: TypeId, bit_offset: u32, bitfield_bits: u32) -> BuiltMember<'m> {
    // No bitfield is wider than its type.
    BuiltMember { name, ty, bit_offset, bitfield_bits: u8::try_from(bitfield_bits).unwrap_or(0) }
}
