//! tracefs, the kernel's tracing file system: its mount point, tracepoint ids, and probes that are created by
//! writing to it.

use super::error::{AttachError, Hint};
use crate::{lockdown::refused_probe, sys::Errno};
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
const EVENT_NAME_BYTES: usize = 63;
/// The maximum number of attempts to remove a probe.
const REMOVE_ATTEMPTS: u32 = 100;
/// The group of the probes that this module creates.
const GROUP: &str = "core_relo";

/// Returns the mount point of tracefs.
pub(super) fn root() -> Result<PathBuf, AttachError> {
    let usual = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(PathBuf::from);
    if let Some(root) = usual.into_iter().find(|root| root.join("events").exists()) {
        return Ok(root);
    }
    // Without `/proc`, only the usual mount points are found.
    let mounts = fs::read_to_string("/proc/mounts").ok();
    mounts.and_then(|mounts| find_tracefs(&mounts)).ok_or_else(|| {
        let problem =
            "not found, or not readable by this user; as root: `mount -t tracefs nodev /sys/kernel/tracing`";
        AttachError::target("tracefs", problem)
    })
}

fn find_tracefs(mounts: &str) -> Option<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' '));
    let mut tracefs =
        fields.filter_map(|mut f| Some((f.nth(1)?, f.next()?))).filter(|(_, kind)| *kind == "tracefs");
    tracefs.next().map(|(at, _)| PathBuf::from(at))
}

/// Returns the id of a tracepoint.
pub(super) fn event_id(label: &str, category: &str, name: &str) -> Result<u64, AttachError> {
    const NOT_THERE: Hint = Hint("no such tracepoint in this kernel: see available_events in tracefs");
    if [category, name].iter().any(|part| part.is_empty() || part.contains('/') || part.starts_with('.')) {
        return Err(AttachError::target(label, "expected a tracepoint as `category/name`"));
    }
    let path = root()?.join("events").join(category).join(name).join("id");
    let failed = |errno: Errno| {
        let hint = match errno.0 {
            libc::ENOENT => NOT_THERE,
            _ => refused_probe(errno).unwrap_or_else(|| Hint::for_errno(errno)),
        };
        AttachError::kernel_with_hint(label, "look up the tracepoint's id", errno, hint)
    };
    let text = fs::read_to_string(path).map_err(|e| failed(Errno::from_io_error(&e)))?;
    text.trim().parse().map_err(|_no_number| failed(Errno(libc::EIO)))
}

/// The kind of a dynamic probe: kprobe or uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Kernel,
    #[cfg(feature = "uprobe")]
    User,
}

impl ProbeKind {
    const fn file(self) -> &'static str {
        match self {
            Self::Kernel => "kprobe_events",
            #[cfg(feature = "uprobe")]
            Self::User => "uprobe_events",
        }
    }

    /// Returns the problem of a kernel that could create such probes through tracefs only, while tracefs is
    /// not mounted.
    const fn needs_tracefs(self) -> &'static str {
        match self {
            Self::Kernel => {
                "this kernel has no perf events of kprobes: it was built without (CONFIG_KPROBE_EVENTS), or is older than 4.17 and needs \
                 tracefs, which is not mounted (or not readable by this user); as root: `mount -t tracefs nodev /sys/kernel/tracing`"
            }
            #[cfg(feature = "uprobe")]
            Self::User => {
                "this kernel has no perf events of uprobes: it was built without (CONFIG_UPROBE_EVENTS), or is older than 4.17 and needs \
                 tracefs, which is not mounted (or not readable by this user); as root: `mount -t tracefs nodev /sys/kernel/tracing`"
            }
        }
    }

    /// Returns the problem of a kernel without such probes.
    pub(super) const fn no_probes(self) -> &'static str {
        match self {
            Self::Kernel => "this kernel was built without kprobes (CONFIG_KPROBE_EVENTS)",
            #[cfg(feature = "uprobe")]
            Self::User => "this kernel was built without uprobes (CONFIG_UPROBE_EVENTS)",
        }
    }
}

/// A probe created by writing to tracefs. The probe outlives a process that does not remove it.
#[derive(Debug)]
pub(super) struct ProbeEvent {
    file: PathBuf,
    name: String,
    is_removed: bool,
}

