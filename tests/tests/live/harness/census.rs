//! What there is in this process and in the kernel that a test may have made.

use core_relo_loader::sys::{self, Errno};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::need::in_vm;

/// Everything of one moment, each thing by a line of text.
#[derive(Clone, Debug)]
pub struct Census(BTreeSet<String>);

/// The kernel frees programs after a grace period, some after two, and a virtual machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);
/// Before the first look. To look opens each map and closes it: a table of programs that is being emptied is then emptied a second
/// time, and if the first was not begun yet, kernels as old as 5.10 count a reference that nobody drops (`prog_array_map_clear`).
const SETTLING: Duration = Duration::from_millis(20);

/// Files of tracefs with a line for each event made.
const EVENTS: [&str; 4] = [
    "/sys/kernel/tracing/kprobe_events",
    "/sys/kernel/tracing/uprobe_events",
    "/sys/kernel/debug/tracing/kprobe_events",
    "/sys/kernel/debug/tracing/uprobe_events",
];

impl Census {
    /// Looks at descriptors, tracing events and pins; in a machine that nobody else uses also at all programs, maps, BTFs and
    /// links.
    pub fn take() -> Self {
        let mut all = BTreeSet::new();
        descriptors(&mut all);
        for file in EVENTS {
            let text = fs::read_to_string(file).unwrap_or_default();
            all.extend(text.lines().map(|line| format!("{file}: {line}")));
        }
        below(Path::new("/sys/fs/bpf"), &mut all);
        // Others may load what they like on a machine that is in use.
        if in_vm() {
            ids("program", sys::next_prog_id, &mut all);
            ids("map", sys::next_map_id, &mut all);
            ids("BTF", sys::next_btf_id, &mut all);
            ids("link", sys::next_link_id, &mut all);
        }
        Self(all)
    }

    /// What is there now and was not then, once the kernel had time to free what is no longer used.
    pub fn left_behind(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        sleep(SETTLING);
        loop {
            let left: Vec<String> = self.new_since().collect();
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            sleep(PAUSE);
        }
    }

    /// What is there now and was not then.
    pub fn new_since(&self) -> impl Iterator<Item = String> {
        Self::take().0.into_iter().filter(|one| !self.0.contains(one))
    }
}

/// This process's open files, by number and what they are.
fn descriptors(all: &mut BTreeSet<String>) {
    for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let target = target.display().to_string();
        // The descriptor that this folder is read by.
        if !(target.starts_with("/proc/") && target.ends_with("/fd")) {
            all.insert(format!("descriptor {} of {target}", entry.file_name().display()));
        }
    }
}

fn ids(what: &str, next: fn(u32) -> Result<Option<u32>, Errno>, all: &mut BTreeSet<String>) {
    let mut last = 0;
    while let Some(id) = next(last).unwrap_or_else(|e| panic!("asking for the {what} after {last}: {e}")) {
        all.insert(format!("{what} {id}{}", name(what, id)));
        last = id;
    }
}

/// What helps to tell which it is.
fn name(what: &str, id: u32) -> String {
    let name = match what {
        "program" => sys::prog_fd_by_id(id).and_then(|fd| sys::prog_info(&fd)).map(|info| info.name()),
        "map" => sys::map_fd_by_id(id).and_then(|fd| sys::map_info(&fd)).map(|info| info.name()),
        _ => return String::new(),
    };
    name.map_or(String::new(), |name| format!(" `{name}`"))
}

fn below(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, all);
        }
        all.insert(format!("pin {}", path.display()));
    }
}
