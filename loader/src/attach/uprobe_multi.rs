//! uprobes on many locations in a binary by one kernel link (kernels from 6.6).

use super::{
    binary::Binary,
    binary_path::resolve,
    error::{AttachError, ENOTSUPP, Hint},
    kprobe_multi::RETURN,
    link::Link,
    names::c_string,
    pmu::resolve_pid,
    uprobe::{NO_PROBE, UprobeOptions, place_in_file},
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget, UprobeBinary};
use core_relo_object::object::{AttachType, MultiKind, parse_file_offset};
use std::{
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

/// The locations of a `uprobe.multi` link.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum UprobeSet<'a> {
    /// The functions that match a pattern of `*` (any characters) and `?` (one character). Without such a
    /// character, the place is that of [`UprobeOptions::function`].
    Pattern(&'a str),
    /// The functions with these names. Names of the same function are one probe, unless there are cookies or
    /// semaphores.
    Symbols(&'a [&'a str]),
    /// The instructions at these file offsets.
    Offsets(&'a [u64]),
}

/// The options of a `uprobe.multi` link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UprobeMultiOptions<'a> {
    /// The moment at which the program runs.
    pub kind: MultiKind,
    /// The process, 0 for the calling process. `None` probes every process that maps the file.
    pub pid: Option<u32>,
    /// The value that `bpf_get_attach_cookie` returns for each location, or an empty slice. Not allowed with
    /// a pattern.
    pub cookies: &'a [u64],
    /// The file offset of each location's reference counter (0 for none), or an empty slice. Not allowed with
    /// a pattern.
    pub ref_ctr_offsets: &'a [u64],
}

/// Attaches a program to locations in a binary (libbpf: `bpf_program__attach_uprobe_multi`).
pub(super) fn uprobe_multi(
    prog: BorrowedFd<'_>,
    binary: impl AsRef<Path>,
    locations: UprobeSet<'_>,
    options: &UprobeMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let binary = binary.as_ref();
    let label = attachment_label(binary, locations, options.kind);
    let path = resolve(binary, options.pid, &label)?;
    let c_path = c_string(path.as_os_str().as_bytes(), &label)?;
    attach_at(prog, UprobeBinary::Path(&c_path), &path, locations, options, label)
}

/// Attaches a program to locations in an open binary (kernels from 7.2), also if the binary was deleted or
/// replaced since it was opened, or is in another mount namespace.
pub(super) fn uprobe_multi_file(
    prog: BorrowedFd<'_>,
    binary: &impl AsFd,
    locations: UprobeSet<'_>,
    options: &UprobeMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let binary = binary.as_fd();
    // Symbols are read through this link, which opens the same file.
    let path = PathBuf::from(format!("/proc/self/fd/{}", binary.as_raw_fd()));
    let label = attachment_label(&path, locations, options.kind);
    attach_at(prog, UprobeBinary::Fd(binary), &path, locations, options, label)
}

/// Attaches a program to locations in a binary. `path` is that of the binary's symbols.
fn attach_at(
    prog: BorrowedFd<'_>,
    binary: UprobeBinary<'_>,
    path: &Path,
    locations: UprobeSet<'_>,
    options: &UprobeMultiOptions<'_>,
    label: String,
) -> Result<Link, AttachError> {
    let offsets = match locations {
        UprobeSet::Pattern(_) if !(options.cookies.is_empty() && options.ref_ctr_offsets.is_empty()) => {
            return Err(AttachError::target(label, "a pattern takes no cookies and no semaphores"));
        }
        UprobeSet::Pattern(place) if !place.contains(['*', '?']) => {
            find_place(path, place, options.pid, &label)?
        }
        UprobeSet::Pattern(pattern) => {
            Binary::open(path)?.find_matching_functions(resolve_pid(options.pid), pattern)?
        }
        UprobeSet::Symbols(names) => {
            let mut offsets = Binary::open(path)?.find_functions_of(resolve_pid(options.pid), names)?;
            // A function with several names has one probe, unless each name has its own cookie or semaphore.
            if options.cookies.is_empty() && options.ref_ctr_offsets.is_empty() {
                offsets.sort_unstable();
                offsets.dedup();
            }
            offsets
        }
        UprobeSet::Offsets(offsets) => offsets.to_vec(),
    };
    let fits = |list: &[u64]| list.is_empty() || list.len() == offsets.len();
    if offsets.is_empty() || !fits(options.cookies) || !fits(options.ref_ctr_offsets) {
        let problem =
            "expected at least one location, and a cookie and a semaphore for each location or none";
        return Err(AttachError::target(label, problem));
    }
    // The kernel probes other files, too, if a process runs code in them.
    if let (UprobeSet::Offsets(offsets), Ok(binary)) = (locations, Binary::open(path)) {
        binary.check_code(offsets)?;
    }
    let by_descriptor = matches!(binary, UprobeBinary::Fd(_));
    let link = request_link(prog, binary, &offsets, options).map_err(|errno| {
        let hint = match errno.0 {
            libc::EINVAL if by_descriptor => {
                Hint("uprobe.multi by descriptor needs a kernel from 7.2, and a program loaded with that attach type")
            }
            libc::ESRCH => Hint("no such process"),
            ENOTSUPP | libc::ENOEXEC => NO_PROBE,
            libc::EBADF | libc::ENOENT => Hint("is it a regular file?"),
            libc::EOPNOTSUPP => Hint("this kernel was built without uprobes"),
            libc::EINVAL => Hint(
                "uprobe.multi needs a kernel from 6.6 (sessions: 6.13), and a program loaded with that attach type",
            ),
            _ => Hint::for_errno(errno),
        };
        AttachError::kernel_with_hint(&label, "attach", errno, hint)
    })?;
    Ok(Link::from_fd(link, label))
}

