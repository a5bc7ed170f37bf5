//! Names that an object gives itself reach a terminal as text, whatever is in them.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{prebuilt, run, text};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// An object in which a name is another of the same length, wherever it is.
fn renamed(folder: &TempDir, object: &str, from: &str, to: &str) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(prebuilt(object)).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{object} has no `{from}`");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    let path = folder.path().join("hostile.bpf.o");
    fs::write(&path, bytes).unwrap();
    path
}

/// All that a command prints, without its own colours: no control character and no forged line.
fn harmless(args: &[&str]) -> String {
    let shown = run([&["--color", "always"], args].concat());
    let all = format!("{}{}", shown.out, shown.err);
    let mut parts = all.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (style, text) = part.split_once('m').expect("an end of the colour");
        assert!(style.chars().all(|c| c.is_ascii_digit() || c == ';'), "{args:?}: {all:?}");
        plain += text;
    }
    let bad = |c: char| c.is_control() && !"\n\t".contains(c);
    assert!(!plain.contains(bad), "{args:?}: {plain:?}");
    assert!(
        !plain
            .lines()
            .any(|line| line.trim_start().starts_with("forged") || line.trim_start().starts_with('µ')),
        "{args:?}: {plain}"
    );
    plain
}

#[test]
fn names_of_an_object_are_escaped_by_every_command_that_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    for (object, from, to) in [
        ("live/kprobe.bpf.o", "do_sys_openat2", "\u{7}\x1b[2J\nforged__"),
        ("live/maps.bpf.o", "queue", "\u{7}\x1b\nµ"),
        ("live/core.bpf.o", "Dual MIT/GPL", "Du\u{7}\x1b\nforged_"),
    ] {
        let path = renamed(&folder, object, from, to);
        let path = text(&path);
        let kernel = ["--btf", "linux-6.12.btf"];
        let of = |args: &[&str]| harmless(&[args, &[path]].concat());
        let on = |args: &[&str]| harmless(&[args, &[path], &kernel[..]].concat());
        let planned = on(&["load", "--dry-run"]);
        assert!(object.contains("core") || planned.contains("\\u{7}"), "{planned}");
        for command in ["plan", "explain", "check", "inspect"] {
            if command == "inspect" {
                of(&[command])
            } else {
                on(&[command])
            };
        }
        harmless(&["explain", path, "--program", "\u{7}\nforged", "--btf", "linux-6.12.btf"]);
        harmless(&["load", path, "--dry-run", "--set", "\u{7}\nforged=1"]);
        // What the kernel says, and what is said of it; nothing here attaches for long.
        of(&["load"]);
        of(&["load", "--each", "--verifier-log"]);
        of(&["-vvv", "load", "--pin", "/nowhere/at/all", "--attach"]);
        harmless(&["run", path, "--program", "touch", "--verifier-log"]);
    }
}
