//! Comparison of values with the text of libbpf's `btf_dump__dump_type_data`, with every combination of its
//! options.
//!
//! core-relo's values are printed by libbpf's rules here, and must give libbpf's text. So names, types,
//! numbers, order and the parts that are left out are the same. The rules that core-relo's own text does not
//! follow are in docs/libbpf-differences.md.

#[cfg(not(feature = "libbpf"))]
#[test]
fn values_are_printed_as_libbpf_prints_them() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
#[path = "value_text/model.rs"]
mod model;
#[cfg(feature = "libbpf")]
#[path = "value_text/with_libbpf.rs"]
mod with_libbpf;
