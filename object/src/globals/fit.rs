//! Checks that a Rust value can stand for a variable: by size, and by the type in the object's BTF.
//!
//! Refused is what is surely a mistake: a float for an integer, a number for a struct. Signs do not matter, since C converts them
//! and constants are often written without; nor does what structs consist of. An array of bytes stands for anything.

use super::{
    Global, GlobalError,
    shape::{Element, RustType, Shape},
};
use core_relo::{
    Text,
    btf::{Btf, Kind, Type},
    explain::CType,
};

/// Checks that values of a Rust type can stand for a variable.
pub fn check_type(btf: Option<&Btf<'_>>, global: &Global, found: &RustType) -> Result<(), GlobalError> {
    check_size(btf, global, found.size)?;
    let Some((btf, ty)) = btf.zip(global.stripped(btf)) else { return Ok(()) };
    match takes(btf, ty, global.size, found.shape) {
        Some(takes) if !found.shape.is_bytes() => Err(GlobalError::Type {
            name: global.name.as_str().into(),
            c_type: c_type(btf, global),
            takes: takes.into(),
            size: global.size,
            found: found.name,
        }),
        _ => Ok(()),
    }
}

/// Checks that a value of a Rust type, given as its bytes, can be a variable's: a C `bool` takes 0 and 1 only.
pub fn check_value(
    btf: Option<&Btf<'_>>,
    global: &Global,
    found: &RustType,
    value: &[u8],
) -> Result<(), GlobalError> {
    check_type(btf, global, found)?;
    let Some((btf, ty)) = btf.zip(global.stripped(btf)) else { return Ok(()) };
    match value {
        [found] if *found > 1 && is_bool(ty) => Err(GlobalError::Bool {
            name: global.name.as_str().into(),
            c_type: c_type(btf, global),
            found: *found,
        }),
        _ => Ok(()),
    }
}

/// Checks that a value of `found` bytes fits a variable.
pub fn check_size(btf: Option<&Btf<'_>>, global: &Global, found: usize) -> Result<(), GlobalError> {
    // An array that grew with its section also takes as many elements as it is declared with.
    if global.size == found || global.declared_size == found {
        return Ok(());
    }
    let c_type = btf.filter(|_| global.ty.is_some()).map(|btf| c_type(btf, global));
    Err(GlobalError::Size { name: global.name.as_str().into(), c_type, expected: global.size, found })
}

/// Returns whether a type is a C `bool` (`BTF_INT_BOOL`).
fn is_bool(ty: Type<'_>) -> bool {
    const BOOL: u8 = 4;
    ty.int().is_some_and(|int| int.encoding & BOOL != 0)
}

fn c_type(btf: &Btf<'_>, global: &Global) -> Text {
    CType::new(btf, global.ty.unwrap_or_default()).to_string().into()
}

/// Returns the Rust types that a C type takes instead of the given one; none if it takes the given one.
fn takes(btf: &Btf<'_>, ty: Type<'_>, size: usize, given: Shape) -> Option<String> {
    let is_array = ty.kind() == Kind::Array;
    let element = if is_array { innermost(btf, ty)? } else { ty };
    let bytes = usize::try_from(btf.size_of(element.id()).ok()?.0).ok()?;
    // The symbol knows better than the type; then the type says nothing.
    if bytes == 0 || !(if is_array { size.is_multiple_of(bytes) } else { size == bytes }) {
        return None;
    }
    let takes_it = |elements: &[Element]| elements.contains(&given.element) && given.element_size == bytes;
    let (is_taken, what) = match element.kind() {
        Kind::Int if is_bool(element) => {
            let what = format!("a bool or an integer of {}", of_bytes(bytes));
            (takes_it(&[Element::Bool, Element::Unsigned, Element::Signed]), what)
        }
        Kind::Int | Kind::Enum | Kind::Enum64 => {
            (takes_it(&[Element::Unsigned, Element::Signed]), format!("an integer of {}", of_bytes(bytes)))
        }
        Kind::Float => (takes_it(&[Element::Float]), format!("a float of {}", of_bytes(bytes))),
        Kind::Ptr => (takes_it(&[Element::Unsigned]), format!("an address (u{})", bytes.saturating_mul(8))),
        _ => {
            let what = format!("plain old data of {}", of_bytes(bytes));
            (given.is_array || given.element == Element::Record, what)
        }
    };
    match (is_array, given.is_array) {
        (true, _) if given.element == Element::Record => None,
        (true, true) if is_taken => None,
        (true, _) => Some(format!("an array of {what} each")),
        (false, true) if is_scalar(element) => Some(what),
        (false, _) if is_taken => None,
        (false, _) => Some(what),
    }
}

fn is_scalar(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float | Kind::Ptr)
}

fn of_bytes(n: usize) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

/// Returns the innermost element type of an array of arrays.
fn innermost<'b>(btf: &'b Btf<'_>, array: Type<'_>) -> Option<Type<'b>> {
    let mut at = btf.strip(array.array()?.element).ok()?;
    for _ in 0..core_relo::limits::MODIFIER_HOPS {
        match at.array() {
            Some(array) => at = btf.strip(array.element).ok()?,
            None => return Some(at),
        }
    }
    None
}
