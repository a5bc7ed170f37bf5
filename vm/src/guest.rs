//! Commands to run in a guest, and their output.

use crate::{
    arch::Arch,
    error::VmError,
    executable::{ExecutableParts, add_executable, is_dynamic},
    initramfs::Initramfs,
    kernel_image::KernelImage,
    machine::Machine,
    memory_file::MemoryFile,
    notes::Note,
};
use std::{ffi::OsString, fs, os::unix::ffi::OsStrExt as _, path::Path, time::Duration};

/// The guest's first process.
pub(crate) const INIT: &str = "/init";
/// The guest's directory of commands. Each file is a command: its words, each with a NUL byte at its end. The
/// first word is the executable.
pub(crate) const COMMANDS: &str = "/vm/commands";
/// The guest's directory of kernel modules, which are loaded before the first command, in the order of their
/// names.
pub(crate) const MODULES: &str = "/vm/modules";
/// The guest's file with the kernel's configuration.
pub(crate) const CONFIG: &str = "/vm/config";
/// The guest's file with the path of the commands' working directory.
pub(crate) const WORKING_DIR: &str = "/vm/working-directory";

/// The time limit of a guest, unless the caller sets another.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// The memory in MiB for the kernel and the commands.
const MEMORY_MIB: u64 = 1024;
/// The memory of QEMU's PowerPC machine is a multiple of this, in MiB.
const MEMORY_STEP_MIB: u64 = 256;
/// The number of console lines in errors.
const CONSOLE_LINES: usize = 40;

/// The files and commands of a guest. The same guest boots on any number of kernels.
#[derive(Clone, Debug)]
pub struct Guest {
    arch: Arch,
    files: Initramfs,
    command_count: usize,
    module_count: usize,
    time_limit: Duration,
    cpus: u32,
    kernel_arguments: Vec<String>,
}

/// The output of a guest whose first process ran.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuestOutput {
    /// The release of the kernel, as `uname -r` prints it.
    pub release: String,
    /// The standard output of all commands.
    pub stdout: String,
    /// The standard error of all commands.
    pub stderr: String,
    /// The end of the guest.
    pub end: GuestEnd,
    exit_codes: Vec<i32>,
}

/// The end of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GuestEnd {
    /// Every command ended.
    Complete,
    /// The machine reached its time limit.
    TimedOut(Duration),
    /// The first process could not start a command.
    CommandFailed(String),
    /// The kernel crashed. The value is the end of its console.
    Crashed(String),
}

impl Guest {
    /// Creates a guest. Its first process is `executable`, which must call
    /// [`run_as_init`](crate::run_as_init) first of all.
    pub fn new(arch: Arch, executable: &Path) -> Result<Self, VmError> {
        let mut files = Initramfs::new();
        add_executable(&mut files, executable, INIT, arch, ExecutableParts::Loaded)?;
        files.add_dir(Path::new(COMMANDS));
        Ok(Self {
            arch,
            files,
            command_count: 0,
            module_count: 0,
            time_limit: TIME_LIMIT,
            cpus: 1,
            kernel_arguments: Vec::new(),
        })
    }

    /// Creates a guest. Its first process is the calling executable, which must call
    /// [`run_as_init`](crate::run_as_init) first of all.
    pub fn with_current_executable(arch: Arch) -> Result<Self, VmError> {
        let own = Path::new("/proc/self/exe");
        let executable = fs::read_link(own).map_err(|error| VmError::file(own, &error))?;
        Self::new(arch, &executable)
    }

    /// Sets the time limit of a boot and all commands. The default is five minutes.
    pub fn set_time_limit(&mut self, limit: Duration) {
        self.time_limit = limit;
    }

    /// Sets the number of processors. The default is one.
    pub fn set_cpus(&mut self, cpus: u32) {
        self.cpus = cpus;
    }

    /// Adds a word to the kernel's command line.
    pub fn add_kernel_argument(&mut self, word: impl Into<String>) {
        self.kernel_arguments.push(word.into());
    }

    /// Adds a file, or all files below a directory. Commands find them at this path. An executable brings its
    /// shared libraries.
    pub fn add_path(&mut self, from: &Path, guest_path: &Path) -> Result<(), VmError> {
        let guest_path = guest_path.to_string_lossy();
        if from.is_file() && is_dynamic(from)? {
            return add_executable(&mut self.files, from, &guest_path, self.arch, ExecutableParts::Loaded);
        }
        self.files.copy(from, &guest_path).map(drop)
    }

    /// Adds a file with this content. Commands find it at this path.
    pub fn add_file(&mut self, guest_path: &Path, content: &[u8]) {
        self.files.add_file(&guest_path.to_string_lossy(), content);
    }

    /// Adds a kernel module, unpacked. The modules are loaded in this order before the first command. The
    /// standard error of the guest has those that the kernel refuses.
    pub fn add_module(&mut self, name: &str, content: &[u8]) {
        self.files.add_file(&format!("{MODULES}/{:08}-{name}", self.module_count), content);
        self.module_count += 1;
    }

