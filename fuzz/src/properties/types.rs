//! Properties of BTF: both ways to parse agree, every type is readable, and derived BTF is valid.

use super::headers;
use core_relo::{
    Endian, TypeId,
    btf::{Btf, BtfError, Builder, LayoutChange, NameIndex, Type, convert, dedup, distil_base, sort},
    explain::CType,
};
use core_relo_cli::fuzzing;
use std::{fmt, fmt::Write as _, sync::Arc};

/// The number of types that are checked one by one.
const TYPES: usize = 2_000;

/// The size of printed values. The work is proportional to this size.
const VALUE_BYTES: usize = 4 << 10;

/// Parses a BTF, or a split BTF on `base`, and checks all operations on it.
pub fn check(bytes: &[u8], base: Option<&Arc<Btf<'static>>>) {
    let validated: Result<Btf<'static>, BtfError> = match base {
        None => Btf::parse(bytes.to_vec()),
        Some(base) => Btf::parse_split(bytes.to_vec(), Arc::clone(base)),
    };
    let unvalidated = Btf::parse_unvalidated(bytes.to_vec(), base.map(Arc::clone));
    if let Ok(btf) = &unvalidated {
        // Members may refer to types that do not exist.
        walk(btf);
    }
    let Ok(btf) = validated else { return };
    let other = unvalidated.expect("a valid BTF can be parsed without validation");
    assert_eq!((btf.end_id(), btf.pointer_size()), (other.end_id(), other.pointer_size()));
    let texts = |btf: &Btf<'_>| btf.types().take(TYPES).map(|ty| format!("{ty:?}")).collect::<Vec<_>>();
    assert_eq!(texts(&btf), texts(&other));
    walk(&btf);
    print(&btf);
    headers::check(&btf);
    let parse = |bytes: Vec<u8>| match base {
        None => Btf::parse(bytes),
        Some(base) => Btf::parse_split(bytes, Arc::clone(base)),
    };
    if let Ok(deduped) = dedup(&btf) {
        let deduped = parse(deduped.finish()).expect("a deduplicated BTF is a BTF");
        assert!(deduped.end_id() <= btf.end_id());
    }
    if let Ok(copy) = Builder::copy_of(&btf) {
        assert_eq!(parse(copy.finish()).expect("a copy is a BTF").end_id(), btf.end_id());
    }
    if let Ok(sorted) = sort(&btf) {
        let sorted = parse(sorted.into_bytes()).expect("a sorted BTF is a BTF");
        assert_eq!(sorted.end_id(), btf.end_id());
        assert!(sorted.types().is_sorted_by(|a, b| a.name() <= b.name()));
    }
    check_converted(&btf);
    if let Ok(distilled) = distil_base(&btf) {
        let small = Arc::new(Btf::parse(distilled.base).expect("a distilled base is a BTF"));
        let split = Btf::parse_split(distilled.split, small).expect("a BTF on a distilled base is a BTF");
        assert!(split.types().count() >= btf.types().count());
    }
}

/// Converts a BTF to the other byte order and back.
fn check_converted(btf: &Btf<'_>) {
    let other = if btf.endian() == Endian::Little { Endian::Big } else { Endian::Little };
    if btf.base().is_some() {
        // The base would have to be converted as well.
        return;
    }
    for layout in [LayoutChange::Keep, LayoutChange::Add, LayoutChange::Remove] {
        let Ok(converted) = convert(btf, other, layout) else { continue };
        let converted = Btf::parse(converted).expect("a converted BTF is a BTF");
        let words = |ty: Type<'_>| (ty.kind(), ty.vlen(), ty.name_offset(), ty.size_or_type());
        assert!(converted.types().map(words).eq(btf.types().map(words)));
        let back = convert(&converted, btf.endian(), layout).expect("the way back is as short");
        assert!(Btf::parse(back).is_ok_and(|back| back.types().map(words).eq(btf.types().map(words))));
    }
}

/// Reads every type and searches for types by name.
pub fn walk(btf: &Btf<'_>) {
    let mut text = String::new();
    for ty in btf.types().take(TYPES) {
        read_type(btf, ty, &mut text);
        text.clear();
    }
    let _missing = btf.ty(TypeId(u32::MAX));
    search(btf);
    // Print values of a few types, with the bytes of the BTF as data.
    for ty in btf.types().step_by(499).take(6) {
        let value = btf.value(ty.id(), value_bytes(btf));
        assert!(write!(Discard, "{value:#}{}", value.text().types(false).zeroes(false)).is_ok());
    }
}

/// Prints types and values as JSON.
fn print(btf: &Btf<'_>) {
    for ty in btf.types().take(200) {
        assert!(fuzzing::type_to_json(ty).is_ok_and(|json| json.starts_with('{')));
    }
    for ty in btf.types().step_by(97).take(6) {
        assert!(
            fuzzing::value_to_json(&btf.value(ty.id(), value_bytes(btf))).is_ok_and(|json| !json.is_empty())
        );
    }
}

fn value_bytes<'b>(btf: &'b Btf<'_>) -> &'b [u8] {
    let bytes = btf.as_bytes();
    bytes.get(..VALUE_BYTES).unwrap_or(bytes)
}

/// Checks that an index finds the same types as a scan, and that a wrongly trusted order finds no other
/// types.
fn search(btf: &Btf<'_>) {
    let mut trusted = btf.clone();
    trusted.trust_order();
    let index = NameIndex::new(btf);
    let is_named = |ty: &Type<'_>| !ty.name().is_empty();
    for ty in btf.types().filter(is_named).take(20) {
        let (name, kind) = (ty.name(), ty.kind());
        let first = btf.find_own(name.as_bytes(), kind).map(Type::id);
        assert_eq!(index.find(btf, name.as_bytes(), kind).map(Type::id), first, "{kind} {name}");
        let found = trusted.find_own(name.as_bytes(), kind);
        assert!(found.is_none_or(|other| other.name() == name && other.kind() == kind), "{kind} {name}");
        let essential = name.essential();
        let is_flavour = |ty: &Type<'_>| index.covers(ty.kind()) && ty.name().essential() == essential;
        let flavours = btf.types().filter(is_flavour).map(Type::id);
        assert!(index.flavours(btf, essential.as_bytes()).map(Type::id).eq(flavours), "{essential}");
    }
}

/// Calls every read function of a type.
fn read_type(btf: &Btf<'_>, ty: Type<'_>, text: &mut String) {
    let _size = btf.size_of(ty.id());
    let _stripped = btf.strip(ty.id());
    let _ = write!(text, "{:?} {}", ty, CType::new(btf, ty.id()));
    let _elements = ty.members().take(100).count() + ty.enumerators().take(100).count();
    let _more = ty.params().take(100).count() + ty.secinfos().take(100).count();
    let _facts =
        (ty.array(), ty.int(), ty.linkage(), ty.component_index(), ty.name().essential().as_bytes().len());
}

/// A writer that discards what is written.
struct Discard;

impl fmt::Write for Discard {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}
