//! The examples of the loader, without their `main` functions.

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

/// Runs an example and returns the words of the lines below its heading.
fn lines(run: Run, words: &[&str]) -> Vec<Vec<String>> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut out = Vec::new();
    run(words.into_iter(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines().skip(1).map(|line| line.split_ascii_whitespace().map(str::to_owned).collect()).collect()
}

/// Runs `exec_monitor` while this process starts children. Returns the lines and the process ids of the
/// children.
fn monitor_children(words: &[&str]) -> (Vec<Vec<String>>, Vec<String>) {
    let own = env::current_exe().unwrap();
    let (name, is_done) = (own.file_name().unwrap().to_str().unwrap(), AtomicBool::new(false));
    let words = [&["--count", "12", "--name", name], words].concat();
    thread::scope(|scope| {
        let children = scope.spawn(|| {
            let mut pids = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                let mut child = Command::new(&own).arg("--help").stdout(Stdio::null()).spawn().unwrap();
                pids.push(child.id().to_string());
                assert!(child.wait().unwrap().success());
            }
            pids
        });
        let lines = lines(|words, out| exec_monitor::run(words, out), &words);
        is_done.store(true, Ordering::Relaxed);
        (lines, children.join().unwrap())
    })
}

#[test]
fn exec_monitor_prints_exec_and_exit() {
    let Some(_live) = live("examples::exec_monitor_prints_exec_and_exit", &[Need::Btf]) else { return };
    let (lines, children) = monitor_children(&["--uid", "0"]);
    assert_eq!(lines.len(), 12, "{lines:?}");
    let (own, path) = (process::id().to_string(), env::current_exe().unwrap().display().to_string());
    let is_own_child =
        |line: &&Vec<String>, event: &str| line[0] == event && children.contains(&line[1]) && line[2] == own;
    let started = lines.iter().filter(|line| is_own_child(line, "exec")).collect::<Vec<_>>();
    assert!(!started.is_empty() && started.iter().all(|line| path.starts_with(&line[5])), "{started:?}");
    let ended = lines.iter().filter(|line| is_own_child(line, "exit")).collect::<Vec<_>>();
    assert!(ended.iter().any(|line| line[5..].join(" ").starts_with("code 0 after ")), "{ended:?}");
}

#[test]
fn exec_monitor_works_with_tracepoints_only() {
    let test = "examples::exec_monitor_works_with_tracepoints_only";
    let Some(_live) = live(test, &[Need::Tracefs]) else { return };
    let (lines, children) = monitor_children(&["--tracepoints"]);
    let path = env::current_exe().unwrap().display().to_string();
    let started =
        |line: &Vec<String>| line[0] == "exec" && children.contains(&line[1]) && path.starts_with(&line[5]);
    let ended = |line: &Vec<String>| line[0] == "exit" && children.contains(&line[1]);
    assert!(lines.iter().any(started) && lines.iter().any(ended), "{lines:?}");
}

#[test]
fn xdp_counter_counts_frames_per_protocol() {
    let Some(_live) = live("examples::xdp_counter_counts_frames_per_protocol", &[Need::Veth]) else { return };
    for words in [&["--packets", "7"][..], &["--packets", "7", "--generic"]] {
        let lines = lines(|words, out| xdp_counter::run(words, out), words);
        // 46 bytes per frame: Ethernet, IP and UDP headers and 4 bytes of data.
        assert!(lines.contains(&["UDP", "7", "322"].map(str::to_owned).to_vec()), "{lines:?}");
        assert!(lines.iter().any(|line| line[0] == "TCP"), "{lines:?}");
    }
}
