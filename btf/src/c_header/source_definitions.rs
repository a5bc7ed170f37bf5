//! The types that a preprocessed C source defines itself.

use super::{
    tokens::{Token, Words},
    typedef_declaration::{Punctuation, Typedef},
    typedef_type::{TypedefType, TypedefTypes, is_qualifier},
};
use crate::{format::Kind, view::Type};
use alloc::vec::Vec;
use hashbrown::HashSet;

/// The names of a source's own types at file scope. A header for the source must not define them a second
/// time.
#[derive(Debug, Default)]
pub(super) struct SourceDefinitions {
    /// The structs, unions and enums with a body.
    tags: HashSet<Vec<u8>>,
    typedefs: TypedefTypes,
    enumerators: HashSet<Vec<u8>>,
}

impl SourceDefinitions {
    /// Adds the definitions of a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        let mut scanner =
            Scanner { found: self, scopes: Vec::new(), tag: Tag::None, typedef: None, last: [b';'; 2] };
        Words::new(text).tokens().for_each(|token| scanner.token(token));
    }

    /// Returns whether the source defines a type of this name.
    pub(super) fn has(&self, ty: Type<'_>) -> bool {
        let name = ty.name().as_bytes();
        match ty.kind() {
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 => self.tags.contains(name),
            Kind::Typedef => self.has_ordinary(name),
            _ => false,
        }
    }

    /// Returns whether the source defines an enumerator or typedef of this name.
    pub(super) fn has_ordinary(&self, name: &[u8]) -> bool {
        self.typedefs.contains_key(name) || self.enumerators.contains(name)
    }

    /// Returns the names that both texts define so that a compiler refuses the second definition: structs,
    /// unions and enums, then enumerators, then typedefs, each sorted. C permits the same typedef twice.
    pub(super) fn common(&self, other: &Self) -> Vec<&[u8]> {
        let mut names = common_names(&self.tags, &other.tags);
        names.extend(common_names(&self.enumerators, &other.enumerators));
        let has_other_type = |(name, ty): &(&Vec<u8>, &TypedefType)| {
            let in_other = other.typedefs.get(*name);
            in_other.is_some_and(|in_other| ty.differs(&self.typedefs, in_other, &other.typedefs))
        };
        let typedefs = self.typedefs.iter().filter(has_other_type);
        let mut typedefs: Vec<&[u8]> = typedefs.map(|(name, _)| name.as_slice()).collect();
        typedefs.sort_unstable();
        names.extend(typedefs);
        names
    }
}

/// Returns the names in both sets, sorted.
fn common_names<'s>(own: &'s HashSet<Vec<u8>>, others: &HashSet<Vec<u8>>) -> Vec<&'s [u8]> {
    let mut names: Vec<&[u8]> = own.iter().filter(|name| others.contains(*name)).map(Vec::as_slice).collect();
    names.sort_unstable();
    names
}

/// An opened brace, parenthesis or bracket, and whether it is in a block or is one.
#[derive(Clone, Copy)]
struct OpenScope {
    scope: Scope,
    is_in_block: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The members of a struct or union.
    Members,
    /// The enumerators of an enum; `is_next` if the next word is one.
    Enumerators { is_next: bool },
    /// Statements or an initial value. Types in them are not those of the file.
    Block,
    /// Parentheses or brackets.
    Group,
}

/// What follows `struct`, `union` or `enum`, up to the body.
#[derive(Clone, Copy)]
enum Tag<'t> {
    None,
    /// The keyword, and perhaps attributes. `depth` is the number of scopes around it.
    Keyword {
        is_enum: bool,
        depth: usize,
    },
    /// The name, and of an enum perhaps the type of its constants: `enum name : unsigned long`.
    Named {
        is_enum: bool,
        has_type: bool,
        name: &'t [u8],
    },
}

struct Scanner<'d, 't> {
    found: &'d mut SourceDefinitions,
    scopes: Vec<OpenScope>,
    tag: Tag<'t>,
    typedef: Option<Typedef<'t>>,
    /// The two tokens before this one; a word is `w`.
    last: [u8; 2],
}

