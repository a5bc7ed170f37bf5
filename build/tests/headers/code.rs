//! Programs have the code that they have with libbpf's headers.

use crate::compile::{CLANGS, Compilation, multiarch, skip_without};
use core_relo_object::object::Object;
use core_relo_test_support::skip;
use std::{env, fs, os::unix::fs::symlink, path::PathBuf};

/// Returns the directory of libbpf's headers: `LIBBPF_HEADERS`, or the sources of the crate libbpf-sys, which
/// the tests of other crates use.
fn libbpf_headers() -> Option<PathBuf> {
    if let Some(directory) = env::var_os("LIBBPF_HEADERS") {
        return Some(directory.into());
    }
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let mut found = Vec::new();
    for registry in fs::read_dir(home.join("registry/src")).ok()?.flatten() {
        for package in fs::read_dir(registry.path()).ok()?.flatten() {
            let headers = package.path().join("libbpf/src");
            if package.file_name().to_str()?.starts_with("libbpf-sys-1.7")
                && headers.join("bpf_tracing.h").exists()
            {
                found.push(headers);
            }
        }
    }
    found.sort();
    found.pop()
}

/// The sections with code, by name.
fn code(object: &[u8]) -> Vec<(String, Vec<u8>)> {
    let object = Object::parse(object).unwrap();
    let sections = object.code_sections().iter();
    sections
        .map(|section| (String::from_utf8_lossy(section.name).into_owned(), section.code.to_vec()))
        .collect()
}

fn names(sections: &[(String, Vec<u8>)]) -> Vec<&str> {
    sections.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn programs_have_the_code_that_libbpfs_headers_give() {
    let Some(headers) = libbpf_headers() else {
        skip!("no headers of libbpf 1.7; LIBBPF_HEADERS names their directory");
        return;
    };
    // Programs include <bpf/…>; the types for both are ours.
    let root = tempfile::tempdir().unwrap();
    symlink(headers, root.path().join("bpf")).unwrap();
    let root = root.path().display();
    let arguments: Vec<_> =
        ["-w", "-I", &root.to_string(), "-include", "bpf/bpf_types.h", "-idirafter", &multiarch()]
            .map(str::to_owned)
            .into();
    let mut compared = 0;
    for clang in CLANGS.iter() {
        for machine in ["x86", "arm64"] {
            for name in ["macros", "names", "tracing", "usdt"] {
                let ours = Compilation::new(clang, name, "bpf", machine);
                let theirs = Compilation {
                    arguments: arguments.clone(),
                    ..Compilation::new(clang, name, "bpf", machine)
                };
                let Some((ours, theirs)) = ours.run().zip(theirs.run()) else { continue };
                let (ours, theirs) = (code(&ours), code(&theirs));
                assert_eq!(names(&ours), names(&theirs), "{clang} {name} {machine}");
                for ((section, ours), (_, theirs)) in ours.iter().zip(&theirs) {
                    assert!(
                        ours == theirs,
                        "{clang} {name} {machine}: {section}: {} and {} bytes",
                        ours.len(),
                        theirs.len()
                    );
                }
                compared += 1;
            }
        }
    }
    skip_without(compared);
}
