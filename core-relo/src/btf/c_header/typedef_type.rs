//! The types of typedefs in a C text, as far as two of them can be told apart.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// The typedefs of a text by name.
pub(super) type TypedefTypes = HashMap<Vec<u8>, TypedefType>;

/// The typedefs between a typedef and its type.
const TYPEDEF_HOPS: u32 = 32;

/// What a typedef stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedefType {
    /// A type of its own: a struct, union or enum without a name.
    Nameless,
    /// A basic type, a tag with its keyword, or another typedef: the words in alphabetical order, one spelling for each type.
    Specifier(Vec<Vec<u8>>),
    Pointer,
    Array,
    Function,
    /// A type that the text alone does not tell, such as `typeof(x)`.
    Unknown,
}

impl TypedefType {
    /// Returns the type that specifiers name.
    pub(super) fn of_specifiers(words: &[&[u8]]) -> Self {
        let mut words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
        words.retain(|word| word != b"__extension__");
        let has = |words: &[Vec<u8>], wanted: &[u8]| words.iter().any(|word| word == wanted);
        if !has(&words, b"char") {
            let count = words.len();
            words.retain(|word| word != b"signed");
            if words.is_empty() && count > 0 {
                words.push(b"int".to_vec());
            }
        }
        if ["short", "long", "unsigned"].iter().any(|word| has(&words, word.as_bytes())) {
            words.retain(|word| word != b"int");
        }
        words.sort_unstable();
        if words.is_empty() { Self::Unknown } else { Self::Specifier(words) }
    }

    /// Returns the type behind typedefs. `None` if the texts do not tell it.
    fn resolve<'t>(&'t self, texts: [&'t TypedefTypes; 2]) -> Option<&'t Self> {
        let mut ty = self;
        for _ in 0..TYPEDEF_HOPS {
            let Self::Specifier(words) = ty else { return (*ty != Self::Unknown).then_some(ty) };
            let [name] = &words[..] else { return Some(ty) };
            match texts.iter().find_map(|text| text.get(name)) {
                Some(target) => ty = target,
                None => return is_basic(name).then_some(ty),
            }
        }
        None
    }

    /// Returns whether two typedefs of the same name certainly differ, so that a compiler refuses the second one.
    pub(super) fn differs(&self, own: &TypedefTypes, other: &Self, others: &TypedefTypes) -> bool {
        let (own, other) = (self.resolve([own, others]), other.resolve([others, own]));
        own.zip(other).is_some_and(|(own, other)| own != other || *own == Self::Nameless)
    }
}

/// Returns whether a word is a type of the language.
fn is_basic(word: &[u8]) -> bool {
    matches!(
        word,
        b"_Bool"
            | b"char"
            | b"short"
            | b"int"
            | b"long"
            | b"unsigned"
            | b"float"
            | b"double"
            | b"void"
            | b"__int128"
    )
}

#[cfg(test)]
mod tests {
    use crate::btf::c_header::source_definitions::SourceDefinitions;

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
        ] {
            assert!(!clashes(source, header), "{source} {header}");
        }
    }
}
