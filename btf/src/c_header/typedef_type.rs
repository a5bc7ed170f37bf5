//! The types of typedefs in a C text, as far as two of them can be told apart.

use crate::limits::NAME_BYTES;
use alloc::{sync::Arc, vec::Vec};
use hashbrown::HashMap;

/// The typedefs of a text by name.
pub(super) type TypedefTypes = HashMap<Vec<u8>, TypedefType>;

/// The typedefs between a typedef and its type.
const TYPEDEF_HOPS: u32 = 32;
/// The words of the longest specifiers that C permits, with qualifiers, are fewer.
const SPECIFIER_WORDS: usize = 16;

/// What a typedef stands for.
#[derive(Clone, Debug)]
pub(super) enum TypedefType {
    /// The type of the specifiers, which all declarators of a typedef share.
    Plain(Arc<Specifiers>),
    Pointer,
    Array,
    Function,
    /// A type that the text alone does not tell, such as `typeof(x)`.
    Unknown,
}

/// The specifiers of a typedef: a type, and its qualifiers.
#[derive(Debug)]
pub(super) struct Specifiers {
    qualifiers: Qualifiers,
    base: BaseType,
}

/// The type of specifiers without its qualifiers.
#[derive(Debug, PartialEq, Eq)]
enum BaseType {
    /// A struct, union or enum without a name. Each definition is a type of its own.
    Nameless,
    /// A type of the language: its words in alphabetical order, one spelling for each type.
    Basic(Vec<&'static str>),
    Tag {
        keyword: &'static str,
        name: Vec<u8>,
    },
    /// Another typedef.
    Typedef(Vec<u8>),
    Unknown,
}

/// The qualifiers of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Qualifiers {
    is_const: bool,
    is_volatile: bool,
    is_atomic: bool,
}

impl Qualifiers {
    /// Returns the qualifiers with that of a word. `None` if the word is no qualifier of specifiers.
    fn with_word(self, word: &[u8]) -> Option<Self> {
        Some(match word {
            b"const" | b"__const" | b"__const__" => Self { is_const: true, ..self },
            b"volatile" | b"__volatile" | b"__volatile__" => Self { is_volatile: true, ..self },
            b"_Atomic" => Self { is_atomic: true, ..self },
            _ => return None,
        })
    }

    const fn union(self, other: Self) -> Self {
        Self {
            is_const: self.is_const || other.is_const,
            is_volatile: self.is_volatile || other.is_volatile,
            is_atomic: self.is_atomic || other.is_atomic,
        }
    }
}

impl Specifiers {
    /// The specifiers whose type the text does not tell.
    const UNKNOWN: Self = Self {
        qualifiers: Qualifiers { is_const: false, is_volatile: false, is_atomic: false },
        base: BaseType::Unknown,
    };

    /// Returns the specifiers with these words, of which a definition without a name has only the keyword.
    pub(super) fn new(words: &[&[u8]], is_nameless: bool) -> Self {
        if words.len() > SPECIFIER_WORDS || words.iter().any(|word| word.len() > NAME_BYTES) {
            return Self::UNKNOWN;
        }
        let mut qualifiers = Qualifiers::default();
        let mut rest = Vec::new();
        for word in words.iter().filter(|word| **word != b"__extension__") {
            match qualifiers.with_word(word) {
                Some(more) => qualifiers = more,
                None => rest.push(*word),
            }
        }
        Self { qualifiers, base: if is_nameless { BaseType::Nameless } else { BaseType::new(&rest) } }
    }
}

impl BaseType {
    /// Returns the type that words without qualifiers name.
    fn new(words: &[&[u8]]) -> Self {
        match words {
            [keyword, name] if tag_keyword(keyword).is_some() => tag_keyword(keyword)
                .map_or(Self::Unknown, |keyword| Self::Tag { keyword, name: name.to_vec() }),
            [name] if basic_word(name).is_none() => Self::Typedef(name.to_vec()),
            _ => {
                let basic: Option<Vec<&'static str>> = words.iter().map(|word| basic_word(word)).collect();
                basic.and_then(one_spelling).map_or(Self::Unknown, Self::Basic)
            }
        }
    }
}

