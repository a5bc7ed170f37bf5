//! C headers: declarations from which a compiler derives the layout that the BTF describes.
//!
//! | file | contents |
//! |---|---|
//! | `graph` | the types that a header needs, in order |
//! | `layout` | alignment and packing of composites |
//! | `names` | identifiers, unique in their name space |
//! | `tags` | declaration tags, as attributes |
//! | `printer`, `frame` | the writer of a header, and the order of its parts |
//! | `declaration` | declarators: pointers, arrays, functions |
//! | `integer` | the C types of INTs |
//! | `composite`, `enumeration` | definitions |
//! | `scope` | the names of the members in one scope |
//! | `assertions` | the layout, as assertions for the compiler |
//! | `roots` | the types of a kernel that an object or a source uses |
//! | `tokens` | the words and punctuation of a C source |
//! | `source_names` | the names in a C source |
//! | `sources` | the sources of a header, and what they define that the header has, too |
//! | `source_definitions` | the types that a C source defines itself |
//! | `typedef_declaration`, `typedef_type` | its typedefs, and their types |

mod assertions;
mod composite;
mod declaration;
mod enumeration;
mod frame;
mod graph;
mod integer;
mod layout;
mod names;
mod printer;
mod roots;
mod scope;
mod source_definitions;
mod source_names;
mod sources;
mod tags;
#[cfg(test)]
mod tests;
mod tokens;
mod typedef_declaration;
mod typedef_type;

pub use layout::LayoutError;
pub use roots::HeaderRoots;
pub use sources::Redefinitions;

use crate::{format::Kind, ids::TypeId, parse::Btf, view::Type};
use alloc::vec::Vec;
use core::fmt::{Display, Formatter, Result};
use graph::{Graph, Need};
use hashbrown::{HashMap, HashSet};
use names::{NameSpace, Renamed, sort_key};
use printer::Printer;
use tags::Tags;

/// A C header that declares types of a BTF: `vmlinux.h`.
///
/// The header is meant for `clang -target bpf`. All composites have the sizes and offsets of the BTF: the
/// header contains padding and `packed` where the compiler would choose another layout. Declarations are
/// sorted by name, not by type id, as far as C permits.
///
/// ```
/// use core_relo_btf::{Btf, Builder, CHeader, Endian};
///
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("unsigned int", 4, 0);
/// b.structure("pair", 8, &[("a", int, 0), ("b", int, 32)]);
/// let btf = Btf::parse(b.finish()).unwrap();
/// let header = CHeader::new(&btf).to_string();
/// assert!(header.contains("struct pair {\n\tunsigned int a;\n\tunsigned int b;\n};\n"));
/// ```
#[derive(Debug)]
pub struct CHeader<'b> {
    btf: &'b Btf<'b>,
    graph: Graph<'b>,
    /// Enums that are declared by themselves, in order.
    enums: Vec<TypeId>,
    kfuncs: Vec<TypeId>,
    /// The names of typedefs, which parameters with the same name would hide.
    typedefs: HashSet<&'b [u8]>,
    renamed: Renamed,
    tags: Tags<'b>,
    has_assertions: bool,
}

impl<'b> CHeader<'b> {
    /// Returns a header with all own types of the BTF, the types of its base that they need, and prototypes
    /// of all kfuncs.
    pub fn new(btf: &'b Btf<'_>) -> Self {
        Self::with_roots(btf, btf.types().map(Type::id))
    }

    /// Returns a header with these types and what they need. Structs behind pointers are only declared, not
    /// defined.
    ///
    /// A FUNC becomes a prototype if it is a kfunc. Types without a name and variables are left out, except
    /// for enums.
    pub fn with_roots(btf: &'b Btf<'_>, roots: impl IntoIterator<Item = TypeId>) -> Self {
        Self::with_types(btf, roots.into_iter().filter_map(|id| btf.ty(id)).collect())
    }

    fn with_types(btf: &'b Btf<'_>, mut roots: Vec<Type<'b>>) -> Self {
        let tags = Tags::new(btf);
        roots.retain(|ty| is_root(*ty, &tags));
        roots
            .sort_by_cached_key(|ty| (sort_key(ty.name().as_bytes()), ty.kind(), ty.size_or_type(), ty.id()));
        roots.dedup_by_key(|ty| ty.id());
        let mut graph = Graph::new(btf);
        let mut kfuncs: Vec<TypeId> = Vec::new();
        for ty in &roots {
            let need = if ty.kind().is_composite() { Need::Complete } else { Need::Declared };
            graph.add(ty.id(), need);
            if ty.kind() == Kind::Func {
                let is_repeated =
                    kfuncs.last().and_then(|id| btf.ty(*id)).is_some_and(|f| f.name() == ty.name());
                if !is_repeated {
                    kfuncs.push(ty.id());
                }
            }
        }
        let mut enums = core::mem::take(&mut graph.enums);
        enums.sort_by_cached_key(|id| btf.ty(*id).map(|ty| (sort_key(enum_name(ty)), ty.vlen(), *id)));
        let renamed = rename(btf, &mut graph, &enums, &kfuncs);
        enums.retain(|id| graph.inline_enums.get(id) != Some(&true));
        let typedefs =
            graph.order.iter().filter_map(|id| btf.ty(*id)).filter(|ty| ty.kind() == Kind::Typedef);
        let typedefs = typedefs.map(|ty| ty.name().as_bytes()).collect();
        Self { btf, graph, enums, kfuncs, typedefs, renamed, tags, has_assertions: false }
    }

