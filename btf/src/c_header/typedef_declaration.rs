//! Typedefs in a C text, token by token.

use super::typedef_type::{Specifiers, TypedefType, basic_word, is_qualifier};
use alloc::{sync::Arc, vec::Vec};

/// A typedef whose end has not been reached.
pub(super) struct Typedef<'t> {
    /// The number of scopes around it.
    pub(super) depth: usize,
    /// The last word, which is the name if the declarator ends here.
    name: Option<&'t [u8]>,
    declarator: Declarator,
    /// The words before the first declarator, and its name.
    words: Vec<&'t [u8]>,
    /// The type of the words, from the end of the first declarator on.
    specifiers: Option<Arc<Specifiers>>,
    /// Whether the specifiers define a struct, union or enum without a name.
    is_nameless: bool,
    /// Whether the specifiers have words whose meaning only a compiler knows.
    is_opaque: bool,
}

/// The outermost part of a declarator so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declarator {
    Name,
    /// The pointer, array or function around the name, or the one that a function returns.
    Pointer,
    Array,
    Function,
    /// Parentheses around a part of the declarator.
    Group,
    /// With an attribute, which may choose another type.
    Attribute,
}

/// A character of a typedef.
pub(super) struct Punctuation {
    pub(super) c: u8,
    /// The number of scopes around it.
    pub(super) depth: usize,
    /// The token before it; a word is `w`.
    pub(super) last: u8,
    /// Whether a body here belongs to a struct, union or enum without a name.
    pub(super) is_definition: bool,
}

impl<'t> Typedef<'t> {
    pub(super) const fn new(depth: usize) -> Self {
        Self {
            depth,
            name: None,
            declarator: Declarator::Name,
            words: Vec::new(),
            specifiers: None,
            is_nameless: false,
            is_opaque: false,
        }
    }

    /// Adds a word. `last` are the two tokens before it, without the qualifiers of a pointer.
    pub(super) fn word(&mut self, word: &'t [u8], depth: usize, last: [u8; 2]) {
        if is_opaque_word(word) {
            self.add_opaque();
            return;
        }
        let is_specifier =
            depth == self.depth && self.specifiers.is_none() && self.declarator == Declarator::Name;
        if is_specifier {
            self.words.push(word);
        }
        if is_qualifier(word) {
            return;
        }
        let is_in_parentheses = depth.checked_sub(1) == Some(self.depth);
        // The name of a pointer to a function: `(*name)(int)`.
        let is_pointer = is_in_parentheses && last == *b"(*";
        if is_pointer && matches!(self.declarator, Declarator::Group | Declarator::Function) {
            self.declarator = Declarator::Pointer;
        }
        let is_grouped = is_in_parentheses
            && last[1] == b'('
            && self.declarator == Declarator::Group
            && self.name.is_none();
        if is_pointer || is_grouped || depth == self.depth {
            self.name = Some(word);
        }
    }

    /// Adds a word or an attribute whose meaning only a compiler knows.
    fn add_opaque(&mut self) {
        self.declarator = Declarator::Attribute;
        self.is_opaque |= self.specifiers.is_none();
    }

    /// Adds the punctuation of a declarator.
    pub(super) fn punctuation(&mut self, token: &Punctuation) {
        let Punctuation { c, depth, last, is_definition } = *token;
        // `[[deprecated]]`.
        if (c, last) == (b'[', b'[') && depth.checked_sub(1) == Some(self.depth) {
            self.add_opaque();
        }
        if depth != self.depth {
            return;
        }
        if c == b'{' && is_definition {
            self.is_nameless = true;
        }
        self.declarator = match (c, self.declarator) {
            (_, Declarator::Attribute) => Declarator::Attribute,
            (b'*', Declarator::Name) => Declarator::Pointer,
            // Parameters follow the name, or the parentheses around it.
            (b'(', Declarator::Name | Declarator::Pointer)
                if last != b')' && (last != b'w' || !self.is_named()) =>
            {
                self.name = None;
                Declarator::Group
            }
            (b'(', Declarator::Name | Declarator::Pointer) if last == b'w' => Declarator::Function,
            (b'[', Declarator::Name | Declarator::Pointer) if last == b'w' => Declarator::Array,
            (_, declarator) => declarator,
        };
    }

    /// Returns whether the last word is the name of a declarator, and not the last one of the specifiers.
    fn is_named(&self) -> bool {
        if self.specifiers.is_some() || self.declarator != Declarator::Name {
            return true;
        }
        let mut words = self.words.iter().filter(|word| !is_qualifier(word) && **word != b"__extension__");
        let (first, others) = (words.next(), words.clone().count());
        let is_tag = first.is_some_and(|word| matches!(*word, b"struct" | b"union" | b"enum"));
        let specifiers = if is_tag && !self.is_nameless { 2 } else { 1 };
        others >= specifiers && self.name.is_some_and(|name| basic_word(name).is_none())
    }

    /// Ends a declarator. Returns its name and type.
    pub(super) fn end_declarator(&mut self) -> Option<(&'t [u8], TypedefType)> {
        let name = self.name.take();
        let (words, is_opaque) = (&mut self.words, self.is_opaque);
        let specifiers = self.specifiers.get_or_insert_with(|| {
            if words.last().copied() == name {
                words.pop();
            }
            Arc::new(Specifiers::new(words, self.is_nameless))
        });
        let ty = match core::mem::replace(&mut self.declarator, Declarator::Name) {
            // Attributes make no other type of it.
            Declarator::Name | Declarator::Attribute if self.is_nameless => {
                TypedefType::Plain(Arc::clone(specifiers))
            }
            Declarator::Name if !is_opaque => TypedefType::Plain(Arc::clone(specifiers)),
            Declarator::Name | Declarator::Attribute | Declarator::Group => TypedefType::Unknown,
            Declarator::Pointer => TypedefType::Pointer,
            Declarator::Array => TypedefType::Array,
            Declarator::Function => TypedefType::Function,
        };
        Some((name?, ty))
    }
}

/// Returns whether a word begins an attribute, or a type that only a compiler knows.
fn is_opaque_word(word: &[u8]) -> bool {
    matches!(
        word,
        b"__attribute__"
            | b"__attribute"
            | b"typeof"
            | b"__typeof__"
            | b"__typeof"
            | b"typeof_unqual"
            | b"__typeof_unqual__"
            | b"__typeof_unqual"
            | b"_Alignas"
            | b"alignas"
            | b"_BitInt"
            | b"_ExtInt"
            | b"__declspec"
    )
}
