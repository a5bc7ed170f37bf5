//! Names: identifiers and names of sections.

use super::rules::KernelBtfRules;
use thiserror::Error;

/// The use of a name, which decides which characters are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameUse {
    /// The name of a type, member, enumerator, function or parameter.
    Identifier,
    /// The name of a variable, which may contain dots on every kernel.
    Variable,
    /// The name of a DATASEC.
    Section,
}

/// The reason why the kernel refuses a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NameError {
    /// A type without a name, of a kind that needs one.
    #[error("has no name")]
    Missing,
    /// The offset of the name lies outside the strings.
    #[error("has a name at string offset {offset}, where there is no string")]
    NoString {
        /// The offset.
        offset: u32,
    },
    /// A type with a name, of a kind that must have none.
    #[error("has a name, expected none")]
    Unexpected,
    /// A name that begins with a character that may not be first.
    #[error("has a name that begins with {}, expected a letter, `_` or `.`", Byte(*found))]
    First {
        /// The byte.
        found: u8,
    },
    /// A name with a character that the kernel does not allow.
    #[error("has a name with {} at byte {offset}, which the kernel does not allow", Byte(*found))]
    Character {
        /// The byte.
        found: u8,
        /// The offset of the byte in the name.
        offset: usize,
    },
    /// A name that is too long.
    #[error("has a name of more than {limit} bytes")]
    TooLong {
        /// The bytes of the longest name that the kernel allows.
        limit: usize,
    },
}

crate::debug_as_message!(NameError);

/// A byte of a name in a message.
struct Byte(u8);

impl core::fmt::Display for Byte {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            byte @ b'!'..=b'~' => write!(f, "`{}`", char::from(byte)),
            b' ' => f.write_str("a space"),
            byte => write!(f, "the byte {byte:#04x}"),
        }
    }
}

impl KernelBtfRules {
    /// Checks a name that is not empty (kernel: `btf_name_valid_identifier`, `btf_name_valid_section`).
    pub fn check_name(&self, name: &[u8], name_use: NameUse) -> Result<(), NameError> {
        let first = *name.first().ok_or(NameError::Missing)?;
        let allowed = self.allowed(name_use);
        if !allowed.contains(first) || (allowed.0 & PRINTABLE == 0 && first.is_ascii_digit()) {
            return Err(NameError::First { found: first });
        }
        let checked = name.iter().take(self.name_bytes).enumerate();
        if let Some((offset, found)) = checked.skip(1).find(|(_, byte)| !allowed.contains(**byte)) {
            return Err(NameError::Character { found: *found, offset });
        }
        if name.len() > self.name_bytes {
            return Err(NameError::TooLong { limit: self.name_bytes });
        }
        Ok(())
    }

    /// Returns whether strings begin with a name in which all is allowed. Otherwise
    /// [`check_name`](Self::check_name) finds the reason.
    pub(super) fn begins_with_name(&self, strings: &[u8], name_use: NameUse) -> bool {
        let allowed = self.allowed(name_use);
        let len = strings.iter().position(|byte| !allowed.contains(*byte));
        len.is_some_and(|len| {
            let is_end = strings.get(len) == Some(&0) && (1..=self.name_bytes).contains(&len);
            is_end && strings.first().is_some_and(|first| !first.is_ascii_digit())
        })
    }

    /// Returns the characters that a name may have.
    fn allowed(&self, name_use: NameUse) -> Classes {
        if name_use == NameUse::Section && self.printable_sections {
            return Classes(PRINTABLE);
        }
        let has_dots = self.dots_in_names || name_use != NameUse::Identifier;
        Classes(if has_dots { WORD | DOT } else { WORD })
    }
}

/// Classes of characters.
#[derive(Clone, Copy)]
struct Classes(u8);

impl Classes {
    fn contains(self, byte: u8) -> bool {
        CLASSES.get(usize::from(byte)).is_some_and(|classes| classes & self.0 != 0)
    }
}

/// Letters, digits and `_`: `isalnum` of the kernel, which counts the letters of Latin-1.
const WORD: u8 = 1;
/// Characters of `isprint` of the kernel, which counts those of Latin-1.
const PRINTABLE: u8 = 2;

/// A dot.
const DOT: u8 = 4;

/// The classes of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let (mut byte, mut index) = (0u8, 0usize);
    while index < classes.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            classes[index] = class(byte);
        }
        (byte, index) = (byte.wrapping_add(1), index.wrapping_add(1));
    }
    classes
};

/// Returns the classes of a byte by the kernel's table of characters, which is that of Latin-1.
const fn class(byte: u8) -> u8 {
    match byte {
        // The signs of multiplication (0xd7) and division (0xf7) are no letters.
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | 0xc0..=0xd6 | 0xd8..=0xf6 | 0xf8..=0xff => {
            WORD | PRINTABLE
        }
        b'.' => DOT | PRINTABLE,
        b' '..=b'~' | 0xa0..=0xbf | 0xd7 | 0xf7 => PRINTABLE,
        _ => 0,
    }
}
