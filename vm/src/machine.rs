//! One run of QEMU: its arguments, its time limit, and the guest's output.

use crate::{
    arch::Arch, error::VmError, executable::LIBRARY_DIR, kernel_image::KernelImage, memory_file::MemoryFile,
};
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// A virtual machine to run.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers set every field")]
pub struct Machine<'m> {
    /// The kernel.
    pub kernel: &'m KernelImage,
    /// The file with the initramfs.
    pub initramfs: &'m Path,
    /// The time limit, boot included.
    pub time_limit: Duration,
    /// The number of processors.
    pub cpus: u32,
    /// The memory in MiB.
    pub memory_mib: u64,
    /// Words for the end of the kernel's command line.
    pub kernel_arguments: &'m [String],
}

/// The output of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOutput {
    /// The kernel's console.
    pub console: String,
    /// The notes of the first process: the third serial port.
    pub notes: String,
    /// The standard error of commands: the fourth serial port.
    pub errors: String,
    /// QEMU's own messages.
    pub qemu: String,
    /// Whether the machine reached the time limit.
    pub timed_out: bool,
}

/// The interval at which the time limit is checked while the machine prints nothing.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The most bytes that a serial port may print.
const OUTPUT_BYTES: u64 = 256 << 20;

/// The kernel's command line: boots quickly, ends at once after a panic, and permits every kind of program.
const COMMAND_LINE: [&str; 15] = [
    "quiet",
    "panic=-1",
    "oops=panic",
    "rdinit=/init",
    "nokaslr",
    "mitigations=off",
    "nowatchdog",
    "random.trust_cpu=on",
    "cryptomgr.notests",
    "rcupdate.rcu_expedited=1",
    "8250.nr_uarts=4",
    "audit=0",
    "apparmor=0",
    "selinux=0",
    "lsm=bpf",
];

/// Arguments of x86-64 kernels only.
const COMMAND_LINE_X86: [&str; 3] = ["reboot=t", "tsc=reliable", "no_timer_check"];

/// Arguments of ppc64le kernels that QEMU emulates. With a radix page table and pages of 64 KiB, QEMU 7.2
/// forgets the translated code of only the first 4 KiB of an invalidated page. Elsewhere, a process executes
/// a removed uprobe again, which ends the process with SIGTRAP. An invalidation for a hash page table forgets
/// all translated code.
const COMMAND_LINE_EMULATED_PPC64: [&str; 1] = ["disable_radix"];

impl RunOutput {
    /// Returns the last lines of the kernel's console and of QEMU's messages, from the first sign of a crash.
    pub fn console_end(&self, line_count: usize) -> String {
        const CRASH_MARKS: [&str; 5] =
            ["BUG:", "Oops", "Kernel panic", "general protection", "Unable to mount"];
        let lines: Vec<_> = self.console.lines().chain(self.qemu.lines()).collect();
        let crash = lines.iter().position(|line| CRASH_MARKS.iter().any(|mark| line.contains(mark)));
        let start = crash.unwrap_or(lines.len().saturating_sub(line_count));
        lines.into_iter().skip(start).take(line_count).collect::<Vec<_>>().join("\n")
    }
}

