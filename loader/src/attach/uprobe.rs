//! Probes in user space: one place in a binary.

use super::{
    archive,
    binary::Binary,
    binary_path::resolve,
    error::{AttachError, Hint},
    link::Link,
    perf_event::{Put, denied},
    pmu::{Pmu, ProbeMode, process},
    text::c_string,
    tracefs::{ProbeEvent, ProbeKind},
    tracepoint,
};
use crate::{
    object::split_offset,
    sys::{self, Errno, PerfEventOpen},
};
use std::{
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

/// How a uprobe is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UprobeOptions<'a> {
    /// The function: `name`, `name+offset`, or with the symbol's version, `name@VERSION`. Without one, `offset` is the file's.
    pub function: Option<&'a str>,
    /// Bytes behind the function's start; without a function, bytes from the file's start.
    pub offset: u64,
    /// Runs when the function returns.
    pub retprobe: bool,
    /// The process, 0 for this one; none for every one that maps the file.
    pub pid: Option<u32>,
    /// Where in the file the semaphore is that counts listeners, 0 for none.
    pub ref_ctr_offset: u64,
    /// What `bpf_get_attach_cookie` gives (kernels from 5.15).
    pub cookie: u64,
    /// By which of the kernel's ways.
    pub mode: ProbeMode,
}

/// Attaches to a place in a binary (libbpf: `bpf_program__attach_uprobe_opts`): a path, a name that is searched for in `PATH` or
/// among the libraries, or `archive!/member` of an uncompressed ZIP archive.
pub fn uprobe(
    prog: BorrowedFd<'_>,
    binary: impl AsRef<Path>,
    options: &UprobeOptions<'_>,
) -> Result<Link, AttachError> {
    let binary = binary.as_ref();
    let what = words(binary, options);
    let (path, offset) = place(binary, options, &what)?;
    at(prog, &path, offset, options, &what)
}

fn words(binary: &Path, options: &UprobeOptions<'_>) -> String {
    let family = if options.retprobe { "uretprobe" } else { "uprobe" };
    let binary = binary.display();
    match (options.function, options.offset) {
        (Some(function), 0) => format!("{family}/{binary}:{function}"),
        (Some(function), offset) => format!("{family}/{binary}:{function}+{offset:#x}"),
        (None, offset) => format!("{family}/{binary}:{offset:#x}"),
    }
}

/// The file and the offset in it.
fn place(binary: &Path, options: &UprobeOptions<'_>, what: &str) -> Result<(PathBuf, u64), AttachError> {
    let in_archive = archive::split(binary);
    let path = match &in_archive {
        Some((archive, _)) => archive.clone(),
        None => resolve(binary, what)?,
    };
    let Some(function) = options.function else { return Ok((path, options.offset)) };
    let (name, more) = split_offset(function);
    let elf = match in_archive {
        Some((_, member)) => archive::open_member(&path, &member)?,
        None => Binary::open(&path)?,
    };
    let offset = elf.function(name)?.checked_add(options.offset).and_then(|at| at.checked_add_signed(more));
    let offset = offset.ok_or_else(|| AttachError::target(what, "the offset lies outside of the file"))?;
    Ok((path, offset))
}

/// Attaches to an offset in a file.
pub(super) fn at(
    prog: BorrowedFd<'_>,
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    what: &str,
) -> Result<Link, AttachError> {
    let options = &UprobeOptions { pid: process(options.pid), ..*options };
    let pmu = Pmu::uprobe();
    let (probe, event) = if options.mode.is_legacy(pmu.is_some(), what)? {
        let (probe, event) = legacy(path, offset, options, what)?;
        (Some(probe), event)
    } else {
        let pmu = pmu.ok_or_else(|| AttachError::target(what, ProbeKind::User.missing()))?;
        (None, open(pmu, path, offset, options, what)?)
    };
    let &UprobeOptions { cookie, mode, .. } = options;
    Put { prog, event, probe, what, cookie, mode, enable: true }.attach()
}

fn open(
    pmu: Pmu,
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    what: &str,
) -> Result<OwnedFd, AttachError> {
    let ref_ctr = u32::try_from(options.ref_ctr_offset)
        .map_err(|_too_large| AttachError::target(what, "the semaphore's offset does not fit 32 bits"))?;
    if ref_ctr != 0 && !pmu.has_ref_ctr() {
        return Err(AttachError::target(what, "semaphores need a kernel from 4.20"));
    }
    let name = c_string(path.as_os_str().as_bytes(), what)?;
    let event = PerfEventOpen {
        kind: pmu.kind,
        config: pmu.config(options.retprobe, what)? | (u64::from(ref_ctr) << 32),
        name: Some(&name),
        offset,
        pid: options.pid,
        cpu: options.pid.is_none().then_some(0),
        ..PerfEventOpen::default()
    };
    sys::perf_event_open(&event).map_err(|errno| not_opened(what, errno))
}

