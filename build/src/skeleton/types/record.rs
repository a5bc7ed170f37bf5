//! C structs and unions as Rust structs.
//!
//! A struct has a field for each member, for each gap between members, and for the bytes of adjacent
//! bitfields. A union has its bytes, and methods for its members, because only the program knows which member
//! is meant.

use super::{
    Pending, RustType, Types, enumeration,
    layout::{Bitfield, Content, Field, Members, StructLayout, bitfield},
    resolve, type_error, write_traits,
};
use crate::skeleton::{
    code::Code,
    error::SkeletonError,
    identifier::{self, Names},
};
use core::fmt::Display;
use core_relo::btf::{IntInfo, Member, Type};

/// A field of a Rust struct with its name and type.
struct NamedField<'b> {
    name: String,
    rust: RustType,
    field: Field<'b>,
}

/// The bytes of a union, for reading and for writing.
const UNION_BYTES: [&str; 2] =
    ["::core_relo_loader::Pod::as_bytes(self)", "::core_relo_loader::Pod::as_bytes_mut(self)"];

/// A value in the debug output of a type: a name and an expression.
type DebugValue = (String, String);

/// The methods of a bitfield: the name, the type of the value, and the place of the bits.
struct BitMethods<'b> {
    name: String,
    setter: String,
    bits: Bitfield<'b>,
    /// The first bit in the bytes of the field.
    start: usize,
    value: BitValue,
}

