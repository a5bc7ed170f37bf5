//! The script of CI jobs, with a stand-in for the command that prints its arguments.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use core_relo_test_support::skip;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The stand-in: writes its arguments, one in each pair of brackets, to each report.
const STAND_IN: &str = r#"#!/bin/sh
arguments=$(printf '<%s>' "$@")
while [ $# -gt 0 ]; do
  if [ "$1" = --report ]; then printf %s "$arguments" > "$2"; fi
  shift
done
echo '::add-path::/tmp'
echo '::add-path::/var/tmp' >&2
exit "$STATUS"
"#;

fn ci_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci")
}

/// Creates a folder with objects and the stand-in.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("my build")).unwrap();
    for name in ["my build/a b.bpf.o", "my build/c.bpf.o"] {
        fs::write(path.join(name), "").unwrap();
    }
    fs::write(path.join("core-relo"), STAND_IN).unwrap();
    fs::set_permissions(path.join("core-relo"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs the script. Returns its exit status, or `None` without bash.
fn run(folder: &Path, status: i32, variables: &[(&str, &str)]) -> Option<i32> {
    run_with_output(folder, status, variables)?.status.code()
}

/// Runs the script, and returns its output.
fn run_with_output(folder: &Path, status: i32, variables: &[(&str, &str)]) -> Option<Output> {
    let path = format!("{}:{}", folder.to_str().unwrap(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg(ci_folder().join("check.sh")).current_dir(folder).env("PATH", path);
    command.env("STATUS", status.to_string()).env_remove("GITHUB_OUTPUT").env_remove("GITHUB_STEP_SUMMARY");
    command.env_remove("GITHUB_ACTIONS");
    let paths = [("CORE_RELO_OBJECTS", "my build/*.bpf.o"), ("CORE_RELO_KERNELS", "kernels\n$(false)/none*")];
    let done = command.envs(paths).envs(variables.iter().copied()).output();
    match done {
        Ok(done) => Some(done),
        Err(_) => {
            skip!("no bash");
            None
        }
    }
}

#[test]
fn the_script_writes_every_report() {
    let folder = folder();
    let variables =
        [("GITHUB_OUTPUT", "output"), ("GITHUB_STEP_SUMMARY", "summary"), ("CORE_RELO_OUTPUT", "to/here")];
    let Some(exit) = run(folder.path(), 1, &variables) else { return };
    assert_eq!(exit, 1);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let files = ["report.sarif", "report.junit.xml", "report.md", "report.html"];
    let reports: String = files.iter().map(|file| format!("<--report><to/here/{file}>")).collect();
    let expected = format!(
        "<check><--btf=kernels><--btf=$(false)/none*>{reports}<--><my build/a b.bpf.o><my build/c.bpf.o>"
    );
    for file in files {
        assert_eq!(read(&format!("to/here/{file}")), expected);
    }
    assert_eq!(read("summary"), read("to/here/report.md"));
    assert_eq!(read("output"), "exit-status=1\n");
}

#[test]
fn the_job_fails_where_it_should() {
    let folder = folder();
    let fails_on = |status, fail_on| run(folder.path(), status, &[("CORE_RELO_FAIL_ON", fail_on)]);
    if fails_on(0, "refused").is_none() {
        return;
    }
    for (status, fail_on, expected) in [
        (0, "refused", 0),
        (1, "refused", 1),
        (2, "refused", 2),
        (1, "bad-input", 0),
        (2, "bad-input", 2),
        (2, "never", 0),
        (0, "sometimes", 2),
    ] {
        assert_eq!(fails_on(status, fail_on), Some(expected), "{status} {fail_on}");
    }
    assert_eq!(run(folder.path(), 0, &[("CORE_RELO_OBJECTS", "")]), Some(2));
}

#[test]
fn kernels_are_paths_or_specifications() {
    let folder = folder();
    let arguments = |variables: &[(&str, &str)]| {
        let exit = run(folder.path(), 0, variables)?;
        let report = folder.path().join("core-relo-report/report.md");
        let text = fs::read_to_string(report).unwrap_or_else(|_| "no report".to_owned());
        Some((exit, text.split_once("<--report>").map_or(text.clone(), |(before, _)| before.to_owned())))
    };
    let kernels = "debian:12/newest-of-each-series\nbtfhub:ubuntu/20.04\na:b\nsub/core-relo.toml\nC:\\k";
    fs::write(folder.path().join("a:b"), "").unwrap();
    let variables =
        [("CORE_RELO_KERNELS", kernels), ("CORE_RELO_ARGS", "--strict\n\n--max-entries\n*=$(x) 1")];
    let Some((exit, words)) = arguments(&variables) else { return };
    assert_eq!(exit, 0);
    assert_eq!(
        words,
        "<check><--kernels=debian:12/newest-of-each-series><--kernels=btfhub:ubuntu/20.04><--btf=a:b>\
         <--kernels=sub/core-relo.toml><--btf=C:\\k><--strict><--max-entries><*=$(x) 1>"
    );
    // Without kernels, those of the project.
    assert_eq!(arguments(&[("CORE_RELO_KERNELS", "")]).unwrap().0, 2);
    fs::write(folder.path().join("core-relo.toml"), "").unwrap();
    let (exit, words) = arguments(&[("CORE_RELO_KERNELS", "")]).unwrap();
    assert_eq!((exit, &*words), (0, "<check><--kernels=core-relo.toml>"));
}

/// Names in objects and kernels would otherwise become commands, which GitHub's runner reads in the log.
#[test]
fn the_runner_executes_no_line_of_the_check() {
    let folder = folder();
    let mut tokens = BTreeSet::new();
    for _ in 0..2 {
        let Some(done) = run_with_output(folder.path(), 1, &[("GITHUB_ACTIONS", "true")]) else { return };
        assert_eq!((done.status.code(), done.stderr.len()), (Some(1), 0), "one stream, in order");
        let out = String::from_utf8(done.stdout).unwrap();
        let lines: Vec<_> = out.lines().collect();
        let token = lines[0].strip_prefix("::stop-commands::").expect(&out);
        assert!(token.len() == 64 && token.chars().all(|c| c.is_ascii_hexdigit()), "{out}");
        assert_eq!(
            lines[1..],
            ["::add-path::/tmp", "::add-path::/var/tmp", "", &format!("::{token}::")],
            "{out}"
        );
        tokens.insert(token.to_owned());
    }
    assert_eq!(tokens.len(), 2, "no input can know the token");
}

/// Returns the manifest of the Kubernetes job.
fn job_manifest() -> PathBuf {
    ci_folder().join("kubernetes-job.yaml")
}

/// Adds the paths of all values of a document: `/spec/completions`.
fn add_paths(value: &serde_json::Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(keys) => {
            keys.iter().for_each(|(key, value)| add_paths(value, &format!("{path}/{key}"), paths));
        }
        serde_json::Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, value)| add_paths(value, &format!("{path}/{i}"), paths));
        }
        _ => drop(paths.insert(path.to_owned())),
    }
}

