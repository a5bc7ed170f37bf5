//! The users of a type: structs, functions and variables that refer to it.

use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use std::collections::HashSet;

/// Finds the named types that refer to one of `targets`, directly or through types without a name of their
/// own: pointers, arrays, modifiers, prototypes, and anonymous structs and unions.
pub(super) fn find_users<'b>(btf: &'b Btf<'_>, targets: &[TypeId]) -> Vec<Type<'b>> {
    // Every reference of a type, by the type that it leads to.
    let mut uses: Vec<(TypeId, TypeId)> =
        btf.types().flat_map(|ty| references(ty).map(move |target| (target, ty.id()))).collect();
    uses.sort_unstable();
    let mut reached: HashSet<TypeId> = targets.iter().copied().collect();
    let mut pending: Vec<TypeId> = targets.to_vec();
    let mut users = Vec::new();
    while let Some(target) = pending.pop() {
        let first = uses.partition_point(|(used, _)| *used < target);
        let of_target = uses.iter().skip(first).take_while(|(used, _)| *used == target);
        for ty in of_target.filter_map(|(_, user)| btf.ty(*user)) {
            if !reached.insert(ty.id()) {
                continue;
            }
            if has_own_name(ty) {
                users.push(ty);
            } else {
                pending.push(ty.id());
            }
        }
    }
    users.sort_by_key(|ty| ty.id());
    users
}

/// Returns whether a type is found under its own name, and ends the search.
fn has_own_name(ty: Type<'_>) -> bool {
    let is_part = matches!(
        ty.kind(),
        Kind::Ptr
            | Kind::Array
            | Kind::Const
            | Kind::Volatile
            | Kind::Restrict
            | Kind::TypeTag
            | Kind::FuncProto
            | Kind::Datasec
            | Kind::DeclTag
    );
    !is_part && !ty.name().is_empty()
}

/// Returns the types that a type refers to.
fn references<'b>(ty: Type<'b>) -> impl Iterator<Item = TypeId> + 'b {
    let array = ty.array().map(|array| array.element);
    let members = ty.members().map(|member| member.ty);
    ty.target().into_iter().chain(array).chain(members).chain(ty.params().map(|param| param.ty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, btf::Builder};

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test")]
    fn users_are_found_through_pointers_prototypes_and_anonymous_types() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let target = b.structure("target", 4, &[("x", int, 0)]);
        let pointer = b.pointer(target);
        let constant = b.modifier(Kind::Const, pointer);
        let anonymous = b.structure("", 8, &[("p", constant, 0)]);
        b.structure("user", 8, &[("", anonymous, 0)]);
        let proto = b.func_proto(int, &[("p", pointer)]);
        b.func("function", proto, 0);
        b.structure("other", 4, &[("x", int, 0)]);
        b.typedef("target_t", target);
        let btf = Btf::parse(b.finish()).unwrap();
        let names: Vec<_> = find_users(&btf, &[target]).iter().map(|ty| ty.name().to_string()).collect();
        assert_eq!(names, ["user", "function", "target_t"]);
    }
}
