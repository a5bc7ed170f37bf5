//! The processes that have kernel objects open, from `/proc/PID/fd`, as far as this process may read it.

use super::{
    fdinfo::FdInfo,
    unreadable::{HoldersByObject, Unreadable},
};
use crate::sys::ObjectKind;
use core_relo::Name;
use std::{fs, path::Path, process};

/// A process that has an object open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Process {
    /// The id of the process.
    pub pid: u32,
    /// The name of the process, escaped.
    pub comm: String,
}

/// Returns whether `/proc` shows processes and their descriptors: at least those of this process.
fn are_processes_visible() -> bool {
    fs::read_dir(format!("/proc/{}/fd", process::id())).is_ok()
}

/// Returns the processes that have each object open, except for this process.
pub(super) fn find_processes(unreadable: &mut Unreadable) -> HoldersByObject<Process> {
    let mut processes = HoldersByObject::new();
    let own = process::id();
    let proc = Path::new("/proc");
    if !are_processes_visible() {
        unreadable.add(proc, &"it does not show this process");
    }
    for entry in unreadable.note(proc, fs::read_dir(proc)).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(pid) = pid.filter(|pid| *pid != own) {
            add_process(&entry.path(), pid, &mut processes, unreadable);
        }
    }
    for object_processes in processes.values_mut() {
        object_processes.sort();
        object_processes.dedup();
    }
    processes
}

fn add_process(dir: &Path, pid: u32, processes: &mut HoldersByObject<Process>, unreadable: &mut Unreadable) {
    let fds = dir.join("fd");
    for fd in unreadable.note(&fds, fs::read_dir(&fds)).into_iter().flatten().flatten() {
        // A process with more capabilities may show the list of its descriptors, but not what they are.
        let target = unreadable.note(&fds, fs::read_link(fd.path()));
        let Some(kind) = target.as_deref().and_then(ObjectKind::from_fd_link) else {
            continue;
        };
        let key = match kind {
            ObjectKind::Program => "prog_id",
            ObjectKind::Map => "map_id",
            ObjectKind::Link => "link_id",
            ObjectKind::Btf => "btf_id",
        };
        let info = FdInfo::read_file(&dir.join("fdinfo").join(fd.file_name()));
        let id = info.and_then(|info| info.get(key)).and_then(|id| u32::try_from(id).ok());
        if let Some(id) = id {
            #[expect(clippy::disallowed_methods, reason = "the process has ended")]
            let comm = fs::read(dir.join("comm")).unwrap_or_default();
            let comm = Name::new(comm.trim_ascii_end()).to_string();
            processes.entry((kind, id)).or_default().push(Process { pid, comm });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root without `CAP_SYS_PTRACE` can list the descriptors of other processes, and cannot read them.
    #[test]
    fn a_process_whose_descriptors_cannot_be_read_is_listed_once() {
        let dir = std::env::temp_dir().join(format!("core-relo-process-{}", process::id()));
        let fds = dir.join("fd");
        fs::create_dir_all(&fds).unwrap();
        for fd in ["0", "1"] {
            // Not a symbolic link, so that it cannot be read as one.
            fs::write(fds.join(fd), "").unwrap();
        }
        let (mut processes, mut unreadable) = (HoldersByObject::new(), Unreadable::default());
        add_process(&dir, 1, &mut processes, &mut unreadable);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!((processes.len(), unreadable.0), (0, vec![fds]));
    }
}
