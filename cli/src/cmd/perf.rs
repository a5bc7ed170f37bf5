//! `perf list`: the programs behind the perf events and raw tracepoints of processes.

use crate::{
    args::attachments::{PerfCommand, PerfListArgs},
    cmd::rows::Rows,
    console::Console,
    describe,
    error::{BadInput, CommandResult},
    kernel_objects::error::with_hint,
    text::table::{left_cell, right_cell},
};
use core_relo_loader::{
    Errno,
    inventory::{ProgramNames, TaskProgram},
};
use serde::Serialize;
use std::{fs, io, path::Path, process};

const COLUMNS: &[&str] = &["PID", "COMMAND", "FD", "ID", "NAME", "TYPE", "ATTACHED TO"];

/// The text if nothing is found. The kernel answers for no other perf events, such as CPU clocks.
const NOTHING_FOUND: &str = "no process has a program on a kprobe, uprobe, tracepoint or raw tracepoint; \
                             `core-relo link list` shows the links, also those of other perf events";

/// The largest number of processes that a warning names.
const SHOWN_PIDS: usize = 5;

/// The kinds of events by number (`enum bpf_task_fd_type`).
const FD_TYPES: [&str; 6] = ["raw_tracepoint", "tracepoint", "kprobe", "kretprobe", "uprobe", "uretprobe"];

/// The JSON line of a descriptor. The keys are those of `bpftool perf`, and `comm` and `name`.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct PerfFd {
    pid: u32,
    comm: String,
    fd: u32,
    prog_id: u32,
    name: Option<String>,
    fd_type: String,
    /// Of tracepoints.
    tracepoint: Option<String>,
    /// Of kprobes.
    func: Option<String>,
    /// Of kprobes without a name; `None` if the kernel hides it.
    addr: Option<u64>,
    /// Of uprobes.
    filename: Option<String>,
    /// In the function or file.
    offset: Option<u64>,
}

impl PerfFd {
    fn new(pid: u32, fd: u32, found: &TaskProgram) -> Self {
        let fd_type = usize::try_from(found.fd_type).ok().and_then(|number| FD_TYPES.get(number));
        let target = Some(describe::name(&found.name)).filter(|name| !name.is_empty());
        let mut line = Self {
            pid,
            comm: String::new(),
            fd,
            prog_id: found.prog_id,
            name: None,
            fd_type: describe::known_name(fd_type.copied(), found.fd_type),
            tracepoint: None,
            func: None,
            addr: None,
            filename: None,
            offset: None,
        };
        match found.fd_type {
            0 | 1 => line.tracepoint = target,
            2 | 3 => {
                line.offset = target.is_some().then_some(found.probe_offset);
                line.addr = Some(found.probe_addr).filter(|addr| target.is_none() && *addr != 0);
                line.func = target;
            }
            4 | 5 => (line.filename, line.offset) = (target, Some(found.probe_offset)),
            _ => {}
        }
        line
    }

    /// Returns the place that the program is attached to.
    fn place(&self) -> String {
        let name = self.tracepoint.as_ref().or(self.func.as_ref()).or(self.filename.as_ref());
        let name = name.cloned().or_else(|| self.addr.map(|addr| format!("{addr:#x}")));
        match (name, self.offset) {
            (Some(name), Some(offset)) if offset != 0 || self.filename.is_some() => {
                format!("{name}+{offset:#x}")
            }
            (name, _) => name.unwrap_or_else(|| "?".to_owned()),
        }
    }
}

pub(crate) fn run(console: &mut Console<'_>, command: &PerfCommand) -> CommandResult {
    let PerfCommand::List(args) = command;
    list(console, args)
}

fn list(console: &mut Console<'_>, args: &PerfListArgs) -> CommandResult {
    // A process that may not ask about itself may ask about none.
    if let Err(e) = query(process::id(), 0) {
        let bad =
            BadInput::new("running kernel", format_args!("cannot query the programs of processes: {e}"));
        return Err(with_hint(bad, e).into());
    }
    let mut unreadable = Vec::new();
    let mut found = Vec::new();
    let pids = numbers_in(Path::new("/proc"));
    for pid in pids.map_err(|e| BadInput::new("/proc", format_args!("cannot read it: {e}")))? {
        match read_process(pid) {
            (descriptors, None) => found.extend(descriptors),
            (descriptors, Some(e)) => {
                found.extend(descriptors);
                unreadable.push((pid, e));
            }
        }
    }
    let mut names = ProgramNames::default();
    for line in &mut found {
        line.name = names.get(line.prog_id).name;
    }
    print(console, args, &found)?;
    unreadable_warning(&unreadable).map_or(Ok(()), |warning| Ok(console.warn(&warning)?))
}

/// Returns the warning about processes whose descriptors cannot be read, with the error of the first one.
/// `None` if there are none.
fn unreadable_warning(unreadable: &[(u32, io::Error)]) -> Option<String> {
    let (_, error) = unreadable.first()?;
    let mut pids: Vec<_> = unreadable.iter().take(SHOWN_PIDS).map(|(pid, _)| pid.to_string()).collect();
    if unreadable.len() > SHOWN_PIDS {
        pids.push(format!("{} more", unreadable.len() - SHOWN_PIDS));
    }
    let noun = if unreadable.len() == 1 { "process" } else { "processes" };
    Some(format!("the descriptors of {noun} {} cannot be read: {error}", pids.join(", ")))
}