impl Machine<'_> {
    /// Runs the machine and calls `line` with each line of the second serial port, the standard output of
    /// commands.
    pub fn run(&self, line: &mut dyn FnMut(&str)) -> Result<RunOutput, VmError> {
        let arch = self.kernel.arch();
        let qemu = find_qemu(arch)?;
        let ports = PortFiles::new()?;
        let mut command = self.command(&qemu, &ports);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(ports.qemu.descriptor()?);
        let mut process = Process::start(command, arch)?;
        let end = Instant::now() + self.time_limit;
        let (mut timed_out, mut bytes) = (false, 0);
        let mut next_check = Instant::now();
        let status = loop {
            let closed = match process.lines.recv_timeout(CHECK_INTERVAL) {
                Ok(text) => {
                    bytes += text.len() as u64 + 1;
                    line(text.trim_end_matches('\r'));
                    false
                }
                Err(RecvTimeoutError::Disconnected) => true,
                Err(RecvTimeoutError::Timeout) => false,
            };
            // A machine may close its output long before it ends.
            if closed {
                if let Some(status) = process.exit_status()? {
                    break status;
                }
                thread::sleep(CHECK_INTERVAL);
            }
            if bytes > OUTPUT_BYTES {
                return Err(VmError::Output { limit_bytes: OUTPUT_BYTES });
            }
            let now = Instant::now();
            if now < next_check {
                continue;
            }
            next_check = now + CHECK_INTERVAL;
            if ports.longest()? > OUTPUT_BYTES {
                return Err(VmError::Output { limit_bytes: OUTPUT_BYTES });
            }
            if now > end && !timed_out {
                timed_out = true;
                process.kill()?;
            }
        };
        let output = RunOutput {
            console: ports.console.text()?,
            notes: ports.notes.text()?,
            errors: ports.errors.text()?,
            qemu: ports.qemu.text()?,
            timed_out,
        };
        if !status.success() && !timed_out && output.console.is_empty() {
            // QEMU refuses an image or an argument before the kernel prints anything.
            return Err(VmError::KernelNotStarted {
                kernel: self.kernel.path().to_path_buf(),
                program: arch.qemu(),
                reason: without_program(&output.qemu, arch.qemu()),
            });
        }
        Ok(output)
    }

    fn command(&self, qemu: &Path, files: &PortFiles) -> Command {
        let arch = self.kernel.arch();
        let mut command = Command::new(qemu);
        if let Some(setpriv) = find_program("setpriv") {
            // QEMU ends with this process, even if the process is killed.
            command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL"]).arg(qemu);
        }
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.arg("-m").arg(self.memory_mib.to_string()).arg("-smp").arg(self.cpus.to_string());
        let is_emulated = !kvm_works(arch);
        if is_emulated {
            let threads = if self.cpus > 1 { "multi" } else { "single" };
            command.args(["-accel", &format!("tcg,thread={threads},tb-size=256"), "-cpu", tcg_cpu(arch)]);
        } else {
            command.args(["-accel", "kvm", "-cpu", "host"]);
        }
        command.arg("-machine").arg(machine_type(arch));
        command.arg("-kernel").arg(self.kernel.path()).arg("-initrd").arg(self.initramfs);
        command.arg("-append").arg(command_line(arch, is_emulated, self.kernel_arguments));
        let ports = [
            ("console", files.console.path()),
            ("output", PathBuf::from("/proc/self/fd/1")),
            ("notes", files.notes.path()),
            ("errors", files.errors.path()),
        ];
        if arch == Arch::S390x {
            command.args(["-device", "virtio-serial-ccw"]);
        }
        for (index, (name, path)) in ports.iter().enumerate() {
            command.args(["-chardev", &format!("file,id={name},path={}", path.display())]);
            command.args(port_arguments(arch, index, name));
        }
        command
    }
}

/// Returns the arguments for a serial port, connected to the character device `name`. The order of the ports
/// is the order of the guest's devices.
fn port_arguments(arch: Arch, index: usize, name: &str) -> [String; 2] {
    let device = match (arch, index) {
        (Arch::X86_64, _) => format!("isa-serial,chardev={name},index={index}"),
        (Arch::Aarch64 | Arch::Riscv64, 0) => return ["-serial".to_owned(), format!("chardev:{name}")],
        (Arch::Aarch64 | Arch::Riscv64, _) => format!("pci-serial,chardev={name},addr={}", index + 1),
        (Arch::S390x, 0) => format!("sclpconsole,chardev={name}"),
        (Arch::S390x, _) => format!("virtconsole,chardev={name}"),
        (Arch::Ppc64le, _) => format!("spapr-vty,chardev={name}"),
    };
    ["-device".to_owned(), device]
}

const fn machine_type(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "pc,hpet=off,usb=off,vmport=off,acpi=off",
        Arch::Aarch64 => "virt,gic-version=max",
        Arch::S390x => "s390-ccw-virtio",
        Arch::Riscv64 => "virt",
        Arch::Ppc64le => "pseries",
    }
}

/// Returns the processor that TCG emulates.
const fn tcg_cpu(arch: Arch) -> &'static str {
    match arch {
        // All features except cmpxchg16b. In QEMU 7.2, that instruction sometimes leaves wrong flags, and the
        // kernel crashes once in some dozens of boots.
        Arch::X86_64 => "max,-cx16",
        // All features except pointer authentication, whose emulation takes most of the time of a boot.
        Arch::Aarch64 => "max,pauth-impdef=on",
        Arch::S390x => "max",
        Arch::Riscv64 => "rv64",
        Arch::Ppc64le => "power9",
    }
}

/// The files of the serial ports, and of QEMU's own messages.
struct PortFiles {
    console: MemoryFile,
    notes: MemoryFile,
    errors: MemoryFile,
    qemu: MemoryFile,
}

impl PortFiles {
    fn new() -> Result<Self, VmError> {
        Ok(Self {
            console: MemoryFile::new("console")?,
            notes: MemoryFile::new("notes")?,
            errors: MemoryFile::new("errors")?,
            qemu: MemoryFile::new("messages of QEMU")?,
        })
    }

    /// Returns the length of the longest file in bytes.
    fn longest(&self) -> Result<u64, VmError> {
        let files = [&self.console, &self.notes, &self.errors, &self.qemu];
        files.into_iter().try_fold(0, |longest, file| Ok(file.len()?.max(longest)))
    }
}

/// A process of QEMU, killed when dropped.
struct Process {
    child: Child,
    /// The lines that the process prints. The channel closes with the output.
    lines: mpsc::Receiver<String>,
    arch: Arch,
}

impl Process {
    fn start(mut command: Command, arch: Arch) -> Result<Self, VmError> {
        let mut child = command.spawn().map_err(|error| qemu_error(arch, &error))?;
        let lines = child_lines(&mut child);
        Ok(Self { child, lines, arch })
    }

