//! The tables of crate features in documentation, beside the features in `Cargo.toml`.

use std::collections::BTreeMap;

/// The first cells of a table of features.
const HEADING: &str = "| feature | default |";

/// The features of a crate, and whether each is a default.
type Features = BTreeMap<String, bool>;

/// Returns the table of features in a text, which may be a doc comment. `None` if the text has none.
pub fn documented(text: &str) -> Option<Features> {
    let lines = text.lines().map(|line| line.trim_start_matches("//!").trim());
    let mut rows = lines.skip_while(|line| !line.starts_with(HEADING));
    rows.next()?;
    let cells = rows.skip(1).map_while(|row| {
        let mut cells = row.strip_prefix('|')?.split('|').map(str::trim);
        Some((cells.next()?, cells.next()?))
    });
    Some(cells.map(|(name, default)| (name.trim_matches('`').to_owned(), default == "yes")).collect())
}

/// Returns the features in the text of a `Cargo.toml`.
pub fn declared(manifest: &str) -> Features {
    let section = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let entries: Vec<_> = section.filter_map(|line| line.split_once(" = ")).collect();
    let default = entries.iter().find(|(name, _)| *name == "default").map_or("", |(_, features)| features);
    let is_default = |name: &str| default.contains(&format!("\"{name}\""));
    let names = entries.iter().map(|(name, _)| *name).filter(|name| *name != "default");
    names.map(|name| (name.to_owned(), is_default(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_from_manifests_and_tables() {
        let manifest = "[package]\nname = \"x\"\n[features]\ndefault = [\"a\", \"b-c\"]\n# what\na = []\nb-c = [\"dep:d\"]\nb = []\n\n[dependencies]\nd = \"1\"\n";
        let features = declared(manifest);
        assert_eq!(
            features,
            [("a", true), ("b-c", true), ("b", false)].map(|(n, d)| (n.to_owned(), d)).into()
        );
        let table = "//! | feature | default | what |\n//! |---|---|---|\n//! | `a` | yes | x |\n//! | `b` | no | y |\n//! | `b-c` | yes | z |\n//!\n//! | other | table |\n";
        assert_eq!(documented(table), Some(features));
        assert_eq!(documented("no table"), None);
    }
}
