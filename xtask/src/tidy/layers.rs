//! The order of a crate's modules: siblings do not use each other in circles, and the modules of the root are
//! layers.

use super::module_graph::{Edge, circles, edges};
use super::sources::Crate;
use std::collections::HashMap;

/// The modules of each crate's root, the lowest layer first. A module uses only those of the layers before
/// its own.
const LAYERS: [(&str, &[&str]); 14] = [
    (
        "btf",
        &[
            "data endian error_text escape ids limits",
            "format name",
            "parse",
            "view",
            "search",
            "layout",
            "write",
            "text",
            "c_header",
            "kernel_check",
        ],
    ),
    (
        "core-relo",
        &[
            "index internal limits",
            "insn target",
            "ext",
            "source_lines spec",
            "relocs resolve",
            "plan",
            "explain minimise",
        ],
    ),
    (
        "object",
        &[
            "arch errno index kernel_version limits lockdown map_flags memory_nodes sha256",
            "elf events features",
            "known_names object target",
            "archive btf_ids disassembly helper_maps link map_owner map_rules static_link",
            "globals map_limits",
            "load_plan",
            "loader_program test_support",
        ],
    ),
    (
        "dwarf",
        &[
            "limits parse_error",
            "error",
            "elf names",
            "finish graph units",
            "decode",
            "lower",
            "intern",
            "encode",
        ],
    ),
    (
        "verdict",
        &[
            "limits",
            "kernel linked_code loaders source_line",
            "reach reads",
            "requirements test_support",
            "btf_diff mismatch",
            "judge",
            "advice fleet listing",
            "serialize",
        ],
    ),
    (
        "report",
        &[
            "agreement ci_log comparison limits load_message rules stable_hash",
            "escape json labels shared_verdicts",
            "policy",
            "model",
            "baseline matrix",
            "findings real_loads stored summary warnings",
            "groups html junit markdown sarif",
            "format",
        ],
    ),
    ("sign", &["digest error", "pem", "key", "certificate", "signed_data"]),
    (
        "loader",
        &[
            "arch convert kernel_version limits memory_limit memory_nodes owner_process privileges",
            "sys token_scope",
            "globals hint kernel_handle program_btf target",
            "kconfig_file lockdown maps ring",
            "attach",
            "inventory",
            "attach_point features",
            "load running_kernel",
            "loader",
            "skeleton",
        ],
    ),
    ("adaptive", &["limits", "variants", "startup_report", "load"]),
    (
        "build",
        &[
            "architecture dep_file runner skeleton vmlinux_error",
            "error",
            "clang manifest output source_options",
            "environment headers",
            "compile vmlinux",
            "builder",
        ],
    ),
    (
        "kernels",
        &[
            "limits threads",
            "compression file_id",
            "boot_image file_kind stream",
            "package_kind",
            "package_defect",
            "error",
            "file note tar_members",
            "elf_sections kernel_text package",
            "image_facts",
            "archive btf_file",
            "directory unpacked_image",
            "kernel",
            "fetch",
        ],
    ),
    (
        "vm",
        &[
            "arch notes",
            "error",
            "initramfs kernel_image memory_file",
            "executable",
            "machine",
            "guest",
            "init",
        ],
    ),
    (
        "cli",
        &[
            "byte_count describe error format long_double plan_error type_name words",
            "process text",
            "input kernel_objects",
            "attach_point output",
            "budget diagnostics settings",
            "guest policy",
            "json",
            "console",
            "events progress",
            "args",
            "fetched",
            "cmd",
            "dispatch fuzzing",
            "main",
        ],
    ),
    ("web", &["limits request_error", "message", "kernel", "advice", "object", "session", "exports"]),
];

/// Checks the order of a crate's modules.
pub(super) fn check(krate: &Crate<'_, '_>, problems: &mut Vec<String>) {
    find_circles(krate, problems);
    let known = LAYERS.iter().find(|(dir, _)| *dir == krate.dir);
    match known {
        Some((_, layers)) => find_upward_uses(krate, layers, problems),
        None => problems.push(format!("{}: no layers, expected a list in `LAYERS`", krate.dir)),
    }
}

