//! Tags of clang and GCC 16 are the same after every operation that writes BTF.

use super::{LayoutChange, convert, dedup, distil_base, sort};
use crate::{Btf, Builder, Endian, Kind, ids::TypeId};
use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
    sync::Arc,
    vec,
    vec::Vec,
};

/// Adds tags with and without the flag for other attributes: on a type, a struct, a member, a parameter and a
/// function.
fn add_tags(b: &mut Builder, int: TypeId) {
    let user = b.type_tag("user", int);
    let pointer = b.pointer(user);
    let attribute = b.type_attribute("address_space(1)", int);
    let other = b.pointer(attribute);
    let s = b.structure("s", 16, &[("p", pointer, 0), ("q", other, 64)]);
    b.decl_tag("on_struct", s, -1);
    b.decl_tag("on_member", s, 1);
    b.decl_attribute("preserve_access_index", s, -1);
    let proto = b.func_proto(int, &[("p", pointer)]);
    let func = b.func("f", proto, 1);
    b.decl_tag("on_func", func, -1);
    b.decl_tag("on_param", func, 0);
}

/// Returns the flag, the component and the target of each tag, by name.
fn tags(btf: &Btf<'_>) -> Vec<(String, bool, Option<i32>, String)> {
    let is_tag = |kind| matches!(kind, Kind::TypeTag | Kind::DeclTag);
    let mut tags: Vec<_> = btf
        .types()
        .filter(|ty| is_tag(ty.kind()))
        .map(|ty| {
            let target = ty.target().and_then(|id| btf.ty(id)).unwrap();
            (ty.name().to_string(), ty.kflag(), ty.component_index(), target.name().to_string())
        })
        .collect();
    tags.sort();
    tags
}

#[test]
fn tags_keep_their_flags_components_and_targets() {
    for endian in [Endian::Little, Endian::Big] {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let base = Arc::new(Btf::parse(b.finish()).unwrap());
        add_tags(&mut b, int);
        let btf = Btf::parse(b.finish()).unwrap();
        let expected = [
            ("address_space(1)", true, None, "int"),
            ("on_func", false, Some(-1), "f"),
            ("on_member", false, Some(1), "s"),
            ("on_param", false, Some(0), "f"),
            ("on_struct", false, Some(-1), "s"),
            ("preserve_access_index", true, Some(-1), "s"),
            ("user", false, None, "int"),
        ];
        let expected: Vec<_> =
            expected.map(|(name, flag, at, target)| (name.to_owned(), flag, at, target.to_owned())).into();
        assert_eq!(tags(&btf), expected);
        let tags_of = |bytes: Vec<u8>| tags(&Btf::parse(bytes).unwrap());
        assert_eq!(tags_of(dedup(&btf).unwrap().finish()), expected);
        assert_eq!(tags_of(sort(&btf).unwrap().into_bytes()), expected);
        for order in [Endian::Little, Endian::Big] {
            assert_eq!(tags_of(convert(&btf, order, LayoutChange::Add).unwrap()), expected);
        }
        let mut twice = Builder::new(endian);
        twice.append(&btf).unwrap();
        twice.append(&btf).unwrap();
        let twice = Btf::parse(twice.finish()).unwrap();
        assert_eq!(tags(&twice).len(), expected.len().saturating_mul(2));
        assert_eq!(tags_of(dedup(&twice).unwrap().finish()), expected);

        let mut split = Builder::split_with_strings(&base);
        add_tags(&mut split, int);
        let split = Btf::parse_split(split.finish(), Arc::clone(&base)).unwrap();
        let distilled = distil_base(&split).unwrap();
        let small = Arc::new(Btf::parse(distilled.base).unwrap());
        assert_eq!(tags(&Btf::parse_split(distilled.split, small).unwrap()), expected);
    }
}

/// The types to which a split BTF refers may have type tags in the base.
#[test]
fn a_type_tag_of_the_base_moves_to_the_distilled_split_btf() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let user = b.type_attribute("user", int);
    let pointer = b.pointer(user);
    let base = Arc::new(Btf::parse(b.finish()).unwrap());
    let mut split = Builder::split_with_strings(&base);
    split.structure("s", 8, &[("p", pointer, 0)]);
    let distilled = distil_base(&Btf::parse_split(split.finish(), base).unwrap()).unwrap();
    let small = Arc::new(Btf::parse(distilled.base).unwrap());
    let split = Btf::parse_split(distilled.split, small).unwrap();
    assert_eq!(tags(&split), vec![("user".to_owned(), true, None, "int".to_owned())]);
}
