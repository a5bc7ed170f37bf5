//! The kernel's tracing file system: where it is mounted, events' numbers, and probes made by writing to it.

use super::error::{AttachError, Hint};
use crate::sys::Errno;
use core::{
    hash::BuildHasher as _,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use std::{
    fs,
    hash::RandomState,
    io::Write as _,
    path::{Path, PathBuf},
};

/// Bytes of an event's name without its NUL (`MAX_EVENT_NAME_LEN`).
const EVENT_NAME: usize = 63;
/// How often a probe's removal is tried again.
const PATIENCE: u32 = 100;
/// The group that probes made here are in.
const GROUP: &str = "core_relo";

/// Where tracefs is mounted.
pub(super) fn root() -> Result<PathBuf, AttachError> {
    let usual = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(PathBuf::from);
    if let Some(root) = usual.into_iter().find(|root| root.join("events").exists()) {
        return Ok(root);
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounted(&mounts).ok_or_else(|| {
        let problem =
            "not found, or not readable by this user; as root: `mount -t tracefs nodev /sys/kernel/tracing`";
        AttachError::target("tracefs", problem)
    })
}

fn mounted(mounts: &str) -> Option<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' '));
    let mut tracefs =
        fields.filter_map(|mut f| Some((f.nth(1)?, f.next()?))).filter(|(_, kind)| *kind == "tracefs");
    tracefs.next().map(|(at, _)| PathBuf::from(at))
}

/// The number of a tracepoint.
pub(super) fn event_id(what: &str, category: &str, name: &str) -> Result<u64, AttachError> {
    const NOT_THERE: Hint = Hint("no such tracepoint in this kernel: see available_events in tracefs");
    if [category, name].iter().any(|part| part.is_empty() || part.contains('/') || part.starts_with('.')) {
        return Err(AttachError::target(what, "expected a tracepoint as `category/name`"));
    }
    let path = root()?.join("events").join(category).join(name).join("id");
    let failed = |errno| {
        let hint = if errno == Errno(libc::ENOENT) { NOT_THERE } else { Hint::of(errno) };
        AttachError::hinted(what, "look up the tracepoint's number", errno, hint)
    };
    let text = fs::read_to_string(path).map_err(|e| failed(Errno::from_io_error(&e)))?;
    text.trim().parse().map_err(|_no_number| failed(Errno(libc::EIO)))
}

/// Kernel or user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Kernel,
    User,
}

impl ProbeKind {
    const fn file(self) -> &'static str {
        match self {
            Self::Kernel => "kprobe_events",
            Self::User => "uprobe_events",
        }
    }

    /// What is wrong if they could be made in tracefs alone, and that is not there.
    const fn unreachable(self) -> &'static str {
        match self {
            Self::Kernel => {
                "this kernel has no perf events of kprobes: it was built without (CONFIG_KPROBE_EVENTS), or is older than 4.17 and needs \
                 tracefs, which is not mounted (or not readable by this user); as root: `mount -t tracefs nodev /sys/kernel/tracing`"
            }
            Self::User => {
                "this kernel has no perf events of uprobes: it was built without (CONFIG_UPROBE_EVENTS), or is older than 4.17 and needs \
                 tracefs, which is not mounted (or not readable by this user); as root: `mount -t tracefs nodev /sys/kernel/tracing`"
            }
        }
    }

    /// What is wrong if the kernel has no such probes.
    pub(super) const fn missing(self) -> &'static str {
        match self {
            Self::Kernel => "this kernel was built without kprobes (CONFIG_KPROBE_EVENTS)",
            Self::User => "this kernel was built without uprobes (CONFIG_UPROBE_EVENTS)",
        }
    }
}

/// A probe made by writing to tracefs. It outlives the process that does not remove it.
#[derive(Debug)]
pub(super) struct ProbeEvent {
    file: PathBuf,
    name: String,
    removed: bool,
}

