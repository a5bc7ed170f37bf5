//! The files of a release, of a stand-in for the command.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::process::Command;

use super::documents::{Document, Documents};
use super::files::Files;
use super::platform::Platform;
use super::release::Release;
use super::sha256::sha256_hex;
use super::{Parts, deb, rpm, tar, wheel};
use crate::system::output;
use core_relo_test_support::skip;

fn release() -> Release {
    let commit = "abc123def 2026-01-31".to_owned();
    Release { version: "0.1.0".to_owned(), commit, time: 1_769_868_000 }
}

fn files() -> Files {
    let mut files = Files::default();
    files.add_executable("usr/bin/core-relo", b"#!/bin/sh\necho core-relo\n");
    files.add("usr/share/doc/core-relo/README.md", "text");
    files.add("usr/share/licenses/core-relo/LICENSE-MIT", "licence");
    files
}

fn documents() -> Documents {
    let document = |name: &str| Document { name: name.to_owned(), text: name.as_bytes().to_vec() };
    Documents {
        manual_pages: vec![document("core-relo.1")],
        completions: [document("core-relo.bash"), document("core-relo.fish"), document("_core-relo")],
    }
}

fn parts(documents: &Documents) -> Parts<'_> {
    let licences = vec![Document { name: "LICENSE-MIT".to_owned(), text: b"licence".to_vec() }];
    Parts { command: b"command", module: b"module", documents, licences }
}

/// Writes bytes into a temporary file, and returns what a program prints about it.
fn inspect(name: &str, bytes: &[u8], program: &str, words: &[&str]) -> Option<String> {
    let path = std::env::temp_dir().join(format!("core-relo-dist-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new(program);
    let text = output(command.args(words).arg(&path));
    std::fs::remove_file(&path).unwrap();
    text
}

#[test]
fn dpkg_reads_the_package() {
    let platform = Platform::find("aarch64").unwrap();
    let package = deb::package(&release(), platform, &files()).unwrap();
    assert_eq!(package, deb::package(&release(), platform, &files()).unwrap());
    let format = "--showformat=${Package} ${Version} ${Architecture} ${Installed-Size}\n";
    let Some(fields) = inspect("fields.deb", &package, "dpkg-deb", &["--show", format]) else {
        return skip!("no dpkg-deb");
    };
    assert_eq!(fields, "core-relo 0.1.0-1 arm64 1\n");
    let list = inspect("list.deb", &package, "dpkg-deb", &["--contents"]).unwrap();
    assert!(list.contains("-rwxr-xr-x root/root        25 2026-01-31"), "{list}");
    assert!(list.contains("./usr/share/doc/core-relo/README.md\n"), "{list}");
}

#[test]
fn rpm_reads_the_package() {
    let platform = Platform::find("x86_64").unwrap();
    let package = rpm::package(&release(), platform, &files()).unwrap();
    assert_eq!(package, rpm::package(&release(), platform, &files()).unwrap());
    let Some(digests) = inspect("digests.rpm", &package, "rpm", &["--checksig"]) else {
        return skip!("no rpm");
    };
    assert!(digests.ends_with(": digests OK\n"), "{digests}");
    let mut changed = package.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(inspect("changed.rpm", &changed, "rpm", &["--checksig"]), None, "a digest covers every byte");
    let format =
        "%{NEVRA} %{LICENSE}\\n[%{FILENAMES} %{FILEMODES:perms} %{FILEFLAGS:fflags} %{FILEDIGESTS}\\n]";
    let text = inspect("files.rpm", &package, "rpm", &["--query", "--queryformat", format, "-p"]).unwrap();
    let digest =
        |path: &str| files().iter().find(|(name, _)| *name == path).map(|(_, file)| sha256_hex(&file.data));
    assert_eq!(
        text.lines().map(str::trim_end).collect::<Vec<_>>(),
        [
            "core-relo-0.1.0-1.x86_64 MIT OR Apache-2.0",
            &format!("/usr/bin/core-relo -rwxr-xr-x  {}", digest("usr/bin/core-relo").unwrap()),
            "/usr/share/doc/core-relo drwxr-xr-x",
            &format!(
                "/usr/share/doc/core-relo/README.md -rw-r--r-- d {}",
                digest("usr/share/doc/core-relo/README.md").unwrap()
            ),
            "/usr/share/licenses/core-relo drwxr-xr-x",
            &format!(
                "/usr/share/licenses/core-relo/LICENSE-MIT -rw-r--r-- l {}",
                digest("usr/share/licenses/core-relo/LICENSE-MIT").unwrap()
            ),
        ]
    );
}

#[test]
fn python_reads_the_wheel() {
    let platform = Platform::find("riscv64").unwrap();
    let (name, wheel) = wheel::wheel(&release(), platform, &parts(&documents())).unwrap();
    assert_eq!(name, "core_relo-0.1.0-py3-none-manylinux_2_31_riscv64.musllinux_1_2_riscv64.whl");
    let script = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as f:\n    assert f.testzip() is None\n\
                  \x20   for i in f.infolist(): print(i.filename, oct(i.external_attr >> 16), i.date_time)\n\
                  \x20   print(f.read('core_relo-0.1.0.dist-info/RECORD').decode())";
    let Some(text) = inspect("x.whl", &wheel, "python3", &["-c", script]) else {
        return skip!("no python3");
    };
    let lines: Vec<_> = text.lines().collect();
    let time = "(2026, 1, 31, 14, 0, 0)";
    let module = "core_relo-0.1.0.data/data/share/core-relo/core-relo-web.wasm";
    assert_eq!(lines[0], format!("{module} 0o100644 {time}"));
    assert_eq!(lines[1], format!("core_relo-0.1.0.data/scripts/core-relo 0o100755 {time}"));
    assert_eq!(lines[2], format!("core_relo-0.1.0.dist-info/METADATA 0o100644 {time}"));
    assert!(text.contains("core_relo-0.1.0.dist-info/licenses/LICENSE-MIT,sha256="), "{text}");
    assert!(text.contains("core_relo-0.1.0.dist-info/RECORD,,\n"), "{text}");
}

/// `core-relo site` looks for the module in `share/core-relo` and `../share/core-relo` from the command.
#[test]
fn archives_and_packages_have_the_module_where_the_command_looks() {
    let documents = documents();
    let parts = parts(&documents);
    for (files, command, module) in [
        (parts.archive().unwrap(), "core-relo", "share/core-relo/core-relo-web.wasm"),
        (parts.debian().unwrap(), "usr/bin/core-relo", "usr/share/core-relo/core-relo-web.wasm"),
        (parts.rpm().unwrap(), "usr/bin/core-relo", "usr/share/core-relo/core-relo-web.wasm"),
    ] {
        let find = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, file)| file.clone());
        assert_eq!(find(command).unwrap().data, b"command");
        let module = find(module).unwrap();
        assert_eq!((module.data.as_slice(), module.is_executable), (b"module".as_slice(), false));
        tar::tar(&files, "core-relo-0.1.0-powerpc64le-unknown-linux-gnu/", 0).unwrap();
    }
}
