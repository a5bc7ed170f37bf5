//! The guest's files and its first script.

use std::fmt::Write as _;
use std::path::Path;

use core_relo_vm::{Initramfs, executable::is_static};

use crate::kernels::boot::Bootable;
use crate::system::{Failure, Outcome, find};

/// The line on the guest's third serial port at the start of the tests. This port carries the guest's state, without the tests' output.
pub const STARTED: &str = "@@started";
/// The prefix of the line on that port with the exit status of the tests.
pub const EXITED: &str = "@@exited ";
/// The prefix of the lines on that port that name skipped tests.
pub const SKIP: &str = "SKIP ";

/// The guest's directory of test objects.
const PROGS: &str = "t/progs";
/// The directory of the objects of the guest's byte order.
const OBJECTS: &str = "t/progs/el";

/// Packs the guest's files.
pub fn pack(kernel: &Bootable, test: &Path, progs: &Path, args: &[String]) -> Outcome<Vec<u8>> {
    let mut files = Initramfs::new();
    files.copy(&busybox().ok_or_else(no_busybox)?, "bin/busybox")?;
    let mut modules = Vec::new();
    for module in &kernel.modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.copy(module, &format!("ko/{name}"))?;
        modules.push(name);
    }
    if let Some(config) = &kernel.config {
        files.copy(config, &format!("boot/config-{}", kernel.release))?;
    }
    files.copy(test, "t/live")?;
    if files.copy(progs, OBJECTS)? == 0 {
        return Err(Failure::CannotRun(format!("no objects in {}", progs.display())));
    }
    files.add_file("init", script(&modules, args).as_bytes());
    Ok(files.finish())
}

/// Finds a statically linked busybox.
pub fn busybox() -> Option<std::path::PathBuf> {
    ["busybox", "busybox.static", "/bin/busybox", "/bin/busybox.static"]
        .into_iter()
        .filter_map(find)
        .find(|path| std::fs::read(path).is_ok_and(|data| is_static(&data)))
}

pub fn no_busybox() -> Failure {
    Failure::CannotRun("no static busybox (Debian, Ubuntu: apt-get install busybox-static)".to_owned())
}

/// Returns the script that the kernel runs first (`init`). The first serial port has the kernel's console, the second the tests' output,
/// the third the guest's state.
fn script(modules: &[String], args: &[String]) -> String {
    let mut text = String::from(
        "#!/bin/busybox sh\n\
         B=/bin/busybox\n\
         $B mount -t devtmpfs dev /dev\n\
         exec </dev/null >/dev/ttyS1 2>&1\n\
         $B stty -F /dev/ttyS1 raw -echo\n\
         $B stty -F /dev/ttyS2 raw -echo\n\
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
         ip link set lo up\n",
    );
    for module in modules {
        // A module that fails to load shows up as skipped tests.
        let _ = writeln!(text, "insmod /ko/{} || echo 'no module {module}'", quoted(module));
    }
    let words: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
    let _ = write!(
        text,
        "export HOME=/tmp RUST_BACKTRACE=1 CORE_RELO_PROGS=/{PROGS} CORE_RELO_SKIPS=/dev/ttyS2 CORE_RELO_VM=1\n\
         cd /tmp\n\
         echo '{STARTED}' >/dev/ttyS2\n\
         /t/live {}\n\
         echo \"{EXITED}$?\" >/dev/ttyS2\n\
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
        let text = script(&["00-a.ko".to_owned()], &["it's".to_owned(), "a b".to_owned()]);
        assert!(text.contains("/t/live 'it'\\''s' 'a b'\n"));
        assert!(text.contains("insmod /ko/'00-a.ko' "));
    }
}
