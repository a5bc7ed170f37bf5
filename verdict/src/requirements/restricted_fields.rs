//! The special fields of maps' values at places that some kernel does not accept.

use super::{field_search::FieldParts, used_map::loses_types};
use crate::kernel::{FieldPlace, SpecialField, ValueField};
use core_relo::btf::Btf;
use core_relo_object::{
    map_flags,
    object::{MapDef, MapType},
};

/// A special field of a map's values at a place that some kernel does not accept.
pub(super) struct RestrictedField {
    pub(super) place: FieldPlace,
    pub(super) field: ValueField,
}

/// Returns the special fields of a map's values, and of its inner maps' values, at places that some kernel
/// does not accept.
pub(super) fn restricted_fields(def: &MapDef, btf: &Btf<'_>) -> Vec<RestrictedField> {
    use MapType as M;
    let storage = |def: &&MapDef| {
        let types = [M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage];
        def.known_type().is_some_and(|map_type| types.contains(&map_type))
    };
    let keeps_types = |def: &&MapDef| match (def.known_type(), def.key_type) {
        (Some(map_type), Some(key)) => {
            def.map_flags & map_flags::WRONLY_PROG == 0 && !loses_types(def, map_type, key, btf)
        }
        _ => false,
    };
    let maps = [
        (FieldPlace::LocalStorage, Some(def).filter(storage)),
        (FieldPlace::InnerMap, def.inner.as_deref().filter(keeps_types)),
    ];
    let mut found = Vec::new();
    for (place, def) in maps {
        let Some((def, value)) = def.and_then(|def| Some((def, def.value_type?))) else { continue };
        // A loader creates inner maps of other types without the types of their values.
        let is_kept = |field: SpecialField| {
            place == FieldPlace::LocalStorage || def.known_type().is_some_and(|map_type| field.fits(map_type))
        };
        // No loader creates local storage without types.
        let map_type = def.known_type().filter(|_| place != FieldPlace::LocalStorage);
        let Ok(value) = btf.strip(value) else { continue };
        let fields = FieldParts::of_value(btf, value).fields(map_type).into_iter();
        let fields = fields.filter(|field| is_kept(field.field) && !field.always_fits_place(place));
        found.extend(fields.map(|field| RestrictedField { place, field }));
    }
    found
}