fn print(console: &mut Console<'_>, args: &PerfListArgs, found: &[PerfFd]) -> io::Result<()> {
    let cells = |line: &PerfFd| {
        vec![
            right_cell(line.pid),
            left_cell(&line.comm),
            right_cell(line.fd),
            right_cell(line.prog_id),
            left_cell(line.name.as_deref().unwrap_or("")),
            left_cell(&line.fd_type),
            left_cell(line.place()),
        ]
    };
    Rows { columns: COLUMNS, rows: found, placeholder: NOTHING_FOUND }.write(console, args.format, cells)
}

/// Returns the descriptors of a process that have a program, and why some cannot be read. A process that has
/// ended has none.
fn read_process(pid: u32) -> (Vec<PerfFd>, Option<io::Error>) {
    let dir = Path::new("/proc").join(pid.to_string());
    let fds = match numbers_in(&dir.join("fd")) {
        Ok(fds) => fds,
        Err(e) if is_gone(&dir, &e) => Vec::new(),
        Err(e) => return (Vec::new(), Some(e)),
    };
    let (mut found, mut problem) = (Vec::new(), None);
    for fd in fds {
        // A link that cannot be read, for example of a process that may not be traced, says nothing. The
        // kernel may answer about its descriptor all the same.
        let target = fs::read_link(dir.join("fd").join(fd.to_string()));
        if target.is_ok_and(|target| !target.to_str().is_some_and(may_have_program)) {
            continue;
        }
        match query(pid, fd) {
            Ok(program) => found.extend(program.map(|program| PerfFd::new(pid, fd, &program))),
            Err(e) => problem = problem.or(Some(io::Error::from_raw_os_error(e.0))),
        }
    }
    if !found.is_empty() {
        // The name is that of the process now; it may have ended.
        let comm = fs::read(dir.join("comm"))
            .map_or_else(|_ended| String::new(), |comm| describe::name(comm.trim_ascii_end()));
        found.iter_mut().for_each(|line| line.comm.clone_from(&comm));
    }
    (found, problem)
}

/// Returns the program behind a descriptor of a process. A descriptor that is closed has none, nor does one
/// of another kind.
fn query(pid: u32, fd: u32) -> Result<Option<TaskProgram>, Errno> {
    match TaskProgram::query(pid, fd) {
        Ok(program) => Ok(Some(program)),
        Err(e) if has_no_program(e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns whether an error means that a process is gone. `dir` is the directory of the process.
fn is_gone(dir: &Path, e: &io::Error) -> bool {
    let is_named = e.kind() == io::ErrorKind::NotFound
        || e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    is_named || fs::metadata(dir).is_err()
}

/// Returns whether a descriptor with this link in `/proc/PID/fd` may have a program: a perf event, or a raw
/// tracepoint.
fn may_have_program(link: &str) -> bool {
    link.strip_prefix("anon_inode:").is_some_and(|kind| {
        matches!(kind.trim_matches(['[', ']']), "perf_event" | "bpf_link" | "bpf-link" | "bpf-raw-tracepoint")
    })
}

/// Returns whether an error means that a descriptor is closed, has no program, or is of another kind; or that
/// its process has ended.
fn has_no_program(errno: Errno) -> bool {
    /// The kernel's own number, which user space has no name for.
    const ENOTSUPP: i32 = 524;
    errno.0 == ENOTSUPP || matches!(errno, Errno::ENOENT | Errno::EBADF | Errno::ESRCH | Errno::EOPNOTSUPP)
}

/// Returns the names in a directory that are numbers, in their order.
fn numbers_in(dir: &Path) -> io::Result<Vec<u32>> {
    let names: Vec<_> =
        fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fd(fd_type: u32, name: &[u8], probe_offset: u64, probe_addr: u64) -> PerfFd {
        let mut found = TaskProgram::default();
        (found.fd_type, found.name) = (fd_type, name.to_vec());
        (found.probe_offset, found.probe_addr) = (probe_offset, probe_addr);
        PerfFd::new(7, 3, &found)
    }

    #[test]
    fn processes_that_cannot_be_read_are_named() {
        let warning = |pids: std::ops::Range<u32>| {
            let refused = pids.map(|pid| (pid, io::Error::from(io::ErrorKind::PermissionDenied)));
            unreadable_warning(&refused.collect::<Vec<_>>())
        };
        assert_eq!(warning(0..0), None);
        let one = "the descriptors of process 7 cannot be read: permission denied";
        assert_eq!(warning(7..8).as_deref(), Some(one));
        let many = "the descriptors of processes 1, 2, 3, 4, 5, 4 more cannot be read: permission denied";
        assert_eq!(warning(1..10).as_deref(), Some(many));
    }

    #[test]
    fn each_kind_of_event_has_its_place() {
        for (line, fd_type, place) in [
            (fd(0, b"sched_switch", 0, 0), "raw_tracepoint", "sched_switch"),
            (fd(1, b"sched:sched_switch", 0, 0), "tracepoint", "sched:sched_switch"),
            (fd(2, b"do_exit", 0, 0), "kprobe", "do_exit"),
            (fd(3, b"do_exit", 16, 0), "kretprobe", "do_exit+0x10"),
            (fd(2, b"", 0, 0xffff_0000), "kprobe", "0xffff0000"),
            (fd(2, b"", 0, 0), "kprobe", "?"),
            (fd(4, b"/lib/a\nb", 64, 0), "uprobe", "/lib/a\\nb+0x40"),
            (fd(9, b"x", 64, 0), "unknown(9)", "?"),
        ] {
            assert_eq!((&*line.fd_type, &*line.place()), (fd_type, place));
        }
        assert!(may_have_program("anon_inode:[perf_event]") && !may_have_program("anon_inode:bpf-map"));
    }
}
