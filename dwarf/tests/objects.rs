//! Objects of several compilers and versions of DWARF, with the BTF that is expected of each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::little_endian_bytes,
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    reason = "tests fail by panicking"
)]

use core_relo::btf::{Btf, Kind};
use core_relo_dwarf::{EncodeSettings, Encoded, encode};
use object::{Object as _, ObjectSection as _};
use std::{
    fmt::Write as _,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The objects of `types.c` whose types have the layout of x86-64, whatever the compiler.
const X86_64: [&str; 9] = [
    "gcc-dwarf2.o",
    "gcc-dwarf3.o",
    "gcc-dwarf4.o",
    "gcc-dwarf5.o",
    "gcc-type-units4.o",
    "gcc-type-units5.o",
    "gcc-zlib.o",
    "clang-dwarf4.o",
    "clang-dwarf5.o",
];

fn objects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(objects().join(name)).unwrap()
}

fn encoded(name: &str) -> Encoded {
    encode(&read(name), &EncodeSettings::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn btf(name: &str) -> Btf<'static> {
    Btf::parse(encoded(name).bytes).unwrap()
}

fn text(btf: &Btf<'_>) -> String {
    let lines: Vec<String> = btf.types().map(|ty| ty.raw().to_string()).collect();
    lines.join("\n") + "\n"
}

/// Compares a text with a committed file. With `UPDATE_EXPECTED`, writes the file.
fn expect(name: &str, text: &str) {
    let path = objects().join(name);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "{}", path.display());
}

#[test]
fn types_of_each_compiler() {
    for name in ["gcc-dwarf5.o", "clang-dwarf5.o", "s390x.o", "arm.o", "i386.o", "two-units.so"] {
        expect(&format!("{name}.txt"), &text(&btf(name)));
    }
}

/// Returns the members of all structs and unions with names: offsets, widths, sizes.
fn layouts(btf: &Btf<'_>) -> String {
    let mut lines = Vec::new();
    for ty in btf.types().filter(|ty| ty.kind().is_composite() && !ty.name().is_empty()) {
        let mut line = format!("{} {} {}:", ty.kind().name(), ty.name(), ty.size().unwrap());
        for member in ty.members() {
            write!(line, " {}@{}:{}", member.name, member.bit_offset.0, member.bitfield_bits).unwrap();
            write!(line, "/{}", btf.size_of(member.ty).map_or(0, |size| size.0)).unwrap();
        }
        lines.push(line);
    }
    lines.sort();
    lines.join("\n")
}

#[test]
fn layouts_do_not_depend_on_compiler_and_version() {
    let expected = layouts(&btf("gcc-dwarf5.o"));
    assert!(expected.contains("STRUCT bits 16: a@0:3/4 b@3:7/4 c@10:5/4 d@15:40/8"), "{expected}");
    for name in X86_64 {
        assert_eq!(layouts(&btf(name)), expected, "{name}");
    }
}

#[test]
fn bitfields_of_big_endian_machines_count_from_the_other_end() {
    // The same positions: BTF counts from the first byte, in both byte orders.
    let bits = |name| {
        let layouts = layouts(&btf(name));
        layouts.lines().find(|line| line.starts_with("STRUCT bits")).unwrap().to_owned()
    };
    assert_eq!(bits("s390x.o"), bits("clang-dwarf5.o"));
    assert_eq!(btf("s390x.o").endian(), core_relo::Endian::Big);
}

