//! The members of map definitions in `.maps` that only some loaders accept.

use super::model::RuleUses;
use crate::loaders::LoaderRule;
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
        let Some(definition) = definition.filter(|ty| ty.kind() == Kind::Struct) else { continue };
        add_uses(btf, definition, || text(var.name().shortened()), uses);
        if let Some(inner) = inner_definition(btf, definition) {
            add_uses(btf, inner, || format!("{}.inner", text(var.name().shortened())), uses);
        }
    }
}

/// Returns the definition of the inner maps of a map of maps: `values` is an array of pointers to it.
fn inner_definition<'btf>(btf: &'btf Btf<'_>, definition: Type<'btf>) -> Option<Type<'btf>> {
    let values = definition.members().find(|member| member.name.as_bytes() == b"values")?;
    let array = btf.strip(values.ty).ok()?.array()?;
    let pointer = btf.strip(array.element).ok()?;
    let inner = btf.strip(pointer.target()?).ok()?;
    (inner.kind() == Kind::Struct).then_some(inner)
}

fn add_uses(btf: &Btf<'_>, definition: Type<'_>, map: impl Fn() -> String, uses: &mut RuleUses) {
    let has = |field: &[u8]| definition.members().any(|member| member.name.as_bytes() == field);
    for (ty, size) in [("key", "key_size"), ("value", "value_size")] {
        if has(ty.as_bytes()) && has(size.as_bytes()) {
            uses.add(LoaderRule::SizeAndType, || format!("map {}: both `{ty}` and `{size}`", map()));
        }
    }
    if has(b"numa_node") {
        uses.add(LoaderRule::NumaNode, || format!("map {}: the field `numa_node`", map()));
    }
    let extra = definition.members().find(|member| member.name.as_bytes() == b"map_extra");
    let extra = extra.and_then(|member| btf.strip(member.ty).ok());
    if extra.is_some_and(|ty| ty.kind().is_enum()) {
        uses.add(LoaderRule::MapExtraEnum, || format!("map {}: `map_extra` is an enum", map()));
    }
    let last = definition.members().last();
    if has(b"values") && last.is_some_and(|member| member.name.as_bytes() != b"values") {
        uses.add(LoaderRule::ValuesNotLast, || format!("map {}: `values` is not the last field", map()));
    }
}