/// Finds modules of the root that use one that is not in a lower layer, and modules without a layer.
fn find_upward_uses(krate: &Crate<'_, '_>, layers: &[&str], problems: &mut Vec<String>) {
    let named = layers.iter().enumerate();
    let named = named.flat_map(|(layer, names)| names.split(' ').map(move |name| (name, layer)));
    let named = named.collect::<Vec<_>>();
    let layers = named.iter().copied().collect::<HashMap<_, _>>();
    let modules = krate.product().filter_map(|module| match module.path.as_slice() {
        [name] => Some(name.as_str()),
        _ => None,
    });
    let modules = modules.collect::<Vec<_>>();
    for name in modules.iter().filter(|name| !layers.contains_key(*name)) {
        problems.push(format!("{}: the module `{name}` has no layer", krate.dir));
    }
    for (name, _) in named.iter().filter(|(name, _)| !modules.contains(name)) {
        problems.push(format!("{}: no module `{name}`, which is in a layer", krate.dir));
    }
    let all = edges(krate);
    for Edge { from, to, place, path } in all.get(&[][..]).into_iter().flatten() {
        let (Some(own), Some(used)) = (layers.get(from.as_str()), layers.get(to.as_str())) else { continue };
        if used >= own {
            problems.push(format!("{place}: {from} uses {to} ({path}), which is in no lower layer"));
        }
    }
}

fn find_circles(krate: &Crate<'_, '_>, problems: &mut Vec<String>) {
    for (parent, edges) in edges(krate) {
        for circle in circles(&edges) {
            let parent = parent.iter().map(|name| format!("{name}::")).collect::<String>();
            let names = circle.join(", ");
            problems.push(format!("{}: {parent}{{{names}}} use each other in circles:", krate.dir));
            for edge in
                edges.iter().filter(|edge| circle.contains(&&*edge.from) && circle.contains(&&*edge.to))
            {
                problems.push(format!("    {} -> {}: {} ({})", edge.from, edge.to, edge.place, edge.path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{File, sources::Source};
    use std::path::PathBuf;

    fn with_crate(sources: &[(&str, &str)], test: impl FnOnce(&Crate<'_, '_>)) {
        let file = |(path, text): &(&str, &str)| File {
            path: PathBuf::from(format!("vm/src/{path}")),
            text: (*text).to_owned(),
        };
        let files = sources.iter().map(file).collect::<Vec<_>>();
        let sources = files.iter().map(|file| Source::parse(file).unwrap()).collect::<Vec<_>>();
        test(&Crate::new("vm", &sources));
    }

    fn circles_of(sources: &[(&str, &str)]) -> Vec<String> {
        let mut problems = Vec::new();
        with_crate(sources, |krate| find_circles(krate, &mut problems));
        problems.into_iter().filter(|problem| !problem.starts_with(' ')).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_found_through_re_exports_macros_and_paths() {
        let circle = ["vm: {a, b} use each other in circles:"];
        let root = "mod a;\nmod b;\npub use b::B;\n";
        let a = "use crate::B;\npub struct A(B);\n";
        assert_eq!(
            circles_of(&[("lib.rs", root), ("a.rs", a), ("b.rs", "pub struct B(super::a::A);\n")]),
            circle
        );
        let b = "fn f() { format!(\"{}\", [crate::a::N]); }\n";
        assert_eq!(circles_of(&[("lib.rs", root), ("a.rs", a), ("b.rs", b)]), circle);
        let nested = ("a/inner.rs", "fn f() -> super::super::B { B }\n");
        let uses = ("b/mod.rs", "use crate::{a::{self, X}};\n");
        assert_eq!(circles_of(&[("lib.rs", root), ("a/mod.rs", "mod inner;\n"), nested, uses]), circle);
        let inside = [
            ("lib.rs", "mod p;\n"),
            ("p/mod.rs", ""),
            ("p/x.rs", "use super::y::Y;\n"),
            ("p/y.rs", "use super::x::X;\n"),
        ];
        assert_eq!(circles_of(&inside), ["vm: p::{x, y} use each other in circles:"]);
    }

    #[test]
    fn uses_of_the_same_and_of_higher_layers_are_found() {
        let sources = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::c::C;\n"),
            ("b.rs", "use crate::a::A;\n"),
            ("c.rs", "use crate::b::B;\n"),
            ("d.rs", ""),
        ];
        let mut problems = Vec::new();
        with_crate(&sources, |krate| find_upward_uses(krate, &["a b", "c", "e"], &mut problems));
        let expected = [
            "vm: the module `d` has no layer",
            "vm: no module `e`, which is in a layer",
            "vm/src/a.rs:1: a uses c (c::C), which is in no lower layer",
            "vm/src/b.rs:1: b uses a (a::A), which is in no lower layer",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn tests_visibility_and_parents_make_no_circle() {
        let root = "mod a;\nmod b;\npub(crate) fn help() {}\n";
        let a = "use crate::{b::B, help};\npub(in crate::b) struct A(B);\n";
        let tests = "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        assert!(circles_of(&[("lib.rs", root), ("a.rs", a), ("b.rs", tests)]).is_empty());
        let b = "pub struct B;\n#[cfg(test)]\nmod tests;\n";
        assert!(
            circles_of(&[
                ("lib.rs", root),
                ("a.rs", a),
                ("b/mod.rs", b),
                ("b/tests.rs", "use crate::a::A;\n")
            ])
            .is_empty()
        );
    }
}
