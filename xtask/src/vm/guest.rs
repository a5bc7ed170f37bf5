//! The guest's files and its first script.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use core_relo_vm::{
    Arch, Initramfs, SerialPorts,
    executable::{ExecutableParts, LIBRARY_DIR, add_executable, is_static},
};

use super::build;
use crate::install;
use crate::kernels::boot::{self, Bootable};
use crate::platform::Platform;
use crate::system::{Failure, Outcome, find};

/// The line on the guest's third serial port at the start of the tests. This port carries the guest's state,
/// without the tests' output.
pub const STARTED: &str = "@@started";
/// The prefix of the line on that port with the exit status of the tests.
pub const EXITED: &str = "@@exited ";
/// The prefix of the lines on that port that name skipped tests.
pub const SKIP: &str = "SKIP ";

/// The longest wait for the serial ports, in tenths of a second. The kernel creates those of a module some
/// time after it is inserted. A redirection to a device that is not there yet would create a file.
const PORT_TENTHS: u32 = 300;

/// The guest's directory of test objects.
const PROGS: &str = "t/progs";
/// The guest's path of the live tests.
const LIVE_TEST: &str = "t/live";
/// The guest's path of the command.
const COMMAND: &str = "t/core-relo";

/// The executables of the guests of an architecture.
#[derive(Debug)]
pub struct GuestFiles {
    test: PathBuf,
    /// The command, for the live tests that run it.
    command: PathBuf,
    busybox: PathBuf,
}

impl GuestFiles {
    /// Builds the tests and the command, and finds a static busybox, or installs or fetches one.
    pub fn new(platform: &'static Platform, may_install: bool) -> Outcome<Self> {
        let busybox = if Some(platform.arch) == Arch::host() {
            if find_busybox().is_none() && may_install {
                install::busybox();
            }
            find_busybox().ok_or_else(no_busybox)?
        } else {
            boot::busybox(platform)?
        };
        Ok(Self {
            test: build::live_test(platform, may_install)?,
            command: build::command(platform, may_install)?,
            busybox,
        })
    }
}

/// Packs the guest's files.
pub fn pack(kernel: &Bootable, executables: &GuestFiles, progs: &Path, args: &[String]) -> Outcome<Vec<u8>> {
    let mut files = Initramfs::new();
    files.copy(&executables.busybox, "bin/busybox")?;
    let mut modules = Vec::new();
    for module in &kernel.modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.copy(module, &format!("ko/{name}"))?;
        modules.push(name);
    }
    if let Some(config) = &kernel.config {
        files.copy(config, &format!("boot/config-{}", kernel.release))?;
    }
    // The live tests attach uprobes to functions of their own and of libc. Of libraries that both need, the
    // first stays.
    let arch = kernel.platform.arch;
    add_executable(&mut files, &executables.test, LIVE_TEST, arch, ExecutableParts::All)?;
    add_executable(&mut files, &executables.command, COMMAND, arch, ExecutableParts::Loaded)?;
    if files.copy(progs, &format!("{PROGS}/{}", kernel.platform.objects))? == 0 {
        return Err(Failure::CannotRun(format!("no objects in {}", progs.display())));
    }
    files.add_file("init", script(kernel.platform.arch.serial_ports(), &modules, args).as_bytes());
    Ok(files.finish())
}

/// Finds a statically linked busybox on the host.
fn find_busybox() -> Option<PathBuf> {
    ["busybox", "busybox.static", "/bin/busybox", "/bin/busybox.static"]
        .into_iter()
        .filter_map(find)
        .find(|path| std::fs::read(path).is_ok_and(|data| is_static(&data)))
}

fn no_busybox() -> Failure {
    Failure::CannotRun("no static busybox (Debian, Ubuntu: apt-get install busybox-static)".to_owned())
}

/// Returns the script that the kernel runs first (`init`). The kernel's console, the tests' output and the
/// guest's state have a serial port each.
fn script(ports: SerialPorts, modules: &[String], args: &[String]) -> String {
    let SerialPorts { output, notes, errors, .. } = ports;
    // Only the console works before the module with the serial ports is inserted.
    let (port_modules, other_modules): (Vec<_>, Vec<_>) =
        modules.iter().partition(|module| module.contains(boot::SERIAL_PORTS));
    let first: String =
        port_modules.iter().map(|module| format!("$B insmod /ko/{}\n", quoted(module))).collect();
    let mut text = format!(
        "#!/bin/busybox sh\n\
         B=/bin/busybox\n\
         $B mount -t devtmpfs dev /dev\n\
         exec </dev/null\n\
         {first}\
         n=0; for p in {output} {notes} {errors}; do while ! $B test -c $p -o $n -ge {PORT_TENTHS}; do \
         $B usleep 100000; n=$((n+1)); done; done\n\
         exec >{output} 2>&1\n\
         $B stty -F {output} raw -echo\n\
         $B stty -F {notes} raw -echo\n\
         $B --install -s /bin\n\
         mount -t proc proc /proc\n\
         mount -t sysfs sys /sys\n\
         mount -t bpf bpf /sys/fs/bpf\n\
         mount -t cgroup2 cgroup2 /sys/fs/cgroup\n\
         mount -t tracefs tracefs /sys/kernel/tracing\n\
         mount -t debugfs debugfs /sys/kernel/debug\n\
         mount -t securityfs securityfs /sys/kernel/security\n\
         mount -t tmpfs tmpfs /tmp\n\
         mkdir -p /dev/pts /dev/shm\n\
         mount -t devpts devpts /dev/pts\n\
         mount -t tmpfs tmpfs /dev/shm\n\
         ip link set lo up\n\
         sysctl -w net.core.bpf_jit_enable=1 >/dev/null 2>&1\n",
    );
    for module in other_modules {
        // A module that fails to load shows up as skipped tests.
        let _ = writeln!(text, "insmod /ko/{} || echo 'no module {module}'", quoted(module));
    }
    let words: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
    let _ = write!(
        text,
        "export HOME=/tmp RUST_BACKTRACE=1 CORE_RELO_PROGS=/{PROGS} CORE_RELO_SKIPS={notes} CORE_RELO_VM=1\n\
         export CORE_RELO_COMMAND=/{COMMAND} LD_LIBRARY_PATH={LIBRARY_DIR}\n\
         cd /tmp\n\
         echo '{STARTED}' >{notes}\n\
         /{LIVE_TEST} {}\n\
         echo \"{EXITED}$?\" >{notes}\n\
         exec >/dev/null 2>&1\n\
         $B reboot -f\n",
        words.join(" ")
    );
    text
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted() {
        let ports = Arch::X86_64.serial_ports();
        let text = script(ports, &["00-a.ko".to_owned()], &["it's".to_owned(), "a b".to_owned()]);
        assert!(text.contains("\nexec >/dev/ttyS1 2>&1\n") && text.contains("SKIPS=/dev/ttyS2 "));
        assert!(text.contains("/t/live 'it'\\''s' 'a b'\n"));
        assert!(text.contains("\nexport CORE_RELO_COMMAND=/t/core-relo LD_LIBRARY_PATH=/vm/lib\n"));
        assert!(text.contains("insmod /ko/'00-a.ko' "));
        let text = script(Arch::S390x.serial_ports(), &["00-virtio_console.ko".to_owned()], &[]);
        let expected = "\n$B insmod /ko/'00-virtio_console.ko'\nn=0; for p in /dev/hvc0 /dev/hvc1 /dev/hvc2;";
        assert!(text.contains(expected), "{text}");
    }
}