    /// Sets the directory in which commands run.
    pub fn set_working_dir(&mut self, dir: &Path) {
        self.files.add_dir(dir);
        self.files.add_file(WORKING_DIR, dir.as_os_str().as_bytes());
    }

    /// Adds a command: an executable of the host, with its shared libraries. Commands run one after another.
    pub fn add_command(&mut self, executable: &Path, args: &[OsString]) -> Result<(), VmError> {
        let path = std::path::absolute(executable).map_err(|error| VmError::file(executable, &error))?;
        let guest_path = path.to_string_lossy().into_owned();
        add_executable(&mut self.files, &path, &guest_path, self.arch, ExecutableParts::Loaded)?;
        self.add_words(guest_path.into(), args);
        Ok(())
    }

    /// Adds a command that runs the executable of the first process.
    pub fn add_own_command(&mut self, args: &[OsString]) {
        self.add_words(INIT.into(), args);
    }

    fn add_words(&mut self, executable: OsString, args: &[OsString]) {
        let mut words = Vec::new();
        for word in [&executable].into_iter().chain(args) {
            words.extend_from_slice(word.as_bytes());
            words.push(0);
        }
        // The first process runs the files in the order of their names.
        self.files.add_file(&format!("{COMMANDS}/{:08}", self.command_count), &words);
        self.command_count += 1;
    }

    /// Boots the kernel and runs the commands. Calls `line` with each line that commands print on standard
    /// output.
    pub fn boot(&self, kernel: &KernelImage, line: &mut dyn FnMut(&str)) -> Result<GuestOutput, VmError> {
        let mut files = self.files.clone();
        if let Some(config) = kernel.config_path() {
            files.copy(&config, CONFIG)?;
        }
        let archive = files.finish();
        let initramfs = MemoryFile::with_content("initramfs", &archive)?;
        // The kernel holds the archive and the unpacked files at the same time.
        let memory_mib = (MEMORY_MIB + 2 * (archive.len() as u64 >> 20)).next_multiple_of(MEMORY_STEP_MIB);
        drop(archive);
        let machine = Machine {
            kernel,
            initramfs: &initramfs.path(),
            time_limit: self.time_limit,
            cpus: self.cpus,
            memory_mib,
            kernel_arguments: &self.kernel_arguments,
        };
        let mut stdout = String::new();
        let run = machine.run(&mut |text| {
            stdout.push_str(text);
            stdout.push('\n');
            line(text);
        })?;
        let notes: Vec<_> = run.notes.lines().filter_map(Note::parse).collect();
        let release = notes.iter().find_map(|note| match note {
            Note::Started(release) => Some(release.clone()),
            _ => None,
        });
        let Some(release) = release else {
            return Err(VmError::NoBoot {
                kernel: kernel.path().to_path_buf(),
                timed_out: run.timed_out.then_some(self.time_limit.as_secs()),
                console: run.console_end(CONSOLE_LINES),
            });
        };
        let exit_codes: Vec<_> = notes
            .iter()
            .filter_map(|note| if let Note::Exited(code) = note { Some(*code) } else { None })
            .collect();
        let failure = notes.iter().find_map(|note| match note {
            Note::Failed(reason) => Some(reason.clone()),
            _ => None,
        });
        let end = match failure {
            Some(reason) => GuestEnd::CommandFailed(reason),
            None if exit_codes.len() == self.command_count => GuestEnd::Complete,
            None if run.timed_out => GuestEnd::TimedOut(self.time_limit),
            None => GuestEnd::Crashed(run.console_end(CONSOLE_LINES)),
        };
        Ok(GuestOutput { release, stdout, stderr: run.errors, end, exit_codes })
    }
}

impl GuestOutput {
    /// Returns the exit code of each command that ended: 128 plus the signal's number after a signal.
    pub fn exit_codes(&self) -> &[i32] {
        &self.exit_codes
    }
}

impl std::fmt::Display for GuestEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete => f.write_str("every command ended"),
            Self::TimedOut(limit) => write!(f, "the time limit of {} s was reached", limit.as_secs()),
            Self::CommandFailed(reason) => f.write_str(reason),
            Self::Crashed(console) => write!(f, "the kernel crashed; its console ends with:\n{console}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_files_of_words() {
        let mut guest = Guest {
            arch: Arch::X86_64,
            files: Initramfs::new(),
            command_count: 0,
            module_count: 0,
            time_limit: TIME_LIMIT,
            cpus: 1,
            kernel_arguments: Vec::new(),
        };
        guest.add_module("xfs", b"elf");
        assert!(guest.files.contains("/vm/modules/00000000-xfs"));
        guest.add_own_command(&["load".into(), "a b".into()]);
        guest.add_own_command(&["".into()]);
        assert!(
            guest.files.contains("/vm/commands/00000000") && guest.files.contains("/vm/commands/00000001")
        );
        let archive = guest.files.finish();
        let has = |words: &[u8]| archive.windows(words.len()).any(|window| window == words);
        assert!(has(b"/init\0load\0a b\0") && has(b"/init\0\0"));
    }
}
