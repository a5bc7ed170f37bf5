//! The processes that have kernel objects open, from `/proc/PID/fd`, as far as this process may read it.

use crate::kernel_objects::{fdinfo::fdinfo_value, kind::Kind};
use core_relo::Name;
use serde::Serialize;
use std::{collections::BTreeMap, fs, path::Path, process};

/// A process that has an object open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) comm: String,
}

/// Returns whether `/proc` shows processes and their descriptors: at least those of this process.
pub(crate) fn are_visible() -> bool {
    fs::read_dir(format!("/proc/{}/fd", process::id())).is_ok()
}

/// Returns the processes that have each object open, except for this process.
pub(crate) fn find_all() -> BTreeMap<(Kind, u32), Vec<Process>> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(pid) = pid.filter(|pid| *pid != process::id()) {
            add_process(&entry.path(), pid, &mut processes);
        }
    }
    for object_processes in processes.values_mut() {
        object_processes.sort();
        object_processes.dedup();
    }
    processes
}

fn add_process(dir: &Path, pid: u32, processes: &mut BTreeMap<(Kind, u32), Vec<Process>>) {
    for fd in fs::read_dir(dir.join("fd")).into_iter().flatten().flatten() {
        let target = fs::read_link(fd.path()).ok();
        let Some(kind) = target.as_deref().and_then(Path::to_str).and_then(Kind::from_fd_link) else {
            continue;
        };
        let key = match kind {
            Kind::Prog => "prog_id",
            Kind::Map => "map_id",
            Kind::Link => "link_id",
            Kind::Btf => "btf_id",
        };
        let info = fs::read_to_string(dir.join("fdinfo").join(fd.file_name())).ok();
        let id = info.and_then(|text| fdinfo_value(&text, key)).and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id {
            let comm = fs::read(dir.join("comm")).unwrap_or_default();
            let comm = Name::new(comm.trim_ascii_end()).to_string();
            processes.entry((kind, id)).or_default().push(Process { pid, comm });
        }
    }
}