/// Returns the spelling of a basic type that all its spellings have in common.
fn one_spelling(mut words: Vec<&'static str>) -> Option<Vec<&'static str>> {
    if !words.contains(&"char") {
        let count = words.len();
        words.retain(|word| *word != "signed");
        if words.is_empty() && count > 0 {
            words.push("int");
        }
    }
    if ["short", "long", "unsigned"].iter().any(|word| words.contains(word)) {
        words.retain(|word| *word != "int");
    }
    words.sort_unstable();
    (!words.is_empty()).then_some(words)
}

impl TypedefType {
    /// Returns the type behind typedefs. `None` if the texts do not tell it.
    fn resolve<'t>(&'t self, texts: [&'t TypedefTypes; 2]) -> Option<Resolved<'t>> {
        let mut ty = self;
        let mut qualifiers = Qualifiers::default();
        for _ in 0..TYPEDEF_HOPS {
            let specifiers = match ty {
                Self::Plain(specifiers) => specifiers,
                Self::Unknown => return None,
                Self::Pointer | Self::Array | Self::Function => return Some(Resolved { ty, qualifiers }),
            };
            qualifiers = qualifiers.union(specifiers.qualifiers);
            match &specifiers.base {
                BaseType::Typedef(name) => ty = texts.iter().find_map(|text| text.get(name))?,
                BaseType::Unknown => return None,
                BaseType::Nameless | BaseType::Basic(_) | BaseType::Tag { .. } => {
                    return Some(Resolved { ty, qualifiers });
                }
            }
        }
        None
    }

    /// Returns whether two typedefs of the same name certainly differ, so that a compiler refuses the second
    /// one.
    pub(super) fn differs(&self, own: &TypedefTypes, other: &Self, others: &TypedefTypes) -> bool {
        let (own, other) = (self.resolve([own, others]), other.resolve([others, own]));
        own.zip(other).is_some_and(|(own, other)| own.differs(&other))
    }
}

/// A type behind typedefs, and all qualifiers on the way.
struct Resolved<'t> {
    ty: &'t TypedefType,
    qualifiers: Qualifiers,
}

impl Resolved<'_> {
    fn differs(&self, other: &Self) -> bool {
        match (self.ty, other.ty) {
            (TypedefType::Plain(own), TypedefType::Plain(others)) => {
                let is_same_base = match (&own.base, &others.base) {
                    (BaseType::Nameless, BaseType::Nameless) => Arc::ptr_eq(own, others),
                    (own, others) => own == others,
                };
                !is_same_base || self.qualifiers != other.qualifiers
            }
            // The text alone does not tell what pointers, arrays and functions are of, nor their qualifiers.
            (own, others) => core::mem::discriminant(own) != core::mem::discriminant(others),
        }
    }
}

/// Returns a keyword before a tag.
fn tag_keyword(word: &[u8]) -> Option<&'static str> {
    ["struct", "union", "enum"].into_iter().find(|keyword| keyword.as_bytes() == word)
}

/// Returns the usual spelling of a word of a basic type.
pub(super) fn basic_word(word: &[u8]) -> Option<&'static str> {
    Some(match word {
        b"_Bool" => "_Bool",
        b"char" => "char",
        b"short" => "short",
        b"int" => "int",
        b"long" => "long",
        b"signed" | b"__signed" | b"__signed__" => "signed",
        b"unsigned" => "unsigned",
        b"float" => "float",
        b"double" => "double",
        b"void" => "void",
        b"__int128" => "__int128",
        b"_Complex" | b"__complex" | b"__complex__" => "_Complex",
        _ => return None,
    })
}

/// Returns whether a word is a qualifier, of specifiers or of a pointer.
pub(super) fn is_qualifier(word: &[u8]) -> bool {
    matches!(word, b"restrict" | b"__restrict" | b"__restrict__")
        || Qualifiers::default().with_word(word).is_some()
}

#[cfg(test)]
mod tests {
    use crate::c_header::source_definitions::SourceDefinitions;

    /// Returns whether a typedef `x` of a source clashes with that of a header.
    fn clashes(source: &str, header: &str) -> bool {
        let [mut own, mut others] = [SourceDefinitions::default(), SourceDefinitions::default()];
        own.add(source.as_bytes());
        others.add(header.as_bytes());
        own.common(&others).contains(&&b"x"[..])
    }

