//! What a test needs of the kernel it runs on. Each need is looked for without the loader's help, so that what the loader gets
//! wrong is never taken for a reason to skip.

use core_relo::btf::{Btf, Kind, Type};
use core_relo_loader::{
    sys::{self, Errno, ProgLoad},
    target,
};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{UnshareFlags, unshare_unsafe},
};
use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::netns::{Netns, Veth};

/// Something that not every kernel has, or lets everybody have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To be root.
    Root,
    /// bpf(2), for programs at all.
    Bpf,
    /// A kernel of at least this version.
    Kernel(u32, u32),
    /// The kernel's types in sysfs.
    Btf,
    /// Programs at functions' entries and exits. Needs [`Need::Btf`].
    Tracing,
    /// Programs at security hooks: tracing, and `bpf` among the security modules.
    Lsm,
    /// Probes in the kernel.
    Kprobes,
    /// Probes in programs.
    Uprobes,
    /// tracefs, mounted: where it is not, this thread gets it in a mount namespace of its own.
    Tracefs,
    /// cgroup2, mounted.
    Cgroup,
    /// Pairs of virtual interfaces.
    Veth,
    /// A function in the kernel's types. Needs [`Need::Btf`].
    Function(&'static str),
    /// An enumerator in the kernel's types, by which a kind of map, link or attachment is known.
    Enumerator(&'static str),
    /// A variable in the kernel's types, whose address the kernel tells.
    Variable(&'static str),
    /// The kernel's configuration, where it can be read.
    Configuration,
    /// Memory that programs can take wherever they are: from 6.18 on the kernel needs cmpxchg16b for that, which `cargo xtask vm`'s
    /// emulated processor lacks.
    MemoryAnywhere,
}

/// Where a program's kind and place of attachment are numbers, they are these.
const SOCKET_FILTER: u32 = 1;
const TRACING: u32 = 26;
const FENTRY: u32 = 24;

/// `r0 = 0; exit`
const NOTHING: [u8; 16] = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

impl Need {
    /// Is it there? If not, why.
    pub fn is_met(self) -> Result<(), String> {
        match self {
            Self::Root => met(rustix::process::geteuid().is_root(), "needs root"),
            Self::Bpf => bpf().map_err(|e| format!("bpf(2) loads nothing here: {e}")),
            Self::Kernel(major, minor) => met(
                kernel_version() >= (major, minor),
                &format!("needs Linux {major}.{minor}, this is {}", release()),
            ),
            Self::Btf => exists("/sys/kernel/btf/vmlinux"),
            Self::Tracing => tracing().clone(),
            Self::Lsm => {
                let active = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
                met(
                    active.split(',').any(|name| name.trim() == "bpf"),
                    "`bpf` is no active security module",
                )?;
                tracing().clone()
            }
            Self::Kprobes => exists("/sys/bus/event_source/devices/kprobe"),
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
                met(listed, &format!("this kernel tells no address of `{name}`"))
            }
            Self::MemoryAnywhere => memory_anywhere(),
            Self::Configuration => {
                exists("/proc/config.gz").or_else(|_| exists(&format!("/boot/config-{}", release())))
            }
        }
    }
}

/// Is this the machine that `cargo xtask vm` starts, which has nothing but the tests in it?
pub fn in_vm() -> bool {
    env::var_os("CORE_RELO_VM").is_some()
}

/// The first two numbers of the running kernel's version.
pub fn kernel_version() -> (u32, u32) {
    let release = release();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn met(is: bool, otherwise: &str) -> Result<(), String> {
    if is { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn exists(path: &str) -> Result<(), String> {
    met(Path::new(path).exists(), &format!("this kernel has no {path}"))
}

fn tracefs() -> Result<(), String> {
    const PLACE: &str = "/sys/kernel/tracing";
    let there = || exists(&format!("{PLACE}/events")).or_else(|_| exists("/sys/kernel/debug/tracing/events"));
    if there().is_ok() {
        return Ok(());
    }
    // Not for all of the machine: others go by what is mounted, too.
    let mounted = own_mounts().and_then(|()| mount("tracefs", PLACE, "tracefs", MountFlags::empty(), None));
    mounted.map_err(|e| format!("{PLACE} is not mounted, and cannot be: {e}")).and_then(|()| there())
}

/// Has this thread leave the mounts of others alone.
fn own_mounts() -> rustix::io::Result<()> {
    // SAFETY: of all that threads share only the mounts and the working directory are left; descriptors stay in common.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
}

fn memory_anywhere() -> Result<(), String> {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_cx16 = processor.split_ascii_whitespace().any(|flag| flag == "cx16");
    met(
        has_cx16 || !cfg!(target_arch = "x86_64") || kernel_version() < (6, 18),
        "this processor has no cmpxchg16b, without which the kernel's kmalloc_nolock gives nothing",
    )
}

fn bpf() -> Result<(), Errno> {
    let load = ProgLoad { prog_type: SOCKET_FILTER, insns: &NOTHING, license: b"GPL", ..ProgLoad::default() };
    sys::prog_load(&load, &mut []).map(drop)
}

/// Whether the kernel's types have something; found once, since it is much to read.
fn in_btf(name: &'static str, what: &str, find: impl FnOnce(&Btf<'_>) -> bool) -> Result<(), String> {
    static FOUND: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    Need::Btf.is_met()?;
    let what = format!("{what} `{name}`");
    let mut known = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains_key(&what) {
        let btf = target::kernel().and_then(|file| file.parse(None)).map_err(|e| e.to_string())?;
        known.insert(what.clone(), find(&btf));
    }
    met(known[&what], &format!("the types of this kernel have no {what}"))
}

fn has_enumerator(btf: &Btf<'_>, name: &[u8]) -> bool {
    let enums = btf.types().filter(|ty| matches!(ty.kind(), Kind::Enum | Kind::Enum64));
    enums.flat_map(Type::enumerators).any(|variant| variant.name.as_bytes() == name)
}

fn tracing() -> &'static Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(|| {
        Need::Btf.is_met()?;
        let btf = target::kernel().and_then(|file| file.parse(None)).map_err(|e| e.to_string())?;
        let function = btf.find(b"bpf_fentry_test1", Kind::Func).ok_or("no function for a trial in BTF")?;
        let load = ProgLoad {
            prog_type: TRACING,
            expected_attach_type: FENTRY,
            attach_btf_id: function.id().0,
            insns: &NOTHING,
            license: b"GPL",
            ..ProgLoad::default()
        };
        sys::prog_load(&load, &mut []).map(drop).map_err(|e| format!("no fentry here: {e}"))
    })
}

fn veth() -> &'static Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER.get_or_init(|| {
        let made = Netns::try_new().and_then(|near| Veth::try_new(near, Netns::try_new()?));
        made.map(drop).map_err(|e| format!("no veth here: {e}"))
    })
}
