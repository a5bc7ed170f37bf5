//! The value of a global variable, parsed by the type of the variable.

use crate::{long_double, text::hex};
use core_relo::{
    Endian,
    btf::{Signedness, ValueError, ValueParser, parse_number},
};
use core_relo_loader::{Global, object::Object};

/// Parses a value to bytes. The bytes have the size of the variable and the object's byte order.
pub(super) fn parse(object: &Object<'_>, global: &Global, value: &str) -> Result<Vec<u8>, String> {
    if let Some(digits) = value.strip_prefix("hex:") {
        return hex::parse(digits)
            .filter(|b| b.len() == global.size)
            .ok_or_else(|| format!("expected {} pairs of hexadecimal digits", global.size));
    }
    let variable = object.btf().and_then(|btf| Some((btf, btf.strip(global.ty?).ok()?.id())));
    let parsed = match variable {
        Some((btf, ty)) => {
            let parser = ValueParser::new(btf);
            let is_native = object.endian() == Endian::native();
            let parser = if is_native { parser.long_double(long_double::NATIVE) } else { parser };
            parser.parse_word(ty, value, global.size)
        }
        None => parse_number(value, global.size, Signedness::Either, object.endian()),
    };
    parsed.map_err(|error| match error {
        ValueError::OtherSize { found, expected } => {
            format!("its type has {found} bytes, the variable {expected}: give hex:…")
        }
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::load_plan::{InitialValues, Settings};
    use std::{fs, path::Path};

    /// An object of the other byte order is judged with the settings of the user as well.
    #[test]
    fn values_have_the_byte_order_of_the_object() {
        for (order, expected) in [("el", [4, 3, 2, 1]), ("eb", [1, 2, 3, 4])] {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt").join(order);
            let bytes = fs::read(dir.join("live/globals.bpf.o")).unwrap();
            let object = Object::parse(&bytes).unwrap();
            let weight = InitialValues::new(&object).find(&Settings::default(), "weights[1]").unwrap();
            assert_eq!(parse(&object, &weight, "0x01020304"), Ok(expected.to_vec()), "{order}");
        }
    }
}
