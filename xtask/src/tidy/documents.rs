//! Rules for documents: the tests and features that they name exist.

use super::{File, feature_tables};
use std::path::Path;

/// The document that names a test for each difference from libbpf.
const DIFFERENCES: &str = "docs/libbpf-differences.md";

/// Checks that the tests that [`DIFFERENCES`] names in the last column of its tables exist.
pub(super) fn check_named_tests(files: &[File], problems: &mut Vec<String>) {
    let Some(document) = files.iter().find(|file| file.path == Path::new(DIFFERENCES)) else {
        return problems.push(format!("{DIFFERENCES}: missing"));
    };
    let code = || files.iter().filter(|file| file.path.extension().is_some_and(|ext| ext == "rs"));
    for (number, line) in (1..).zip(document.text.lines()) {
        let Some((_, tests)) = line.strip_suffix(" |").and_then(|row| row.rsplit_once(" | ")) else {
            continue;
        };
        // Every second part is code font: a test, its module and name, or in brackets the source in
        // `bpf-progs/link`.
        for name in tests.split('`').skip(1).step_by(2).filter(|name| !name.starts_with("own_")) {
            let function = name.rsplit("::").next().unwrap_or(name);
            if !code().any(|file| file.text.contains(&format!("fn {function}("))) {
                problems.push(format!("{DIFFERENCES}:{number}: no test `{name}`"));
            }
        }
    }
}

/// The files that must have a table of features.
const FEATURE_TABLES: [&str; 4] =
    ["loader/README.md", "loader/src/lib.rs", "adaptive/README.md", "adaptive/src/lib.rs"];

/// Checks that the tables of features in `README.md` and `src/lib.rs` of a crate have the features of its
/// `Cargo.toml`.
pub(super) fn check_feature_tables(files: &[File], problems: &mut Vec<String>) {
    for file in files {
        let directory = match file.path.parent() {
            Some(parent) if file.path.ends_with("src/lib.rs") => parent.parent(),
            Some(parent) if file.path.ends_with("README.md") => Some(parent),
            _ => None,
        };
        let Some(directory) = directory else { continue };
        let Some(documented) = feature_tables::documented(&file.text) else {
            if FEATURE_TABLES.iter().any(|path| file.path == Path::new(path)) {
                problems.push(format!("{}: expected a table of features", file.path.display()));
            }
            continue;
        };
        let path = directory.join("Cargo.toml");
        let manifest = files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
        let declared = feature_tables::declared(manifest);
        if documented != declared {
            problems.push(format!(
                "{}: the table of features differs from {}: {documented:?}, expected {declared:?}",
                file.path.display(),
                path.display()
            ));
        }
    }
}
