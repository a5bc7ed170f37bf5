//! The words of BTF records with repeated parts: the entries of a DATASEC and the parameters of a FUNC_PROTO.

use crate::internal::{InternalError, Invariant as _};
use core_relo::{TypeId, btf::Editor};

/// The number of words before the repeated part of a record: name, info, and size or type.
pub(super) const HEADER_WORDS: u32 = 3;

/// The words of a DATASEC entry: type, offset, size.
pub(super) type SecInfo = [u32; 3];

/// Returns the words of entry `n` of a DATASEC.
pub(super) fn secinfo(edit: &Editor, section: TypeId, n: u32) -> Result<SecInfo, InternalError> {
    let read = |word| {
        let value = edit.word(section, secinfo_word(n, word)?);
        value.invariant("a DATASEC has three words for each entry")
    };
    Ok([read(0)?, read(1)?, read(2)?])
}

/// Sets the words of entry `n` of a DATASEC.
pub(in crate::load_plan) fn set_secinfo(
    edit: &mut Editor,
    section: TypeId,
    n: u32,
    words: SecInfo,
) -> Result<(), InternalError> {
    for (word, value) in (secinfo_word(n, 0)?..).zip(words) {
        edit.set(section, word, value);
    }
    Ok(())
}

/// Returns the number of a word of entry `n` in a DATASEC record.
///
/// Enumerators of an ENUM64 and members of a STRUCT or UNION also have three words.
pub(super) fn secinfo_word(n: u32, word: u32) -> Result<u32, InternalError> {
    let entry = n.checked_mul(3).and_then(|words| words.checked_add(HEADER_WORDS));
    let word = entry.and_then(|entry| entry.checked_add(word));
    word.invariant("a record has fewer than 2^24 entries, of three words each")
}

/// Returns the number of the first word of parameter `n` in a FUNC_PROTO record. A parameter has two words:
/// name and type.
pub(super) fn param_word(n: u32) -> Result<u32, InternalError> {
    let word = n.checked_mul(2).and_then(|words| words.checked_add(HEADER_WORDS));
    word.invariant("a record has fewer than 2^24 parameters, of two words each")
}
