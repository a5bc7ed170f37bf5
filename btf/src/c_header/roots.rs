//! The types of a kernel that BPF objects use.

use super::sources::{NamedTypes, Redefinitions, Sources};
use crate::{format::Kind, ids::TypeId, name::Name, parse::Btf, view::Type};
use alloc::{collections::BTreeMap, vec::Vec};
use hashbrown::HashSet;

/// The integer types that the declarations of BPF helpers use.
const HELPER_TYPES: &[&str] = &[
    "__be16", "__be32", "__be64", "__le16", "__le32", "__le64", "__s16", "__s32", "__s64", "__s8", "__sum16",
    "__u16", "__u32", "__u64", "__u8", "__wsum", "bool", "s16", "s32", "s64", "s8", "size_t", "u16", "u32",
    "u64", "u8",
];
/// The enumerators that belong to the type `bool`.
const HELPER_CONSTANTS: [&[u8]; 2] = [b"false", b"true"];
/// The beginnings of enumerators that programs use as constants. The object has no trace of them.
const CONSTANTS: [&[u8]; 3] = [b"BPF_", b"XDP_", b"TCX_"];

/// The kinds of declarations that share names: a name and its kind identify a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RootKind {
    Struct,
    Union,
    Enum,
    Typedef,
    Func,
    /// A variable, whose type is the root.
    Var,
}

/// A collection of the types that BPF programs use: the roots of a small `vmlinux.h`.
///
/// Of an [object](Self::add_object), the types are those of CO-RE records, of variables, of the parameters of
/// functions, of typedefs and enums, and of kfuncs and variables of the kernel. The flavour of a name is
/// ignored. Its BTF has no trace of code that was left out, and of enumerators that are plain constants.
/// Enums whose enumerators begin with `BPF_`, `XDP_` or `TCX_` are therefore always roots, as are the integer
/// types of helpers. Of a [source](Self::add_source), the types are all that it names.
#[derive(Debug, Default)]
pub struct HeaderRoots {
    wanted: BTreeMap<RootKind, BTreeMap<Vec<u8>, Root>>,
    sources: Sources,
}

/// A name that an object uses.
#[derive(Clone, Copy, Debug, Default)]
struct Root {
    /// Whether the name is a kernel's. Typedefs and the types of parameters may be the object's own.
    is_of_kernel: bool,
    /// Whether a kernel has the name.
    is_found: bool,
}

impl HeaderRoots {
    /// Returns the roots that all programs need.
    pub fn new() -> Self {
        let mut roots = Self::default();
        let typedefs = HELPER_TYPES.iter().map(|name| (name.as_bytes().to_vec(), Root::default()));
        roots.wanted.entry(RootKind::Typedef).or_default().extend(typedefs);
        for name in HELPER_CONSTANTS {
            roots.sources.add_enumerator(name);
        }
        roots
    }

    /// Adds the types that a source names and does not define itself, and all that it reaches from them
    /// through the names of members.
    ///
    /// `text` is the output of the preprocessor (`clang -E`), with line markers. The files for which
    /// `is_library` is true have declarations that count only if the other files name them. The header of the
    /// kernel's types is none of the files.
    pub fn add_source(&mut self, text: &[u8], is_library: impl Fn(&[u8]) -> bool) {
        self.sources.add(text, &is_library);
    }

    /// Adds the types that an object uses, by its BTF, or by BTF made of its debug information. `accesses`
    /// are the root types of its CO-RE records.
    pub fn add_object(&mut self, object: &Btf<'_>, accesses: impl IntoIterator<Item = TypeId>) {
        for id in accesses {
            self.add_type(object, id, true);
        }
        let options = kernel_options(object);
        for ty in object.types() {
            match ty.kind() {
                Kind::Typedef => self.want(RootKind::Typedef, ty.name(), false),
                Kind::Enum | Kind::Enum64 => self.add_enum(ty),
                Kind::FuncProto => ty.params().for_each(|param| self.add_pointee(object, param.ty)),
                // An extern: a kfunc, or a function of another file.
                Kind::Func if ty.linkage() == Some(2) => self.want(RootKind::Func, ty.name(), true),
                Kind::Var if ty.linkage() == Some(2) && !options.contains(&ty.id()) => {
                    // An extern without a type is a symbol, which need not be in the kernel's BTF.
                    let has_type =
                        object.strip(TypeId(ty.size_or_type())).is_ok_and(|ty| ty.kind() != Kind::Void);
                    self.want(RootKind::Var, ty.name(), has_type);
                    self.add_pointee(object, TypeId(ty.size_or_type()));
                }
                // A variable of struct_ops has a type of the kernel.
                Kind::Var => self.add_pointee(object, TypeId(ty.size_or_type())),
                _ => {}
            }
        }
    }

