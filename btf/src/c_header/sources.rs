//! The sources that a header is made for.

use super::{source_definitions::SourceDefinitions, source_names::SourceNames};
use crate::{ids::TypeId, name::Name, parse::Btf, view::Type};
use alloc::vec::Vec;
use hashbrown::HashSet;

/// The names of several sources. What one source defines does not hide a type that another one takes from the
/// header.
#[derive(Debug, Default)]
pub(super) struct Sources {
    sources: Vec<SourceNames>,
    /// The enumerators that programs may use, unless a source defines them.
    enumerators: HashSet<Vec<u8>>,
}

/// The definitions of a source that a header has, too. The source does not compile with the header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redefinitions<'s> {
    /// The number of the source, in the order of [`HeaderRoots::add_source`](super::HeaderRoots::add_source),
    /// from 0.
    pub source: usize,
    /// The names, at least one: first structs, unions and enums, then enumerators, then typedefs with another
    /// type, each sorted.
    pub names: Vec<Name<'s>>,
}

/// Types by the source that names them, in the order of the sources.
#[derive(Debug)]
pub(super) struct NamedTypes(Vec<Vec<TypeId>>);

impl Sources {
    pub(super) fn add(&mut self, text: &[u8], is_library: &dyn Fn(&[u8]) -> bool) {
        let mut names = SourceNames::default();
        names.add(text, is_library);
        self.sources.push(names);
    }

    /// Adds the name of an enumerator that a program may use.
    pub(super) fn add_enumerator(&mut self, name: &[u8]) {
        self.enumerators.insert(name.to_vec());
    }

    /// Returns whether a source defines a type of this name itself. A second definition would be an error of
    /// the compiler.
    pub(super) fn defines(&self, ty: Type<'_>) -> bool {
        self.sources.iter().any(|source| source.definitions().has(ty))
    }

    /// Returns an empty collection for the types that sources name.
    pub(super) fn no_types(&self) -> NamedTypes {
        NamedTypes(self.sources.iter().map(|_| Vec::new()).collect())
    }

    /// Returns whether a source names a declaration that it does not define, and adds the declaration to the
    /// types of each such source.
    pub(super) fn names(&self, ty: Type<'_>, named: &mut NamedTypes) -> bool {
        let mut is_named = ty.enumerators().any(|enumerator| self.has_enumerator(enumerator.name.as_bytes()))
            && !self.defines(ty);
        for (source, types) in self.sources.iter().zip(&mut named.0) {
            if source.names(ty) {
                types.push(ty.id());
                is_named = true;
            }
        }
        is_named
    }

    fn has_enumerator(&self, name: &[u8]) -> bool {
        let is_defined = |source: &SourceNames| source.definitions().has_ordinary(name);
        self.enumerators.contains(name) && !self.sources.iter().any(is_defined)
    }

    /// Returns the named composites that sources reach from their types through the names of members.
    pub(super) fn reached(&self, btf: &Btf<'_>, named: &NamedTypes) -> Vec<TypeId> {
        let sources = self.sources.iter().zip(&named.0);
        sources.flat_map(|(source, types)| source.reached(btf, types)).collect()
    }

    /// Returns the definitions that both a source and a header have, of each source with such.
    pub(super) fn redefinitions(&self, header: &str) -> Vec<Redefinitions<'_>> {
        let mut of_header = SourceDefinitions::default();
        of_header.add(header.as_bytes());
        let sources = self.sources.iter().enumerate().map(|(source, names)| {
            let names = names.definitions().common(&of_header).into_iter().map(Name::new).collect();
            Redefinitions { source, names }
        });
        sources.filter(|found| !found.names.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Btf, Builder, CHeader, Endian, HeaderRoots};
    use alloc::{
        format,
        string::{String, ToString as _},
        vec::Vec,
    };

    fn kernel() -> Btf<'static> {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let key = b.structure("key", 4, &[("a", int, 0)]);
        b.structure("holder", 4, &[("key", key, 0)]);
        b.structure("other", 4, &[("b", int, 0)]);
        b.enumeration("action", 4, &[("XDP_PASS", 2)]);
        b.enumeration("", 4, &[("CLOSED", 0)]);
        Btf::parse(b.finish()).unwrap()
    }

    /// Returns the header of sources, and the redefinitions as text.
    fn header(sources: &[&str]) -> (String, Vec<String>) {
        let (kernel, mut roots) = (kernel(), HeaderRoots::new());
        for source in sources {
            roots.add_source(source.as_bytes(), |_| false);
        }
        let ids = roots.resolve(&kernel);
        let header = CHeader::with_roots(&kernel, ids).to_string();
        let found = roots.redefinitions(&header);
        let found = found.iter().map(|found| format!("{}: {:?}", found.source, found.names));
        (header.clone(), found.collect())
    }

    const USER: &str = "int f(struct key *k, enum action a) { return k->a + XDP_PASS + CLOSED; }";
    const OWNER: &str = "struct key { int own; }; enum action { XDP_PASS }; enum { CLOSED };";

    /// The header of two sources declared nothing that one of them defines, so that the other one did not
    /// compile.
    #[test]
    fn what_one_source_defines_is_declared_for_another_that_does_not() {
        for sources in [[OWNER, USER], [USER, OWNER]] {
            let (text, found) = header(&sources);
            for part in ["struct key {\n\tint a;", "enum action {", "CLOSED"] {
                assert!(text.contains(part), "{part}: {text}");
            }
            let owner = sources.iter().position(|source| *source == OWNER).unwrap();
            assert_eq!(found, [format!("{owner}: [`action`, `key`, `CLOSED`, `XDP_PASS`]")]);
        }
        let (text, found) = header(&[OWNER, "struct other *other;"]);
        assert!(text.contains("struct other {") && !text.contains("struct key {"), "{text}");
        assert!(!text.contains("enum action {") && !text.contains("CLOSED"), "{text}");
        assert!(found.is_empty(), "{found:?}");
        let alone = header(&[USER]);
        assert_eq!(alone.0, header(&[USER, USER]).0);
        assert!(alone.1.is_empty());
    }

    #[test]
    fn members_reached_by_one_source_are_not_hidden_by_another() {
        let user = "int f(struct holder *h) { return h->key.a; }";
        let (text, found) = header(&[user, OWNER]);
        assert!(text.contains("struct key {\n\tint a;"), "{text}");
        assert_eq!(found, ["1: [`key`]"]);
    }

    /// The compiler needs the members of a struct in another one.
    #[test]
    fn a_type_of_the_source_that_the_kernel_embeds_is_a_redefinition() {
        let (text, found) = header(&["struct key { int own; }; struct holder *holder;"]);
        assert!(text.contains("struct holder {") && text.contains("struct key {\n\tint a;"), "{text}");
        assert_eq!(found, ["0: [`key`]"]);
    }
}
