//! uprobes on one location in a user-space binary.

use super::{
    archive,
    binary::{Binary, EntryPoint},
    binary_path::resolve,
    error::{AttachError, ENOTSUPP, Hint},
    link::Link,
    names::c_string,
    perf_event::{PerfAttach, perf_hint},
    pmu::{Pmu, ProbeMode, resolve_pid},
    tracefs::{ProbeEvent, ProbeKind},
    tracepoint,
};
use crate::sys::{self, Errno, PerfEventOpen};
use core_relo_object::object::{parse_file_offset, split_offset};
use std::{
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

/// The options of a uprobe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UprobeOptions<'a> {
    /// The function: `name`, `name+offset`, or `name@VERSION` with a symbol version; or an offset from the
    /// start of the file: `0x1115`. Without a function, `offset` counts from the start of the file. The file
    /// of a member of an archive is the archive, as in the maps of processes, and the offset must be one of
    /// code in the member. Of an indirect function (IFUNC), the implementation that the process uses is
    /// probed; without a process, an indirect function is an error.
    pub function: Option<&'a str>,
    /// The offset from the start of the function or, without a function, of the file, in bytes.
    pub offset: u64,
    /// Runs when the function returns.
    pub retprobe: bool,
    /// The process, 0 for the calling process. `None` probes every process that maps the file.
    pub pid: Option<u32>,
    /// The file offset of the reference counter (USDT semaphore), 0 for none.
    pub ref_ctr_offset: u64,
    /// The value that `bpf_get_attach_cookie` returns (kernels from 5.15).
    pub cookie: u64,
    /// The attach mechanism.
    pub mode: ProbeMode,
}

