//! A list of the resources that a test can leave behind in the process and in the kernel.

use core_relo_loader::inventory::{MapInfo, ObjectKind, ProgramInfo};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::need::in_vm;

/// The resources at one moment, one line of text each.
#[derive(Clone, Debug)]
pub struct Census(BTreeSet<String>);

/// The time limit for the kernel to free resources. The kernel frees programs after one or two grace periods,
/// and a virtual machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two lists.
const PAUSE: Duration = Duration::from_millis(5);

/// The tracefs files with a line for each probe event.
const EVENTS: [&str; 4] = [
    "/sys/kernel/tracing/kprobe_events",
    "/sys/kernel/tracing/uprobe_events",
    "/sys/kernel/debug/tracing/kprobe_events",
    "/sys/kernel/debug/tracing/uprobe_events",
];

impl Census {
    /// Lists descriptors, probe events and pins. In the virtual machine, lists all programs, maps, BTFs and
    /// links as well.
    pub fn take() -> Self {
        let mut all = BTreeSet::new();
        descriptors(&mut all);
        for file in EVENTS {
            let text = fs::read_to_string(file).unwrap_or_default();
            all.extend(text.lines().map(|line| format!("{file}: {line}")));
        }
        pins_below(Path::new("/sys/fs/bpf"), &mut all);
        // On other machines, other processes may load programs at any time.
        if in_vm() {
            ids(ObjectKind::Program, &mut all);
            ids(ObjectKind::Map, &mut all);
            ids(ObjectKind::Btf, &mut all);
            ids(ObjectKind::Link, &mut all);
        }
        Self(all)
    }

    /// Returns the new resources, with their names, after the kernel had time to free unused ones.
    pub fn left_behind(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left: Vec<String> = self.new_since().collect();
            if left.is_empty() || Instant::now() > until {
                return left.into_iter().map(with_name).collect();
            }
            sleep(PAUSE);
        }
    }

    /// Returns the resources that exist now and are not in this list.
    pub fn new_since(&self) -> impl Iterator<Item = String> {
        Self::take().0.into_iter().filter(|resource| !self.0.contains(resource))
    }
}

/// Adds the open descriptors of this process with their targets.
fn descriptors(all: &mut BTreeSet<String>) {
    for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let target = target.display().to_string();
        // Skip the descriptor of this directory.
        if !(target.starts_with("/proc/") && target.ends_with("/fd")) {
            all.insert(format!("descriptor {} of {target}", entry.file_name().display()));
        }
    }
}

/// Adds all ids of one kind of kernel object.
///
/// Opens no map: the kernel clears a prog array once its last user closes it, and a second close before the
/// clear has run leaks the map (`prog_array_map_clear`, seen on 5.10 and 7.2).
fn ids(kind: ObjectKind, all: &mut BTreeSet<String>) {
    let mut last = 0;
    while let Some(id) = kind.next_id(last).unwrap_or_else(|e| panic!("next {kind} id after {last}: {e}")) {
        all.insert(format!("{kind} {id}"));
        last = id;
    }
}

/// Adds the name of a program or map to its line, to help identify a leak.
fn with_name(line: String) -> String {
    let name = match line.split_once(' ').map(|(kind, id)| (kind, id.parse())) {
        Some(("program", Ok(id))) => {
            ObjectKind::Program.open(id).and_then(|fd| Ok(ProgramInfo::query(&fd)?)).map(|i| i.name())
        }
        Some(("map", Ok(id))) => {
            ObjectKind::Map.open(id).and_then(|fd| Ok(MapInfo::query(&fd)?)).map(|i| i.name())
        }
        _ => return line,
    };
    name.map_or(line.clone(), |name| format!("{line} `{name}`"))
}

/// Adds all pins below a directory.
fn pins_below(dir: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pins_below(&path, all);
        }
        all.insert(format!("pin {}", path.display()));
    }
}
