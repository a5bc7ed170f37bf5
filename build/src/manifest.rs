//! The dependencies in a manifest, `Cargo.toml`.

/// Returns the names of a package's dependencies, as its code writes them: `tokio_util` for `tokio-util`.
///
/// The manifest is one that cargo has accepted.
pub(crate) fn dependency_names(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_table = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) =
            line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(header, _)| header)
        {
            let (before, last) = header.rsplit_once('.').unwrap_or(("", header));
            let (before, last) = (before.rsplit('.').next().map(unquoted), unquoted(last));
            let is_of_workspace = header.trim_start().starts_with("workspace");
            is_table = !is_of_workspace && is_dependencies(last);
            if !is_of_workspace && before.is_some_and(is_dependencies) {
                names.push(as_identifier(last));
            }
        } else if is_table && let Some(key) = key(line) {
            names.push(as_identifier(key));
        }
    }
    names
}

/// Returns whether a table has dependencies of the package's own code. Those of its build script are not among them.
fn is_dependencies(table: &str) -> bool {
    matches!(table, "dependencies" | "dev-dependencies")
}

/// Returns the first part of the key that a line sets.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.split('.').next().map(unquoted)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!key.is_empty() && key.chars().all(is_name)).then_some(key)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

fn as_identifier(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_every_form() {
        let manifest = r#"
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
[target.x86_64-unknown-linux-gnu.dev-dependencies.tempfile]
version = "3"
[build-dependencies]
core-relo-build = "0.1"
[workspace.dependencies]
clap = "4"
"#;
        let expected = ["core_relo_loader", "serde", "quoted", "tokio", "rustix", "tempfile"];
        assert_eq!(dependency_names(manifest), expected);
    }
}