impl ProbeEvent {
    /// Creates a probe at a location in tracefs notation: `do_exit+0x4`, `/bin/sh:0x1234`.
    pub(super) fn add(
        kind: ProbeKind,
        retprobe: bool,
        location: &str,
        label: &str,
    ) -> Result<Self, AttachError> {
        // tracefs takes one line of words separated by spaces.
        if location.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let problem = "tracefs does not accept a location with spaces, and this kernel creates probes only through tracefs";
            return Err(AttachError::target(label, problem));
        }
        let root = root().map_err(|_not_there| AttachError::target(label, kind.needs_tracefs()))?;
        let name = event_name(location);
        let file = root.join(kind.file());
        if !file.exists() {
            return Err(AttachError::target(label, kind.no_probes()));
        }
        append(&file, &format!("{}:{GROUP}/{name} {location}", if retprobe { 'r' } else { 'p' })).map_err(
            |errno| {
                let hint = match errno.0 {
                    libc::ENOENT | libc::EINVAL => Hint("is there such a function, and may it be probed?"),
                    _ => refused_probe(errno).unwrap_or_else(|| Hint::for_errno(errno)),
                };
                AttachError::kernel_with_hint(label, "create a probe in tracefs", errno, hint)
            },
        )?;
        Ok(Self { file, name, is_removed: false })
    }

    /// Returns the id with which the probe is opened as a perf event.
    pub(super) fn id(&self, label: &str) -> Result<u64, AttachError> {
        event_id(label, GROUP, &self.name)
    }

    /// Removes the probe. All perf events on the probe have to be closed before.
    pub(super) fn remove(&mut self) -> Result<(), Errno> {
        if self.is_removed {
            return Ok(());
        }
        self.is_removed = true;
        let line = format!("-:{GROUP}/{}", self.name);
        let mut result = append(&self.file, &line);
        // A process that another thread starts holds the event's descriptor until its `exec`.
        for _ in 0..REMOVE_ATTEMPTS {
            if result != Err(Errno(libc::EBUSY)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            result = append(&self.file, &line);
        }
        result
    }
}

impl Drop for ProbeEvent {
    fn drop(&mut self) {
        if let Err(errno) = self.remove() {
            log::warn!("probe {GROUP}/{} not removed from tracefs: {errno}", self.name);
        }
    }
}

/// Returns a unique event name (libbpf: `gen_probe_legacy_event_name`).
fn event_name(location: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The random part separates processes with the same pid in different pid namespaces, which share one
    // tracefs.
    let random = RandomState::new().hash_one(number);
    let file_name = location.rsplit_once('/').map_or(location, |(_, file_name)| file_name);
    let name = format!("p{}_{number}_{random:016x}_{file_name}", std::process::id());
    name.chars().take(EVENT_NAME_BYTES).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn append(file: &Path, line: &str) -> Result<(), Errno> {
    let open = fs::OpenOptions::new().append(true).open(file);
    // The kernel executes each write as one command.
    open.and_then(|mut f| f.write(line.as_bytes())).map(drop).map_err(|e| Errno::from_io_error(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_of_tracefs_is_found() {
        let mounts = "proc /proc proc rw 0 0\nnodev /mnt/t tracefs rw,relatime 0 0\n";
        assert_eq!(find_tracefs(mounts), Some(PathBuf::from("/mnt/t")));
        assert_eq!(find_tracefs("tracefs /x proc rw 0 0\n"), None);
        assert_eq!(find_tracefs(""), None);
    }

    #[test]
    fn event_names_are_unique_and_valid() {
        let (a, b) = (event_name("/usr/lib/libc.so.6:0x10"), event_name("/usr/lib/libc.so.6:0x10"));
        assert_ne!(a, b);
        assert!(a.ends_with("_libc_so_6_0x10"), "{a}");
        assert!(event_name(&"x".repeat(200)).len() == EVENT_NAME_BYTES);
    }

    #[test]
    fn a_tracepoint_cannot_name_another_file() {
        for (category, name) in [("..", "x"), ("sched", "../../x"), ("", "x"), ("sched", "")] {
            assert!(matches!(event_id("tp/x", category, name), Err(AttachError::Target { .. })));
        }
    }

    #[test]
    fn a_location_cannot_smuggle_in_a_second_command() {
        let e = ProbeEvent::add(ProbeKind::Kernel, false, "x\np:y do_exit", "kprobe/x").unwrap_err();
        assert!(matches!(e, AttachError::Target { .. }), "{e}");
    }
}
