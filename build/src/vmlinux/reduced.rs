//! The types that programs need besides those of reduced BTF, such as the entries of an archive of minimal
//! BTF.

use crate::headers;
use alloc::collections::BTreeSet;
use core::{fmt::Write as _, iter};
use core_relo::{
    btf::{Btf, Kind},
    minimise::MinimalBtf,
};

/// Types that the BTF of a kernel with networks has, unless it is reduced. Minimal BTF of other programs than
/// `core-relo` has no mark, but may have some of these types, of programs that compare the kernels' versions
/// of them.
const TYPES_OF_KERNELS: [&[u8]; 4] = [b"bpf_map_type", b"bpf_attr", b"__sk_buff", b"xdp_md"];

/// The header with the types and constants that every program needs, and the headers that it includes.
const HEADERS: [&str; 2] = ["bpf/bpf_types.h", "bpf/bpf_contexts.h"];

/// Returns the end of a `vmlinux.h` of reduced BTF: it includes `bpf_types.h`, without the definitions that
/// the BTF has. Empty for the whole BTF of a kernel.
pub(super) fn missing_types(btf: &Btf<'_>) -> String {
    if !is_reduced(btf) {
        return String::new();
    }
    let names = defined_names(btf);
    let known: BTreeSet<_> = headers().flat_map(definitions).collect();
    let both = || known.iter().filter(|name| names.contains(name.as_bytes()));
    let mut text = "\n/* The BTF is reduced. These are types that it lacks. */\n".to_owned();
    // The definitions in the header get other names.
    both().for_each(|name| _ = writeln!(text, "#define {name} core_relo_other_{name}"));
    _ = writeln!(text, "#include \"{}\"", HEADERS[0]);
    both().for_each(|name| _ = writeln!(text, "#undef {name}"));
    text
}

/// Returns whether the BTF is a part of a kernel's. That of a whole kernel has all typedefs of the headers,
/// since 5.10. It may lack newer structs and constants.
fn is_reduced(btf: &Btf<'_>) -> bool {
    if MinimalBtf::find(btf).is_some() {
        return true;
    }
    let mut missing: BTreeSet<_> = headers().flat_map(typedefs).map(str::as_bytes).collect();
    missing.extend(TYPES_OF_KERNELS);
    for ty in btf.types() {
        if matches!(ty.kind(), Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Typedef) {
            missing.remove(ty.name().as_bytes());
        }
    }
    !missing.is_empty()
}

pub(super) fn headers() -> impl Iterator<Item = &'static str> {
    HEADERS.into_iter().filter_map(headers::text)
}

/// Returns the names of the typedefs of a header.
pub(super) fn typedefs(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let (_, name) = line.strip_prefix("typedef ")?.strip_suffix(';')?.rsplit_once(' ')?;
        Some(name)
    })
}

/// Returns the names of structs, unions and enums in BTF, and of the constants of enums.
fn defined_names<'b>(btf: &'b Btf<'_>) -> BTreeSet<&'b [u8]> {
    let mut names = BTreeSet::new();
    for ty in btf.types() {
        match ty.kind() {
            Kind::Struct | Kind::Union => {
                names.insert(ty.name().as_bytes());
            }
            Kind::Enum | Kind::Enum64 => {
                names.insert(ty.name().as_bytes());
                names.extend(ty.enumerators().map(|enumerator| enumerator.name.as_bytes()));
            }
            _ => {}
        }
    }
    names
}

/// Returns the names of the structs, unions and enums that a header defines, and of the constants of enums.
fn definitions(header: &str) -> impl Iterator<Item = &str> {
    let composites = header.lines().filter_map(|line| {
        let definition = line.strip_prefix("struct ").or_else(|| line.strip_prefix("union "))?;
        definition.strip_suffix(" {")
    });
    let enums = header.split("\nenum ").skip(1).filter_map(|text| {
        let (tag, rest) = text.split_once('{')?;
        let (constants, _) = rest.split_once('}')?;
        Some((tag, constants))
    });
    let enums = enums.flat_map(|(tag, constants)| {
        let constants = constants.split(',').filter_map(|constant| constant.split('=').next());
        iter::once(tag).chain(constants).map(str::trim).filter(|name| !name.is_empty())
    });
    composites.chain(enums)
}
