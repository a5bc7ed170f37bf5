//! The search for a program or library by its file name.

use super::{error::AttachError, pmu::resolve_pid, process_files::ProcessFiles};
use crate::target::open_file;
use std::{
    env,
    ffi::OsString,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

/// The multiarch library directory of Debian for this architecture, or an empty string (libbpf:
/// `arch_specific_lib_paths`).
const ARCH_LIBRARIES: &str = if cfg!(target_arch = "x86_64") {
    "/lib/x86_64-linux-gnu"
} else if cfg!(target_arch = "x86") {
    "/lib/i386-linux-gnu"
} else if cfg!(target_arch = "s390x") {
    "/lib/s390x-linux-gnu"
} else if cfg!(target_arch = "arm") {
    "/lib/arm-linux-gnueabihf"
} else if cfg!(target_arch = "aarch64") {
    "/lib/aarch64-linux-gnu"
} else if cfg!(target_arch = "powerpc64") && matches!(core_relo::Endian::native(), core_relo::Endian::Little)
{
    "/lib/powerpc64le-linux-gnu"
} else if cfg!(target_arch = "riscv64") {
    "/lib/riscv64-linux-gnu"
} else {
    ""
};

/// The usual directories of libraries. The last one is that of this architecture.
const LIBRARY_DIRECTORIES: [&str; 2] = ["/usr/lib64:/usr/lib", ARCH_LIBRARIES];

/// The usual directories of programs.
const PROGRAM_DIRECTORIES: [&str; 2] = ["/usr/bin:/usr/sbin", ""];

/// The directories of libraries and programs that are searched in the root directory of another process, too.
const OTHER_LIBRARY_DIRECTORIES: &str = "/usr/local/lib64:/usr/local/lib:/lib64:/lib";
const OTHER_PROGRAM_DIRECTORIES: &str = "/usr/local/bin:/usr/local/sbin:/bin:/sbin";

/// Returns the path of a binary for probes of one process, or of all (libbpf: `resolve_full_path`).
///
/// Absolute paths and names are those of the process. Relative paths and paths below `/proc` are those of
/// this process. The search for a library (`.so` in its name) covers `LD_LIBRARY_PATH` and the usual library
/// directories, the search for a program covers `PATH` and the usual directories of programs. For a process
/// with another root directory, the files that the process maps come first.
pub(super) fn resolve(name: &Path, pid: Option<u32>, label: &str) -> Result<PathBuf, AttachError> {
    let is_path = name.as_os_str().as_bytes().contains(&b'/');
    if is_path && (name.is_relative() || name.starts_with("/proc")) {
        return Ok(name.to_path_buf());
    }
    let files = match resolve_pid(pid) {
        Some(pid) => ProcessFiles::open(pid, label)?,
        None => None,
    };
    match files {
        Some(files) if is_path => files.find_path(name),
        Some(files) => find_in_process(name, &files, label),
        None if is_path => Ok(name.to_path_buf()),
        None => find_own(name, label),
    }
}

/// Finds the file of a name that a process with another root directory maps, or that is in its directories.
fn find_in_process(name: &Path, files: &ProcessFiles<'_>, label: &str) -> Result<PathBuf, AttachError> {
    if let Some(path) = files.find_mapped(name)? {
        return Ok(path);
    }
    let directories = Directories::of(name);
    let further = if directories.is_library { OTHER_LIBRARY_DIRECTORIES } else { OTHER_PROGRAM_DIRECTORIES };
    let lists = directories.lists().chain([OsString::from(further)]);
    let in_root = |path: PathBuf| path.is_absolute().then(|| files.in_root(&path)).flatten();
    search(name, directories.is_library, lists, in_root).ok_or_else(|| {
        let (name, root, variable) = (name.display(), files.root().display(), directories.variable);
        let problem = format!(
            "the process does not map `{name}`, and neither the directories in {variable} nor the default directories have it \
             in {root}: pass a path with a `/`"
        );
        AttachError::target(label, problem)
    })
}

/// Finds the file of a name in the directories of this process.
fn find_own(name: &Path, label: &str) -> Result<PathBuf, AttachError> {
    let directories = Directories::of(name);
    search(name, directories.is_library, directories.lists(), Some).ok_or_else(|| {
        let (name, variable) = (name.display(), directories.variable);
        let problem = format!(
            "`{name}` is neither in {variable} nor in the default directories: pass a path with a `/`"
        );
        AttachError::target(label, problem)
    })
}

/// The directories in which a name is searched.
struct Directories {
    is_library: bool,
    /// The environment variable with the first directories.
    variable: &'static str,
    defaults: [&'static str; 2],
}

impl Directories {
    fn of(name: &Path) -> Self {
        if is_library(name) {
            return Self { is_library: true, variable: "LD_LIBRARY_PATH", defaults: LIBRARY_DIRECTORIES };
        }
        Self { is_library: false, variable: "PATH", defaults: PROGRAM_DIRECTORIES }
    }

    fn lists(&self) -> impl Iterator<Item = OsString> {
        env::var_os(self.variable).into_iter().chain(self.defaults.map(OsString::from))
    }
}

/// Returns whether a file name is that of a library.
fn is_library(name: &Path) -> bool {
    let bytes = name.as_os_str().as_bytes();
    bytes.ends_with(b".so") || bytes.windows(4).any(|w| w == b".so.")
}

/// Returns the first readable file of that name in `:`-separated lists of directories. A program must have an
/// execute permission. `locate` returns the path by which this process opens a file.
fn search(
    name: &Path,
    is_library: bool,
    lists: impl Iterator<Item = OsString>,
    locate: impl Fn(PathBuf) -> Option<PathBuf>,
) -> Option<PathBuf> {
    for list in lists {
        for dir in env::split_paths(&list).filter(|dir| !dir.as_os_str().is_empty()) {
            let Some(path) = locate(dir.join(name)) else { continue };
            let Ok((_file, meta)) = open_file(&path) else { continue };
            if is_library || meta.permissions().mode() & 0o111 != 0 {
                return Some(path);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::{
                elf::TempFile,
                shell::{LIBC, Shell},
                trace::{Counter, Program},
            },
            uprobe::{UprobeOptions, uprobe},
        },
        *,
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::{fs, os::unix::fs::MetadataExt as _};

    /// The commands that give a shell another root directory: in this mount namespace and in another one.
    const COMMANDS: [&[&str]; 2] = [&["chroot"], &["unshare", "-m", "chroot"]];

    /// Checks that a probe runs when the shell writes a line.
    fn assert_runs(shell: &mut Shell, binary: &Path) {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let options =
            UprobeOptions { function: Some("write"), pid: Some(shell.pid()), ..UprobeOptions::default() };
        let link = match uprobe(prog.fd(), binary, &options) {
            Err(e) if matches!(e.errno().map(|errno| errno.0), Some(libc::EPERM | libc::EOPNOTSUPP)) => {
                return skip!("{e}");
            }
            link => link.unwrap(),
        };
        assert!(shell.answers());
        assert!(counter.count() > 0, "{}", binary.display());
        link.detach().unwrap();
    }

    fn inode(path: &Path) -> u64 {
        fs::metadata(path).unwrap().ino()
    }

    /// The file is the one that the process runs: by its name, by its soname and by its path, and after it
    /// was deleted.
    #[test]
    fn a_process_with_another_root_directory_runs_the_probes_of_its_files() {
        for (number, commands) in COMMANDS.into_iter().enumerate() {
            let Some(mut shell) = Shell::start(&format!("files-{number}"), commands) else { continue };
            let pid = Some(shell.pid());
            let mapped = shell.library_here(LIBC);
            let find = |binary: &Path| resolve(binary, pid, "uprobe/x").map_err(|e| e.to_string());
            for binary in
                [LIBC.into(), PathBuf::from("libc.so.6"), shell.library(LIBC), shell.library("libc.so.6")]
            {
                let found = find(&binary).unwrap();
                assert_eq!(inode(&found), inode(&mapped), "{}", binary.display());
                assert_runs(&mut shell, &binary);
            }
            // A file that only this process has, and a name that no file of the process has.
            let own = env::current_exe().unwrap();
            let error = find(&own).unwrap_err();
            assert!(
                error.contains(&format!("process {} has no file {}", shell.pid(), own.display())),
                "{error}"
            );
            let error = find(own.file_name().unwrap().as_ref()).unwrap_err();
            assert!(error.contains("the process does not map `"), "{error}");
            assert_eq!(find(Path::new("/proc/self/root/x")), Ok(PathBuf::from("/proc/self/root/x")));
            if shell.has_two_libraries() {
                let error = find(Path::new("libgcc_s.so.1")).unwrap_err();
                assert!(error.contains("maps two files of this name"), "{error}");
            }
            let deleted = inode(&mapped);
            let copy = fs::read(&mapped).unwrap();
            fs::remove_file(&mapped).unwrap();
            fs::write(&mapped, copy).unwrap();
            let found = find(Path::new("libc.so.6")).unwrap();
            assert_eq!(inode(&found), deleted, "the process does not run the new file");
            assert_runs(&mut shell, Path::new("libc.so.6"));
            let error = find(&shell.library("libc.so.6")).unwrap_err();
            assert!(error.contains("runs code of a deleted file"), "{error}");
        }
    }

    #[test]
    fn a_path_is_returned_unchanged_and_a_name_is_searched_for() {
        assert_eq!(resolve(Path::new("/no/such"), None, "x"), Ok(PathBuf::from("/no/such")));
        assert_eq!(resolve(Path::new("./x"), None, "x"), Ok(PathBuf::from("./x")));
        let e = resolve(Path::new("no_such.so.6"), None, "uprobe/no_such.so.6").unwrap_err();
        assert!(e.to_string().contains("LD_LIBRARY_PATH"), "{e}");
    }

    #[test]
    fn the_search_for_a_program_skips_files_without_execute_permission() {
        let file = TempFile::new("so", b"");
        let name = Path::new(file.path().file_name().unwrap());
        let dir = file.path().parent().unwrap().to_str().unwrap();
        let dirs = || [OsString::new(), OsString::from(format!(":/no/such:{dir}"))].into_iter();
        assert_eq!(search(name, false, dirs(), Some).as_deref(), Some(file.path()));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(search(name, false, dirs(), Some), None);
        assert_eq!(search(name, true, dirs(), Some).as_deref(), Some(file.path()));
        assert_eq!(search(Path::new("no-such"), true, dirs(), Some), None);
    }
}
