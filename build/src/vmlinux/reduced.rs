//! The types that programs need besides those of reduced BTF, such as the entries of an archive of minimal BTF.

use crate::headers;
use alloc::collections::BTreeSet;
use core::fmt::Write as _;
use core_relo::btf::{Btf, Kind};

/// The enum that the BTF of every kernel has, unless it is reduced.
const MARK: &[u8] = b"bpf_map_type";

/// The header with the types and constants that every program needs, and the headers that it includes.
const TYPES: [&str; 2] = ["bpf/bpf_types.h", "bpf/bpf_contexts.h"];

/// Returns the end of a `vmlinux.h` of reduced BTF: it includes `bpf_types.h`, without the types that the BTF has. Empty for the whole
/// BTF of a kernel.
pub(super) fn missing_types(btf: &Btf<'_>) -> String {
    let mut names = BTreeSet::new();
    for ty in btf.types() {
        match ty.kind() {
            Kind::Enum | Kind::Enum64 if ty.name().as_bytes() == MARK => return String::new(),
            Kind::Struct | Kind::Union => {
                names.insert(ty.name().as_bytes());
            }
            _ => {}
        }
    }
    let known: BTreeSet<_> = TYPES.into_iter().filter_map(headers::text).flat_map(composites).collect();
    let both = || known.iter().filter(|name| names.contains(name.as_bytes()));
    let mut text = "\n/* The BTF is reduced. These are types that it lacks. */\n".to_owned();
    // The definitions in the header get other names.
    both().for_each(|name| _ = writeln!(text, "#define {name} core_relo_other_{name}"));
    _ = writeln!(text, "#include \"{}\"", TYPES[0]);
    both().for_each(|name| _ = writeln!(text, "#undef {name}"));
    text
}

/// Returns the names of the structs and unions that a header defines.
fn composites(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let definition = line.strip_prefix("struct ").or_else(|| line.strip_prefix("union "))?;
        definition.strip_suffix(" {")
    })
}
