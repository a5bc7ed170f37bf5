//! Whether a second build, from other directories, has the same bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::release::Release;
use super::sha256::sha256_hex;
use super::{Artefacts, pack, programs};
use crate::static_binary::{Build, Target};
use crate::system::{Failure, Outcome, output, root, target_dir};

/// Builds and packs everything from a copy of the sources, with a target directory of its own.
pub fn second_build(release: &Release, targets: &[&'static Target]) -> Outcome<Artefacts> {
    let directory = target_dir().join("dist-check");
    let sources = directory.join("copy/of the sources");
    let _ = fs::remove_dir_all(&directory);
    copy_sources(&sources)?;
    let build = Build { sources, target_dir: directory.join("build"), commit: Some(release.commit.clone()) };
    let artefacts = pack(release, &programs(targets, &build, None)?)?;
    // Several gigabytes.
    let _ = fs::remove_dir_all(&directory);
    Ok(artefacts)
}

/// Copies the files that git tracks, with the changes in the checkout.
fn copy_sources(to: &Path) -> Outcome {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z"]);
    let names = output(&mut git).ok_or("git ls-files failed")?;
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root().join(name), to.join(name));
        // Removed, but still in git's index.
        if !from.exists() {
            continue;
        }
        let error = |error: std::io::Error| Failure::Failed(format!("{}: {error}", to.display()));
        fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(error)?;
        fs::copy(&from, &to).map_err(error)?;
    }
    Ok(())
}

/// Compares two builds.
pub fn compare(first: &Artefacts, second: &Artefacts) -> Outcome {
    let names: Vec<_> = first.keys().collect();
    if names != second.keys().collect::<Vec<_>>() {
        return Err(format!("a second build has the files {:?}, expected {names:?}", second.keys()).into());
    }
    let mut count = 0;
    for ((name, bytes), other) in first.iter().zip(second.values()) {
        if bytes != other {
            count += 1;
            println!("{name}: SHA-256 {}, in a second build {}", sha256_hex(bytes), sha256_hex(other));
        }
    }
    match count {
        0 => {
            println!("dist: a second build of {} files has the same bytes", first.len());
            Ok(())
        }
        count => Err(format!("{count} files of a second build differ").into()),
    }
}
