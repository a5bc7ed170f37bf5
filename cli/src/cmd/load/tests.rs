//! `load` and `run`, stopped at each check for a signal. The test needs root and mounts its own bpffs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{load_all, loaded_object::LoadedObject};
use crate::{
    args::{Args, Command},
    cmd::run::test_run,
    console::{Console, ExitStatus},
    format::Format,
    process::interrupt::InterruptibleKernel,
    text::printer::Printer,
};
use core_relo_test_support::skip;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};

const BPFFS: &str = "/sys/fs/bpf";
const OWN_BPFFS: &str = "CORE_RELO_TEST_OWN_BPFFS";

/// Whether this process has a bpffs of its own. Where it has none yet, the test runs once more in a process
/// that has.
fn has_own_bpffs(test: &str) -> bool {
    if env::var_os(OWN_BPFFS).is_some() {
        return true;
    }
    let script = "mount -t bpf bpf /sys/fs/bpf || exit 42; exec \"$@\"";
    let mut again = process::Command::new("unshare");
    again.args(["--mount", "sh", "-c", script, "sh"]).arg(env::current_exe().unwrap());
    again.args(["--exact", test, "--nocapture"]).env(OWN_BPFFS, "1");
    match again.status() {
        Ok(status) if status.success() => {}
        Ok(status) if matches!(status.code(), Some(1 | 42)) => skip!("no bpffs can be mounted here"),
        other => panic!("{test}: {other:?}"),
    }
    false
}

fn prebuilt(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt/el/live");
    dir.join(name).display().to_string()
}

/// Everything in the bpffs, without the files that the kernel puts there.
fn pins(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|e| e.path()).filter(|p| p.extension().is_none());
    entries
        .flat_map(|path| if path.is_dir() { [pins(&path), vec![path]].concat() } else { vec![path] })
        .collect()
}

/// The number of the kernel's objects that this process has open.
fn descriptors() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|e| fs::read_link(e.path()).ok());
    links.filter(|to| to.as_os_str().as_encoded_bytes().starts_with(b"anon_inode:bpf")).count()
}

/// Runs a command that is stopped at its n-th check. Returns the loaded objects, unless it was stopped, and
/// the output.
fn stopped_at(nth: usize, words: &[&str]) -> (Option<Vec<LoadedObject>>, String) {
    let args = Args::parse_words([&["core-relo"], words].concat().iter().map(Into::into)).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: Printer::new(&mut out, false),
        err: Printer::new(&mut err, false),
        format: Format::Text,
        exit: ExitStatus::Success,
        batch_line: None,
    };
    let mut looks = 0;
    let mut has_arrived = || {
        looks += 1;
        looks > nth
    };
    let kernel = InterruptibleKernel::new(&mut has_arrived);
    let loaded = match &args.command {
        Command::Load(load) => load_all(&mut console, load, &kernel).unwrap(),
        Command::Run(run) => {
            test_run(&mut console, run, &kernel).unwrap();
            (!kernel.is_interrupted()).then(Vec::new)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(err, b"", "{}", String::from_utf8_lossy(&err));
    (loaded, String::from_utf8(out).unwrap())
}

#[test]
fn what_a_signal_stops_is_undone_wherever_it_arrives() {
    if !has_own_bpffs("cmd::load::tests::what_a_signal_stops_is_undone_wherever_it_arrives") {
        return;
    }
    let [pinned, attached, other] = ["pinned.bpf.o", "raw_tp.bpf.o", "ringbuf.bpf.o"].map(prebuilt);
    let dir = ["--pin", "/sys/fs/bpf/dir"];
    let cases: [&[&str]; 9] = [
        &["load", &pinned],
        &["load", &pinned, dir[0], dir[1]],
        &["load", &attached, "--attach"],
        &["load", &attached, "--attach", dir[0], dir[1]],
        &["load", &attached, "--attach-to", "enter=raw_tp:sys_exit"],
        &["load", "--each", &other],
        &["load", &other, &attached, &pinned],
        &["load", &other, &attached, "--attach"],
        &["run", &pinned, "--program", "count"],
    ];
    for words in cases {
        let is_pinned = words.contains(&"--pin");
        // A link that is left to its pin stays open until the process ends.
        let before = descriptors();
        for nth in 0.. {
            let place = format!("{words:?}, stopped at look {nth}");
            let (loaded, out) = stopped_at(nth, words);
            let Some(loaded) = loaded else {
                assert_eq!(pins(Path::new(BPFFS)), [""; 0].map(PathBuf::from), "{place}");
                assert_eq!(descriptors(), before, "{place}");
                assert!(!out.contains("refused"), "{place}: {out}");
                continue;
            };
            assert!(nth > 5, "{place}: it looks too seldom");
            assert_eq!(pins(Path::new(BPFFS)).is_empty(), !is_pinned, "{place}");
            if is_pinned {
                loaded.into_iter().for_each(LoadedObject::leak);
                assert!(pins(Path::new(BPFFS)).len() > 3, "{place}");
                let _gone = fs::remove_dir_all("/sys/fs/bpf/dir");
                let _gone = fs::remove_file("/sys/fs/bpf/core_relo_live");
            }
            println!("{words:?}: {nth} looks");
            break;
        }
    }
}