/// `kubectl` reads the manifest into the types of the API, which drops the keys that these lack, and refuses
/// values of other types. Python reads all keys.
#[test]
fn the_kubernetes_job_has_the_keys_of_the_api() {
    let run = |program: &str, args: &[&str]| {
        let done =
            Command::new(program).args(args).arg(job_manifest()).env("KUBECONFIG", "/dev/null").output();
        done.ok().filter(|done| done.status.success()).map(|done| {
            let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            let mut paths = BTreeSet::new();
            add_paths(&value, "", &mut paths);
            paths
        })
    };
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let Some(written) = run("python3", &["-c", script]) else {
        skip!("no python3 with yaml");
        return;
    };
    let Some(known) = run("kubectl", &["label", "--local", "a=b", "-o", "json", "-f"]) else {
        skip!("no kubectl");
        return;
    };
    let unknown: Vec<_> = written.difference(&known).collect();
    assert!(unknown.is_empty() && written.len() > 20, "{unknown:?}");
}

#[test]
fn the_pods_of_the_kubernetes_job_make_the_results_of_one_check() {
    let manifest = fs::read_to_string(job_manifest()).unwrap();
    let (_, rest) = manifest.split_once("            - |\n").unwrap();
    let script: String = rest
        .lines()
        .map_while(|line| line.strip_prefix("              "))
        .map(|line| format!("{line}\n"))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    for name in ["objects", "kernels", "results"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    fs::copy(demo.join("exec.bpf.o"), dir.path().join("objects/exec.bpf.o")).unwrap();
    for number in 0..12 {
        let kernel = ["linux-5.10.btf.xz", "linux-6.1.btf.xz"][number % 2];
        fs::copy(demo.join(kernel), dir.path().join(format!("kernels/{number}.btf.xz"))).unwrap();
    }
    let command = Path::new(env!("CARGO_BIN_EXE_core-relo"));
    let path = format!("{}:{}", command.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let run = |script: &str, index: usize| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(dir.path()).env("PATH", &path);
        shell.env("JOB_COMPLETION_INDEX", index.to_string()).output().unwrap()
    };
    for index in 0..8 {
        let done = run(&script, index);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let report = run("core-relo report results/part-*.jsonl --format junit", 0);
    let check = run("core-relo check objects --btf kernels --format junit", 0);
    assert_eq!(String::from_utf8_lossy(&report.stdout), String::from_utf8_lossy(&check.stdout));
    assert_eq!((report.status.code(), check.status.code()), (Some(1), Some(1)));
    assert!(!check.stdout.is_empty());
    // What cannot be read fails the pod.
    fs::write(dir.path().join("kernels/bad.btf"), "no BTF").unwrap();
    let failed = (0..8).filter(|index| run(&script, *index).status.code() == Some(2)).count();
    assert_eq!(failed, 1);
}
