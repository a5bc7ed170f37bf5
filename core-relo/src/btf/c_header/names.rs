//! The names of declarations: valid in C, and unique in their name space.

use crate::{ids::TypeId, limits};
use alloc::{format, string::String, vec::Vec};
use hashbrown::{HashMap, HashSet};

/// Words that are no identifiers in C11, GNU C or clang.
const KEYWORDS: &[&str] = &[
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_Bool",
    "_Complex",
    "_Generic",
    "_Imaginary",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
    "__alignof__",
    "__asm",
    "__asm__",
    "__attribute",
    "__attribute__",
    "__const",
    "__extension__",
    "__inline",
    "__inline__",
    "__int128",
    "__restrict",
    "__signed__",
    "__typeof__",
    "__volatile__",
    "asm",
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "typeof",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

/// Returns whether a name can be declared: an identifier that is no keyword, no built-in name and not overlong.
pub(super) fn is_identifier(name: &[u8]) -> bool {
    let is_word = match name {
        [first, rest @ ..] => {
            (first.is_ascii_alphabetic() || *first == b'_')
                && rest.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
        }
        [] => false,
    };
    is_word
        && name.len() <= limits::NAME_BYTES
        && !name.starts_with(b"__builtin_")
        && KEYWORDS.binary_search_by(|word| word.as_bytes().cmp(name)).is_err()
}

/// Returns the beginning of a name, by which declarations are sorted.
pub(super) fn sort_key(name: &[u8]) -> &[u8] {
    name.get(..limits::NAME_BYTES).unwrap_or(name)
}

/// Returns an identifier that resembles a name.
pub(super) fn sanitized(name: &[u8]) -> String {
    let mut text = String::new();
    for c in sort_key(name) {
        let is_valid = c.is_ascii_alphanumeric() && !(text.is_empty() && c.is_ascii_digit());
        text.push(if is_valid { char::from(*c) } else { '_' });
    }
    text
}

/// A name space of C: tags, ordinary identifiers, or the members of a composite.
#[derive(Debug, Default)]
pub(super) struct NameSpace<'b> {
    /// The names that are declared unchanged, with the next number for a second declaration.
    taken: HashMap<&'b [u8], u32>,
    generated: HashSet<String>,
}

impl<'b> NameSpace<'b> {
    /// Declares a name. Returns the identifier to use instead if the name is no identifier or is taken.
    pub(super) fn claim(&mut self, name: &'b [u8]) -> Option<String> {
        let is_valid = is_identifier(name);
        if is_valid && !self.taken.contains_key(name) && !self.is_generated(name) {
            self.taken.insert(name, 2);
            return None;
        }
        let base = sanitized(name);
        let mut number = self.taken.get(name).copied().unwrap_or(2);
        if !is_valid && is_identifier(base.as_bytes()) && self.is_free(&base) {
            self.generated.insert(base.clone());
            return Some(base);
        }
        let unique = loop {
            let candidate = format!("{base}___{number}");
            number = number.wrapping_add(1);
            if self.is_free(&candidate) {
                break candidate;
            }
        };
        self.taken.insert(name, number);
        self.generated.insert(unique.clone());
        Some(unique)
    }

    /// Declares an identifier for a member that the BTF does not name: the base, with a number from the second time on.
    pub(super) fn claim_filler(&mut self, base: &'static str) -> String {
        match self.claim(base.as_bytes()) {
            Some(numbered) => numbered,
            None => String::from(base),
        }
    }

    /// Declares an identifier that is not in the BTF.
    pub(super) fn claim_generated(&mut self, base: &str) -> String {
        let mut name = String::from(base);
        let mut number = 2u32;
        while !self.is_free(&name) {
            name = format!("{base}___{number}");
            number = number.wrapping_add(1);
        }
        self.generated.insert(name.clone());
        name
    }

    /// Returns whether the name is declared.
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.taken.contains_key(name) || self.is_generated(name)
    }

    fn is_generated(&self, name: &[u8]) -> bool {
        !self.generated.is_empty()
            && core::str::from_utf8(name).is_ok_and(|name| self.generated.contains(name))
    }

    fn is_free(&self, name: &str) -> bool {
        !self.contains(name.as_bytes())
    }
}

/// The identifiers of types and enumerators that differ from their names in the BTF.
#[derive(Debug, Default)]
pub(super) struct Renamed {
    pub(super) types: HashMap<TypeId, String>,
    pub(super) enumerators: HashMap<(TypeId, u32), String>,
    /// The identifier and the name of each type whose name is no identifier.
    pub(super) listed: Vec<(String, TypeId)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert!(!is_identifier(b"while") && !is_identifier(b"2a") && !is_identifier(b"__builtin_va_list"));
        assert!(is_identifier(b"_a2") && !is_identifier(b"") && !is_identifier(&[b'a'; 513]));
    }

    #[test]
    fn names_are_unique() {
        let mut names = NameSpace::default();
        assert_eq!(names.claim(b"a"), None);
        assert_eq!(names.claim(b"a___2"), None);
        assert_eq!(names.claim(b"a").as_deref(), Some("a___3"));
        assert_eq!(names.claim(b"a").as_deref(), Some("a___4"));
        assert_eq!(names.claim(b"core::Option<u8>").as_deref(), Some("core__Option_u8_"));
        assert_eq!(names.claim(b"core::Option{u8}").as_deref(), Some("core__Option_u8____2"));
        assert_eq!(names.claim(b"int").as_deref(), Some("int___2"));
    }
}
