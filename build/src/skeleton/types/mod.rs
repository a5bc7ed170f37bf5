//! C types as Rust types.
//!
//! A type gets a name when a map, a variable or an event first uses it. Its text is written afterwards, so
//! that types come in the order of their first use. The layout of a type is computed before it gets a name:
//! only types that can be written have names.

mod enumeration;
mod layout;
mod record;
#[cfg(test)]
mod tests;

use super::{
    code::Code,
    error::SkeletonError,
    identifier::{self, Names},
    options::Options,
};
use alloc::collections::VecDeque;
use core_relo::{
    Text, TypeId,
    btf::{Btf, IntInfo, Kind, Type, WalkError},
};
use layout::{Layouts, Members};
use std::collections::HashMap;

/// The modifiers and typedefs that are followed to a type.
const HOPS: usize = 64;

/// The longest name of an anonymous type, which is made of the names around it.
const NAME_BYTES: usize = 96;

/// The Rust types of a skeleton.
pub(super) struct Types<'b> {
    btf: &'b Btf<'b>,
    options: &'b Options,
    layouts: Layouts<'b>,
    names: Names,
    by_id: HashMap<TypeId, String>,
    /// The types of struct_ops tables, apart from other uses of the same structs.
    tables_by_id: HashMap<TypeId, String>,
    pending: VecDeque<Pending<'b>>,
}

/// A type that has a name, and whose text is not written yet.
struct Pending<'b> {
    ty: Type<'b>,
    name: String,
    members: Members,
}

/// A Rust type in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RustType {
    /// The type's text.
    pub(super) text: String,
    /// Whether the type is an array of C characters.
    pub(super) is_text: bool,
}

impl RustType {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_text: false }
    }

    /// Returns an array of bytes.
    pub(super) fn bytes(size: usize) -> Self {
        Self::new(format!("[u8; {size}]"))
    }
}

/// A type without modifiers and typedefs.
#[derive(Clone, Copy)]
struct Resolved<'b> {
    ty: Type<'b>,
    /// The name of the innermost typedef, which names an anonymous type.
    typedef: &'b [u8],
}

impl<'b> Types<'b> {
    pub(super) fn new(btf: &'b Btf<'b>, options: &'b Options) -> Self {
        Self {
            btf,
            options,
            layouts: Layouts::new(btf),
            names: Names::of_types(),
            by_id: HashMap::new(),
            tables_by_id: HashMap::new(),
            pending: VecDeque::new(),
        }
    }

    pub(super) fn btf(&self) -> &'b Btf<'b> {
        self.btf
    }

    /// Takes a name of the module, for an item that is no C type.
    pub(super) fn take_name(&mut self, name: String) -> String {
        self.names.take(name)
    }

    /// Returns the Rust type of a C type of `size` bytes: an array of bytes if Rust cannot express the type.
    /// `context` names an anonymous type.
    pub(super) fn of_size(&mut self, id: TypeId, size: usize, context: &[u8]) -> RustType {
        match self.layouts.of(id) {
            Ok(layout) if layout.size == size => {
                self.name_of(id, context).unwrap_or_else(|_unnamed| RustType::bytes(size))
            }
            _ => RustType::bytes(size),
        }
    }

    /// Returns the Rust type of the values in a struct_ops table: the members of a struct that are no
    /// pointers.
    pub(super) fn of_table(&mut self, ty: Type<'b>) -> Result<RustType, SkeletonError> {
        if let Some(name) = self.tables_by_id.get(&ty.id()) {
            return Ok(RustType::new(name.clone()));
        }
        if self.layouts.fields(ty, Members::Values).is_err() {
            return Ok(RustType::bytes(layout::record_size(ty)?));
        }
        let name = self.names.take(short_type_name(ty.name().as_bytes()));
        self.tables_by_id.insert(ty.id(), name.clone());
        self.pending.push_back(Pending { ty, name: name.clone(), members: Members::Values });
        Ok(RustType::new(name))
    }

