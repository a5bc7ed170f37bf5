//! Requirements of a test on the running kernel. Each check works without the loader, so that a loader error
//! is never taken for a reason to skip.

use core_relo::btf::{Btf, Kind, Type};
use core_relo_loader::{
    Errno,
    attach::{ProgramRef, TraceOptions},
    inventory::ProgramInfo,
    load::{Kernel as _, MapCreate, ProgLoad, RunningKernel},
    map_flags,
    object::AttachType,
    target,
};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{UnshareFlags, unshare_unsafe},
};
use std::{
    collections::BTreeMap,
    env, fs,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{
    command::command_path,
    netns::{Netns, Veth},
};

/// A requirement that not every kernel or user meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Root privileges.
    Root,
    /// bpf(2) accepts a simple program.
    Bpf,
    /// A kernel that creates maps and loads socket filters only for privileged processes.
    PrivilegedBpf,
    /// A kernel of at least this version.
    Kernel(u32, u32),
    /// The kernel's types in sysfs.
    Btf,
    /// fentry and fexit programs. Needs [`Need::Btf`].
    Tracing,
    /// Iterators that get a map as their target. Needs [`Need::Btf`].
    MapIterators,
    /// LSM programs: tracing, and `bpf` among the active security modules.
    Lsm,
    /// Kprobes, also at [the entries of functions](Need::FunctionEntries).
    Kprobes,
    /// Kprobes at the entries of functions, if the kernel has kprobes at all.
    FunctionEntries,
    /// Links of several kprobes.
    KprobeMulti,
    /// Uprobes.
    Uprobes,
    /// A mounted tracefs. If it is not mounted, this thread mounts it in a new mount namespace.
    Tracefs,
    /// A mounted cgroup2.
    Cgroup,
    /// Pairs of veth interfaces.
    Veth,
    /// A function in the kernel's types. Needs [`Need::Btf`].
    Function(&'static str),
    /// An enumerator in the kernel's types. It shows that a map type, link type or helper exists.
    Enumerator(&'static str),
    /// A variable in the kernel's types whose address /proc/kallsyms lists.
    Variable(&'static str),
    /// A JIT compiler that is on: the interpreter runs neither callbacks nor calls of kernel functions nor
    /// struct_ops.
    Jit,
    /// struct_ops: a JIT compiler that makes trampolines.
    StructOps,
    /// Maps of the type arena, which the kernel's JIT compiler must support.
    Arena,
    /// A readable kernel configuration.
    Configuration,
    /// Memory allocation in any context. Since 6.18 the kernel uses an instruction for it that compares and
    /// exchanges 16 bytes. The emulated x86-64 processor of `cargo xtask vm` lacks it, as do all PowerPC and
    /// most RISC-V processors.
    MemoryAnywhere,
    /// The command `core-relo`.
    Command,
}

// Numbers of program types, attach types and map types.
const SOCKET_FILTER: u32 = 1;
const TRACING: u32 = 26;
const ARENA: u32 = 33;
const FENTRY: u32 = 24;
const TRACE_ITER: u32 = 28;

/// The instructions `r0 = 0; exit`.
const NOOP: [u8; 16] = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

impl Need {
    /// Checks the requirement. The error is the reason to skip the test.
    pub fn is_met(self) -> Result<(), String> {
        match self {
            Self::Root => met(rustix::process::geteuid().is_root(), "needs root"),
            Self::Bpf => bpf().map_err(|e| format!("bpf(2) loads nothing here: {e}")),
            Self::PrivilegedBpf => {
                const SETTING: &str = "/proc/sys/kernel/unprivileged_bpf_disabled";
                let value = fs::read_to_string(SETTING).map_err(|e| format!("{SETTING}: {e}"))?;
                met(value.trim() != "0", "kernel.unprivileged_bpf_disabled is 0")
            }
            Self::Kernel(major, minor) => met(
                kernel_version() >= (major, minor),
                &format!("needs Linux {major}.{minor}, this is {}", release()),
            ),
            Self::Btf => exists("/sys/kernel/btf/vmlinux"),
            Self::Tracing => tracing().clone(),
            Self::MapIterators => map_iterators().clone(),
            Self::Lsm => {
                let active = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
                met(
                    active.split(',').any(|name| name.trim() == "bpf"),
                    "`bpf` is no active security module",
                )?;
                tracing().clone()
            }
            Self::Kprobes => {
                exists("/sys/bus/event_source/devices/kprobe")?;
                Self::FunctionEntries.is_met()
            }
            Self::FunctionEntries => met(
                !cfg!(target_arch = "riscv64") || is_configured("CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS"),
                "this kernel probes no entries of functions that ftrace can trace",
            ),
            Self::KprobeMulti => in_btf("bpf_kprobe_multi_link", "struct", |btf| {
                btf.find(b"bpf_kprobe_multi_link", Kind::Struct).is_some()
            }),
            Self::Uprobes => exists("/sys/bus/event_source/devices/uprobe"),
            Self::Tracefs => tracefs(),
            Self::Cgroup => {
                super::cgroup::mount().map(drop).ok_or_else(|| "cgroup2 is not mounted".to_owned())
            }
            Self::Veth => veth().clone(),
            Self::Function(name) => {
                in_btf(name, "function", |btf| btf.find(name.as_bytes(), Kind::Func).is_some())
            }
            Self::Enumerator(name) => in_btf(name, "enumerator", |btf| has_enumerator(btf, name.as_bytes())),
            Self::Variable(name) => {
                in_btf(name, "variable", |btf| btf.find(name.as_bytes(), Kind::Var).is_some())?;
                let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
                let listed = symbols.lines().any(|line| line.split_ascii_whitespace().nth(2) == Some(name));
                met(listed, &format!("this kernel shows no address of `{name}`"))
            }
            Self::Jit => jit(),
            Self::StructOps => jit().and_then(|()| {
                let (major, minor) = FIRST_TRAMPOLINES;
                let reason = format!("trampolines of this architecture came with Linux {major}.{minor}");
                met(kernel_version() >= FIRST_TRAMPOLINES, &reason)
            }),
            Self::Arena => arena().map_err(|e| format!("no arena here: {e}")),
            Self::MemoryAnywhere => memory_anywhere(),
            Self::Command => command_path().map(drop),
            Self::Configuration => {
                exists("/proc/config.gz").or_else(|_| exists(&format!("/boot/config-{}", release())))
            }
        }
    }
}

/// Returns true in the virtual machine of `cargo xtask vm`, where no other process loads programs.
pub fn in_vm() -> bool {
    env::var_os("CORE_RELO_VM").is_some()
}

/// Returns whether the kernel's configuration file sets an option to `y`.
pub fn is_configured(option: &str) -> bool {
    let text = fs::read_to_string(format!("/boot/config-{}", release())).unwrap_or_default();
    text.lines().any(|line| line.strip_prefix(option) == Some("=y"))
}

/// Returns the first two numbers of the running kernel's version.
pub fn kernel_version() -> (u32, u32) {
    let release = release();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn met(is_met: bool, reason: &str) -> Result<(), String> {
    if is_met { Ok(()) } else { Err(reason.to_owned()) }
}

fn exists(path: &str) -> Result<(), String> {
    met(Path::new(path).exists(), &format!("this kernel has no {path}"))
}

fn tracefs() -> Result<(), String> {
    const MOUNT_POINT: &str = "/sys/kernel/tracing";
    let is_mounted =
        || exists(&format!("{MOUNT_POINT}/events")).or_else(|_| exists("/sys/kernel/debug/tracing/events"));
    if is_mounted().is_ok() {
        return Ok(());
    }
    // The mount must not be visible to other processes, which may check for it.
    let mounted =
        private_mounts().and_then(|()| mount("tracefs", MOUNT_POINT, "tracefs", MountFlags::empty(), None));
    mounted
        .map_err(|e| format!("{MOUNT_POINT} is not mounted, and cannot be: {e}"))
        .and_then(|()| is_mounted())
}

/// Moves this thread to a private mount namespace.
fn private_mounts() -> rustix::io::Result<()> {
    // SAFETY: the call unshares only the mounts and the working directory; threads still share descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
}

fn memory_anywhere() -> Result<(), String> {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_word = |name: &str| processor.split([' ', '_', '\n']).any(|word| word == name);
    let has_instruction = if cfg!(target_arch = "x86_64") {
        has_word("cx16")
    } else if cfg!(target_arch = "riscv64") {
        has_word("zacas")
    } else {
        !cfg!(target_arch = "powerpc64")
    };
    met(
        has_instruction || kernel_version() < (6, 18),
        "this processor cannot exchange 16 bytes at once, without which the kernel's kmalloc_nolock gives nothing",
    )
}

fn bpf() -> Result<(), Errno> {
    let load = ProgLoad { prog_type: SOCKET_FILTER, insns: &NOOP, license: b"GPL", ..ProgLoad::default() };
    RunningKernel.prog_load(&load, &mut []).map(drop)
}

/// The kernel with the first trampolines of this architecture.
const FIRST_TRAMPOLINES: (u32, u32) = if cfg!(target_arch = "x86_64") {
    (5, 5)
} else if cfg!(target_arch = "aarch64") {
    (6, 0)
} else if cfg!(target_arch = "powerpc64") {
    (6, 13)
} else {
    (6, 3)
};

fn jit() -> Result<(), String> {
    let load = ProgLoad { prog_type: SOCKET_FILTER, insns: &NOOP, license: b"GPL", ..ProgLoad::default() };
    let info = RunningKernel.prog_load(&load, &mut []).and_then(|prog| Ok(ProgramInfo::query(&prog)?));
    let is_compiled = info.map_err(|e| e.to_string())?.jited_prog_len > 0;
    met(is_compiled, "this kernel has no JIT compiler, or it is off")
}

fn arena() -> Result<(), Errno> {
    let create =
        MapCreate { map_type: ARENA, map_flags: map_flags::MMAPABLE, max_entries: 1, ..MapCreate::default() };
    RunningKernel.map_create(&create).map(drop)
}

/// Checks that `find` succeeds in the kernel's types. The result is cached, because parsing takes time.
fn in_btf(name: &'static str, what: &str, find: impl FnOnce(&Btf<'_>) -> bool) -> Result<(), String> {
    static CACHE: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    Need::Btf.is_met()?;
    let what = format!("{what} `{name}`");
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if !cache.contains_key(&what) {
        let btf =
            target::kernel().and_then(|file| file.parse_unvalidated(None)).map_err(|e| e.to_string())?;
        cache.insert(what.clone(), find(&btf));
    }
    met(cache[&what], &format!("the types of this kernel have no {what}"))
}

fn has_enumerator(btf: &Btf<'_>, name: &[u8]) -> bool {
    let enums = btf.types().filter(|ty| matches!(ty.kind(), Kind::Enum | Kind::Enum64));
    enums.flat_map(Type::enumerators).any(|variant| variant.name.as_bytes() == name)
}

fn tracing() -> &'static Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT.get_or_init(|| {
        let prog = load_tracing("bpf_fentry_test1", FENTRY)?;
        // Some kernels of other architectures than x86-64 load the program, but cannot attach it.
        let attached = prog.map_err(|e| e.to_string()).and_then(|prog| {
            ProgramRef::from_fd(prog.as_fd())
                .with_attach_type(AttachType::TraceFentry)
                .attach_trace(&TraceOptions::default())
                .map_err(|e| e.to_string())
        });
        attached.map(drop).map_err(|e| format!("no fentry here: {e}"))
    })
}