impl ProbeEvent {
    /// Makes one at `place`, in tracefs' own notation: `do_exit+0x4`, `/bin/sh:0x1234`.
    pub(super) fn add(kind: ProbeKind, retprobe: bool, place: &str, what: &str) -> Result<Self, AttachError> {
        // What is written is a line of words.
        if place.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let problem = "tracefs cannot take a place with spaces in it, and this kernel has no other way";
            return Err(AttachError::target(what, problem));
        }
        let root = root().map_err(|_not_there| AttachError::target(what, kind.unreachable()))?;
        let name = event_name(place);
        let file = root.join(kind.file());
        if !file.exists() {
            return Err(AttachError::target(what, kind.missing()));
        }
        append(&file, &format!("{}:{GROUP}/{name} {place}", if retprobe { 'r' } else { 'p' })).map_err(
            |errno| {
                let hint = match errno.0 {
                    libc::ENOENT | libc::EINVAL => Hint("is there such a function, and may it be probed?"),
                    _ => Hint::of(errno),
                };
                AttachError::hinted(what, "make a probe in tracefs", errno, hint)
            },
        )?;
        Ok(Self { file, name, removed: false })
    }

    /// The number under which it can be opened as a perf event.
    pub(super) fn id(&self, what: &str) -> Result<u64, AttachError> {
        event_id(what, GROUP, &self.name)
    }

    /// Removes it; events opened on it must be closed by then.
    pub(super) fn remove(&mut self) -> Result<(), Errno> {
        if self.removed {
            return Ok(());
        }
        self.removed = true;
        let line = format!("-:{GROUP}/{}", self.name);
        let mut done = append(&self.file, &line);
        // A process that another thread is starting has the event, too, until it is another program.
        for _ in 0..PATIENCE {
            if done != Err(Errno(libc::EBUSY)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            done = append(&self.file, &line);
        }
        done
    }
}

impl Drop for ProbeEvent {
    fn drop(&mut self) {
        if let Err(errno) = self.remove() {
            log::warn!("probe {GROUP}/{} of tracefs not removed: {errno}", self.name);
        }
    }
}

/// A name that no other probe has (libbpf: `gen_probe_legacy_event_name`).
fn event_name(place: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Processes of other pid namespaces may have the same number, but there is one tracefs.
    let random = RandomState::new().hash_one(number);
    let place = place.rsplit('/').next().unwrap_or_default();
    let name = format!("p{}_{number}_{random:016x}_{place}", std::process::id());
    name.chars().take(EVENT_NAME).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn append(file: &Path, line: &str) -> Result<(), Errno> {
    let open = fs::OpenOptions::new().append(true).open(file);
    // The kernel acts on each write: it must be one.
    open.and_then(|mut f| f.write(line.as_bytes())).map(drop).map_err(|e| Errno::from_io_error(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_tracefs_is_found_wherever_it_is() {
        let mounts = "proc /proc proc rw 0 0\nnodev /mnt/t tracefs rw,relatime 0 0\n";
        assert_eq!(mounted(mounts), Some(PathBuf::from("/mnt/t")));
        assert_eq!(mounted("tracefs /x proc rw 0 0\n"), None);
        assert_eq!(mounted(""), None);
    }

    #[test]
    fn names_of_probes_differ_and_suit_the_kernel() {
        let (a, b) = (event_name("/usr/lib/libc.so.6:0x10"), event_name("/usr/lib/libc.so.6:0x10"));
        assert_ne!(a, b);
        assert!(a.ends_with("_libc_so_6_0x10"), "{a}");
        assert!(event_name(&"x".repeat(200)).len() == EVENT_NAME);
    }

    #[test]
    fn a_tracepoint_cannot_name_another_file() {
        for (category, name) in [("..", "x"), ("sched", "../../x"), ("", "x"), ("sched", "")] {
            assert!(matches!(event_id("tp/x", category, name), Err(AttachError::Target { .. })));
        }
    }

    #[test]
    fn a_place_cannot_bring_a_second_command() {
        let e = ProbeEvent::add(ProbeKind::Kernel, false, "x\np:y do_exit", "kprobe/x").unwrap_err();
        assert!(matches!(e, AttachError::Target { .. }), "{e}");
    }
}