/// The Rust type of a bitfield's value.
enum BitValue {
    Integer { text: &'static str, is_signed: bool },
    Bool,
    Enum { name: String, number: &'static str },
}

impl<'b> Types<'b> {
    pub(super) fn write_struct(
        &mut self,
        code: &mut Code,
        pending: &Pending<'b>,
    ) -> Result<(), SkeletonError> {
        let Pending { ty, name, members } = pending;
        let (ty, padding) = match members {
            Members::All => (*ty, "Padding."),
            Members::Values => (*ty, "Padding, or pointers, which the loader sets."),
        };
        let StructLayout { fields, packed, layout } = self.layouts.fields(ty, *members)?;
        let mut names = Names::default();
        let mut named = Vec::new();
        // Members get their names first: padding makes way.
        let (members, others): (Vec<_>, Vec<_>) =
            fields.iter().enumerate().partition(|(_, field)| matches!(field.content, Content::Member(_)));
        for (position, field) in members.into_iter().chain(others) {
            named.push((position, self.named_field(ty, field, &mut names)?));
        }
        named.sort_by_key(|(position, _)| *position);
        let named: Vec<_> = named.into_iter().map(|(_, named)| named).collect();
        let mut methods = Vec::new();
        let mut method_names = Names::default();
        for field in &named {
            if let Content::Bits(bits) = &field.field.content {
                let of_field = self.bit_methods(ty, bits, field.field.offset, &mut method_names)?;
                methods.push((field.name.clone(), of_field));
            }
        }

        code.doc(c_name(ty, "struct"));
        code.line(self.derives(layout.has_floats));
        code.line(match packed {
            None => "#[repr(C)]".to_owned(),
            Some(1) => "#[repr(C, packed)]".to_owned(),
            Some(align) => format!("#[repr(C, packed({align}))]"),
        });
        code.block(format!("pub struct {name} {{"), "}", |code| {
            for NamedField { name, rust, field } in &named {
                match &field.content {
                    Content::Member(_) => {}
                    Content::Padding => code.doc(padding),
                    Content::Bits(_) => code.doc("Bitfields, which have methods."),
                }
                code.line(format!("pub {name}: {},", rust.text));
            }
        });
        if !methods.is_empty() {
            code.line("");
            code.block(format!("impl {name} {{"), "}", |code| {
                for (field, methods) in &methods {
                    let bytes = [&*format!("&self.{field}"), &*format!("&mut self.{field}")];
                    for method in methods {
                        write_bit_methods(code, bytes, method);
                    }
                }
            });
        }
        let mut values: Vec<DebugValue> = Vec::new();
        let mut of_bits = methods.iter();
        for NamedField { name, rust, field } in &named {
            let expression =
                if packed.is_some() { format!("{{ self.{name} }}") } else { format!("self.{name}") };
            match &field.content {
                Content::Member(_) => values.push((name.clone(), debug_value(rust, &expression))),
                Content::Padding => {}
                Content::Bits(_) => {
                    // The methods are in the order of the fields.
                    let of_field = of_bits.next().into_iter().flat_map(|(_, methods)| methods);
                    values.extend(of_field.map(|m| (m.name.clone(), format!("self.{}()", m.name))));
                }
            }
        }
        write_debug(code, name, &values);
        write_traits(code, name, None, self.options);
        let size = layout.size;
        code.line("");
        code.block("const _: () = {", "};", |code| {
            code.line(format!("assert!(::core::mem::size_of::<{name}>() == {size});"));
            for NamedField { name: field, field: Field { offset, .. }, .. } in &named {
                code.line(format!("assert!(::core::mem::offset_of!({name}, {field}) == {offset});"));
            }
        });
        Ok(())
    }

    fn named_field(
        &mut self,
        ty: Type<'b>,
        field: &Field<'b>,
        names: &mut Names,
    ) -> Result<NamedField<'b>, SkeletonError> {
        let (name, rust) = match &field.content {
            Content::Padding => (format!("_pad_{}", field.offset), RustType::bytes(field.size)),
            Content::Bits(_) => (format!("_bits_{}", field.offset), RustType::bytes(field.size)),
            Content::Member(member) => {
                let name = member_name(member, field.offset);
                let context = self.member_context(ty, &name);
                (identifier::value_name(name.as_bytes()), self.name_of(member.ty, &context)?)
            }
        };
        Ok(NamedField { name: names.take(name), rust, field: field.clone() })
    }

    /// Returns the name of an anonymous type that a member has: that of the struct, and that of the member.
    fn member_context(&self, ty: Type<'b>, member: &str) -> Vec<u8> {
        let around = self.by_id.get(&ty.id()).or_else(|| self.tables_by_id.get(&ty.id()));
        let around = around.map_or("", String::as_str);
        format!("{around}_{member}").into_bytes()
    }

    fn bit_methods(
        &mut self,
        ty: Type<'b>,
        bits: &[Bitfield<'b>],
        offset: usize,
        names: &mut Names,
    ) -> Result<Vec<BitMethods<'b>>, SkeletonError> {
        let named = bits.iter().filter(|bits| !bits.member.name.is_empty());
        named
            .map(|bits| {
                let plain = bits.member.name.shortened().to_string();
                let value = self.bit_value(bits.member.ty, &self.member_context(ty, &plain))?;
                let start = offset.checked_mul(8).and_then(|first| bits.start.checked_sub(first));
                Ok(BitMethods {
                    name: names.take(identifier::value_name(plain.as_bytes())),
                    setter: names.take(identifier::value_name(format!("set_{plain}").as_bytes())),
                    bits: *bits,
                    start: start.ok_or_else(|| type_error(ty, "a bitfield lies before its field"))?,
                    value,
                })
            })
            .collect()
    }

    fn bit_value(&mut self, id: core_relo::TypeId, context: &[u8]) -> Result<BitValue, SkeletonError> {
        let resolved = resolve(self.btf, id)?;
        let ty = resolved.ty;
        if ty.kind().is_enum() {
            return Ok(BitValue::Enum {
                number: enumeration::number(ty)?,
                name: self.named(resolved, context),
            });
        }
        let text = super::int_text(ty, false)?;
        if text.contains("Bool") {
            return Ok(BitValue::Bool);
        }
        Ok(BitValue::Integer { text, is_signed: ty.int().is_some_and(IntInfo::is_signed) })
    }

    pub(super) fn write_union(
        &mut self,
        code: &mut Code,
        ty: Type<'b>,
        name: &str,
    ) -> Result<(), SkeletonError> {
        let layout = self.layouts.of(ty.id())?;
        let length =
            layout.size.checked_div(layout.align).ok_or_else(|| type_error(ty, "it has no alignment"))?;
        let element = match layout.align {
            1 => "u8",
            2 => "u16",
            4 => "u32",
            8 => "u64",
            16 => "u128",
            _ => return Err(type_error(ty, "its alignment is no size of an integer")),
        };
        let storage = format!("[{element}; {length}]");
        code.doc(c_name(ty, "union"));
        code.line(self.derives(false));
        code.line("#[repr(transparent)]");
        code.block(format!("pub struct {name} {{"), "}", |code| {
            code.doc("The bytes, which have methods for each member.");
            code.line(format!("pub storage: {storage},"));
        });
        let mut names = Names::default();
        let mut values: Vec<DebugValue> = Vec::new();
        let mut methods = Code::default();
        for member in ty.members() {
            if let Some(bits) = bitfield(self.btf, &member)? {
                for method in self.bit_methods(ty, &[bits], 0, &mut names)? {
                    write_bit_methods(&mut methods, UNION_BYTES, &method);
                    values.push((method.name.clone(), format!("self.{}()", method.name)));
                }
                continue;
            }
            let offset = usize::try_from(member.bit_offset.0 / 8)
                .map_err(|_far| type_error(ty, "a member lies outside of it"))?;
            let plain = member_name(&member, member.index);
            let rust = self.name_of(member.ty, &self.member_context(ty, &plain))?;
            let getter = names.take(identifier::value_name(plain.as_bytes()));
            let setter = names.take(identifier::value_name(format!("set_{plain}").as_bytes()));
            write_union_methods(&mut methods, &plain, [&getter, &setter], &rust.text, offset);
            values.push((getter.clone(), debug_value(&rust, &format!("self.{getter}()"))));
        }
        let methods = methods.finish()?;
        if !methods.is_empty() {
            code.line("");
            code.block(format!("impl {name} {{"), "}", |code| {
                methods.lines().for_each(|line| code.line(line));
            });
        }
        write_debug(code, name, &values);
        write_traits(code, name, None, self.options);
        code.line("");
        code.line(format!("const _: () = assert!(::core::mem::size_of::<{name}>() == {});", layout.size));
        Ok(())
    }
}

/// Returns the name of a member. The number distinguishes anonymous members.
fn member_name(member: &Member<'_>, number: impl Display) -> String {
    if member.name.is_empty() { format!("anon_{number}") } else { member.name.shortened().to_string() }
}

/// Returns the declaration of a type in C, for its documentation.
fn c_name(ty: Type<'_>, keyword: &str) -> String {
    let name = ty.name().shortened();
    if ty.name().is_empty() { format!("An anonymous {keyword}.") } else { format!("`{keyword} {name}`") }
}

fn debug_value(rust: &RustType, expression: &str) -> String {
    if rust.is_text {
        format!("::core_relo_loader::skeleton::CText(&{expression})")
    } else {
        expression.to_owned()
    }
}

fn write_debug(code: &mut Code, name: &str, values: &[DebugValue]) {
    code.line("");
    code.block(format!("impl ::core::fmt::Debug for {name} {{"), "}", |code| {
        code.block(
            "fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {",
            "}",
            |code| {
                code.line(format!("f.debug_struct({name:?})"));
                for (field, expression) in values {
                    let field = field.strip_prefix("r#").unwrap_or(field);
                    code.line(format!("    .field({field:?}, &{expression})"));
                }
                code.line("    .finish()");
            },
        );
    });
}

/// Writes the methods of a bitfield in bytes: the expressions of the bytes, for reading and for writing.
fn write_bit_methods(code: &mut Code, [bytes, bytes_mut]: [&str; 2], method: &BitMethods<'_>) {
    let BitMethods { name, setter, bits, start, value } = method;
    let width = bits.width;
    let read = |sign: &str| format!("::core_relo_loader::skeleton::bits::{sign}({bytes}, {start}, {width})");
    let (ty, get, raw) = match value {
        BitValue::Integer { text, is_signed: false } => {
            (*text, format!("{} as {text}", read("unsigned")), "value as u64")
        }
        BitValue::Integer { text, is_signed: true } => {
            (*text, format!("{} as {text}", read("signed")), "value as i64 as u64")
        }
        BitValue::Bool => ("bool", format!("{} != 0", read("unsigned")), "u64::from(value)"),
        BitValue::Enum { name, number } => {
            let sign = if number.starts_with('i') { "signed" } else { "unsigned" };
            (&**name, format!("{name}({} as {number})", read(sign)), "value.0 as i64 as u64")
        }
    };
    code.doc(format!("Reads the bitfield `{}`, {width} bits.", bits.member.name.shortened()));
    code.block(format!("pub fn {name}(&self) -> {ty} {{"), "}", |code| code.line(&get));
    code.line("");
    code.doc(format!(
        "Writes the bitfield `{}`. Higher bits of the value are lost, as in C.",
        bits.member.name.shortened()
    ));
    code.block(format!("pub fn {setter}(&mut self, value: {ty}) {{"), "}", |code| {
        code.line(format!(
            "::core_relo_loader::skeleton::bits::write({bytes_mut}, {start}, {width}, {raw});"
        ));
    });
    code.line("");
}

fn write_union_methods(code: &mut Code, member: &str, [getter, setter]: [&str; 2], ty: &str, offset: usize) {
    code.doc(format!("Reads the member `{member}`."));
    code.block(format!("pub fn {getter}(&self) -> {ty} {{"), "}", |code| {
        code.line(format!("::core_relo_loader::skeleton::read_member::<{ty}, _, {offset}>(self)"));
    });
    code.line("");
    code.doc(format!("Writes the member `{member}`. The other bytes stay."));
    code.block(format!("pub fn {setter}(&mut self, value: {ty}) {{"), "}", |code| {
        code.line(format!("::core_relo_loader::skeleton::write_member::<{ty}, _, {offset}>(self, &value);"));
    });
    code.line("");
}