impl<'t> Scanner<'_, 't> {
    fn token(&mut self, token: Token<'t>) {
        let last = match token {
            Token::Word(word) => {
                self.word(word);
                // The name of a pointer may follow its qualifiers: `(*const name)(int)`.
                if self.typedef.is_some() && self.last[1] == b'*' && is_qualifier(word) {
                    return;
                }
                b'w'
            }
            Token::Punctuation(c) => {
                self.punctuation(c);
                c
            }
            Token::Quoted(_) => return,
        };
        self.last = [self.last[1], last];
    }

    fn word(&mut self, word: &'t [u8]) {
        let is_file_scope = self.is_file_scope();
        if let Some(Scope::Enumerators { is_next }) = self.innermost()
            && core::mem::take(is_next)
        {
            if is_file_scope {
                self.found.enumerators.insert(word.to_vec());
            }
            return;
        }
        let depth = self.scopes.len();
        self.tag = match (word, self.tag) {
            (b"struct" | b"union", _) => Tag::Keyword { is_enum: false, depth },
            (b"enum", _) => Tag::Keyword { is_enum: true, depth },
            // An attribute or its arguments, or the type of the constants.
            (b"__attribute__" | b"__attribute", tag @ Tag::Keyword { .. })
            | (_, tag @ Tag::Named { has_type: true, .. }) => tag,
            (_, tag @ Tag::Keyword { depth: outer, .. }) if depth > outer => tag,
            (_, Tag::Keyword { is_enum, .. }) => Tag::Named { is_enum, has_type: false, name: word },
            _ => Tag::None,
        };
        match &mut self.typedef {
            None if word == b"typedef" && is_file_scope => self.typedef = Some(Typedef::new(depth)),
            None => {}
            Some(typedef) => typedef.word(word, depth, self.last),
        }
    }

    fn punctuation(&mut self, c: u8) {
        let (depth, is_definition) = (self.scopes.len(), matches!(self.tag, Tag::Keyword { .. }));
        if let Some(typedef) = &mut self.typedef {
            typedef.punctuation(&Punctuation { c, depth, last: self.last[1], is_definition });
        }
        match c {
            b'{' => self.open_brace(),
            b'(' | b'[' => self.open(Scope::Group),
            b'}' | b')' | b']' => {
                self.scopes.pop();
            }
            b',' => {
                if let Some(Scope::Enumerators { is_next }) = self.innermost() {
                    *is_next = true;
                }
                self.end_declarator(false);
            }
            b';' => self.end_declarator(true),
            _ => {}
        }
        let depth = self.scopes.len();
        self.tag = match (c, self.tag) {
            // The parentheses of an attribute.
            (b'(' | b')' | b',' | b'"', tag @ Tag::Keyword { depth: outer, .. }) if depth >= outer => tag,
            (b':', Tag::Named { is_enum: true, name, .. }) => {
                Tag::Named { is_enum: true, has_type: true, name }
            }
            _ => Tag::None,
        };
    }

    fn open_brace(&mut self) {
        let (Tag::Keyword { is_enum, .. } | Tag::Named { is_enum, .. }) = self.tag else {
            self.open(Scope::Block);
            return;
        };
        if let Tag::Named { name, .. } = self.tag
            && self.is_file_scope()
        {
            self.found.tags.insert(name.to_vec());
        }
        self.open(if is_enum { Scope::Enumerators { is_next: true } } else { Scope::Members });
    }

    fn open(&mut self, scope: Scope) {
        let is_in_block = scope == Scope::Block || !self.is_file_scope();
        self.scopes.push(OpenScope { scope, is_in_block });
    }

    fn innermost(&mut self) -> Option<&mut Scope> {
        self.scopes.last_mut().map(|open| &mut open.scope)
    }

    fn is_file_scope(&self) -> bool {
        self.scopes.last().is_none_or(|open| !open.is_in_block)
    }

    /// Ends a declarator of a typedef, and perhaps the typedef.
    fn end_declarator(&mut self, is_last: bool) {
        let Some(typedef) = &mut self.typedef else { return };
        if typedef.depth != self.scopes.len() {
            return;
        }
        if let Some((name, ty)) = typedef.end_declarator() {
            self.found.typedefs.insert(name.to_vec(), ty);
        }
        if is_last {
            self.typedef = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Btf, Builder, CHeader, Endian, HeaderRoots, TypeId};
    use alloc::string::{String, ToString as _};

    fn sorted<'n>(names: impl IntoIterator<Item = &'n Vec<u8>>) -> Vec<String> {
        let mut names: Vec<_> =
            names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn definitions_are_those_at_file_scope() {
        let text = br#"
struct key { struct inner { int a; } *inner; enum { IN_A = sizeof(struct used), IN_B } b; };
union __attribute__((aligned(8), section("struct no {"))) both { int a; };
enum sized : unsigned long { BIG = 1 << 3, BIGGER, };
struct only_declared; struct used value = { .a = 1 }; enum used_enum function(struct used *u, enum used_enum e) {
	struct local { int a; }; enum { LOCAL }; typedef int local_t;
	if (sizeof(struct used)) { return (struct used){ 0 }.a; }
	return 0;
}
typedef struct { int a; } list_t, *list_p; typedef int (*callback)(struct used *u, int b), numbers[LENGTH];
typedef unsigned long word_t __attribute__((mode(word))); typedef struct used alias; typedef int plain(struct used *u);
"#;
        let mut found = SourceDefinitions::default();
        found.add(text);
        assert_eq!(sorted(&found.tags), ["both", "inner", "key", "sized"]);
        assert_eq!(
            sorted(found.typedefs.keys()),
            ["alias", "callback", "list_p", "list_t", "numbers", "plain", "word_t"]
        );
        assert_eq!(sorted(&found.enumerators), ["BIG", "BIGGER", "IN_A", "IN_B"]);
    }

    /// The header would define the source's own types a second time.
    #[test]
    fn a_header_leaves_out_what_its_source_defines() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let key = b.structure("key", 4, &[("a", int, 0)]);
        let key_pointer = b.pointer(key);
        b.structure("task", 8, &[("next", key_pointer, 0)]);
        b.typedef("list_t", key);
        b.enumeration("what", 4, &[("OPENED", 0)]);
        b.enumeration("", 4, &[("CLOSED", 0)]);
        b.enumeration("constants", 4, &[("BPF_OWN", 0)]);
        b.enumeration("flags", 4, &[("USED", 0)]);
        let btf = Btf::parse(b.finish()).unwrap();
        let header = |source: &str| {
            let mut roots = HeaderRoots::new();
            roots.add_source(source.as_bytes(), |_| false);
            let ids: Vec<TypeId> = roots.resolve(&btf);
            CHeader::with_roots(&btf, ids).to_string()
        };
        let used =
            "int f(struct task *t, enum what w, list_t *l) { return t->next->a + USED + CLOSED + BPF_OWN; }";
        let own = "struct key { char a[3]; }; enum what { OPENED, CLOSED }; typedef struct key list_t; enum constants { BPF_OWN };";
        let definitions = ["struct key {", "enum what {", "list_t;", "CLOSED", "BPF_OWN"];
        let others = ["struct task {", "enum flags {"];
        let foreign = header(used);
        assert!(definitions.iter().chain(&others).all(|text| foreign.contains(text)), "{foreign}");
        let without = header(&[own, used].concat());
        assert!(!definitions.iter().any(|text| without.contains(text)), "{without}");
        assert!(others.iter().all(|text| without.contains(text)), "{without}");
    }

    #[test]
    fn broken_text_defines_what_can_be_read() {
        for text in
            ["}}})))]]", "struct", "enum {", "typedef", "typedef ;", "struct a { {{{{ (((", "enum e {,,,A,,"]
        {
            let mut found = SourceDefinitions::default();
            found.add(text.as_bytes());
        }
    }
}