    #[test]
    fn typedefs_clash_if_their_types_certainly_differ() {
        for (source, header) in [
            ("typedef int x;", "typedef unsigned int x;"),
            ("typedef long x;", "typedef long long int x;"),
            ("typedef struct { int a; } x;", "typedef struct { int a; } x;"),
            ("typedef struct a x;", "struct b { int c; }; typedef struct b x;"),
            ("typedef struct a { int c; } x;", "typedef struct b x;"),
            ("typedef int *x;", "typedef int x;"),
            ("typedef int y, x[4];", "typedef int x;"),
            ("typedef int (*x)(int);", "typedef int x(int);"),
            ("typedef int s32; typedef s32 x;", "typedef unsigned char u8; typedef u8 x;"),
            ("typedef u8 x;", "typedef unsigned char u8; typedef int x;"),
            ("typedef const int x;", "typedef int x;"),
            ("typedef int y; typedef const y x;", "typedef volatile int x;"),
            ("typedef struct { int a; } *y, x;", "typedef struct { int a; } x;"),
            ("typedef int (*const x)(int);", "typedef int x;"),
            ("typedef enum e x;", "typedef unsigned int x;"),
        ] {
            assert!(clashes(source, header), "{source} {header}");
        }
        for (source, header) in [
            ("typedef unsigned x;", "typedef unsigned int x;"),
            ("typedef long unsigned x;", "typedef unsigned long int x;"),
            ("typedef signed x;", "typedef int x;"),
            ("typedef struct a x;", "typedef struct a x;"),
            ("typedef u32 x; typedef unsigned u32;", "typedef unsigned int __u32; typedef __u32 x;"),
            ("typedef int *x;", "typedef char *x;"),
            ("typedef __typeof__(sizeof(int)) x;", "typedef unsigned long x;"),
            ("typedef unsigned x __attribute__((mode(byte)));", "typedef unsigned char x;"),
            ("typedef y x; typedef x y;", "typedef int x;"),
            ("typedef unknown x;", "typedef int x;"),
            ("typedef int y, *z, x;", "typedef int x;"),
            // Other spellings, as in <asm/types.h> of Linux.
            ("typedef __signed__ int x;", "typedef int x;"),
            ("__extension__ typedef __signed__ long long x;", "typedef long long x;"),
            ("typedef __signed__ char x;", "typedef signed char x;"),
            ("typedef __const int x;", "typedef int const x;"),
            // The qualifiers are those of both typedefs.
            ("typedef unsigned u; typedef const u x;", "typedef unsigned int v; typedef const v x;"),
            ("typedef const int y; typedef const y x;", "typedef const int x;"),
            // Both are the header's type without a name.
            ("typedef y x;", "typedef struct { int a; } y; typedef y x;"),
            ("typedef z x;", "typedef struct { int a; } y, z; typedef y x;"),
            // Attributes, and types that only a compiler knows.
            ("typedef int x [[deprecated]];", "typedef int x;"),
            ("typedef [[deprecated]] int x;", "typedef int x;"),
            ("typedef int x __attribute((aligned(8)));", "typedef int x;"),
            ("typedef __attribute__((mode(DI))) int x, z;", "typedef long x, z;"),
            ("typedef __typeof_unqual__(int) x;", "typedef int x;"),
            ("typedef typeof(*pointer) x;", "typedef int x;"),
            ("typedef _Atomic(int) x;", "typedef _Atomic int x;"),
            ("typedef _BitInt(32) x;", "typedef int x;"),
            ("typedef typeof(int) z, x;", "typedef int x;"),
            // Declarators in parentheses.
            ("typedef int (x);", "typedef int x;"),
            ("typedef int (x)(int);", "typedef int x(int);"),
            ("typedef int *(x)(int);", "typedef int *x(int);"),
            ("typedef y (x);", "typedef int y; typedef y x;"),
            ("typedef struct s (x);", "typedef struct s x;"),
            ("typedef int (*(*x)(int))(int);", "typedef int (*(*x)(int))(int);"),
        ] {
            assert!(!clashes(source, header), "{source} {header}");
        }
    }
}
