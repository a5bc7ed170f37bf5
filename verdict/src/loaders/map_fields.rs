//! The members of map definitions in `.maps` that only some loaders accept.

use super::{find::RuleUses, rules::LoaderRule};
use core_relo::{
    btf::{Btf, Kind, Type},
    explain::text,
};

/// Adds the uses of rules about the members of definitions.
pub(super) fn find(btf: &Btf<'_>, uses: &mut RuleUses) {
    let section = btf.types().find(|ty| ty.kind() == Kind::Datasec && ty.name().as_bytes() == b".maps");
    for info in section.into_iter().flat_map(Type::secinfos) {
        let Some(var) = btf.ty(info.ty) else { continue };
        let definition = var.target().and_then(|ty| btf.strip(ty).ok());
        if let Some(definition) = definition.filter(|ty| ty.kind() == Kind::Struct) {
            add_uses(definition, || text(var.name().shortened()), uses);
        }
    }
}

fn add_uses(definition: Type<'_>, map: impl Fn() -> String, uses: &mut RuleUses) {
    let has = |field: &[u8]| definition.members().any(|member| member.name.as_bytes() == field);
    for (ty, size) in [("key", "key_size"), ("value", "value_size")] {
        if has(ty.as_bytes()) && has(size.as_bytes()) {
            uses.add(LoaderRule::SizeAndType, || format!("map {}: both `{ty}` and `{size}`", map()));
        }
    }
    if has(b"numa_node") {
        uses.add(LoaderRule::NumaNode, || format!("map {}: the field `numa_node`", map()));
    }
    let last = definition.members().last();
    if has(b"values") && last.is_some_and(|member| member.name.as_bytes() != b"values") {
        uses.add(LoaderRule::ValuesNotLast, || format!("map {}: `values` is not the last field", map()));
    }
}
