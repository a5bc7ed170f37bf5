//! Probes at many places of a binary at once, by one link (kernels from 6.6).

use super::{
    binary::Binary,
    binary_path::resolve,
    error::{AttachError, Hint},
    kprobe_multi::RETURN,
    link::Link,
    pmu::process,
    text::c_string,
    uprobe::NO_PROBE,
};
use crate::{
    object::{AttachType, MultiKind},
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use std::{
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

/// Which places.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum UprobeSet<'a> {
    /// The functions of a pattern, in which `*` stands for any characters and `?` for one.
    Pattern(&'a str),
    /// These functions.
    Symbols(&'a [&'a str]),
    /// These offsets in the file.
    Offsets(&'a [u64]),
}

/// How many uprobes are attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct UprobeMultiOptions<'a> {
    /// When the program runs.
    pub kind: MultiKind,
    /// The process, 0 for this one; none for every one that maps the file.
    pub pid: Option<u32>,
    /// What `bpf_get_attach_cookie` gives at each place, or nothing. Not with a pattern.
    pub cookies: &'a [u64],
    /// Where in the file the semaphore of each place is (0 for none), or nothing. Not with a pattern.
    pub ref_ctr_offsets: &'a [u64],
}

/// Attaches to places of a binary (libbpf: `bpf_program__attach_uprobe_multi`): a path, or a name that is searched for.
pub fn uprobe_multi(
    prog: BorrowedFd<'_>,
    binary: impl AsRef<Path>,
    places: UprobeSet<'_>,
    options: &UprobeMultiOptions<'_>,
) -> Result<Link, AttachError> {
    let binary = binary.as_ref();
    let what = words(binary, places, options.kind);
    let path = resolve(binary, &what)?;
    let offsets = match places {
        UprobeSet::Pattern(_) if !(options.cookies.is_empty() && options.ref_ctr_offsets.is_empty()) => {
            return Err(AttachError::target(what, "a pattern takes no cookies and no semaphores"));
        }
        UprobeSet::Pattern(pattern) => Binary::open(&path)?.functions_like(pattern)?,
        UprobeSet::Symbols(names) => Binary::open(&path)?.functions(names)?,
        UprobeSet::Offsets(offsets) => offsets.to_vec(),
    };
    let fits = |list: &[u64]| list.is_empty() || list.len() == offsets.len();
    if offsets.is_empty() || !fits(options.cookies) || !fits(options.ref_ctr_offsets) {
        let problem = "expected one place or more, and a cookie and a semaphore for each or none";
        return Err(AttachError::target(what, problem));
    }
    let link = create(prog, &path, &offsets, options, &what)?.map_err(|errno| {
        let hint = match errno.0 {
            libc::ESRCH => Hint("no such process"),
            524 | libc::ENOEXEC => NO_PROBE,
            libc::EBADF | libc::ENOENT => Hint("is it a regular file?"),
            libc::EOPNOTSUPP => Hint("this kernel was built without uprobes"),
            libc::EINVAL => Hint(
                "uprobe.multi needs a kernel from 6.6 (sessions: 6.13), and a program loaded with that attach type",
            ),
            _ => Hint::of(errno),
        };
        AttachError::hinted(&what, "attach", errno, hint)
    })?;
    Ok(Link::from_fd(link, what))
}

/// Makes the link; what the kernel says is for the caller to judge.
pub(super) fn create(
    prog: BorrowedFd<'_>,
    path: &Path,
    offsets: &[u64],
    options: &UprobeMultiOptions<'_>,
    what: &str,
) -> Result<Result<OwnedFd, Errno>, AttachError> {
    let path = c_string(path.as_os_str().as_bytes(), what)?;
    let session = options.kind == MultiKind::Session;
    Ok(sys::link_create(&LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: if session { AttachType::TraceUprobeSession } else { AttachType::TraceUprobeMulti }
            .number(),
        flags: 0,
        extra: LinkExtra::UprobeMulti {
            path: &path,
            offsets,
            ref_ctr_offsets: options.ref_ctr_offsets,
            cookies: options.cookies,
            flags: if options.kind == MultiKind::Return { RETURN } else { 0 },
            // The kernel's 0 is every process.
            pid: process(options.pid).unwrap_or(0),
        },
    }))
}

fn words(binary: &Path, places: UprobeSet<'_>, kind: MultiKind) -> String {
    let family = match kind {
        MultiKind::Entry => "uprobe.multi",
        MultiKind::Return => "uretprobe.multi",
        MultiKind::Session => "uprobe.session",
    };
    let binary = binary.display();
    match places {
        UprobeSet::Pattern(pattern) => format!("{family}/{binary}:{pattern}"),
        UprobeSet::Symbols([one]) => format!("{family}/{binary}:{one}"),
        UprobeSet::Symbols(all) => format!("{family}/{binary} at {} functions", all.len()),
        UprobeSet::Offsets(all) => format!("{family}/{binary} at {} places", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            testing_elf::{F1, TestElf},
            testing_trace::{Counter, Program, before_long, stops},
        },
        *,
    };
    use crate::object::ProgramType;

    #[test]
    fn many_places_are_probed_by_one_link() {
        let Some(elf) = TestElf::write() else { return };
        let of = |pid| UprobeMultiOptions { pid: Some(pid), ..UprobeMultiOptions::default() };
        let (only_own, only_this) = (of(std::process::id()), of(0));
        for (places, options, fires) in [
            (UprobeSet::Pattern("f?"), UprobeMultiOptions::default(), 1),
            (UprobeSet::Symbols(&["f1"]), UprobeMultiOptions::default(), 1),
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
            // Another process does not count.
            (UprobeSet::Pattern("f1"), only_own, 0),
            (UprobeSet::Pattern("f1"), only_this, 0),
        ] {
            let expected = match options.kind {
                MultiKind::Session => AttachType::TraceUprobeSession,
                _ => AttachType::TraceUprobeMulti,
            };
            let Some(counter) = Counter::new() else { return };
            let loaded = Program::with_cookie_all(ProgramType::Kprobe, expected.number(), &counter);
            let Some(prog) = loaded else { continue };
            let link = match uprobe_multi(prog.fd(), elf.path(), places, &options) {
                Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL), .. }) => {
                    println!("SKIP: {e}");
                    continue;
                }
                link => link.unwrap(),
            };
            assert_eq!(elf.run(), i32::from(!options.ref_ctr_offsets.is_empty()));
            assert_eq!(counter.count(), fires, "{places:?} {options:?}");
            assert_eq!(counter.cookie(), options.cookies.first().copied().unwrap_or(0));
            link.detach().unwrap();
            assert!(stops(&counter, || assert!(elf.run() >= 0)) && before_long(|| elf.run() == 0));
        }
    }

    #[test]
    fn what_contradicts_itself_or_is_missing_is_named() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let text =
            |places, options| uprobe_multi(fd, "/proc/self/exe", places, &options).unwrap_err().to_string();
        let cookies = UprobeMultiOptions { cookies: &[1, 2], ..UprobeMultiOptions::default() };
        assert!(text(UprobeSet::Pattern("*"), cookies).ends_with("takes no cookies and no semaphores"));
        assert!(text(UprobeSet::Offsets(&[1]), cookies).contains("expected one place or more"));
        let missing = text(UprobeSet::Pattern("no_such_function?"), UprobeMultiOptions::default());
        assert!(missing.contains("has no function that `no_such_function?` matches"), "{missing}");
        let missing = text(UprobeSet::Symbols(&["no_such"]), UprobeMultiOptions::default());
        assert!(missing.contains("has no function `no_such`"), "{missing}");
    }
}
