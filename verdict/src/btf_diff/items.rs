//! The declarations of a BTF that are compared.

use super::shape::is_anonymous;
use core::fmt;
use core_relo::{
    TypeId,
    btf::{Btf, Enumerator, Kind, Type},
};
use hashbrown::HashSet;

/// The kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// A struct.
    Struct,
    /// A union.
    Union,
    /// An enum.
    Enum,
    /// A typedef.
    Typedef,
    /// A function.
    Function,
    /// A function with the tag `bpf_kfunc`.
    Kfunc,
    /// A tracepoint: a typedef `btf_trace_*`, or a struct `trace_event_raw_*`.
    Tracepoint,
    /// A variable.
    Variable,
}

impl ItemKind {
    /// Every kind, in the order of the output.
    pub const ALL: [Self; 8] = [
        Self::Struct,
        Self::Union,
        Self::Enum,
        Self::Typedef,
        Self::Function,
        Self::Kfunc,
        Self::Tracepoint,
        Self::Variable,
    ];

    /// Returns the word for options and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Typedef => "typedef",
            Self::Function => "function",
            Self::Kfunc => "kfunc",
            Self::Tracepoint => "tracepoint",
            Self::Variable => "variable",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A declaration with a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'b> {
    pub(super) kind: ItemKind,
    pub(super) ty: Type<'b>,
}

/// The declarations of a BTF, sorted by kind and name.
#[derive(Debug)]
pub(super) struct Items<'b> {
    pub(super) named: Vec<Item<'b>>,
    /// The enumerators of enums without a name and without a typedef, sorted.
    pub(super) constants: Vec<Enumerator<'b>>,
}

impl<'b> Items<'b> {
    /// Collects the declarations for which `is_wanted` returns true. `kfuncs` are the names of kfuncs.
    pub(super) fn collect(
        btf: &'b Btf<'b>,
        kfuncs: &HashSet<&[u8]>,
        is_wanted: impl Fn(ItemKind, &[u8]) -> bool,
    ) -> Self {
        let mut named = Vec::new();
        let mut constants = Vec::new();
        let with_typedef: HashSet<TypeId> =
            btf.types().filter(|ty| ty.kind() == Kind::Typedef).filter_map(Type::target).collect();
        for ty in btf.types() {
            let name = ty.name().as_bytes();
            if is_anonymous(ty) {
                if ty.kind().is_enum() && !with_typedef.contains(&ty.id()) && is_wanted(ItemKind::Enum, b"") {
                    constants.extend(ty.enumerators());
                }
                continue;
            }
            let Some(kind) = item_kind(ty, kfuncs) else { continue };
            if !name.is_empty() && is_wanted(kind, name) {
                named.push(Item { kind, ty });
            }
        }
        named.sort_by_cached_key(|item| (item.kind, item.ty.name(), item.ty.id()));
        constants.sort_by_key(|enumerator| (enumerator.name, enumerator.c_value()));
        constants.dedup_by_key(|enumerator| (enumerator.name, enumerator.c_value()));
        Self { named, constants }
    }
}

fn item_kind(ty: Type<'_>, kfuncs: &HashSet<&[u8]>) -> Option<ItemKind> {
    let name = ty.name().as_bytes();
    Some(match ty.kind() {
        Kind::Struct if name.starts_with(b"trace_event_raw_") => ItemKind::Tracepoint,
        Kind::Typedef if name.starts_with(b"btf_trace_") => ItemKind::Tracepoint,
        Kind::Struct => ItemKind::Struct,
        Kind::Union => ItemKind::Union,
        Kind::Enum | Kind::Enum64 => ItemKind::Enum,
        Kind::Typedef => ItemKind::Typedef,
        Kind::Func if kfuncs.contains(name) => ItemKind::Kfunc,
        Kind::Func => ItemKind::Function,
        Kind::Var => ItemKind::Variable,
        _ => return None,
    })
}

/// Adds the names of functions with the tag `bpf_kfunc` (kernels built with pahole 1.26 and later).
pub(super) fn add_kfuncs<'b>(btf: &'b Btf<'b>, kfuncs: &mut HashSet<&'b [u8]>) {
    btf.visit_kind(Kind::DeclTag, |tag| {
        if tag.name().as_bytes() == b"bpf_kfunc" && tag.component_index() == Some(-1) {
            kfuncs.extend(tag.target().and_then(|id| btf.ty(id)).map(|func| func.name().as_bytes()));
        }
    });
}
