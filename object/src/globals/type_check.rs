//! Checks that a Rust value fits a variable, by size and by the type in the object's BTF.
//!
//! The checks refuse clear mistakes: a float for an integer, a number for a struct. They ignore the sign of
//! integers, which C converts, and the members of structs. An array of bytes fits any variable.

use super::{
    Global, GlobalError,
    rust_type::{Element, RustType, Shape},
};
use core_relo::{
    Text, TypeId,
    btf::{Btf, Kind, Type},
    explain::CType,
};

/// Checks that values of a Rust type fit a variable.
pub fn check_type(btf: Option<&Btf<'_>>, global: &Global, found: &RustType) -> Result<(), GlobalError> {
    check_size(btf, global, found.size)?;
    let Some((btf, declared)) = btf.zip(global.ty) else { return Ok(()) };
    let Ok(ty) = btf.strip(declared) else { return Ok(()) };
    match expected_type(btf, ty, global.size, found.shape) {
        Some(expected) if !found.shape.is_bytes() => Err(GlobalError::Type {
            name: global.name.as_str().into(),
            c_type: display_type(btf, declared),
            expected: expected.into(),
            size: global.size,
            found: found.name,
        }),
        _ => Ok(()),
    }
}

/// Checks that the bytes of a Rust value fit a variable: a C `bool` is 0 or 1.
pub fn check_value(
    btf: Option<&Btf<'_>>,
    global: &Global,
    found: &RustType,
    value: &[u8],
) -> Result<(), GlobalError> {
    check_type(btf, global, found)?;
    let Some((btf, declared)) = btf.zip(global.ty) else { return Ok(()) };
    let Ok(ty) = btf.strip(declared) else { return Ok(()) };
    match value {
        [found] if *found > 1 && is_bool(ty) => Err(GlobalError::Bool {
            name: global.name.as_str().into(),
            c_type: display_type(btf, declared),
            found: *found,
        }),
        _ => Ok(()),
    }
}

/// Checks that a value of `found` bytes fits a variable.
pub fn check_size(btf: Option<&Btf<'_>>, global: &Global, found: usize) -> Result<(), GlobalError> {
    // An array that was resized with its section also accepts its declared size.
    if global.size == found || global.declared_size == found {
        return Ok(());
    }
    let c_type = btf.and_then(|btf| Some(display_type(btf, global.ty?)));
    Err(GlobalError::Size { name: global.name.as_str().into(), c_type, expected: global.size, found })
}

/// Returns whether a type is a C `bool` (`BTF_INT_BOOL`).
fn is_bool(ty: Type<'_>) -> bool {
    const BOOL: u8 = 4;
    ty.int().is_some_and(|int| int.encoding & BOOL != 0)
}

pub(super) fn display_type(btf: &Btf<'_>, ty: TypeId) -> Text {
    CType::new(btf, ty).to_string().into()
}

/// Returns the Rust types that fit a C type; `None` if the given type fits.
pub(super) fn expected_type(btf: &Btf<'_>, ty: Type<'_>, size: usize, given: Shape) -> Option<String> {
    let is_array = ty.kind() == Kind::Array;
    let element = if is_array { innermost(btf, ty)? } else { ty };
    let bytes = usize::try_from(btf.size_of(element.id()).ok()?.0).ok()?;
    // Where the symbol's size contradicts the type, the symbol is right, and the type is ignored.
    if bytes == 0 || !(if is_array { size.is_multiple_of(bytes) } else { size == bytes }) {
        return None;
    }
    let fits = |elements: &[Element]| elements.contains(&given.element) && given.element_size == bytes;
    let (is_fitting, expected) = match element.kind() {
        Kind::Int if is_bool(element) => {
            let expected = format!("a bool or an integer of {}", byte_count(bytes));
            (fits(&[Element::Bool, Element::Unsigned, Element::Signed]), expected)
        }
        Kind::Int | Kind::Enum | Kind::Enum64 => {
            (fits(&[Element::Unsigned, Element::Signed]), format!("an integer of {}", byte_count(bytes)))
        }
        Kind::Float => (fits(&[Element::Float]), format!("a float of {}", byte_count(bytes))),
        Kind::Ptr => (fits(&[Element::Unsigned]), format!("an address of {}", byte_count(bytes))),
        _ => {
            let expected = format!("plain old data of {}", byte_count(bytes));
            (given.is_array || given.element == Element::Record, expected)
        }
    };
    match (is_array, given.is_array) {
        (true, _) if given.element == Element::Record => None,
        (true, true) if is_fitting => None,
        (true, _) => Some(format!("an array of {expected} each")),
        (false, true) if is_scalar(element) => Some(expected),
        (false, _) if is_fitting => None,
        (false, _) => Some(expected),
    }
}

fn is_scalar(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float | Kind::Ptr)
}

fn byte_count(n: usize) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

/// Returns the innermost element type of a possibly nested array.
fn innermost<'b>(btf: &'b Btf<'_>, array: Type<'_>) -> Option<Type<'b>> {
    let mut element = btf.strip(array.array()?.element).ok()?;
    for _ in 0..core_relo::btf::limits::MODIFIER_HOPS {
        match element.array() {
            Some(array) => element = btf.strip(array.element).ok()?,
            None => return Some(element),
        }
    }
    None
}
