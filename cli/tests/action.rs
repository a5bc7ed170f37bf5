//! The GitHub action and the snippet for GitLab, from the download of a release to the reports. The steps are
//! run here, with a server on this machine in place of a release.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use core_relo::btf::{Btf, Builder};
use core_relo_test_support::{AptRepository, skip};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

/// The programs that the scripts use.
const TOOLS: [&str; 6] = ["bash", "curl", "tar", "sha256sum", "git", "awk"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A project on a runner, and a release of the command.
struct Job {
    dir: tempfile::TempDir,
}

impl Job {
    /// Creates the job. Returns `None` with a skip if a tool is missing.
    fn new() -> Option<Self> {
        for tool in TOOLS {
            if Command::new(tool).arg("--version").output().is_err() {
                skip!("no {tool}");
                return None;
            }
        }
        let job = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["project", "temp", "release/v0.1.0", "home", "bin"] {
            fs::create_dir_all(job.path(name)).unwrap();
        }
        fs::copy(common::demo().join("exec.bpf.o"), job.path("project/exec.bpf.o")).unwrap();
        for kernel in ["linux-6.1.btf", "linux-7.2.btf"] {
            fs::copy(common::demo().join(kernel), job.path("project").join(kernel)).unwrap();
        }
        job.write_release();
        Some(job)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes a release, whose command runs that of this build.
    fn write_release(&self) {
        let name = archive_name();
        let top = self.path("temp").join(&name);
        fs::create_dir_all(top.join("share/core-relo")).unwrap();
        fs::write(top.join("share/core-relo/core-relo-web.wasm"), "module").unwrap();
        write_script(&top.join("core-relo"), &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_core-relo")));
        let archive = self.path("release/v0.1.0").join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(archive).arg("-C").arg(self.path("temp")).arg(name);
        assert!(tar.status().unwrap().success());
        let mut sums = Command::new("sha256sum");
        let sums = sums.arg(format!("{}.tar.gz", archive_name())).current_dir(self.path("release/v0.1.0"));
        fs::write(self.path("release/v0.1.0/SHA256SUMS"), sums.output().unwrap().stdout).unwrap();
    }

    /// Returns the address of the releases as files.
    fn files(&self) -> String {
        format!("file://{}", self.path("release").display())
    }

    /// Returns the SHA-256 of the release's archive.
    fn sha256(&self) -> String {
        self.text("release/v0.1.0/SHA256SUMS").split(' ').next().unwrap().to_owned()
    }

    /// Runs a script as a runner does, without variables of this process that change its result.
    fn run_script(&self, script: &str, variables: &BTreeMap<String, String>) -> Output {
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.path("project"));
        let path = std::env::var("PATH").unwrap();
        let added = fs::read_to_string(self.path("path")).unwrap_or_else(|_| String::new());
        let added: String = added.lines().rev().map(|dir| format!("{dir}:")).collect();
        let first = self.path("bin").display().to_string();
        bash.env_clear().env("PATH", format!("{added}{first}:{path}")).env("HOME", self.path("home"));
        bash.env("TMPDIR", self.path("temp")).envs(variables).output().unwrap()
    }

    /// Runs the steps of the action. Returns the outputs of its steps, or the log of the step that fails.
    fn run_action(&self, inputs: &[(&str, &str)], github: &[(&str, &str)]) -> Result<String, String> {
        let action = Action::parse(&fs::read_to_string(repository().join("ci/action.yml")).unwrap());
        for (name, _) in inputs {
            assert!(action.defaults.contains_key(*name), "no input {name}");
        }
        let value = |expression: &str| match expression.split_once('.').expect(expression) {
            ("inputs", name) => {
                let given = inputs.iter().find(|(input, _)| *input == name);
                given.map_or_else(|| action.defaults[name].clone(), |(_, value)| (*value).to_owned())
            }
            ("github", name) => {
                let given = github.iter().find(|(key, _)| *key == name);
                given.map_or_else(String::new, |(_, value)| (*value).to_owned())
            }
            ("runner", "temp") => self.path("temp").display().to_string(),
            _ => panic!("no value of {expression}"),
        };
        let mut log = String::new();
        for step in action.steps.iter().filter(|step| !step.run.is_empty()) {
            let mut variables: BTreeMap<_, _> =
                step.env.iter().map(|(name, text)| (name.clone(), substitute(text, &value))).collect();
            let own = [
                ("GITHUB_ACTIONS", "true".to_owned()),
                ("GITHUB_ACTION_PATH", repository().join("ci").display().to_string()),
                ("GITHUB_PATH", self.path("path").display().to_string()),
                ("GITHUB_OUTPUT", self.path("output").display().to_string()),
                ("GITHUB_STEP_SUMMARY", self.path("summary").display().to_string()),
            ];
            variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
            let Output { status, stdout, stderr } = self.run_script(&step.run, &variables);
            log += &String::from_utf8(stdout).unwrap();
            log += &String::from_utf8(stderr).unwrap();
            if !status.success() {
                return Err(log);
            }
        }
        Ok(log)
    }
}

fn write_script(path: &Path, line: &str) {
    fs::write(path, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the name of the archive for this machine.
fn archive_name() -> String {
    let target = match std::env::consts::ARCH {
        "riscv64" => "riscv64gc-unknown-linux-gnu",
        "s390x" => "s390x-unknown-linux-gnu",
        "powerpc64" => "powerpc64le-unknown-linux-gnu",
        "aarch64" => "aarch64-unknown-linux-musl",
        _ => "x86_64-unknown-linux-musl",
    };
    format!("core-relo-0.1.0-{target}")
}

/// Replaces `${{ expression }}`.
fn substitute(text: &str, value: &dyn Fn(&str) -> String) -> String {
    let mut parts = text.split("${{");
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").expect(text);
        result = format!("{result}{}{rest}", value(expression.trim()));
    }
    result
}

/// A step of the action.
#[derive(Default)]
struct Step {
    env: BTreeMap<String, String>,
    run: String,
    uses: String,
}

/// The parts of the action's file that a runner uses. The file is written in a small part of YAML: a value is
/// on the line of its key.
struct Action {
    defaults: BTreeMap<String, String>,
    steps: Vec<Step>,
}

impl Action {
    fn parse(text: &str) -> Self {
        let mut action = Self { defaults: BTreeMap::new(), steps: Vec::new() };
        let mut input = String::new();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let indent = line.len() - line.trim_start().len();
            if line.starts_with("    - ") {
                action.steps.push(Step::default());
            }
            let item = line.trim_start().trim_start_matches("- ");
            let (key, value) = item.split_once(':').unwrap_or((item, ""));
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let value = quoted.unwrap_or(value).to_owned();
            match (indent, key, action.steps.last_mut()) {
                (2, name, None) => {
                    name.clone_into(&mut input);
                    action.defaults.insert(input.clone(), String::new());
                }
                (4, "default", None) => _ = action.defaults.insert(input.clone(), value),
                (6, "run", Some(step)) => step.run = value,
                (6, "uses", Some(step)) => step.uses = value,
                (8, name, Some(step)) if name.starts_with("CORE_RELO_") => {
                    step.env.insert(name.to_owned(), value);
                }
                _ => {}
            }
        }
        action
    }
}

/// Serves the files of a directory on 127.0.0.1 until the process ends. Returns the address.
fn serve(dir: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_else(String::new);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let path = request.split(' ').nth(1).unwrap_or("/").trim_start_matches('/').to_owned();
            let (status, body) = match fs::read(dir.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    address
}

/// Inputs with an object and two kernels, one of which refuses it.
const INPUTS: [(&str, &str); 3] = [("objects", "*.bpf.o"), ("kernels", "linux-*.btf"), ("fail-on", "never")];

#[test]
fn the_action_downloads_a_release_checks_and_reports() {
    let Some(job) = Job::new() else { return };
    let server = serve(job.path("release"));
    let sha256 = job.sha256();
    for releases in [job.files(), server] {
        for sums in [&*sha256, ""] {
            let own =
                [("version", "0.1.0"), ("releases", &releases), ("sha256", sums), ("args", "--strict\n")];
            let log = job.run_action(&[&INPUTS[..], &own].concat(), &[]).unwrap();
            assert!(log.starts_with("core-relo 0."), "{log}");
            assert_eq!(job.text("output"), "exit-status=1\n");
            for report in ["report.html", "report.sarif", "report.junit.xml", "report.md"] {
                let text = job.text(&format!("project/core-relo-report/{report}"));
                assert!(text.contains("7.2"), "{report}: {text}");
            }
            assert!(job.text("summary").contains("robust_list"));
            // `core-relo site` finds the module from the directory of the command.
            assert_eq!(job.text("temp/share/core-relo/core-relo-web.wasm"), "module");
            for file in ["output", "summary", "path"] {
                fs::remove_file(job.path(file)).unwrap();
            }
            for directory in ["temp/core-relo-bin", "temp/share"] {
                fs::remove_dir_all(job.path(directory)).unwrap();
            }
        }
    }
    // By default, the job fails.
    let own = [("version", "0.1.0"), ("releases", &*job.files()), ("fail-on", "refused")];
    assert!(job.run_action(&[&INPUTS[..2], &own].concat(), &[]).is_err());
}

#[test]
fn a_tag_of_the_action_is_a_release_of_its_repository() {
    let Some(job) = Job::new() else { return };
    let top = job.path("server/owner/core-relo/releases");
    fs::create_dir_all(&top).unwrap();
    std::os::unix::fs::symlink(job.path("release"), top.join("download")).unwrap();
    let server = serve(job.path("server"));
    let github =
        [("server_url", &*server), ("action_repository", "owner/core-relo"), ("action_ref", "v0.1.0")];
    let log = job.run_action(&INPUTS, &github).unwrap();
    assert!(log.starts_with("core-relo 0."), "{log}");
}

#[test]
fn other_bytes_are_not_installed() {
    let Some(job) = Job::new() else { return };
    let server = serve(job.path("release"));
    let run = |version: &str, sha256: &str| {
        let own = [("version", version), ("releases", &*server), ("sha256", sha256)];
        job.run_action(&[&INPUTS[..], &own].concat(), &[]).unwrap_err()
    };
    let log = run("0.1.0", &"0".repeat(64));
    assert!(log.contains(&format!("the SHA-256 is {}, expected 000", job.sha256())), "{log}");
    let log = run("0.2.0", "");
    assert!(log.contains("/v0.2.0/core-relo-0.2.0-") && log.ends_with(".tar.gz: does not exist\n"), "{log}");
    let log = run("0.1.0/../x", "");
    assert!(log.contains("expected a version such as 0.1.0"), "{log}");
    fs::write(job.path("release/v0.1.0").join(format!("{}.tar.gz", archive_name())), "other").unwrap();
    let log = run("0.1.0", "");
    assert!(log.contains(&format!("expected {}", job.sha256())), "{log}");
    fs::remove_file(job.path("release/v0.1.0/SHA256SUMS")).unwrap();
    let log = run("0.1.0", "");
    assert!(log.ends_with("/v0.1.0/SHA256SUMS: does not exist\n"), "{log}");
    assert!(!job.path("temp/core-relo-bin/core-relo").exists());
}

/// A stand-in for cargo notes its arguments, and installs the command of this build.
#[test]
fn without_a_release_the_sources_are_built() {
    let Some(job) = Job::new() else { return };
    let build = "echo \"$@\" >> ../cargo; while [ \"$1\" != --root ]; do shift; done; mkdir -p \"$2/bin\"";
    let command = env!("CARGO_BIN_EXE_core-relo");
    write_script(&job.path("bin/cargo"), &format!("{build}; ln -s '{command}' \"$2/bin/core-relo\""));
    // No version; a branch; a tag without a release.
    let tag = [("action_repository", "o/r"), ("action_ref", "v0.1.0"), ("server_url", "file:///nowhere")];
    for github in [&[][..], &[("action_ref", "main")], &tag] {
        let log = job.run_action(&INPUTS, github).unwrap();
        assert!(log.contains("core-relo 0."), "{log}");
        let arguments = job.text("cargo");
        assert!(arguments.starts_with("install --locked --quiet --path "), "{arguments}");
        assert!(arguments.contains("/cli --root "), "{arguments}");
        fs::remove_file(job.path("cargo")).unwrap();
    }
    // Certain bytes are wanted.
    let log = job.run_action(&[&INPUTS[..], &[("sha256", "00")]].concat(), &tag).unwrap_err();
    assert!(log.ends_with("does not exist\n") && !job.path("cargo").exists(), "{log}");
}

#[test]
fn the_kernels_of_a_project_are_fetched() {
    let Some(job) = Job::new() else { return };
    let image = fs::read(common::demo().join("linux-6.1.btf")).unwrap();
    let base = Btf::parse(image.clone()).unwrap();
    let mut module = Builder::split(&base);
    module.int("xfs_int", 4, 0);
    let Some(apt) = AptRepository::new(job.dir.path(), &image, &module.finish()) else { return };
    let mirror = apt.archive().display().to_string();
    let config =
        format!("[kernels]\nspecs = [\"debian:12@amd64\"]\n[mirrors]\ndebian = \"file://{mirror}\"\n");
    fs::write(job.path("project/core-relo.toml"), config).unwrap();
    let releases = job.files();
    for kernels in ["", "core-relo.toml", "debian:12/6.1@amd64"] {
        let own = [("version", "0.1.0"), ("releases", &*releases), ("kernels", kernels)];
        let log = job.run_action(&[INPUTS[0], own[0], own[1], own[2]], &[]).unwrap();
        assert!(log.contains("debian:12/6.1.0-2-amd64"), "{log}");
    }
    assert!(job.path("home/.cache/core-relo/kernels").is_dir(), "the directory that the action caches");
    // The name of a distribution may have a hyphen.
    let own = [("version", "0.1.0"), ("releases", &*releases), ("kernels", "centos-stream:0")];
    let log = job.run_action(&[INPUTS[0], own[0], own[1], own[2]], &[]).unwrap_err();
    assert!(log.contains("unknown release `0` of centos-stream"), "{log}");
}

/// The script lines and the variables of the job in the document.
fn gitlab_job() -> (Vec<String>, BTreeMap<String, String>) {
    let document = fs::read_to_string(repository().join("docs/ci.md")).unwrap();
    let (_, section) = document.split_once("\n## GitLab\n").unwrap();
    let (_, snippet) = section.split_once("```yaml\n").unwrap();
    let (snippet, _) = snippet.split_once("```").unwrap();
    let (mut script, mut variables, mut key) = (Vec::new(), BTreeMap::new(), "");
    for line in snippet.lines() {
        match (line.strip_prefix("    - "), line.strip_prefix("    "), line.strip_prefix("  ")) {
            (Some(item), ..) if key == "script" => script.push(item.to_owned()),
            (None, Some(entry), _) if key == "variables" => {
                let (name, value) = entry.split_once(": ").expect(entry);
                variables.insert(name.to_owned(), value.trim_matches('"').to_owned());
            }
            (None, None, Some(entry)) => key = entry.split(':').next().unwrap(),
            _ => {}
        }
    }
    (script, variables)
}

#[test]
fn the_job_for_gitlab_runs() {
    let Some(job) = Job::new() else { return };
    let (script, mut variables) = gitlab_job();
    assert!(script.len() >= 3 && variables.len() >= 4, "{script:?} {variables:?}");
    // A repository with the tag of the release.
    let source = job.path("source");
    fs::create_dir_all(source.join("ci")).unwrap();
    for file in ["Cargo.toml", "ci/install.sh", "ci/check.sh"] {
        fs::copy(repository().join(file), source.join(file)).unwrap();
    }
    for words in ["init --quiet", "add .", "commit --quiet -m release", "tag v0.1.0"] {
        let mut git = Command::new("git");
        git.current_dir(&source).args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x",
            "-c",
            "commit.gpgsign=false",
        ]);
        assert!(git.args(words.split(' ')).status().unwrap().success(), "{words}");
    }
    fs::create_dir(job.path("project/build")).unwrap();
    fs::rename(job.path("project/exec.bpf.o"), job.path("project/build/exec.bpf.o")).unwrap();
    fs::create_dir(job.path("project/kernels")).unwrap();
    fs::rename(job.path("project/linux-7.2.btf"), job.path("project/kernels/linux-7.2.btf")).unwrap();
    for (name, value) in [
        ("CI_PROJECT_DIR", job.path("project").display().to_string()),
        ("CORE_RELO_REPOSITORY", source.display().to_string()),
        ("CORE_RELO_RELEASES", job.files()),
        ("CORE_RELO_KERNELS", "kernels/".to_owned()),
    ] {
        variables.insert(name.to_owned(), value);
    }
    // GitLab replaces variables in variables.
    let project = job.path("project").display().to_string();
    for value in variables.values_mut() {
        *value = value.replace("$CI_PROJECT_DIR", &project);
    }
    let done = job.run_script(&script.join("\n"), &variables);
    let log = String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{log}");
    assert!(log.contains("refused  build/exec.bpf.o  kernels/linux-7.2.btf"), "{log}");
    assert!(job.text("project/core-relo-report/report.junit.xml").contains("robust_list"));
}

#[test]
fn the_action_sets_the_variables_that_the_scripts_read() {
    let variables = |name: &str| {
        let text = fs::read_to_string(repository().join("ci").join(name)).unwrap();
        let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_' && !c.is_ascii_digit());
        words.filter(|word| word.starts_with("CORE_RELO_")).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let of_scripts = &variables("check.sh") | &variables("install.sh");
    assert_eq!(variables("action.yml"), of_scripts);
}

#[test]
fn the_cache_belongs_to_the_lock_file() {
    let text = fs::read_to_string(repository().join("ci/action.yml")).unwrap();
    let action = Action::parse(&text);
    let uses: Vec<_> = action.steps.iter().map(|step| &*step.uses).collect();
    assert_eq!(uses, ["", "actions/cache@v4", ""], "before the check, which fetches");
    for line in [
        "if: hashFiles('core-relo.lock') != ''",
        "path: ~/.cache/core-relo",
        "key: core-relo-kernels-${{ hashFiles('core-relo.lock') }}",
    ] {
        assert!(text.contains(line), "{line}");
    }
}