/// Attaches a program to a location in a binary (libbpf: `bpf_program__attach_uprobe_opts`).
pub(super) fn uprobe(
    prog: BorrowedFd<'_>,
    binary: impl AsRef<Path>,
    options: &UprobeOptions<'_>,
) -> Result<Link, AttachError> {
    let binary = binary.as_ref();
    let label = attachment_label(binary, options);
    let (path, offset) = resolve_location(binary, options, &label)?;
    attach_at_offset(prog, &path, offset, options, &label)
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(binary: &Path, options: &UprobeOptions<'_>) -> String {
    let prefix = if options.retprobe { "uretprobe" } else { "uprobe" };
    let binary = binary.display();
    match (options.function, options.offset) {
        (Some(function), 0) => format!("{prefix}/{binary}:{function}"),
        (Some(function), offset) => format!("{prefix}/{binary}:{function}+{offset:#x}"),
        (None, offset) => format!("{prefix}/{binary}:{offset:#x}"),
    }
}

/// Returns the file and the offset in the file.
fn resolve_location(
    binary: &Path,
    options: &UprobeOptions<'_>,
    label: &str,
) -> Result<(PathBuf, u64), AttachError> {
    let in_archive = archive::split_path(binary);
    let path = match &in_archive {
        // The name of an archive is that of a file in the working directory.
        Some((archive, _)) if archive.is_relative() => archive.clone(),
        Some((archive, _)) => resolve(archive, options.pid, label)?,
        None => resolve(binary, options.pid, label)?,
    };
    let elf = match in_archive {
        Some((_, member)) => Some(archive::open_member(&path, &member)?),
        // The kernel probes other files, too, if a process runs code in them.
        None if is_file_offset(options) => Binary::open(&path).ok(),
        None => Some(Binary::open(&path)?),
    };
    let offset = place_in_file(elf.as_ref(), options, label)?;
    Ok((path, offset))
}

/// Returns whether the place of a uprobe is an offset in the file.
fn is_file_offset(options: &UprobeOptions<'_>) -> bool {
    options.function.is_none_or(|function| parse_file_offset(function).is_some())
}

/// Returns the file offset of the place of a uprobe. A place that is an offset in the file needs no binary. A
/// place without code in the binary is an error.
pub(super) fn place_in_file(
    binary: Option<&Binary>,
    options: &UprobeOptions<'_>,
    label: &str,
) -> Result<u64, AttachError> {
    let outside = || AttachError::target(label, "the offset is outside of the file");
    let offset = match (options.function, binary) {
        (Some(function), Some(binary)) if !is_file_offset(options) => {
            let (name, name_offset) = split_offset(function);
            // Offsets count from the global entry point, as in disassemblies.
            let is_entry = options.offset == 0 && name_offset == 0;
            let entry = if is_entry { EntryPoint::Local } else { EntryPoint::Global };
            let start = binary.find_function_of(resolve_pid(options.pid), name, entry)?;
            start.checked_add(options.offset).and_then(|sum| sum.checked_add_signed(name_offset))
        }
        (function, _) => {
            let start =
                function.map_or(Some(0), parse_file_offset).and_then(|start| u64::try_from(start).ok());
            start.and_then(|start| start.checked_add(options.offset))
        }
    };
    let offset = offset.ok_or_else(outside)?;
    binary.map_or(Ok(()), |binary| binary.check_code(&[offset]))?;
    Ok(offset)
}

/// Attaches a program to an offset in a file.
pub(super) fn attach_at_offset(
    prog: BorrowedFd<'_>,
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    label: &str,
) -> Result<Link, AttachError> {
    let options = &UprobeOptions { pid: resolve_pid(options.pid), ..*options };
    let pmu = Pmu::uprobe();
    let (probe, event) = if options.mode.uses_tracefs(pmu.is_some(), label)? {
        let (probe, event) = create_legacy_probe(path, offset, options, label)?;
        (Some(probe), event)
    } else {
        let pmu = pmu.ok_or_else(|| AttachError::target(label, ProbeKind::User.no_probes()))?;
        (None, open_event(pmu, path, offset, options, label)?)
    };
    let &UprobeOptions { cookie, mode, .. } = options;
    PerfAttach { prog, event, probe, label, cookie, mode, enable: true, is_tracepoint: false }.attach()
}

fn open_event(
    pmu: Pmu,
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    label: &str,
) -> Result<OwnedFd, AttachError> {
    let ref_ctr = u32::try_from(options.ref_ctr_offset).map_err(|_too_large| {
        AttachError::target(label, "the semaphore's file offset does not fit in 32 bits")
    })?;
    if ref_ctr != 0 && !pmu.has_ref_ctr() {
        return Err(AttachError::target(label, "semaphores need a kernel from 4.20"));
    }
    let name = c_string(path.as_os_str().as_bytes(), label)?;
    let event = PerfEventOpen {
        kind: pmu.kind,
        config: pmu.config(options.retprobe, label)? | (u64::from(ref_ctr) << 32),
        name: Some(&name),
        offset,
        pid: options.pid,
        cpu: options.pid.is_none().then_some(0),
        ..PerfEventOpen::default()
    };
    sys::perf_event_open(&event).map_err(|errno| open_error(label, errno))
}

/// The hint for an instruction that the kernel refused to probe.
pub(super) const NO_PROBE: Hint = Hint(
    "the instruction there cannot be probed: is the offset the start of an instruction, and of a kind that can be probed?",
);

fn open_error(label: &str, errno: Errno) -> AttachError {
    let hint = match errno.0 {
        libc::ENOENT => Hint("no such file"),
        libc::ESRCH => Hint("no such process"),
        ENOTSUPP | libc::ENOEXEC => NO_PROBE,
        libc::EINVAL => Hint(
            "is it a regular file on a file system that supports probes, and the offset inside the file?",
        ),
        _ => perf_hint(errno),
    };
    AttachError::kernel_with_hint(label, "open the perf event", errno, hint)
}

fn create_legacy_probe(
    path: &Path,
    offset: u64,
    options: &UprobeOptions<'_>,
    label: &str,
) -> Result<(ProbeEvent, OwnedFd), AttachError> {
    if options.ref_ctr_offset != 0 {
        return Err(AttachError::target(
            label,
            "semaphores need the kernel's uprobe PMU, which is missing or not requested",
        ));
    }
    let path = path.to_str().ok_or_else(|| AttachError::target(label, "tracefs accepts UTF-8 paths only"))?;
    let probe = ProbeEvent::add(ProbeKind::User, options.retprobe, &format!("{path}:{offset:#x}"), label)?;
    let event = tracepoint::open(probe.id(label)?, options.pid, label)?;
    Ok((probe, event))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::elf::{F1, TestElf},
            test_support::{
                eventually,
                trace::{Counter, Program, stops, tracefs_or_skip},
            },
        },
        *,
    };
    use core::hint::black_box;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[inline(never)]
    fn probe_target(n: u64) -> u64 {
        black_box(n).wrapping_add(1)
    }

    /// Returns the file offset of a function of this test program.
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
                skip!("{e}");
                None
            }
            link => Some(link.unwrap()),
        }
    }

    #[test]
    fn every_mode_probes_this_program_and_leaves_nothing_in_tracefs() {
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

    /// Counts the tracefs probes at an offset of this program's file.
    fn count_tracefs_probes(offset: u64) -> usize {
        let root = super::super::tracefs::root().unwrap();
        let probes = std::fs::read_to_string(root.join("uprobe_events")).unwrap();
        let own = format!("p{}_", std::process::id());
        probes.lines().filter(|l| l.contains(&own) && l.ends_with(&format!("{offset:016x}"))).count()
    }

    #[test]
    fn a_tracefs_probe_is_removed_when_attaching_fails() {
        if !tracefs_or_skip() {
            return;
        }
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        // Another offset than the function's start, which other tests probe.
        let offset = own_offset(probe_target) + 1;
        let legacy = UprobeOptions { offset, mode: ProbeMode::Legacy, ..UprobeOptions::default() };
        let link = uprobe(prog.fd(), "/proc/self/exe", &legacy).unwrap();
        assert_eq!(count_tracefs_probes(offset), 1);
        drop(link);
        let e = uprobe(prog.fd(), "/proc/self/exe", &UprobeOptions { cookie: 1, ..legacy }).unwrap_err();
        assert!(matches!(e, AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }), "{e}");
        assert_eq!(count_tracefs_probes(offset), 0);
    }

    #[test]
    fn pid_0_is_the_calling_process() {
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
            assert_eq!(counter.count(), 0, "the probe ignores other processes");
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
                    return skip!("{e}");
                }
                link => link.unwrap(),
            };
            assert_eq!(elf.run(), 0);
            assert_eq!(counter.count(), before + 1);
            assert_eq!(counter.cookie(), 99);
            drop(link);
            assert!(stops(&counter, || assert_eq!(elf.run(), 0)));
        }
        assert_eq!(Binary::open(elf.path()).unwrap().find_function("f1", EntryPoint::Local), Ok(F1));
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
        assert!(eventually(|| elf.run() == 0));
        let legacy = UprobeOptions { mode: ProbeMode::Legacy, ..options };
        assert!(matches!(uprobe(prog.fd(), elf.path(), &legacy), Err(AttachError::Target { .. })));
    }

    #[test]
    fn an_instruction_that_cannot_be_probed_is_not_blamed_on_the_kernel() {
        let text = open_error("uprobe/x:f", Errno(ENOTSUPP)).to_string();
        assert!(text.contains("the instruction there cannot be probed"), "{text}");
    }

    #[test]
    fn a_missing_file_or_function_is_named() {
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
        let text_file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(text(text_file, Some("f")), format!("{text_file}: is not an ELF file"));
        assert!(
            text("/proc/self/exe", Some("no_such_function")).contains("has no function `no_such_function`")
        );
        assert!(text("/no/such", None).contains("(no such file)"));
    }
}