/// Returns the file offset of a place without wildcards, as that of a uprobe. A name that several functions
/// have stands for all of them.
fn find_place(path: &Path, place: &str, pid: Option<u32>, label: &str) -> Result<Vec<u64>, AttachError> {
    let options = UprobeOptions { function: Some(place), pid, ..UprobeOptions::default() };
    if parse_file_offset(place).is_some() {
        return Ok(vec![place_in_file(Binary::open(path).ok().as_ref(), &options, label)?]);
    }
    let binary = Binary::open(path)?;
    if binary.has_several_functions(place)? {
        return binary.find_matching_functions(None, place);
    }
    Ok(vec![place_in_file(Some(&binary), &options, label)?])
}

/// Creates the kernel link. Returns the kernel's answer apart from other errors, because callers judge it
/// differently.
#[cfg(feature = "usdt")]
pub(super) fn create_link(
    prog: BorrowedFd<'_>,
    path: &Path,
    offsets: &[u64],
    options: &UprobeMultiOptions<'_>,
    label: &str,
) -> Result<Result<OwnedFd, Errno>, AttachError> {
    let path = c_string(path.as_os_str().as_bytes(), label)?;
    Ok(request_link(prog, UprobeBinary::Path(&path), offsets, options))
}

/// Requests the kernel link.
fn request_link(
    prog: BorrowedFd<'_>,
    binary: UprobeBinary<'_>,
    offsets: &[u64],
    options: &UprobeMultiOptions<'_>,
) -> Result<OwnedFd, Errno> {
    let session = options.kind == MultiKind::Session;
    sys::link_create(&LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: if session { AttachType::TraceUprobeSession } else { AttachType::TraceUprobeMulti }
            .number(),
        flags: 0,
        extra: LinkExtra::UprobeMulti {
            binary,
            offsets,
            ref_ctr_offsets: options.ref_ctr_offsets,
            cookies: options.cookies,
            flags: if options.kind == MultiKind::Return { RETURN } else { 0 },
            // To the kernel, 0 stands for every process.
            pid: resolve_pid(options.pid).unwrap_or(0),
        },
    })
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(binary: &Path, locations: UprobeSet<'_>, kind: MultiKind) -> String {
    let prefix = match kind {
        MultiKind::Entry => "uprobe.multi",
        MultiKind::Return => "uretprobe.multi",
        MultiKind::Session => "uprobe.session",
    };
    let binary = binary.display();
    match locations {
        UprobeSet::Pattern(pattern) => format!("{prefix}/{binary}:{pattern}"),
        UprobeSet::Symbols([one]) => format!("{prefix}/{binary}:{one}"),
        UprobeSet::Symbols(all) => format!("{prefix}/{binary} at {} functions", all.len()),
        UprobeSet::Offsets(all) => format!("{prefix}/{binary} at {} offsets", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::elf::{F1, TestElf},
            test_support::{
                eventually,
                trace::{Counter, Program, stops},
            },
        },
        *,
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[test]
    fn one_link_probes_many_locations() {
        let Some(elf) = TestElf::write() else { return };
        let for_pid = |pid| UprobeMultiOptions { pid: Some(pid), ..UprobeMultiOptions::default() };
        let offset = format!("{F1:#x}");
        let (own_pid, pid_0) = (for_pid(std::process::id()), for_pid(0));
        for (locations, options, fires) in [
            (UprobeSet::Pattern("f?"), UprobeMultiOptions::default(), 1),
            (UprobeSet::Symbols(&["f1"]), UprobeMultiOptions::default(), 1),
            // Without wildcards, a place is that of a uprobe.
            (UprobeSet::Pattern("f1+0x1"), UprobeMultiOptions::default(), 1),
            (UprobeSet::Pattern(&offset), UprobeMultiOptions::default(), 1),
            // One function by two names runs the program once, unless each name has its own cookie.
            (UprobeSet::Symbols(&["f1", "f1"]), UprobeMultiOptions::default(), 1),
            (
                UprobeSet::Symbols(&["f1", "f1"]),
                UprobeMultiOptions { cookies: &[7, 7], ..Default::default() },
                2,
            ),
            (UprobeSet::Offsets(&[F1, F1 + 1]), UprobeMultiOptions::default(), 2),
            (
                UprobeSet::Offsets(&[F1]),
                UprobeMultiOptions {
                    cookies: &[7],
                    ref_ctr_offsets: &[TestElf::SEMAPHORE],
                    ..Default::default()
                },
                1,
            ),
            (
                UprobeSet::Pattern("f1"),
                UprobeMultiOptions { kind: MultiKind::Return, ..Default::default() },
                1,
            ),
            (
                UprobeSet::Pattern("f1"),
                UprobeMultiOptions { kind: MultiKind::Session, ..Default::default() },
                2,
            ),
            // The probe ignores other processes.
            (UprobeSet::Pattern("f1"), own_pid, 0),
            (UprobeSet::Pattern("f1"), pid_0, 0),
        ] {
            let expected = match options.kind {
                MultiKind::Session => AttachType::TraceUprobeSession,
                _ => AttachType::TraceUprobeMulti,
            };
            let Some(counter) = Counter::new() else { return };
            let loaded = Program::with_cookie_all(ProgramType::Kprobe, expected.number(), &counter);
            let Some(prog) = loaded else { continue };
            let link = match uprobe_multi(prog.fd(), elf.path(), locations, &options) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL), .. }) => {
                    skip!("{e}");
                    continue;
                }
                link => link.unwrap(),
            };
            assert_eq!(elf.run(), i32::from(!options.ref_ctr_offsets.is_empty()));
            assert_eq!(counter.count(), fires, "{locations:?} {options:?}");
            assert_eq!(counter.cookie(), options.cookies.first().copied().unwrap_or(0));
            link.detach().unwrap();
            assert!(stops(&counter, || assert!(elf.run() >= 0)) && eventually(|| elf.run() == 0));
        }
    }

    #[test]
    fn a_binary_without_a_name_is_probed_by_its_descriptor() {
        let Some(elf) = TestElf::write() else { return };
        let Some(counter) = Counter::new() else { return };
        let attach_type = AttachType::TraceUprobeMulti.number();
        let loaded = Program::with_cookie_all(ProgramType::Kprobe, attach_type, &counter);
        let Some(prog) = loaded else { return };
        let file = std::fs::File::open(elf.path()).unwrap();
        for locations in [UprobeSet::Pattern("f1"), UprobeSet::Offsets(&[F1])] {
            let before = counter.count();
            let link = match uprobe_multi_file(prog.fd(), &file, locations, &UprobeMultiOptions::default()) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL), .. }) => {
                    assert!(e.to_string().contains("needs a kernel from 7.2"), "{e}");
                    skip!("{e}");
                    return;
                }
                link => link.unwrap(),
            };
            assert!(elf.run() >= 0);
            assert_eq!(counter.count(), before + 1, "{locations:?}");
            link.detach().unwrap();
        }
    }

    #[test]
    fn contradictory_arguments_and_missing_functions_are_named() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let fd = file.as_fd();
        let text = |locations, options| {
            uprobe_multi(fd, "/proc/self/exe", locations, &options).unwrap_err().to_string()
        };
        let cookies = UprobeMultiOptions { cookies: &[1, 2], ..UprobeMultiOptions::default() };
        assert!(text(UprobeSet::Pattern("*"), cookies).ends_with("takes no cookies and no semaphores"));
        assert!(text(UprobeSet::Offsets(&[1]), cookies).contains("expected at least one location"));
        let header = text(UprobeSet::Offsets(&[1]), UprobeMultiOptions::default());
        assert!(header.contains("offset 0x1 is in the ELF header, expected code"), "{header}");
        let missing = text(UprobeSet::Pattern("no_such_function?"), UprobeMultiOptions::default());
        assert!(missing.contains("has no function that `no_such_function?` matches"), "{missing}");
        // Without wildcards, the messages are those of a uprobe.
        let missing = text(UprobeSet::Pattern("no_such_function"), UprobeMultiOptions::default());
        assert!(missing.contains("has no function `no_such_function` in its symbol tables"), "{missing}");
        let missing = text(UprobeSet::Symbols(&["no_such"]), UprobeMultiOptions::default());
        assert!(missing.contains("has no function `no_such`"), "{missing}");
    }
}
