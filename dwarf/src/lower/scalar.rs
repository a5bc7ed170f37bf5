//! Records of base types and enumerations.

use crate::{decode::Enumerator, error::EntryProblem, graph::info, limits, names::NameId};
use core_relo::btf::{Builder, Kind};
use gimli::{DwAte, constants};

/// Returns a number as a word of a record.
pub(super) fn word(what: &'static str, value: u64) -> Result<u32, EntryProblem> {
    u32::try_from(value).ok().ok_or(EntryProblem::TooLarge { what, value, limit: limits::MAX_SIZE })
}

/// Returns the number of elements of a record.
pub(super) fn vlen(what: &'static str, len: usize) -> Result<u16, EntryProblem> {
    let limit = u16::MAX.into();
    let value = u64::try_from(len).unwrap_or(u64::MAX);
    u16::try_from(len).ok().ok_or(EntryProblem::TooLarge { what, value, limit })
}

/// Returns the record of a base type: INT, FLOAT, or a STRUCT without members for a type that BTF does not
/// have.
pub(super) fn base(name: NameId, encoding: DwAte, size: u64, bits: u64) -> Result<Vec<u32>, EntryProblem> {
    let bytes = word("size of a base type", size)?;
    let is_float = matches!(
        encoding,
        constants::DW_ATE_float
            | constants::DW_ATE_complex_float
            | constants::DW_ATE_imaginary_float
            | constants::DW_ATE_decimal_float
    );
    let opaque = Vec::from([name.0, info(Kind::Struct, 0, false), bytes]);
    if is_float {
        let is_valid = matches!(size, 2 | 4 | 8 | 12 | 16);
        return Ok(if is_valid { Vec::from([name.0, info(Kind::Float, 0, false), bytes]) } else { opaque });
    }
    let encoding = match encoding {
        constants::DW_ATE_boolean => Builder::BOOL,
        constants::DW_ATE_signed | constants::DW_ATE_signed_char => Builder::SIGNED,
        _ => 0,
    };
    match u32::try_from(bits) {
        Ok(bits)
            if matches!(size, 1 | 2 | 4 | 8 | 16) && (1..=size.saturating_mul(8)).contains(&bits.into()) =>
        {
            let word = (u32::from(encoding) << 24) | bits;
            Ok(Vec::from([name.0, info(Kind::Int, 0, false), bytes, word]))
        }
        _ => Ok(opaque),
    }
}

/// Returns the record of an enumeration: ENUM of at most four bytes, else ENUM64.
///
/// The enumeration is signed if a value is negative.
pub(super) fn enumeration(
    name: NameId,
    size: u64,
    enumerators: &[Enumerator],
) -> Result<Vec<u32>, EntryProblem> {
    let bytes = word("size of an enumeration", size)?;
    let vlen = vlen("number of enumerators", enumerators.len())?;
    let is_signed = enumerators.iter().any(|enumerator| enumerator.is_negative);
    let is_wide = size > 4;
    let kind = if is_wide { Kind::Enum64 } else { Kind::Enum };
    let mut words = Vec::from([name.0, info(kind, vlen, is_signed), bytes]);
    for Enumerator { name, value, .. } in enumerators {
        words.extend([name.0, low32(*value)]);
        if is_wide {
            words.push(low32(*value >> 32));
        }
    }
    Ok(words)
}

/// Returns the low 32 bits.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the truncation is the purpose")]
const fn low32(value: u64) -> u32 {
    value as u32
}
