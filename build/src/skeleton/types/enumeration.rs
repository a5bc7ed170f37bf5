//! C enums as Rust types: a number with constants, because a program may store any number.

use super::{ZEROCOPY, type_error, write_traits};
use crate::skeleton::{
    code::Code,
    error::SkeletonError,
    identifier::{self, Names},
    options::Options,
};
use core_relo::btf::Type;
use std::collections::HashSet;

/// The problem of an enum of another size.
const ENUM_SIZES: &str = "an enum has 1, 2, 4 or 8 bytes";

/// Writes an enum.
pub(super) fn write(
    code: &mut Code,
    ty: Type<'_>,
    name: &str,
    options: &Options,
) -> Result<(), SkeletonError> {
    let number = number(ty)?;
    code.doc(format!("`enum {}`", ty.name().shortened()));
    let zerocopy = if options.zerocopy { ZEROCOPY } else { "" };
    code.line(format!("#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash{zerocopy})]"));
    code.line("#[repr(transparent)]");
    code.line(format!("pub struct {name}(pub {number});"));
    let mut names = Names::default();
    let mut values = HashSet::new();
    let mut constants = Vec::new();
    for enumerator in ty.enumerators() {
        let constant = names.take(identifier::value_name(enumerator.name.as_bytes()));
        let value = stored_value(ty, enumerator.c_value())?;
        constants.push((constant, values.insert(value.clone()), value, enumerator.name.shortened()));
    }
    code.line("");
    code.block(format!("impl {name} {{"), "}", |code| {
        for (constant, _, value, c_name) in &constants {
            code.doc(format!("`{c_name}`"));
            code.line(format!("pub const {constant}: Self = Self({value});"));
        }
    });
    code.line("");
    code.block(format!("impl ::core::fmt::Debug for {name} {{"), "}", |code| {
        code.block(
            "fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {",
            "}",
            |code| {
                code.block("match self.0 {", "}", |code| {
                    for (_, _, value, c_name) in constants.iter().filter(|(_, is_first, ..)| *is_first) {
                        code.line(format!("{value} => f.write_str({:?}),", c_name.to_string()));
                    }
                    code.line("number => ::core::fmt::Debug::fmt(&number, f),");
                });
            },
        );
    });
    let element = if ty.kflag() { "Signed" } else { "Unsigned" };
    let shape = format!(
        "::core_relo_loader::Shape::scalar(::core_relo_loader::Element::{element}, ::core::mem::size_of::<Self>())"
    );
    write_traits(code, name, Some(&shape), options);
    Ok(())
}

/// Returns the number that the bytes of an enum have for an enumerator.
///
/// clang before version 16 writes no sign: -1 of an enum of one byte is 4294967295 in the BTF, and 255 in the
/// byte.
fn stored_value(ty: Type<'_>, value: u64) -> Result<String, SkeletonError> {
    let bits = ty.size().and_then(|size| size.0.checked_mul(8));
    let unused = bits.and_then(|bits| u64::BITS.checked_sub(bits));
    let unused = unused.ok_or_else(|| type_error(ty, ENUM_SIZES))?;
    let at_top = value.wrapping_shl(unused);
    Ok(if ty.kflag() {
        at_top.cast_signed().wrapping_shr(unused).to_string()
    } else {
        at_top.wrapping_shr(unused).to_string()
    })
}

/// Returns the integer of an enum.
pub(super) fn number(ty: Type<'_>) -> Result<&'static str, SkeletonError> {
    Ok(match (ty.size().map(|size| size.0), ty.kflag()) {
        (Some(1), false) => "u8",
        (Some(1), true) => "i8",
        (Some(2), false) => "u16",
        (Some(2), true) => "i16",
        (Some(4), false) => "u32",
        (Some(4), true) => "i32",
        (Some(8), false) => "u64",
        (Some(8), true) => "i64",
        _ => return Err(type_error(ty, ENUM_SIZES)),
    })
}