/// Some kernels refuse these iterators by a policy, and load others.
fn map_iterators() -> &'static Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT.get_or_init(|| {
        let prog = load_tracing("bpf_iter_bpf_map_elem", TRACE_ITER)?;
        prog.map(drop).map_err(|e| format!("no iterators of map elements here: {e}"))
    })
}

/// Loads a program for a function of the kernel. The outer error is the lack of the function.
fn load_tracing(function: &str, attach_type: u32) -> Result<Result<OwnedFd, Errno>, String> {
    Need::Btf.is_met()?;
    let btf = target::kernel().and_then(|file| file.parse_unvalidated(None)).map_err(|e| e.to_string())?;
    let found = btf.find(function.as_bytes(), Kind::Func);
    let load = ProgLoad {
        prog_type: TRACING,
        expected_attach_type: attach_type,
        attach_btf_id: found.ok_or_else(|| format!("BTF has no {function}"))?.id().0,
        insns: &NOOP,
        license: b"GPL",
        ..ProgLoad::default()
    };
    Ok(RunningKernel.prog_load(&load, &mut []))
}

fn veth() -> &'static Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT.get_or_init(|| {
        let created = Netns::try_new().and_then(|near| Veth::try_new(near, Netns::try_new()?));
        created.map(drop).map_err(|e| format!("no veth here: {e}"))
    })
}
