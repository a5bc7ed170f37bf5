//! Types of keys and values of legacy maps.
//!
//! Before definitions with BTF types, `BPF_ANNOTATE_KV_PAIR` told the types of a map: a struct
//! `____btf_map_NAME` whose first members are the key and the value (libbpf before 1.0:
//! `btf__get_map_kv_tids`).

use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashMap;

/// The start of the names of annotations, after two of four underscores.
const PREFIX: &[u8] = b"__btf_map_";

/// The annotations of an object, by the name of the map.
pub(super) struct MapAnnotations<'b>(HashMap<&'b [u8], Type<'b>>);

/// The types of the keys and values of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyAndValue {
    pub(super) key: TypeId,
    pub(super) value: TypeId,
}

impl<'b> MapAnnotations<'b> {
    /// Finds all annotations of an object. Of several annotations of a map, the first counts.
    pub(super) fn find(btf: Option<&'b Btf<'_>>) -> Self {
        let mut annotations = HashMap::new();
        for ty in btf.into_iter().flat_map(Btf::types).filter(|ty| ty.kind() == Kind::Struct) {
            let rest = ty.name().as_bytes().strip_prefix(b"__");
            if let Some(map) = rest.and_then(|rest| rest.strip_prefix(PREFIX)) {
                annotations.entry(map).or_insert(ty);
            }
        }
        Self(annotations)
    }

    /// Returns the types of the keys and values of a map. As in libbpf, an annotation whose types have other
    /// sizes than the definition is ignored.
    pub(super) fn types(&self, map: &[u8], key_size: u32, value_size: u32) -> Option<KeyAndValue> {
        let annotation = self.0.get(map)?;
        let member_of_size = |index, size| {
            let ty = annotation.member(index)?.ty;
            let found = annotation.btf().size_of(ty).ok()?;
            (found.0 == size).then_some(ty)
        };
        Some(KeyAndValue { key: member_of_size(0, key_size)?, value: member_of_size(1, value_size)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        object::Object,
        test_support::{SectionKind, SymbolKind, TestObject, returns},
    };
    use core_relo::{Endian, btf::Builder};

    fn annotation(map: &str) -> String {
        format!("__{}{map}", String::from_utf8_lossy(PREFIX))
    }

    #[test]
    fn the_first_members_are_the_types_if_their_sizes_fit() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, 0);
        let long = b.int("long", 8, 0);
        b.structure(&annotation("table"), 16, &[("key", int, 0), ("value", long, 64), ("more", int, 0)]);
        b.structure(&annotation("table"), 8, &[("key", int, 0), ("value", int, 32)]);
        b.structure(&annotation("short"), 4, &[("key", int, 0)]);
        b.union(&annotation("union"), 8, &[("key", int, 0), ("value", int, 0)]);
        b.structure(&annotation("void"), 8, &[("key", TypeId::VOID, 0), ("value", int, 32)]);
        let btf = Btf::parse(b.finish()).unwrap();
        let annotations = MapAnnotations::find(Some(&btf));
        let types = KeyAndValue { key: int, value: long };
        assert_eq!(annotations.types(b"table", 4, 8), Some(types));
        assert_eq!(annotations.types(b"table", 4, 4), None, "the first annotation counts");
        for other in [&b"short"[..], b"union", b"void", b"other", b""] {
            assert_eq!(annotations.types(other, 4, 4), None);
        }
        assert_eq!(MapAnnotations::find(None).types(b"table", 4, 8), None);
    }

    #[test]
    fn legacy_maps_of_an_object_have_the_types_of_their_annotations() {
        let mut object = TestObject::new();
        let int = object.int;
        let long = object.types.int("long", 8, 0);
        object.types.structure(&annotation("table"), 16, &[("key", int, 0), ("value", long, 64)]);
        object.program("f", "xdp", &returns(0));
        let words: Vec<u8> =
            [1u32, 4, 8, 16, 0, 1, 4, 4, 16, 0].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let maps = object.section("maps", SectionKind::Data, &words);
        object.symbol("table", SymbolKind::Data, maps, 0, 20);
        object.symbol("other", SymbolKind::Data, maps, 20, 20);
        let bytes = object.bytes();
        let object = Object::parse(&bytes).unwrap();
        let types = object.maps().iter().map(|map| {
            let def = map.def.as_ref().unwrap();
            (map.name, def.key_type, def.value_type)
        });
        let expected: [(&[u8], _, _); 2] = [(b"table", Some(int), Some(long)), (b"other", None, None)];
        assert_eq!(types.collect::<Vec<_>>(), expected);
    }
}