#[test]
fn functions_and_per_cpu_variables() {
    for name in X86_64 {
        let encoded = encoded(name);
        let btf = Btf::parse(encoded.bytes.clone()).unwrap();
        let names = |kind| {
            let of_kind = btf.types().filter(|ty| ty.kind() == kind);
            let mut names: Vec<_> = of_kind.map(|ty| ty.name().to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(names(Kind::Func), ["global_function", "helper", "no_arguments", "variadic"], "{name}");
        assert_eq!(names(Kind::Var), ["counter", "percpu_list"], "{name}");
        assert_eq!((encoded.functions, encoded.variables), (4, 2));
        let section = btf.types().find(|ty| ty.kind() == Kind::Datasec).unwrap();
        let infos: Vec<_> = section.secinfos().map(|info| (info.offset, info.size)).collect();
        assert_eq!((section.name().to_string().as_str(), infos.len()), (".data..percpu", 2));
        assert!(infos[0].0 + infos[0].1 <= infos[1].0, "{infos:?}");
    }
}

#[test]
fn units_are_merged_and_functions_that_differ_are_left_out() {
    for name in ["two-units.so", "dwz.so"] {
        let encoded = encoded(name);
        assert_eq!(encoded.inconsistent_functions, ["helper"], "{name}");
        let btf = Btf::parse(encoded.bytes).unwrap();
        let of_name = |kind, name: &str| {
            btf.types().filter(|ty| ty.kind() == kind && ty.name().as_bytes() == name.as_bytes()).count()
        };
        assert_eq!(of_name(Kind::Struct, "list"), 1, "{name}");
        assert_eq!((of_name(Kind::Struct, "forward"), of_name(Kind::Fwd, "forward")), (1, 0), "{name}");
        assert_eq!((of_name(Kind::Func, "helper"), of_name(Kind::Func, "calls_helper")), (0, 1), "{name}");
    }
    assert_eq!(layouts(&btf("two-units.so")), layouts(&btf("dwz.so")));
}

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    let mut settings = EncodeSettings::default();
    settings.threads = NonZeroUsize::new(7).unwrap();
    let parallel = encode(&read("two-units.so"), &settings).unwrap();
    assert_eq!(parallel.bytes, encoded("two-units.so").bytes);
}

#[test]
fn split_btf_has_only_what_the_base_lacks() {
    let base = Arc::new(btf("gcc-dwarf5.o"));
    let mut settings = EncodeSettings::default();
    settings.base = Some(Arc::clone(&base));
    let split = encode(&read("two-units.so"), &settings).unwrap();
    let split = Btf::parse_split(split.bytes, base).unwrap();
    assert!(split.types().all(|ty| ty.name().as_bytes() != b"bits" && ty.kind() != Kind::Int));
    assert!(split.types().any(|ty| ty.name().as_bytes() == b"forward" && ty.kind() == Kind::Struct));
    let mut settings = EncodeSettings::default();
    settings.base = Some(Arc::new(btf("s390x.o")));
    let error = encode(&read("two-units.so"), &settings).unwrap_err().to_string();
    assert_eq!(error, "the file is little-endian, the base is big-endian, expected the same byte order");
}

/// Returns declaration and type tags as text.
fn tags(btf: &Btf<'_>) -> Vec<String> {
    let mut tags: Vec<String> = btf
        .types()
        .filter(|ty| ty.kind() == Kind::DeclTag)
        .map(|ty| {
            let target = btf.ty(ty.target().unwrap()).unwrap();
            format!("{} on {} {} {:?}", ty.name(), target.kind().name(), target.name(), ty.component_index())
        })
        .collect();
    let tagged = btf.find(b"tagged", Kind::Struct).unwrap();
    let mut next = tagged.members().find(|member| member.name.as_bytes() == b"p").map(|member| member.ty);
    let mut chain = String::from("p");
    while let Some(ty) = next.and_then(|id| btf.ty(id)) {
        write!(chain, " -> {} {}", ty.kind().name(), ty.name()).unwrap();
        next = ty.target();
    }
    tags.sort();
    tags.push(chain);
    tags
}

#[test]
fn tags_are_those_that_clang_writes() {
    let file = read("tags.bpf.o");
    let elf = object::File::parse(&*file).unwrap();
    let own = elf.section_by_name(".BTF").unwrap().data().unwrap();
    let own = Btf::parse(own).unwrap();
    assert!(tags(&own).len() > 5, "{:?}", tags(&own));
    assert_eq!(tags(&btf("tags.bpf.o")), tags(&own));
}
