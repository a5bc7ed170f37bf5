//! A shell with a root directory of its own, which has a copy of the C library.

use super::super::process_maps::ProcessMaps;
use core_relo_test_support::skip;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// The file of the C library in the root directory. The file `libc.so.6` is a link to it.
pub(in crate::attach) const LIBC: &str = "libc-2.99.so";

/// A shell in a root directory that is removed when the value is dropped.
pub(in crate::attach) struct Shell {
    root: PathBuf,
    /// The directory of the C library, in the root directory.
    libraries: PathBuf,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    /// Starts the shell through a command such as `chroot`. Prints `SKIP` and returns `None` if that is not
    /// possible here.
    pub(in crate::attach) fn start(name: &str, commands: &[&str]) -> Option<Self> {
        let root = std::env::temp_dir().join(format!("attach-shell-{}-{name}", std::process::id()));
        let maps = ProcessMaps::open(std::process::id()).unwrap();
        let mapped: Vec<_> = maps.code_files().iter().map(|file| PathBuf::from(file.shown_path())).collect();
        let find =
            |name: &str| mapped.iter().find(|path| path.file_name().is_some_and(|found| found == name));
        let Some(libc) = find("libc.so.6") else {
            skip!("no shared C library of the name libc.so.6 here");
            return None;
        };
        let libraries = libc.parent()?.strip_prefix("/").unwrap().to_path_buf();
        for directory in
            [&libraries, Path::new("bin"), Path::new("lib64"), Path::new("one"), Path::new("two")]
        {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::copy(libc, root.join(&libraries).join(LIBC)).unwrap();
        symlink(LIBC, root.join(&libraries).join("libc.so.6")).unwrap();
        let linker = "lib64/ld-linux-x86-64.so.2";
        let mut command = Command::new(commands[0]);
        command.args(&commands[1..]).arg(&root).arg("/bin/sh").env_clear();
        if let Some(library) = find("libgcc_s.so.1") {
            for directory in ["one", "two"] {
                fs::copy(library, root.join(directory).join("libgcc_s.so.1")).unwrap();
            }
            command.env("LD_PRELOAD", "/one/libgcc_s.so.1 /two/libgcc_s.so.1");
        }
        let copied = fs::copy("/bin/sh", root.join("bin/sh"))
            .and_then(|_| fs::copy(Path::new("/").join(linker), root.join(linker)));
        let started = copied.and_then(|_| {
            command
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        });
        let mut process = match started {
            Ok(process) => process,
            Err(e) => {
                skip!("no shell in another root directory: {e}");
                fs::remove_dir_all(root).unwrap();
                return None;
            }
        };
        let (input, output) = (process.stdin.take()?, process.stdout.take()?);
        let mut shell = Self { root, libraries, process, input, output: BufReader::new(output) };
        if !shell.answers() {
            skip!("the shell in another root directory does not run");
            return None;
        }
        Some(shell)
    }

    pub(in crate::attach) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Returns the path of a file in the root directory, as the shell sees it.
    pub(in crate::attach) fn library(&self, name: &str) -> PathBuf {
        Path::new("/").join(&self.libraries).join(name)
    }

    /// Returns the path of a file in the root directory, as this process sees it, unless a mount namespace
    /// hides it.
    pub(in crate::attach) fn library_here(&self, name: &str) -> PathBuf {
        self.root.join(&self.libraries).join(name)
    }

    /// Returns whether the shell maps two files of the name `libgcc_s.so.1`.
    pub(in crate::attach) fn has_two_libraries(&self) -> bool {
        self.root.join("two/libgcc_s.so.1").exists()
    }

    /// Lets the shell write a line, which calls `write` of the C library. Returns whether it did.
    pub(in crate::attach) fn answers(&mut self) -> bool {
        let mut line = String::new();
        self.input.write_all(b"echo here\n").is_ok()
            && self.output.read_line(&mut line).is_ok()
            && line == "here\n"
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let ended = self.process.kill().and_then(|()| self.process.wait());
        let removed = fs::remove_dir_all(&self.root);
        assert!((ended.is_ok() && removed.is_ok()) || std::thread::panicking());
    }
}