    /// Adds assertions on the size and alignment of each type, and on the offset of each member that is no
    /// bitfield.
    #[must_use]
    pub fn assertions(mut self, has_assertions: bool) -> Self {
        self.has_assertions = has_assertions;
        self
    }

    /// Returns the composites that have no members in the header, because C cannot express their layout.
    pub fn opaque_types(&self) -> impl Iterator<Item = (TypeId, LayoutError)> {
        let error = |id: &TypeId| self.graph.layouts.get(*id)?.error.map(|error| (*id, error));
        self.graph.order.iter().filter_map(error)
    }

    /// Returns whether the header declares nothing.
    pub fn is_empty(&self) -> bool {
        self.graph.order.is_empty() && self.enums.is_empty() && self.kfuncs.is_empty()
    }
}

impl Display for CHeader<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Printer::new(self, f).header()
    }
}

/// Returns whether a type can be the root of a header.
fn is_root(ty: Type<'_>, tags: &Tags<'_>) -> bool {
    match ty.kind() {
        Kind::Struct | Kind::Union | Kind::Typedef => !ty.name().is_empty(),
        Kind::Enum | Kind::Enum64 => true,
        Kind::Func => tags.is_kfunc(ty.id()) && names::is_function(ty.name().as_bytes()),
        _ => false,
    }
}

/// Returns whether a type is the typedef `bool` of `_Bool`.
fn is_bool(ty: Type<'_>) -> bool {
    let target = || ty.btf().strip(ty.id());
    ty.kind() == Kind::Typedef
        && ty.name().as_bytes() == b"bool"
        && target().is_ok_and(|ty| ty.kind() == Kind::Int && integer::integer(ty, 0) == Some("_Bool"))
}

/// Returns the name of an enum, or that of its first enumerator.
fn enum_name(ty: Type<'_>) -> &[u8] {
    match ty.enumerator(0) {
        Some(first) if ty.name().is_empty() => first.name.as_bytes(),
        _ => ty.name().as_bytes(),
    }
}

/// Finds identifiers for all declarations.
fn rename<'b>(btf: &'b Btf<'b>, graph: &mut Graph<'b>, enums: &[TypeId], kfuncs: &[TypeId]) -> Renamed {
    let mut renamed = Renamed::default();
    let (mut tags, mut ordinary) = (NameSpace::default(), NameSpace::default());
    // The tags that composites share with FWDs and with composites that are only declared.
    let mut shared: HashMap<(&[u8], bool), Option<alloc::string::String>> = HashMap::new();
    for ty in kfuncs.iter().filter_map(|id| btf.ty(*id)) {
        // The name of a kfunc is a symbol.
        let _name: Option<_> = ordinary.claim(ty.name().as_bytes());
    }
    let mut inline_enums = core::mem::take(&mut graph.inline_enums);
    let is_union = |ty: Type<'_>| ty.kind() == Kind::Union || (ty.kind() == Kind::Fwd && ty.kflag());
    let defined = graph.order.iter().chain(enums).filter_map(|id| btf.ty(*id));
    for ty in defined {
        let name = ty.name().as_bytes();
        let new = match ty.kind() {
            Kind::Typedef => ordinary.claim(name),
            _ if !name.is_empty() => tags.claim(name),
            _ if inline_enums.get(&ty.id()) == Some(&false) => {
                let first = names::sanitized(enum_name(ty));
                Some(tags.claim_generated(&alloc::format!("anon_{first}")))
            }
            _ => None,
        };
        if ty.kind().is_composite() {
            shared.entry((name, is_union(ty))).or_insert_with(|| new.clone());
        }
        if ty.kind() == Kind::Typedef
            && let Some(is_inline @ true) = inline_enums.get_mut(&TypeId(ty.size_or_type()))
        {
            // Where a member hides the typedef, a definition of the enum would be a second one.
            *is_inline = !graph.may_be_hidden(new.as_ref().map_or(name, |new| new.as_bytes()));
        }
        if let Some(new) = new {
            if !name.is_empty() {
                renamed.listed.push((new.clone(), ty.id()));
            }
            renamed.types.insert(ty.id(), new);
        }
    }
    graph.inline_enums = inline_enums;
    for ty in enums.iter().filter_map(|id| btf.ty(*id)) {
        for enumerator in ty.enumerators() {
            if let Some(new) = ordinary.claim(enumerator.name.as_bytes()) {
                renamed.enumerators.insert((ty.id(), enumerator.index), new);
            }
        }
    }
    let mut is_defined = HashSet::new();
    is_defined.extend(graph.order.iter().copied());
    for id in graph.mentioned.iter().filter(|id| !is_defined.contains(*id)) {
        let Some(ty) = btf.ty(*id) else { continue };
        let name = ty.name().as_bytes();
        let new = shared.entry((name, is_union(ty))).or_insert_with(|| tags.claim(name));
        if let Some(new) = new {
            renamed.types.insert(*id, new.clone());
        }
    }
    renamed
}
