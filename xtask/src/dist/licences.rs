//! The licences of the crates in the command, as one text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::dependencies::{CrateId, Dependencies};
use crate::system::{Failure, Outcome, cargo, output};

/// The beginnings of the names of licence files, in lower case.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];

/// Returns a text with the licences of the linked crates of other projects. Equal texts appear once.
pub fn third_party_licences(dependencies: &Dependencies) -> Outcome<String> {
    let directories = package_directories()?;
    let foreign: Vec<_> = dependencies
        .iter()
        .filter(|(_, dependency)| dependency.is_linked && dependency.sha256.is_some())
        .collect();
    let mut text = "core-relo contains these crates:\n\n".to_owned();
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, dependency) in foreign {
        let name = format!("{} {}", id.name, id.version);
        text.push_str(&format!("* {name}: {}\n", dependency.licence));
        let directory = directories.get(id).ok_or_else(|| format!("cargo metadata: no {name}"))?;
        for licence in licence_texts(directory)? {
            users.entry(licence).or_default().push(name.clone());
        }
    }
    let mut licences: Vec<_> =
        users.into_iter().map(|(licence, names)| (names.join(", "), licence)).collect();
    licences.sort();
    for (names, licence) in licences {
        text.push_str(&format!("\n{}\n\n{names}:\n\n{}\n", "-".repeat(80), licence.trim_end()));
    }
    Ok(text)
}

/// Returns the directories of all packages.
fn package_directories() -> Outcome<BTreeMap<CrateId, PathBuf>> {
    let text = output(cargo().args(["metadata", "--locked", "--format-version", "1"]));
    let text = text.ok_or_else(|| Failure::from("cargo metadata fails"))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let directories = packages.filter_map(|package| {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let id = CrateId { name: text("name")?.to_owned(), version: text("version")?.to_owned() };
        Some((id, Path::new(text("manifest_path")?).parent()?.to_path_buf()))
    });
    Ok(directories.collect())
}

/// Returns the texts of the licence files in a directory.
fn licence_texts(directory: &Path) -> Outcome<Vec<String>> {
    let error = |error: std::io::Error| Failure::Failed(format!("{}: {error}", directory.display()));
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().to_lowercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let bytes = fs::read(&path).map_err(error)?;
            texts.push(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_end().to_owned());
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}