    /// Returns the Rust type of a C type.
    pub(super) fn of(&mut self, id: TypeId, context: &[u8]) -> Result<RustType, SkeletonError> {
        self.layouts.of(id)?;
        self.name_of(id, context)
    }

    /// Returns the Rust type of a C type whose layout is known.
    fn name_of(&mut self, id: TypeId, context: &[u8]) -> Result<RustType, SkeletonError> {
        let mut lengths = Vec::new();
        let mut resolved = resolve(self.btf, id)?;
        while let Some(array) = resolved.ty.array() {
            lengths.push(array.nelems);
            if lengths.len() > HOPS {
                return Err(type_error(resolved.ty, "it has too many dimensions"));
            }
            resolved = resolve(self.btf, array.element)?;
        }
        let element = self.element(resolved, context)?;
        let is_text = lengths.len() == 1 && is_char(resolved.ty);
        let text = lengths.iter().rev().fold(element, |text, length| format!("[{text}; {length}]"));
        Ok(RustType { text, is_text })
    }

    fn element(&mut self, resolved: Resolved<'b>, context: &[u8]) -> Result<String, SkeletonError> {
        let ty = resolved.ty;
        Ok(match ty.kind() {
            Kind::Int => int_text(ty, self.options.zerocopy)?.to_owned(),
            Kind::Float => float_text(ty)?,
            Kind::Ptr => if self.btf.pointer_size().0 == 4 { "u32" } else { "u64" }.to_owned(),
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 => self.named(resolved, context),
            kind => return Err(type_error(ty, no_value(kind))),
        })
    }

    /// Returns the name of a struct, union or enum. The first use decides on the name.
    fn named(&mut self, resolved: Resolved<'b>, context: &[u8]) -> String {
        let ty = resolved.ty;
        if let Some(name) = self.by_id.get(&ty.id()) {
            return name.clone();
        }
        let own = ty.name().as_bytes();
        let name = [own, resolved.typedef, context].into_iter().find(|name| !name.is_empty());
        let name = self.names.take(short_type_name(name.unwrap_or(b"type")));
        self.by_id.insert(ty.id(), name.clone());
        self.pending.push_back(Pending { ty, name: name.clone(), members: Members::All });
        name
    }

    /// Writes the types that were named so far, and those that they use.
    pub(super) fn write(&mut self, code: &mut Code) -> Result<(), SkeletonError> {
        while let Some(pending) = self.pending.pop_front() {
            code.line("");
            match pending.ty.kind() {
                Kind::Struct => self.write_struct(code, &pending)?,
                Kind::Union => self.write_union(code, pending.ty, &pending.name)?,
                _ => enumeration::write(code, pending.ty, &pending.name, self.options)?,
            }
            code.check()?;
        }
        Ok(())
    }

    /// Returns the traits that the types derive, without those that a type with floats lacks.
    fn derives(&self, has_floats: bool) -> String {
        let mut derives = "Clone, Copy, PartialEq".to_owned();
        if !has_floats {
            derives.push_str(", Eq, Hash");
        }
        if self.options.zerocopy {
            derives.push_str(ZEROCOPY);
        }
        format!("#[derive({derives})]")
    }
}

fn short_type_name(name: &[u8]) -> String {
    let mut name = identifier::type_name(name);
    name.truncate(NAME_BYTES);
    name
}

/// The traits of zerocopy that types derive.
const ZEROCOPY: &str =
    ", ::zerocopy::FromBytes, ::zerocopy::IntoBytes, ::zerocopy::Immutable, ::zerocopy::KnownLayout";

