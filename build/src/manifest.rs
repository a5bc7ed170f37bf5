//! The dependencies in a manifest, `Cargo.toml`.

use crate::error::BuildError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The manifest of the package whose build script runs.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) path: PathBuf,
    /// The dependencies of the package, as its code writes them.
    pub(crate) dependencies: Vec<String>,
}

impl Manifest {
    /// Reads the manifest in a directory. `None` if there is none: other build systems than cargo run build
    /// scripts, too.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, BuildError> {
        let path = directory.join("Cargo.toml");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self { path, dependencies: dependency_names(&text) })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BuildError::io(&path, "read it")(error)),
        }
    }
}

/// Returns the names of a package's dependencies, as its code writes them: `tokio_util` for `tokio-util`.
///
/// The manifest is one that cargo has accepted. Tables, dotted keys and inline tables in one line are read.
fn dependency_names(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut table = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            // Other lines that begin so are parts of arrays.
            let key = split_key(header.trim_start_matches('['));
            let Some((path, _)) = key.filter(|(_, rest)| rest.starts_with(']')) else { continue };
            table = path;
            add_name(&table, &mut names);
        } else {
            collect(&table, line, &mut names);
        }
    }
    names
}

/// Adds the dependencies in a line `key = value` of a table.
fn collect<'t>(table: &[&'t str], line: &'t str, names: &mut Vec<String>) {
    let Some((key, rest)) = split_key(line) else { return };
    let Some(value) = rest.strip_prefix('=').map(str::trim) else { return };
    let path = [table, &key].concat();
    if !add_name(&path, names)
        && let Some(inline) = value.strip_prefix('{')
    {
        items(inline).for_each(|item| collect(&path, item, names));
    }
}

/// Adds the dependency that a path of keys names. Returns `false` if the path names none. Dependencies of the
/// build script are not those of the package's own code.
fn add_name(path: &[&str], names: &mut Vec<String>) -> bool {
    let path = if let ["target", _, path @ ..] = path { path } else { path };
    let ["dependencies" | "dev-dependencies", name, ..] = path else { return false };
    let name = name.replace('-', "_");
    if !names.contains(&name) {
        names.push(name);
    }
    true
}

/// Splits a dotted key from the text after it: `a."b c".d = 1`.
fn split_key(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (part, after) = if let Some(quote) = quote {
            rest.strip_prefix(quote)?.split_once(quote)?
        } else {
            let is_end = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_');
            let end = rest.find(is_end).unwrap_or(rest.len());
            rest.split_at_checked(end).filter(|(part, _)| !part.is_empty())?
        };
        parts.push(part);
        rest = after.trim_start();
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Some((parts, rest)),
        }
    }
}

/// Returns the items of an inline table, without its first brace.
fn items(inline: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    let mut quote = None;
    let is_separator = move |c: char| {
        if let Some(open) = quote {
            quote = quote.filter(|_| open != c);
            return false;
        }
        match c {
            '"' | '\'' => quote = Some(c),
            '[' | '{' => depth = depth.wrapping_add(1),
            // The closing brace of the table is the last one, and separates nothing.
            ']' | '}' => depth = depth.wrapping_sub(1),
            ',' => return depth == 0,
            _ => {}
        }
        false
    };
    inline.split(is_separator).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_tables_dotted_keys_and_inline_tables() {
        let manifest = r#"
dependencies.root = "1"
dev-dependencies = { inline = "1", tuple-a = { version = "1", features = ["a", "b"] }, last.workspace = true }
target.'cfg(unix)'.dependencies.unix-only = "1"
[package]
name = "agent"
[dependencies]
core-relo-loader = { path = "../loader", features = [
    "adaptive",
] } # libc = 1
serde.workspace = true
"quoted" = "1"
# log = "0.4"
[dependencies.tokio]
version = "1"
[target.'cfg(target_os = "linux")'.dependencies]
rustix = "1.1"
[target."cfg(any())"]
dependencies = { rare = "1" }
[target.x86_64-unknown-linux-gnu.dev-dependencies.tempfile]
version = "3"
[[bin]]
name = "x"
"#;
        let expected = [
            "root",
            "inline",
            "tuple_a",
            "last",
            "unix_only",
            "core_relo_loader",
            "serde",
            "quoted",
            "tokio",
            "rustix",
            "rare",
            "tempfile",
        ];
        assert_eq!(dependency_names(manifest), expected);
    }

    #[test]
    fn other_tables_have_no_dependencies() {
        let manifest = r#"
[build-dependencies]
core-relo-build = "0.1"
[workspace.dependencies]
clap = "4"
[package.metadata.x.dependencies]
other = "1"
[patch.crates-io.dependencies]
strange = "1"
[features]
dependencies = ["a"]
"#;
        assert_eq!(dependency_names(manifest), [""; 0]);
    }

    /// Bazel sets `CARGO_MANIFEST_DIR`, but its packages have no `Cargo.toml`.
    #[test]
    fn a_package_can_have_no_manifest() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Manifest::read(directory.path()).unwrap().is_none());
        fs::create_dir(directory.path().join("Cargo.toml")).unwrap();
        assert!(Manifest::read(directory.path()).is_err(), "not readable");
        let own = Manifest::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap().unwrap();
        assert!(own.dependencies.contains(&"tempfile".to_owned()) && own.path.is_file());
    }
}
