//! Declaration tags of the BTF, and the attributes that stand for tags.

use crate::{format::Kind, ids::TypeId, limits, parse::Btf};
use alloc::{format, string::String, vec::Vec};
use hashbrown::HashMap;

/// The tags of one declaration or member that are printed.
const TAGS: usize = 8;

/// The name of a tag, and whether it is another attribute.
type Tag<'b> = (&'b [u8], bool);

/// The declaration tags of a BTF.
#[derive(Debug, Default)]
pub(super) struct Tags<'b> {
    tags: HashMap<(TypeId, i32), Vec<Tag<'b>>>,
}

impl<'b> Tags<'b> {
    pub(super) fn new(btf: &'b Btf<'_>) -> Self {
        let mut tags: HashMap<_, Vec<Tag<'b>>> = HashMap::new();
        let mut level: Option<&'b Btf<'b>> = Some(btf);
        while let Some(btf) = level {
            for ty in btf.types().filter(|ty| ty.kind() == Kind::DeclTag) {
                if let Some(component) = ty.component_index() {
                    let of_declaration = tags.entry((TypeId(ty.size_or_type()), component)).or_default();
                    if of_declaration.len() < TAGS {
                        of_declaration.push((ty.name().as_bytes(), ty.kflag()));
                    }
                }
            }
            level = btf.base().map(|base| &**base);
        }
        Self { tags }
    }

    /// Returns whether the function is marked as a kfunc (pahole: `bpf_kfunc`).
    pub(super) fn is_kfunc(&self, func: TypeId) -> bool {
        self.has(func, b"bpf_kfunc")
    }

    pub(super) fn has(&self, id: TypeId, name: &[u8]) -> bool {
        self.tags.get(&(id, -1)).is_some_and(|tags| tags.iter().any(|(tag, _)| *tag == name))
    }

    /// Returns the attributes of a declaration, or of its member. Each begins with a space.
    pub(super) fn attributes(&self, id: TypeId, component: i32) -> String {
        let mut text = String::new();
        for (name, is_attribute) in self.tags.get(&(id, component)).into_iter().flatten() {
            text.push(' ');
            text.push_str(&attribute(name, *is_attribute, "__core_relo_decl_tag"));
        }
        text
    }

    /// Returns the tags of an enum, for which compilers have no attribute. Each begins with a space.
    pub(super) fn comments(&self, id: TypeId) -> String {
        let mut text = String::new();
        for (name, _) in self.tags.get(&(id, -1)).into_iter().flatten() {
            text.extend([" /* tag ", &comment(name), " */"]);
        }
        text
    }
}

/// Returns the attribute for a tag. `macro_name` is the macro for tags that are no other attribute.
pub(super) fn attribute(name: &[u8], is_attribute: bool, macro_name: &str) -> String {
    if is_attribute {
        return match core::str::from_utf8(name) {
            Ok(text) if is_plain_attribute(name) => format!("__attribute__(({text}))"),
            _ => format!("/* attribute {} */", comment(name)),
        };
    }
    // The string of an attribute has no numeric escapes. Two question marks may begin a trigraph.
    let is_text = name.len() <= limits::NAME_BYTES && name.iter().all(|c| matches!(c, b' '..=b'~'));
    match core::str::from_utf8(name) {
        Ok(text) if is_text && !text.contains("??") => {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{macro_name}(\"{}\")", without_commands(&text))
        }
        _ => format!("/* tag {} */", comment(name)),
    }
}

/// Returns whether a tag is an attribute's name, with at most one number or word as its argument.
fn is_plain_attribute(name: &[u8]) -> bool {
    let bracket = name.iter().position(|c| *c == b'(');
    let (word, argument) = match bracket.and_then(|at| name.split_at_checked(at)) {
        None => (name, None),
        Some((word, argument)) => (word, Some(argument)),
    };
    let is_word = |text: &[u8]| {
        !text.is_empty() && text.len() <= 64 && text.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
    };
    let inner = argument.map(|text| text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")")));
    is_word(word) && inner.is_none_or(|inner| inner.is_some_and(is_word))
}

/// Returns the text of a string literal as several literals, none of which has `##`: `##vso[…]` is a command
/// in the log of a CI job.
fn without_commands(text: &str) -> String {
    let mut pieces = String::new();
    for c in text.chars() {
        if c == '#' && pieces.ends_with('#') {
            pieces.push_str("\" \"");
        }
        pieces.push(c);
    }
    pieces
}

/// Returns the octal digit for the low three bits of a byte.
fn octal(byte: u8) -> char {
    char::from(b'0'.wrapping_add(byte & 7))
}

/// Returns a name for a comment: nothing in it ends the comment, continues a line, or is a command in the log
/// of a CI job.
pub(super) fn comment(name: &[u8]) -> String {
    let mut text = String::new();
    for c in name.iter().take(limits::NAME_BYTES) {
        match c {
            b'*' | b'/' | b'\\' | b'?' | b'#' => text.extend(['\\', octal(c >> 6), octal(c >> 3), octal(*c)]),
            b' '..=b'~' => text.push(char::from(*c)),
            _ => text.extend(['\\', octal(c >> 6), octal(c >> 3), octal(*c)]),
        }
    }
    text
}