    /// Returns the types of the kernel. Names that the kernel does not have become [missing](Self::missing).
    pub fn resolve(&mut self, kernel: &Btf<'_>) -> Vec<TypeId> {
        let mut named = self.sources.no_types();
        let mut roots = self.find(kernel, &mut named);
        roots.extend(self.sources.reached(kernel, &named));
        roots
    }

    /// Returns the types with a wanted name, in the order of their ids. Adds those that sources name to
    /// `named`.
    fn find(&mut self, kernel: &Btf<'_>, named: &mut NamedTypes) -> Vec<TypeId> {
        let mut roots = match kernel.base() {
            Some(base) => self.find(base, named),
            None => Vec::new(),
        };
        for ty in kernel.types() {
            let Some(kind) = root_kind(ty) else { continue };
            let is_constants = kind == RootKind::Enum
                && ty
                    .enumerators()
                    .any(|e| CONSTANTS.iter().any(|prefix| e.name.as_bytes().starts_with(prefix)));
            if is_constants && !self.sources.defines(ty) {
                roots.push(ty.id());
            }
            if self.sources.names(ty, named) {
                roots.push(ty.id());
            }
            let wanted = self.wanted.get_mut(&kind).and_then(|names| names.get_mut(ty.name().as_bytes()));
            if let Some(root) = wanted {
                root.is_found = true;
                roots.push(if kind == RootKind::Var {
                    pointee(kernel, TypeId(ty.size_or_type()))
                } else {
                    ty.id()
                });
            }
        }
        roots
    }

    /// Returns the names that no kernel has had so far, without those that may be the object's own.
    pub fn missing(&self) -> impl Iterator<Item = Name<'_>> {
        let names = self.wanted.values().flatten();
        names.filter(|(_, root)| root.is_of_kernel && !root.is_found).map(|(name, _)| Name::new(name))
    }

    /// Returns what sources define although a header has it, too: for another source, or for a type of the
    /// kernel that contains it. Such a source does not compile with the header.
    pub fn redefinitions(&self, header: &str) -> Vec<Redefinitions<'_>> {
        self.sources.redefinitions(header)
    }

    /// Adds an enum, or the enumerators of an enum without a name.
    fn add_enum(&mut self, ty: Type<'_>) {
        if ty.name().is_empty() {
            ty.enumerators().for_each(|enumerator| self.sources.add_enumerator(enumerator.name.as_bytes()));
        } else {
            self.want(RootKind::Enum, ty.name(), false);
        }
    }

    fn add_type(&mut self, object: &Btf<'_>, id: TypeId, is_of_kernel: bool) {
        let Ok(ty) = object.strip(id) else { return };
        if let (Some(kind), false) = (root_kind(ty), ty.name().is_empty()) {
            self.want(kind, ty.name(), is_of_kernel);
        }
    }

    fn add_pointee(&mut self, object: &Btf<'_>, id: TypeId) {
        let target = pointee(object, id);
        let is_wanted = |ty: &Type<'_>| ty.kind().is_composite();
        if object.ty(target).is_some_and(|ty| is_wanted(&ty)) {
            self.add_type(object, target, false);
        }
    }

    fn want(&mut self, kind: RootKind, name: Name<'_>, is_of_kernel: bool) {
        let name = if kind == RootKind::Typedef { name } else { name.essential() };
        let root = self.wanted.entry(kind).or_default().entry(name.as_bytes().to_vec()).or_default();
        root.is_of_kernel |= is_of_kernel;
    }
}

/// Returns the externs that are values of the kernel's configuration, not variables.
fn kernel_options(object: &Btf<'_>) -> HashSet<TypeId> {
    let sections =
        object.types().filter(|ty| ty.kind() == Kind::Datasec && ty.name().as_bytes() == b".kconfig");
    sections.flat_map(Type::secinfos).map(|info| info.ty).collect()
}

fn root_kind(ty: Type<'_>) -> Option<RootKind> {
    match ty.kind() {
        Kind::Struct => Some(RootKind::Struct),
        Kind::Union => Some(RootKind::Union),
        Kind::Enum | Kind::Enum64 => Some(RootKind::Enum),
        Kind::Typedef => Some(RootKind::Typedef),
        Kind::Func => Some(RootKind::Func),
        Kind::Var => Some(RootKind::Var),
        _ => None,
    }
}

/// Returns the type behind modifiers and at most one pointer.
fn pointee(btf: &Btf<'_>, id: TypeId) -> TypeId {
    let stripped = |id| btf.strip(id).ok();
    match stripped(id) {
        Some(ty) if ty.kind() == Kind::Ptr => stripped(TypeId(ty.size_or_type())).map_or(id, Type::id),
        Some(ty) => ty.id(),
        None => id,
    }
}
