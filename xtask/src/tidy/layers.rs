//! The order of a crate's modules: siblings do not use each other in circles.

use super::module_graph::{circles, edges};
use super::sources::Crate;

/// The crates whose modules are checked.
const ORDERED: [&str; 7] = ["build", "cli", "core-relo", "dwarf", "loader", "object", "vm"];

/// Checks that no sibling modules of a crate use each other in circles.
pub(super) fn check(krate: &Crate<'_, '_>, problems: &mut Vec<String>) {
    if ORDERED.contains(&krate.dir) {
        find_circles(krate, problems);
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

    fn circles_of(sources: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: PathBuf::from(format!("vm/src/{path}")),
            text: (*text).to_owned(),
        };
        let files = sources.iter().map(file).collect::<Vec<_>>();
        let sources = files.iter().map(|file| Source::parse(file).unwrap()).collect::<Vec<_>>();
        let krate = Crate::new("vm", &sources);
        let mut problems = Vec::new();
        find_circles(&krate, &mut problems);
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
