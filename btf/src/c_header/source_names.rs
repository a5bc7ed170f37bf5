//! The names that a preprocessed C source uses.

use super::{source_definitions::SourceDefinitions, tokens::Words};
use crate::{format::Kind, ids::TypeId, parse::Btf, view::Type};
use alloc::vec::Vec;
use hashbrown::HashSet;

/// The words of a C source, as the preprocessor writes it. Words in strings count as well: a type too many
/// does no harm.
#[derive(Debug, Default)]
pub(super) struct SourceNames {
    words: HashSet<Vec<u8>>,
    /// The words after `struct`, `union` and `enum`.
    tags: HashSet<Vec<u8>>,
    definitions: SourceDefinitions,
}

impl SourceNames {
    /// Adds the words of a source. Of the files for which `is_library` is true, only declarations that the
    /// other files name count.
    pub(super) fn add(&mut self, text: &[u8], is_library: &dyn Fn(&[u8]) -> bool) {
        let (mut library, mut own): (Vec<&[u8]>, Vec<&[u8]>) = Default::default();
        let mut is_in_library = false;
        for line in text.split(|c| *c == b'\n') {
            if let Some(path) = marked_file(line) {
                is_in_library = is_library(path);
            } else if is_in_library {
                library.push(line);
            } else {
                own.push(line);
            }
        }
        let own = own.join(&b'\n');
        self.add_words(&own);
        self.definitions.add(&own);
        let library = library.join(&b'\n');
        for declaration in library.split(|c| *c == b';') {
            if Words::new(declaration).any(|word| word.starts_with(b"bpf_") && self.words.contains(word)) {
                self.add_words(declaration);
            }
        }
    }

    /// Returns the types that the source defines itself. A second definition would be an error of the
    /// compiler.
    pub(super) const fn definitions(&self) -> &SourceDefinitions {
        &self.definitions
    }

    /// Returns whether the source names a declaration that it does not define.
    pub(super) fn names(&self, ty: Type<'_>) -> bool {
        if self.definitions.has(ty) {
            return false;
        }
        let name = ty.name().as_bytes();
        let is_named = match ty.kind() {
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 => self.tags.contains(name),
            Kind::Typedef | Kind::Func => self.words.contains(name),
            _ => false,
        };
        let is_used = |name: &[u8]| self.words.contains(name) && !self.definitions.has_ordinary(name);
        is_named || ty.enumerators().any(|enumerator| is_used(enumerator.name.as_bytes()))
    }

    /// Returns the named composites that are reached from these types through members that the source names,
    /// in any number of steps. Their definitions are all that an expression such as `task->mm->owner` needs.
    pub(super) fn reached(&self, btf: &Btf<'_>, roots: &[TypeId]) -> Vec<TypeId> {
        let mut found = Vec::new();
        let mut visited = HashSet::new();
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            let Some(ty) = btf.ty(id).filter(|_| visited.insert(id)) else { continue };
            match ty.kind() {
                Kind::Struct | Kind::Union => {
                    if !ty.name().is_empty() && !self.definitions.has(ty) {
                        found.push(id);
                    }
                    let is_used = |name: &[u8]| name.is_empty() || self.words.contains(name);
                    stack.extend(ty.members().filter(|m| is_used(m.name.as_bytes())).map(|m| m.ty));
                }
                Kind::Array => stack.extend(ty.array().map(|array| array.element)),
                // The result of a function.
                Kind::FuncProto | Kind::Func | Kind::Ptr => stack.push(TypeId(ty.size_or_type())),
                kind if kind.is_modifier_or_typedef() => stack.push(TypeId(ty.size_or_type())),
                _ => {}
            }
        }
        found
    }

    fn add_words(&mut self, text: &[u8]) {
        let mut is_tag = false;
        for word in Words::new(text) {
            if is_tag && !self.tags.contains(word) {
                self.tags.insert(word.to_vec());
            }
            is_tag = matches!(word, b"struct" | b"union" | b"enum");
            if !self.words.contains(word) {
                self.words.insert(word.to_vec());
            }
        }
    }
}

/// Returns the file that a line marker names: `# 12 "agent.bpf.c" 2`.
fn marked_file(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"# ")?;
    let start = rest.iter().position(|c| *c == b'"')?.checked_add(1)?;
    let number = rest.get(..start)?;
    if !number.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let path = rest.get(start..)?;
    path.get(..path.iter().position(|c| *c == b'"')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_libraries_count_if_the_source_names_them() {
        let text = b"# 1 \"lib/helpers.h\" 1\nstatic struct task *(*bpf_task)(void);\nstatic struct other *(*bpf_other)(void);\n\
            # 3 \"a.bpf.c\" 2\nint f(void) { return bpf_task()->pid + ((union u *)0)->x + LIMIT; }\n";
        let mut names = SourceNames::default();
        names.add(text, &|path| path.starts_with(b"lib/"));
        let mut tags: Vec<_> = names.tags.iter().map(|tag| core::str::from_utf8(tag).unwrap_or("")).collect();
        tags.sort_unstable();
        assert_eq!(tags, ["task", "u"]);
        assert!(names.words.contains(&b"LIMIT"[..]) && !names.words.contains(&b"bpf_other"[..]));
    }

    #[test]
    fn tags_follow_their_keyword_across_lines_and_comments() {
        let text = br#"# 1 "a.bpf.c"
int f(struct
 a *a, union /* of // struct x */ b *b) { char q = '"', e = '\''; return 0x1fUL; } // struct y
const char *url = "https://\"struct in_text"; enum
# 7 "a.bpf.c"
c *c; struct /* without an end"#;
        let mut names = SourceNames::default();
        names.add(text, &|_| false);
        let mut tags: Vec<_> = names.tags.iter().map(|tag| core::str::from_utf8(tag).unwrap_or("")).collect();
        tags.sort_unstable();
        assert_eq!(tags, ["a", "b", "c", "in_text"]);
    }
}