    fn kill(&mut self) -> Result<(), VmError> {
        self.child.kill().map_err(|error| qemu_error(self.arch, &error))
    }

    /// Returns the exit status of a process that has ended.
    fn exit_status(&mut self) -> Result<Option<ExitStatus>, VmError> {
        self.child.try_wait().map_err(|error| qemu_error(self.arch, &error))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn qemu_error(arch: Arch, error: &std::io::Error) -> VmError {
    VmError::Qemu { program: arch.qemu(), reason: error.to_string() }
}

/// Returns the messages of QEMU without the name of the program at the start of each line.
fn without_program(messages: &str, program: &str) -> String {
    let message = |line: &str| {
        let rest = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
        rest.unwrap_or(line).to_owned()
    };
    messages.trim().lines().map(message).collect::<Vec<_>>().join("\n")
}

/// Returns the kernel's command line. One word is a variable in the environment of the first process.
fn command_line(arch: Arch, is_emulated: bool, more: &[String]) -> String {
    let only_here: &[&str] = match arch {
        Arch::X86_64 => &COMMAND_LINE_X86,
        Arch::Ppc64le if is_emulated => &COMMAND_LINE_EMULATED_PPC64,
        Arch::Aarch64 | Arch::S390x | Arch::Riscv64 | Arch::Ppc64le => &[],
    };
    let console = format!("console={}", arch.serial_ports().console);
    let libraries = format!("LD_LIBRARY_PATH={LIBRARY_DIR}");
    let words = [console.as_str()].into_iter().chain(COMMAND_LINE).chain(only_here.iter().copied());
    let words = words.chain([libraries.as_str()]).chain(more.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the lines that a process prints. The channel closes with the output of the process, and beyond the
/// limit.
fn child_lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let out = child.stdout.take();
    thread::spawn(move || {
        // One byte more than the limit, so that the reader notices a line that is too long.
        let out = out.into_iter().map(|out| out.take(OUTPUT_BYTES + 1));
        let texts = out.flat_map(|out| BufReader::new(out).split(b'\n')).map_while(Result::ok);
        for text in texts {
            if sender.send(String::from_utf8_lossy(&text).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Finds the QEMU program of an architecture in `PATH`.
pub fn find_qemu(arch: Arch) -> Result<PathBuf, VmError> {
    find_program(arch.qemu()).ok_or(VmError::NoQemu(arch))
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Returns the name of the accelerator that a guest of this architecture gets: KVM, or TCG, which emulates.
pub fn accelerator(arch: Arch) -> &'static str {
    if kvm_works(arch) { "KVM" } else { "TCG" }
}

/// Returns whether `/dev/kvm` can be opened and runs unmodified kernels. A PVM hypervisor runs only kernels
/// built for it.
fn kvm_works(arch: Arch) -> bool {
    let opened = || File::options().read(true).write(true).open("/dev/kvm").is_ok();
    Arch::host() == Some(arch) && !Path::new("/sys/module/kvm_pvm").exists() && opened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_its_console_and_the_path_of_the_libraries() {
        let x86 = command_line(Arch::X86_64, false, &[]);
        assert!(x86.starts_with("console=ttyS0,115200 ") && x86.contains(" reboot=t "));
        assert!(x86.ends_with(" LD_LIBRARY_PATH=/vm/lib"));
        let arm = command_line(Arch::Aarch64, true, &["page_poison=1".to_owned()]);
        assert!(arm.starts_with("console=ttyAMA0 ") && !arm.contains("reboot=t"));
        assert!(arm.ends_with(" LD_LIBRARY_PATH=/vm/lib page_poison=1"));
    }

    #[test]
    fn emulated_ppc64le_guests_have_no_radix_page_table() {
        let has_radix = |arch, is_emulated| !command_line(arch, is_emulated, &[]).contains(" disable_radix ");
        assert!(!has_radix(Arch::Ppc64le, true));
        assert!(has_radix(Arch::Ppc64le, false) && has_radix(Arch::S390x, true));
    }

    #[test]
    fn messages_of_qemu_lose_the_name_of_the_program() {
        let messages = "qemu-system-x86_64: warning: x\nqemu-system-x86_64: Error while loading elf kernel\n";
        let expected = "warning: x\nError while loading elf kernel";
        assert_eq!(without_program(messages, "qemu-system-x86_64"), expected);
    }

    #[test]
    fn the_end_of_the_console_begins_with_the_crash() {
        let lines = ["boot", "BUG: x", "RIP", "end"].join("\n");
        let output = RunOutput {
            console: lines,
            notes: String::new(),
            errors: String::new(),
            qemu: String::new(),
            timed_out: false,
        };
        assert_eq!(output.console_end(2), "BUG: x\nRIP");
        let quiet = RunOutput { console: "a\nb\nc".to_owned(), ..output };
        assert_eq!(quiet.console_end(2), "b\nc");
    }
}
