//! One run of QEMU: its arguments, its time limit, and the guest's output.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::guest;
use crate::system::{Failure, Outcome, find, is_installed};

pub const QEMU: &str = "qemu-system-x86_64";

/// A virtual machine to run.
#[derive(Debug)]
pub struct Machine<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    /// The directory for the kernel's console and the guest's notes.
    pub dir: &'a Path,
    pub limit: Duration,
    pub cpus: u32,
}

/// The output of a run.
#[derive(Debug)]
pub struct RunOutput {
    /// The kernel's console.
    pub console: String,
    /// The notes of the guest's script and of skipped tests.
    pub notes: String,
    /// QEMU's own messages.
    pub errors: String,
    pub timed_out: bool,
}

/// The interval at which the time limit is checked while the machine prints nothing.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The memory of the machine in MiB.
const MEMORY: &str = "1024";

/// All features of TCG except cmpxchg16b. In QEMU 7.2, that instruction sometimes leaves wrong flags, and the kernel crashes
/// once in some dozens of boots.
const TCG_CPU: &str = "max,-cx16";

/// The kernel's command line: boots quickly, ends at once after a panic, and permits every kind of program.
const COMMAND_LINE: [&str; 19] = [
    "console=ttyS0,115200",
    "quiet",
    "panic=-1",
    "oops=panic",
    "reboot=t",
    "rdinit=/init",
    "nokaslr",
    "mitigations=off",
    "nowatchdog",
    "random.trust_cpu=on",
    "tsc=reliable",
    "no_timer_check",
    "cryptomgr.notests",
    "rcupdate.rcu_expedited=1",
    "8250.nr_uarts=4",
    "audit=0",
    "apparmor=0",
    "selinux=0",
    "lsm=bpf",
];

impl RunOutput {
    /// Returns whether the guest started the tests.
    pub fn started(&self) -> bool {
        self.notes.lines().any(|line| line.trim() == guest::STARTED)
    }
}

impl Machine<'_> {
    /// Runs the machine and calls `line` with each line that the tests print.
    pub fn run(&self, line: &mut dyn FnMut(&str)) -> Outcome<RunOutput> {
        let errors = self.dir.join("qemu");
        let created = File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(created);
        let mut child = command.spawn().map_err(|error| Failure::CannotRun(format!("{QEMU}: {error}")))?;
        let out = child.stdout.take();
        let (sender, lines) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            for text in out.into_iter().flat_map(|out| BufReader::new(out).split(b'\n')).map_while(Result::ok)
            {
                if sender.send(String::from_utf8_lossy(&text).trim_end_matches('\r').to_owned()).is_err() {
                    return;
                }
            }
        });
        let until = Instant::now() + self.limit;
        let mut timed_out = false;
        // QEMU closes its output, and with it the channel, when it ends.
        loop {
            match lines.recv_timeout(CHECK_INTERVAL) {
                Ok(text) => line(&text),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > until && !timed_out {
                timed_out = true;
                kill(&mut child);
            }
        }
        let _ = reader.join();
        let _ = child.wait();
        let read = |name: &str| {
            String::from_utf8_lossy(&std::fs::read(self.dir.join(name)).unwrap_or_default()).into_owned()
        };
        Ok(RunOutput { console: read("console"), notes: read("notes"), errors: read("qemu"), timed_out })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(QEMU);
        if is_installed("setpriv") {
            // QEMU ends with this task, even if the task is killed.
            command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", QEMU]);
        }
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", MEMORY]);
        command.arg("-smp").arg(self.cpus.to_string());
        if kvm_works() {
            command.args(["-accel", "kvm", "-cpu", "host"]);
        } else {
            let threads = if self.cpus > 1 { "multi" } else { "single" };
            command.args(["-accel", &format!("tcg,thread={threads},tb-size=256"), "-cpu", TCG_CPU]);
        }
        command.args(["-machine", "pc,hpet=off,usb=off,vmport=off,acpi=off"]);
        command.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initramfs);
        command.arg("-append").arg(COMMAND_LINE.join(" "));
        let output = PathBuf::from("/proc/self/fd/1");
        let ports =
            [("console", self.dir.join("console")), ("output", output), ("notes", self.dir.join("notes"))];
        for (index, (name, path)) in ports.iter().enumerate() {
            // QEMU splits arguments at commas; a doubled comma stands for itself.
            let path = path.display().to_string().replace(',', ",,");
            command.args(["-chardev", &format!("file,id={name},path={path}")]);
            command.args(["-device", &format!("isa-serial,chardev={name},index={index}")]);
        }
        command
    }
}

/// Returns whether QEMU is installed.
pub fn is_qemu_installed() -> bool {
    find(QEMU).is_some()
}

pub fn accelerator() -> &'static str {
    if kvm_works() { "KVM" } else { "TCG" }
}

/// Returns whether `/dev/kvm` can be opened and runs unmodified kernels. A PVM hypervisor runs only kernels built for it.
fn kvm_works() -> bool {
    let opened = File::options().read(true).write(true).open("/dev/kvm");
    cfg!(target_arch = "x86_64") && opened.is_ok() && !Path::new("/sys/module/kvm_pvm").exists()
}

fn kill(child: &mut Child) {
    if let Err(error) = child.kill() {
        eprintln!("{QEMU}: {error}");
    }
}