/// Writes the implementations that every type has: `Pod`, `Default`, and bytemuck's traits if they are
/// wanted.
fn write_traits(code: &mut Code, name: &str, shape: Option<&str>, options: &Options) {
    code.line("");
    code.line("// SAFETY: any bytes are a value, and the layout below has no padding.");
    let open = format!("unsafe impl ::core_relo_loader::Pod for {name} {{");
    match shape {
        None => code.line(format!("{open}}}")),
        Some(shape) => code.block(open, "}", |code| {
            code.line(format!("const SHAPE: ::core_relo_loader::Shape = {shape};"));
        }),
    }
    code.line("");
    code.block(format!("impl Default for {name} {{"), "}", |code| {
        code.block("fn default() -> Self {", "}", |code| {
            code.line("::core_relo_loader::Pod::zeroed()");
        });
    });
    if options.bytemuck {
        code.line("");
        code.line("// SAFETY: as above.");
        code.line(format!("unsafe impl ::bytemuck::Zeroable for {name} {{}}"));
        code.line("");
        code.line("// SAFETY: as above.");
        code.line(format!("unsafe impl ::bytemuck::Pod for {name} {{}}"));
    }
}

/// Follows modifiers and typedefs to a type.
fn resolve<'b>(btf: &'b Btf<'b>, id: TypeId) -> Result<Resolved<'b>, SkeletonError> {
    let (mut at, mut typedef) = (id, &b""[..]);
    for _ in 0..HOPS {
        let ty = btf.ty(at).ok_or(SkeletonError::Walk { id, cause: WalkError::NoType(at) })?;
        match ty.target() {
            Some(target) if ty.kind().is_modifier_or_typedef() => {
                if ty.kind() == Kind::Typedef {
                    typedef = ty.name().as_bytes();
                }
                at = target;
            }
            _ => return Ok(Resolved { ty, typedef }),
        }
    }
    Err(SkeletonError::Walk { id, cause: WalkError::Endless(id) })
}

/// Returns the Rust integer of an INT. The type `char` is `u8`, because it contains text.
fn int_text(ty: Type<'_>, no_bool: bool) -> Result<&'static str, SkeletonError> {
    let (int, size) = ty.int().zip(ty.size()).ok_or_else(|| type_error(ty, "it is no integer"))?;
    Ok(match (size.0, int.is_signed()) {
        (1, _) if int.encoding & IntInfo::BOOL != 0 && !no_bool => "::core_relo_loader::Bool",
        (1, _) if is_char(ty) => "u8",
        (1, false) => "u8",
        (1, true) => "i8",
        (2, false) => "u16",
        (2, true) => "i16",
        (4, false) => "u32",
        (4, true) => "i32",
        (8, false) => "u64",
        (8, true) => "i64",
        (16, false) => "u128",
        (16, true) => "i128",
        _ => return Err(type_error(ty, "an integer has 1, 2, 4, 8 or 16 bytes")),
    })
}

/// Returns the Rust type of a FLOAT. `long double` is bytes.
fn float_text(ty: Type<'_>) -> Result<String, SkeletonError> {
    match ty.size().map(|size| size.0) {
        Some(4) => Ok("f32".into()),
        Some(8) => Ok("f64".into()),
        Some(size) => Ok(format!("[u8; {size}]")),
        None => Err(type_error(ty, "it has no size")),
    }
}

/// Returns whether a type is `char`.
fn is_char(ty: Type<'_>) -> bool {
    let is_marked = ty.int().is_some_and(|int| int.encoding & IntInfo::CHAR != 0);
    ty.kind() == Kind::Int
        && ty.size().is_some_and(|size| size.0 == 1)
        && (is_marked || ty.name().as_bytes() == b"char")
}

/// Returns why a kind of types has no values.
fn no_value(kind: Kind) -> &'static str {
    match kind {
        Kind::Fwd => "it is only declared, so its size is unknown",
        Kind::Void => "void has no values",
        Kind::Func | Kind::FuncProto => "a function is no value",
        _ => "it is no type of a value",
    }
}

fn type_error(ty: Type<'_>, problem: &'static str) -> SkeletonError {
    let name: Text = ty.name().to_string().into();
    SkeletonError::Type { id: ty.id(), name, problem }
}
