//! Helpers that run the command as a user does.
#![allow(
    dead_code,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test file uses its part, and fails by panicking"
)]

use core_relo_loader::load::{Kernel as _, ProgLoad, RunningKernel};
use core_relo_test_support::skip;
use serde_json::Value;
use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

/// The output and the exit status of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) exit: i32,
}

/// Runs `core-relo` in the directory of the demo files.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    run_in(&demo(), args)
}

/// Runs `core-relo` in a directory.
pub(crate) fn run_in<S: AsRef<std::ffi::OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Run {
    run_command(Command::new(env!("CARGO_BIN_EXE_core-relo")), dir, args)
}

/// Runs `core-relo` with a time limit of one minute, for inputs that would hang the command in case of an
/// error. A timeout gives exit status 124.
pub(crate) fn run_guarded<S: AsRef<std::ffi::OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Run {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_core-relo")]);
    run_command(command, dir, args)
}

fn run_command<S: AsRef<std::ffi::OsStr>>(
    mut command: Command,
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Run {
    command.args(args).current_dir(dir).env_remove("RUST_LOG").env_remove("CLICOLOR_FORCE");
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { out: text(stdout), err: text(stderr), exit: status.code().expect("an exit status") }
}

impl Run {
    /// Parses standard output as JSON lines.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Returns the rows of `check`, without the reasons below them and the summary after them.
    pub(crate) fn rows(&self) -> Vec<&str> {
        let table = self.out.lines().take_while(|line| !line.is_empty());
        table.filter(|line| !line.starts_with(' ')).collect()
    }

    /// Returns standard output, exit status and standard error, for a snapshot.
    pub(crate) fn whole(&self) -> String {
        format!("{}----- stderr, exit {}\n{}", self.out, self.exit, self.err)
    }
}

/// Creates a named pipe. An open for reading waits for a writer.
pub(crate) fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

/// Returns a directory with the demo files, the kernels unpacked.
pub(crate) fn demo() -> PathBuf {
    static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        // cargo sets the variable for the compiler only. Another user, who may not write there, has a
        // directory of its own.
        let scratch = env::var_os("CARGO_TARGET_TMPDIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
        let unpacked = scratch.join("demo");
        unpack_demo(&scratch, &unpacked).expect("the demo files are readable");
        unpacked
    });
    DIR.clone()
}

/// Writes each file in one step, because tests of other processes read the directory.
fn unpack_demo(scratch: &Path, unpacked: &Path) -> io::Result<()> {
    fs::create_dir_all(unpacked)?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("demo"))? {
        let path = entry?.path();
        let mut bytes = fs::read(&path)?;
        if path.extension().is_some_and(|extension| extension == "xz") {
            let packed = std::mem::take(&mut bytes);
            lzma_rust2::XzReader::new(&packed[..], true).read_to_end(&mut bytes)?;
        }
        let name = path.file_name().expect("an entry has a name").to_str().expect("UTF-8");
        // Copies of the files are read by other users, too.
        let readable = fs::Permissions::from_mode(0o644);
        let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(scratch)?;
        file.write_all(&bytes)?;
        file.persist(unpacked.join(name.trim_end_matches(".xz")))?;
    }
    Ok(())
}

/// Returns the path of a committed little-endian test program.
pub(crate) fn prebuilt(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt/el").join(name)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Whether this process has a bpffs of its own. Where it has none yet, the test runs once more in a process
/// that has.
pub(crate) fn has_own_bpffs(test: &str) -> bool {
    const VARIABLE: &str = "CORE_RELO_TEST_OWN_BPFFS";
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    let script = "mount -t bpf bpf /sys/fs/bpf || exit 42; exec \"$@\"";
    let again = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().expect("a path"))
        .args(["--exact", test, "--nocapture"])
        .env(VARIABLE, "1")
        .status();
    match again {
        Ok(status) if status.success() => {}
        Ok(status) if status.code() == Some(42) || status.code() == Some(1) => {
            skip!("no bpffs can be mounted here");
        }
        other => panic!("{test}: {other:?}"),
    }
    false
}

/// Returns true if this process may load programs. Otherwise reports a skipped test.
pub(crate) fn may_load() -> bool {
    let program = ProgLoad {
        prog_type: 1,
        insns: &[0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0],
        license: b"GPL",
        ..ProgLoad::default()
    };
    let loaded = RunningKernel.prog_load(&program, &mut []);
    if let Err(e) = &loaded {
        skip!(Root, "programs cannot be loaded here: {e}");
    }
    loaded.is_ok()
}

/// The JSON Schema of the command's lines, `docs/json.schema.json`.
#[derive(Debug)]
pub(crate) struct Schema(Value);

/// Reads the schema.
pub(crate) fn schema() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json.schema.json");
    let text = fs::read_to_string(path).expect("docs/json.schema.json");
    Schema(serde_json::from_str(&text).expect("JSON"))
}

impl Schema {
    /// Checks that a line has exactly the keys of a definition, in order and with the types of the schema.
    pub(crate) fn check(&self, definition: &str, line: &Value) {
        let object = line.as_object().expect("an object");
        let found: Vec<_> = object.keys().map(String::as_str).collect();
        assert_eq!(found, self.keys(definition), "{definition}");
        for (key, value) in object {
            let ty = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            let fits = match &self.0["$defs"][definition]["properties"][key]["type"] {
                // Without a type, every value is permitted.
                Value::Null => true,
                Value::Array(types) => types.iter().any(|allowed| allowed == ty),
                allowed => allowed == ty,
            };
            assert!(fits, "`{key}` is {value}, which is not of its type in docs/json.schema.json");
        }
    }

    /// Returns the keys of a definition, in order.
    pub(crate) fn keys(&self, definition: &str) -> Vec<&str> {
        let keys = self.0["$defs"][definition]["required"].as_array();
        let keys =
            keys.unwrap_or_else(|| panic!("docs/json.schema.json has no definition of `{definition}`"));
        keys.iter().filter_map(Value::as_str).collect()
    }
}
