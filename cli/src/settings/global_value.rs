//! The value of a global variable, parsed by the type of the variable.

use crate::{
    text::hex,
    value_parser::text::{parse_number, parse_sized},
};
use core_relo_loader::{Global, object::Object};

/// Parses a value to bytes. The bytes have the size of the variable and this machine's byte order.
pub(super) fn parse(object: &Object<'_>, global: &Global, value: &str) -> Result<Vec<u8>, String> {
    if let Some(digits) = value.strip_prefix("hex:") {
        return hex::parse(digits)
            .filter(|b| b.len() == global.size)
            .ok_or_else(|| format!("expected {} pairs of hexadecimal digits", global.size));
    }
    let variable = object.btf().and_then(|btf| Some((btf, btf.strip(global.ty?).ok()?)));
    let bytes = match variable {
        Some((btf, ty)) => parse_sized(btf, ty, global.size, value)?,
        None => parse_number(value, global.size, None)?,
    };
    if bytes.len() == global.size {
        return Ok(bytes);
    }
    Err(format!("its type has {} bytes, the variable {}: give hex:…", bytes.len(), global.size))
}
