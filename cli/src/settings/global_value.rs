//! The value of a global variable, parsed by the type of the variable.

use crate::{long_double, text::hex};
use core_relo::{
    Endian,
    btf::{Signedness, ValueError, ValueParser, parse_number},
};
use core_relo_loader::{Global, object::Object};

/// Parses a value to bytes. The bytes have the size of the variable and this machine's byte order.
pub(super) fn parse(object: &Object<'_>, global: &Global, value: &str) -> Result<Vec<u8>, String> {
    if let Some(digits) = value.strip_prefix("hex:") {
        return hex::parse(digits)
            .filter(|b| b.len() == global.size)
            .ok_or_else(|| format!("expected {} pairs of hexadecimal digits", global.size));
    }
    let variable = object.btf().and_then(|btf| Some((btf, btf.strip(global.ty?).ok()?.id())));
    let parsed = match variable {
        Some((btf, ty)) => {
            let parser = ValueParser::new(btf).long_double(long_double::NATIVE);
            parser.parse_word(ty, value, global.size)
        }
        None => parse_number(value, global.size, Signedness::Either, Endian::native()),
    };
    parsed.map_err(|error| match error {
        ValueError::OtherSize { found, expected } => {
            format!("its type has {found} bytes, the variable {expected}: give hex:…")
        }
        error => error.to_string(),
    })
}
