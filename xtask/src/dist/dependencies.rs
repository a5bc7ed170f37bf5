//! The crates in the command: names, versions, licences, hashes.

use std::collections::{BTreeMap, BTreeSet};

use crate::static_binary::Target;
use crate::system::{Failure, Outcome, cargo, output, read, root};

/// A crate by name and version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrateId {
    pub name: String,
    pub version: String,
}

/// A crate that the command consists of or that its build uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The expression of SPDX.
    pub licence: String,
    /// Whether code of the crate is in the command. The others run during the build only.
    pub is_linked: bool,
    /// The SHA-256 of the published package. The crates of this project have none.
    pub sha256: Option<String>,
    pub uses: BTreeSet<CrateId>,
}

/// The crates by name and version.
pub type Dependencies = BTreeMap<CrateId, Dependency>;

/// The package of the command.
pub const COMMAND: &str = "core-relo-cli";

/// The kinds of dependencies whose code is part of a program.
const LINKED: &str = "normal,no-proc-macro";

/// Reads the crates of the command for a target from cargo and its lock file.
pub fn read_dependencies(target: &Target) -> Outcome<Dependencies> {
    let mut dependencies = parse_tree(&tree(COMMAND, target.triple, "normal,build")?)?;
    let linked = parse_tree(&tree(COMMAND, target.triple, LINKED)?)?;
    let lock = read(&root().join("Cargo.lock"))?;
    let hashes = parse_hashes(&lock);
    for (id, dependency) in &mut dependencies {
        dependency.is_linked = linked.contains_key(id);
        dependency.sha256 = hashes.get(id).cloned();
    }
    Ok(dependencies)
}

fn tree(package: &str, triple: &str, edges: &str) -> Outcome<String> {
    let mut tree = cargo();
    tree.args(["tree", "--quiet", "--locked", "-p", package, "--all-features", "--target", triple]);
    tree.args(["--edges", edges, "--prefix", "depth", "--format", "{p}|{l}"]);
    output(&mut tree).ok_or_else(|| Failure::from("cargo tree fails"))
}

/// Parses lines such as `2serde v1.0.0 (proc-macro)|MIT OR Apache-2.0 (*)`: the depth, the crate, its
/// licence, and a mark if its dependencies were printed before.
fn parse_tree(text: &str) -> Outcome<Dependencies> {
    let mut dependencies = Dependencies::new();
    let mut path: Vec<CrateId> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let unexpected = || Failure::Failed(format!("cargo tree: unexpected line `{line}`"));
        let (package, licence) = line.split_once('|').ok_or_else(unexpected)?;
        let digits = package.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, package) = package.split_at(digits);
        let depth: usize = depth.parse().map_err(|_| unexpected())?;
        let mut words = package.split(' ');
        let id = match (words.next(), words.next().and_then(|version| version.strip_prefix('v'))) {
            (Some(name), Some(version)) => CrateId { name: name.to_owned(), version: version.to_owned() },
            _ => return Err(unexpected()),
        };
        path.truncate(depth);
        if let Some(user) = path.last().and_then(|user| dependencies.get_mut(user)) {
            user.uses.insert(id.clone());
        }
        // Old manifests separate alternatives by a slash.
        let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
        dependencies.entry(id.clone()).or_insert_with(|| Dependency {
            licence,
            is_linked: false,
            sha256: None,
            uses: BTreeSet::new(),
        });
        path.push(id);
    }
    Ok(dependencies)
}

/// Returns the hashes in a lock file.
fn parse_hashes(lock: &str) -> BTreeMap<CrateId, String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            line.strip_suffix('"').map(str::to_owned)
        };
        Some((CrateId { name: value("name")?, version: value("version")? }, value("checksum")?))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_binary::TARGETS;

    fn id(name: &str, version: &str) -> CrateId {
        CrateId { name: name.to_owned(), version: version.to_owned() }
    }

    #[test]
    fn the_tree_is_a_graph() {
        let tree = "0core-relo-cli v0.1.0 (/x/cli)|MIT OR Apache-2.0\n1a v1.0.0|MIT/Apache-2.0\n2b v2.0.0|ISC\n\
                    1c v1.0.0 (proc-macro)|MIT\n2b v2.0.0|ISC (*)\n";
        let dependencies = parse_tree(tree).unwrap();
        let uses = |id: &CrateId| dependencies[id].uses.iter().cloned().collect::<Vec<_>>();
        assert_eq!(uses(&id(COMMAND, "0.1.0")), [id("a", "1.0.0"), id("c", "1.0.0")]);
        assert_eq!(uses(&id("a", "1.0.0")), [id("b", "2.0.0")]);
        assert_eq!(uses(&id("c", "1.0.0")), [id("b", "2.0.0")]);
        assert_eq!(dependencies[&id("a", "1.0.0")].licence, "MIT OR Apache-2.0");
        assert!(parse_tree("1a|MIT\n").is_err());
    }

    /// So the licences and the bill of materials of the command are also those of the module.
    #[test]
    fn the_crates_of_the_module_are_among_those_of_the_command() {
        const MODULE: &str = "core-relo-web";
        let [target, ..] = &TARGETS;
        let command = parse_tree(&tree(COMMAND, target.triple, LINKED).unwrap()).unwrap();
        let module = parse_tree(&tree(MODULE, crate::site::TARGET, LINKED).unwrap()).unwrap();
        let others: Vec<_> = module.keys().filter(|id| !command.contains_key(id)).collect();
        assert_eq!(others.iter().map(|id| &*id.name).collect::<Vec<_>>(), [MODULE]);
    }

    #[test]
    fn hashes_are_those_of_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        assert_eq!(
            parse_hashes(lock).into_iter().collect::<Vec<_>>(),
            [(id("a", "1.0.0"), "00ff".to_owned())]
        );
    }
}
