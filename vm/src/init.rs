//! The first process of the guest: mounts file systems, runs the commands, and ends the machine.

use crate::{
    arch::{Arch, SerialPorts},
    guest::{COMMANDS, CONFIG, INIT, MODULES, WORKING_DIR},
    notes::Note,
};
use rustix::{
    io::Errno,
    mount::{MountFlags, mount},
    system::{RebootCommand, init_module, reboot, uname},
    termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr},
};
use std::{
    ffi::{CStr, OsStr},
    fs::{self, File},
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

/// The file systems to mount: the type, and the directory. A type that the kernel does not have is left out.
const FILE_SYSTEMS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("bpf", "/sys/fs/bpf"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
    ("securityfs", "/sys/kernel/security"),
];

/// The serial ports for the output of commands and for notes.
struct Ports {
    output: File,
    errors: File,
    notes: File,
}

/// Runs the commands of the guest and ends the machine, if this process is the first process of a
/// [`Guest`](crate::Guest). Returns at once in every other process.
///
/// An executable that guests run calls this function first of all.
pub fn run_as_init() {
    let is_init = std::process::id() == 1
        && std::env::args_os().next().is_some_and(|name| name == INIT)
        && Path::new(COMMANDS).is_dir();
    if !is_init {
        return;
    }
    if let Err(error) = run() {
        // Standard error is the kernel's console.
        let _ = writeln!(io::stderr(), "{INIT}: {error}");
    }
    // The kernel panics if its first process ends, and QEMU ends then as well.
    let _ = reboot(RebootCommand::Restart);
}

fn run() -> io::Result<()> {
    mount_at("devtmpfs", "/dev")?;
    let ports = Arch::host().ok_or(io::ErrorKind::Unsupported)?.serial_ports();
    let mut ports = Ports::open(ports)?;
    let release = uname().release().to_string_lossy().into_owned();
    ports.note(&Note::Started(release.clone()))?;
    let prepared = prepare(&release).and_then(|()| load_modules(&mut ports));
    if let Err(error) = prepared.and_then(|()| run_commands(&mut ports)) {
        ports.note(&Note::Failed(error.to_string()))?;
    }
    ports.drain()
}

/// Mounts the file systems, and puts the kernel's configuration where loaders look for it.
fn prepare(release: &str) -> io::Result<()> {
    for (kind, dir) in FILE_SYSTEMS {
        let _ = mount_at(kind, dir);
    }
    if Path::new(CONFIG).exists() {
        fs::create_dir_all("/boot")?;
        fs::copy(CONFIG, format!("/boot/config-{release}"))?;
    }
    let dir = match fs::read(WORKING_DIR) {
        Ok(path) => PathBuf::from(OsStr::from_bytes(&path)),
        Err(_) => PathBuf::from("/tmp"),
    };
    fs::create_dir_all(&dir)?;
    std::env::set_current_dir(dir)
}

/// Loads the kernel modules of the guest. A module that the kernel refuses is reported; what needs the module
/// fails later, with its own reason.
fn load_modules(ports: &mut Ports) -> io::Result<()> {
    for file in sorted_files(MODULES)? {
        match init_module(&fs::read(&file)?, c"") {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
                let name = file.split_once('-').map_or(&*file, |(_number, name)| name);
                writeln!(ports.errors, "core-relo: the module {name} is not loaded: {error}")?;
            }
        }
    }
    Ok(())
}

/// Returns the files in a directory, by name. A directory that does not exist has none.
fn sorted_files(dir: &str) -> io::Result<Vec<PathBuf>> {
    if !Path::new(dir).is_dir() {
        return Ok(Vec::new());
    }
    let mut files: Vec<_> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    Ok(files)
}

fn run_commands(ports: &mut Ports) -> io::Result<()> {
    for file in sorted_files(COMMANDS)? {
        let words = fs::read(&file)?;
        let code = exit_code(run_command(&words, ports)?);
        ports.note(&Note::Exited(code))?;
    }
    Ok(())
}

/// Runs a command: words with a NUL byte at the end of each.
fn run_command(words: &[u8], ports: &Ports) -> io::Result<ExitStatus> {
    let mut words = words.strip_suffix(&[0]).unwrap_or(words).split(|byte| *byte == 0).map(OsStr::from_bytes);
    let program = words.next().ok_or(io::ErrorKind::InvalidData)?;
    let mut command = Command::new(program);
    command.args(words).env("HOME", "/tmp").stdin(Stdio::null());
    // The serial ports are terminals, but their reader is a program.
    command.env("NO_COLOR", "1").env("TERM", "dumb");
    command.stdout(ports.output.try_clone()?).stderr(ports.errors.try_clone()?);
    command.status().map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))
}

fn exit_code(status: ExitStatus) -> i32 {
    const SIGNALLED: i32 = 128;
    status.code().or_else(|| Some(SIGNALLED + status.signal()?)).unwrap_or(SIGNALLED)
}

fn mount_at(kind: &str, dir: &str) -> io::Result<()> {
    // Some directories, such as /sys/kernel/tracing, exist only if the kernel supports the file system.
    let _ = fs::create_dir_all(dir);
    Ok(mount(kind, dir, kind, MountFlags::empty(), None::<&CStr>)?)
}

impl Ports {
    fn open(names: SerialPorts) -> io::Result<Self> {
        Ok(Self {
            output: open_raw(names.output)?,
            errors: open_raw(names.errors)?,
            notes: open_raw(names.notes)?,
        })
    }

    fn note(&mut self, note: &Note) -> io::Result<()> {
        writeln!(self.notes, "{note}")
    }

    /// Waits until the ports have sent everything.
    fn drain(&self) -> io::Result<()> {
        for port in [&self.output, &self.errors, &self.notes] {
            tcdrain(port)?;
        }
        Ok(())
    }
}

/// Opens a serial port that sends bytes unchanged.
fn open_raw(name: &str) -> io::Result<File> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
    let port = File::options().read(true).write(true).open(name).map_err(named)?;
    let mut settings = tcgetattr(&port)?;
    settings.make_raw();
    tcsetattr(&port, OptionalActions::Now, &settings)?;
    Ok(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_counts_from_128() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn other_processes_are_no_first_process() {
        // The function returns.
        run_as_init();
    }
}