/// The kernel looked at the instruction.
pub(super) const NO_PROBE: Hint =
    Hint("the instruction there cannot be probed: is it one of those that cannot, or the middle of one?");

fn not_opened(what: &str, errno: Errno) -> AttachError {
    let hint = match errno.0 {
        libc::ENOENT => Hint("no such file"),
        libc::ESRCH => Hint("no such process"),
        // ENOTSUPP, which no C library has.
        524 | libc::ENOEXEC => NO_PROBE,
        libc::EINVAL => {
            Hint("is it a regular file on a file system that takes probes, and the offset within it?")
        }
        _ => denied(errno),
    };
    AttachError::hinted(what, "open the perf event", errno, hint)
}

fn legacy(
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    what: &str,
) -> Result<(ProbeEvent, OwnedFd), AttachError> {
    if options.ref_ctr_offset != 0 {
        return Err(AttachError::target(
            what,
            "semaphores need the kernel's uprobe unit, which is not asked for or missing",
        ));
    }
    let path = path.to_str().ok_or_else(|| AttachError::target(what, "tracefs takes paths in UTF-8 only"))?;
    let probe = ProbeEvent::add(ProbeKind::User, options.retprobe, &format!("{path}:{offset:#x}"), what)?;
    let event = tracepoint::open(probe.id(what)?, options.pid, what)?;
    Ok((probe, event))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            testing_elf::{F1, TestElf},
            testing_trace::{Counter, Program, before_long, stops, tracefs_or_skip},
        },
        *,
    };
    use crate::object::ProgramType;
    use core::hint::black_box;

    #[inline(never)]
    fn probe_target(n: u64) -> u64 {
        black_box(n).wrapping_add(1)
    }

    /// The offset in this program's file of a function, from where it is mapped.
    fn own_offset(function: fn(u64) -> u64) -> u64 {
        let at = format!("{function:p}");
        let at = u64::from_str_radix(at.trim_start_matches("0x"), 16).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hex = |s: &str| u64::from_str_radix(s, 16).unwrap();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (from, to) = fields[0].split_once('-').unwrap();
            if (hex(from)..hex(to)).contains(&at) {
                return at.checked_sub(hex(from)).unwrap().checked_add(hex(fields[2])).unwrap();
            }
        }
        panic!("{at:#x} is not mapped")
    }

    fn attach(prog: &Program, options: &UprobeOptions<'_>) -> Option<Link> {
        match uprobe(prog.fd(), "/proc/self/exe", options) {
            Err(e @ AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }) => {
                println!("SKIP: {e}");
                None
            }
            link => Some(link.unwrap()),
        }
    }

    #[test]
    fn every_way_probes_this_program_and_leaves_nothing_in_tracefs() {
        let legacy = tracefs_or_skip();
        for mode in [ProbeMode::Auto, ProbeMode::Link, ProbeMode::Perf, ProbeMode::Legacy] {
            for (retprobe, pid) in [(false, None), (true, None), (false, Some(std::process::id()))] {
                if mode == ProbeMode::Legacy && !legacy {
                    continue;
                }
                let Some(counter) = Counter::new() else { return };
                let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
                let offset = own_offset(probe_target);
                let options = UprobeOptions { offset, retprobe, pid, mode, ..UprobeOptions::default() };
                let Some(link) = attach(&prog, &options) else { continue };
                assert_eq!(probe_target(1), 2);
                assert_eq!(counter.count(), 1, "{mode:?} {retprobe} {pid:?}");
                link.detach().unwrap();
                assert!(stops(&counter, || assert_eq!(probe_target(1), 2)), "{mode:?}");
            }
        }
        if legacy {
            let root = super::super::tracefs::root().unwrap();
            let probes = std::fs::read_to_string(root.join("uprobe_events")).unwrap();
            assert!(!probes.contains(&format!("p{}_", std::process::id())), "{probes}");
        }
    }

    /// The probes of tracefs that are at an offset of this program's file.
    fn in_tracefs(offset: u64) -> usize {
        let root = super::super::tracefs::root().unwrap();
        let probes = std::fs::read_to_string(root.join("uprobe_events")).unwrap();
        let own = format!("p{}_", std::process::id());
        probes.lines().filter(|l| l.contains(&own) && l.ends_with(&format!("{offset:016x}"))).count()
    }

    #[test]
    fn a_probe_of_tracefs_goes_when_the_program_is_not_put_on_it() {
        if !tracefs_or_skip() {
            return;
        }
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        // An own place: other tests probe the function at its start.
        let offset = own_offset(probe_target) + 1;
        let legacy = UprobeOptions { offset, mode: ProbeMode::Legacy, ..UprobeOptions::default() };
        let link = uprobe(prog.fd(), "/proc/self/exe", &legacy).unwrap();
        assert_eq!(in_tracefs(offset), 1, "it is seen while it is there");
        drop(link);
        let e = uprobe(prog.fd(), "/proc/self/exe", &UprobeOptions { cookie: 1, ..legacy }).unwrap_err();
        assert!(matches!(e, AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }), "{e}");
        assert_eq!(in_tracefs(offset), 0);
    }

    #[test]
    fn process_0_is_this_one() {
        for mode in [ProbeMode::Auto, ProbeMode::Legacy] {
            if mode == ProbeMode::Legacy && !tracefs_or_skip() {
                continue;
            }
            let Some(elf) = TestElf::write() else { return };
            let Some(counter) = Counter::new() else { return };
            let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
            let options = UprobeOptions { offset: F1, pid: Some(0), mode, ..UprobeOptions::default() };
            let link = uprobe(prog.fd(), elf.path(), &options).unwrap();
            assert_eq!(elf.run(), 0);
            assert_eq!(counter.count(), 0, "another process does not count");
            drop(link);
        }
    }

    #[test]
    fn a_function_by_name_with_a_cookie() {
        let Some(elf) = TestElf::write() else { return };
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::with_cookie_all(ProgramType::Kprobe, 0, &counter) else { return };
        for function in ["f1", "entry+0x19"] {
            let before = counter.count();
            let options = UprobeOptions { function: Some(function), cookie: 99, ..UprobeOptions::default() };
            let link = match uprobe(prog.fd(), elf.path(), &options) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }) => {
                    return println!("SKIP: {e}");
                }
                link => link.unwrap(),
            };
            assert_eq!(elf.run(), 0);
            assert_eq!(counter.count(), before + 1);
            assert_eq!(counter.cookie(), 99);
            drop(link);
            assert!(stops(&counter, || assert_eq!(elf.run(), 0)));
        }
        assert_eq!(Binary::open(elf.path()).unwrap().function("f1"), Ok(F1));
    }

    #[test]
    fn a_semaphore_is_raised_while_attached() {
        let Some(elf) = TestElf::write() else { return };
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let options =
            UprobeOptions { offset: F1, ref_ctr_offset: TestElf::SEMAPHORE, ..UprobeOptions::default() };
        let link = uprobe(prog.fd(), elf.path(), &options).unwrap();
        assert_eq!(elf.run(), 1);
        link.detach().unwrap();
        assert!(before_long(|| elf.run() == 0));
        let legacy = UprobeOptions { mode: ProbeMode::Legacy, ..options };
        assert!(matches!(uprobe(prog.fd(), elf.path(), &legacy), Err(AttachError::Target { .. })));
    }

    #[test]
    fn an_instruction_that_cannot_be_probed_is_not_blamed_on_the_kernel() {
        let said = not_opened("uprobe/x:f", Errno(524)).to_string();
        assert!(said.contains("the instruction there cannot be probed"), "{said}");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        let with = |function| UprobeOptions { function, ..UprobeOptions::default() };
        let text =
            |binary: &str, function| uprobe(prog.fd(), binary, &with(function)).unwrap_err().to_string();
        assert_eq!(
            text("/no/such", Some("f")),
            "/no/such: cannot be read: ENOENT: No such file or directory"
        );
        let missing = uprobe(prog.fd(), "/no/such", &with(Some("f"))).unwrap_err();
        assert_eq!(missing.errno(), Some(Errno(libc::ENOENT)));
        assert_eq!(text("/proc/self/status", Some("f")), "/proc/self/status: is not an ELF file");
        assert!(
            text("/proc/self/exe", Some("no_such_function")).contains("has no function `no_such_function`")
        );
        assert!(text("/no/such", None).contains("(no such file)"));
    }
}
