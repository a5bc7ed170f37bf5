//! The loader's examples: all of them but their `main`s.

use super::harness::{Need, live};
use std::{
    env,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

#[expect(dead_code, reason = "`main`")]
#[path = "../../../loader/examples/exec_monitor.rs"]
mod exec_monitor;
#[expect(dead_code, reason = "`main`")]
#[path = "../../../loader/examples/xdp_counter.rs"]
mod xdp_counter;

type Run = fn(
    std::vec::IntoIter<String>,
    &mut (dyn std::io::Write + Send),
) -> Result<(), Box<dyn std::error::Error>>;

/// The lines that an example prints below its heading, in words.
fn lines(run: Run, words: &[&str]) -> Vec<Vec<String>> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut out = Vec::new();
    run(words.into_iter(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().skip(1).map(|line| line.split_ascii_whitespace().map(str::to_owned).collect()).collect()
}

/// The same of the monitor, while children of this process begin and end; and their numbers.
fn monitored(words: &[&str]) -> (Vec<Vec<String>>, Vec<String>) {
    let own = env::current_exe().unwrap();
    let (name, is_done) = (own.file_name().unwrap().to_str().unwrap(), AtomicBool::new(false));
    let words = [&["--count", "12", "--name", name], words].concat();
    thread::scope(|scope| {
        let children = scope.spawn(|| {
            let mut numbers = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                let mut child = Command::new(&own).arg("--help").stdout(Stdio::null()).spawn().unwrap();
                numbers.push(child.id().to_string());
                assert!(child.wait().unwrap().success());
            }
            numbers
        });
        let lines = lines(|words, out| exec_monitor::run(words, out), &words);
        is_done.store(true, Ordering::Relaxed);
        (lines, children.join().unwrap())
    })
}

#[test]
fn processes_are_monitored() {
    let Some(_live) = live("examples::processes_are_monitored", &[Need::Btf]) else { return };
    let (lines, children) = monitored(&["--uid", "0"]);
    assert_eq!(lines.len(), 12, "{lines:?}");
    let (own, path) = (process::id().to_string(), env::current_exe().unwrap().display().to_string());
    let is =
        |line: &&Vec<String>, what: &str| line[0] == what && children.contains(&line[1]) && line[2] == own;
    let began = lines.iter().filter(|line| is(line, "exec")).collect::<Vec<_>>();
    assert!(!began.is_empty() && began.iter().all(|line| path.starts_with(&line[5])), "{began:?}");
    let ended = lines.iter().filter(|line| is(line, "exit")).collect::<Vec<_>>();
    assert!(ended.iter().any(|line| line[5..].join(" ").starts_with("code 0 after ")), "{ended:?}");
}

#[test]
fn processes_are_monitored_without_types() {
    let test = "examples::processes_are_monitored_without_types";
    let Some(_live) = live(test, &[Need::Tracefs]) else { return };
    let (lines, children) = monitored(&["--tracepoints"]);
    let path = env::current_exe().unwrap().display().to_string();
    let began =
        |line: &Vec<String>| line[0] == "exec" && children.contains(&line[1]) && path.starts_with(&line[5]);
    let ended = |line: &Vec<String>| line[0] == "exit" && children.contains(&line[1]);
    assert!(lines.iter().any(began) && lines.iter().any(ended), "{lines:?}");
}

#[test]
fn frames_are_counted() {
    let Some(_live) = live("examples::frames_are_counted", &[Need::Veth]) else { return };
    for words in [&["--packets", "7"][..], &["--packets", "7", "--generic"]] {
        let lines = lines(|words, out| xdp_counter::run(words, out), words);
        // 14 + 20 + 8 + 4 bytes each
        assert!(lines.contains(&["UDP", "7", "322"].map(str::to_owned).to_vec()), "{lines:?}");
        assert!(lines.iter().any(|line| line[0] == "TCP"), "{lines:?}");
    }
}
