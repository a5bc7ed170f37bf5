//! Programs that are loaded for one attach target: fentry, fexit, fmod_ret, fsession, tp_btf, LSM, freplace.

use super::{
    error::{AttachError, ENOTSUPP, Hint},
    link::Link,
};
use crate::{
    program_btf::program_btf,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use core_relo_object::{load_plan::find_program_function, object::AttachType};
use std::os::fd::BorrowedFd;

/// The options of a tracing program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TraceOptions {
    /// The value that `bpf_get_attach_cookie` returns (kernels from 5.19).
    pub cookie: u64,
}

/// Attaches a tracing program to the function or tracepoint that it was loaded for (libbpf:
/// `bpf_program__attach_trace_opts`).
pub(super) fn trace(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    options: TraceOptions,
) -> Result<Link, AttachError> {
    trace_with_label(prog, attach_type, options, &attachment_label(prog, attach_type))
}

/// Attaches a tracing program under a label that names its target.
pub(super) fn trace_with_label(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    options: TraceOptions,
    label: &str,
) -> Result<Link, AttachError> {
    let cookie = LinkExtra::Tracing { btf_id: 0, cookie: options.cookie };
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: attach_type.number(),
        flags: 0,
        extra: if options.cookie == 0 { LinkExtra::None } else { cookie },
    };
    create_link(&create, label)
}

/// Attaches an LSM program to the hook that it was loaded for (libbpf: `bpf_program__attach_lsm`).
pub(super) fn lsm(prog: BorrowedFd<'_>) -> Result<Link, AttachError> {
    trace(prog, AttachType::LsmMac, TraceOptions::default())
}

/// A function of a loaded program, which a freplace program replaces.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct FreplaceTarget<'a> {
    /// The loaded program.
    pub prog: BorrowedFd<'a>,
    /// The function's id in that program's BTF.
    pub btf_id: u32,
}

/// Attaches a freplace program (libbpf: `bpf_program__attach_freplace`). Without a target, the program
/// replaces the function that it was loaded for.
pub(super) fn freplace(
    prog: BorrowedFd<'_>,
    target: Option<FreplaceTarget<'_>>,
) -> Result<Link, AttachError> {
    freplace_with_label(prog, target, "freplace")
}

/// Attaches a freplace program under a label that names the replaced function.
pub(super) fn freplace_with_label(
    prog: BorrowedFd<'_>,
    target: Option<FreplaceTarget<'_>>,
    label: &str,
) -> Result<Link, AttachError> {
    let (target, extra) = match target {
        Some(FreplaceTarget { prog, btf_id }) => {
            (LinkTarget::Fd(prog), LinkExtra::Tracing { btf_id, cookie: 0 })
        }
        None => (LinkTarget::None, LinkExtra::None),
    };
    create_link(&LinkCreate { prog, target, attach_type: 0, flags: 0, extra }, label)
}

/// Attaches a freplace program to another program's function by name.
pub(super) fn freplace_function(
    prog: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    function: &str,
) -> Result<Link, AttachError> {
    let fail = |problem: String| AttachError::target(format!("freplace of `{function}`"), problem);
    let btf = program_btf(target).map_err(|errno| fail(format!("the BTF of the target program: {errno}")))?;
    let btf_id = find_program_function(btf, function).map_err(fail)?;
    freplace(prog, Some(FreplaceTarget { prog: target, btf_id: btf_id.0 }))
}

/// Creates a link. Older kernels have `BPF_RAW_TRACEPOINT_OPEN` for links without a target and a cookie
/// (libbpf: `bpf_link_create`).
fn create_link(create: &LinkCreate<'_>, label: &str) -> Result<Link, AttachError> {
    let has_older_call = matches!(create.target, LinkTarget::None) && matches!(create.extra, LinkExtra::None);
    let created = match sys::link_create(create) {
        Err(Errno(libc::EINVAL)) if has_older_call => sys::raw_tracepoint_open(None, create.prog, 0),
        result => result,
    };
    created.map(|fd| Link::from_fd(fd, label)).map_err(|errno| {
        let hint = match errno.0 {
            libc::EINVAL if !has_older_call => Hint(
                "is the kernel too old for a cookie, or for another target than the program was loaded for?",
            ),
            libc::EBUSY => Hint("another program is attached there, and the target holds one only"),
            ENOTSUPP => Hint("this kernel has no trampolines for tracing on this architecture"),
            _ => Hint::for_errno(errno),
        };
        AttachError::kernel_with_hint(label, "attach", errno, hint)
    })
}

/// Returns the label of the attachment in errors and in [`Link::label`]: the section prefix and the program's
/// name. The kernel does not report the name of the target.
fn attachment_label(prog: BorrowedFd<'_>, attach_type: AttachType) -> String {
    let prefix = match attach_type {
        AttachType::TraceRawTp => "tp_btf",
        AttachType::TraceFentry => "fentry",
        AttachType::TraceFexit => "fexit",
        AttachType::ModifyReturn => "fmod_ret",
        AttachType::TraceFsession => "fsession",
        AttachType::LsmMac => "lsm",
        other => other.name(),
    };
    match sys::ProgramInfo::query(&prog).map(|info| info.name()) {
        Ok(name) if !name.is_empty() => format!("{prefix} program `{name}`"),
        // A program may have no name, and older kernels report none.
        Ok(_) | Err(_) => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, getppid, stops},
        *,
    };
    use crate::sys::TestRun;
    use core_relo::btf::Kind;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    fn link_or_skip(link: Result<Link, AttachError>) -> Option<Link> {
        match link {
            // The kernel has no trampolines, or a policy forbids tracing.
            Err(e @ AttachError::Kernel { errno: Errno(ENOTSUPP | libc::EPERM), .. }) => {
                skip!("{e}");
                None
            }
            link => Some(link.unwrap()),
        }
    }

    #[test]
    fn a_typed_tracepoint_runs_its_program() {
        let Some(counter) = Counter::new() else { return };
        let target = ("btf_trace_sys_enter", Kind::Typedef);
        let prog = Program::counting_at(ProgramType::Tracing, AttachType::TraceRawTp, target, &counter);
        let Some(prog) = prog else { return };
        let link = trace(prog.fd(), AttachType::TraceRawTp, TraceOptions::default());
        let Some(link) = link_or_skip(link) else { return };
        assert_eq!(link.label(), "tp_btf program `attach_test`");
        getppid();
        assert!(counter.count() > 0);
        link.detach().unwrap();
        assert!(stops(&counter, getppid));
    }

    #[test]
    fn fentry_and_fexit_run() {
        for attach_type in [AttachType::TraceFentry, AttachType::TraceFexit] {
            let Some(counter) = Counter::new() else { return };
            let target = ("bpf_fentry_test1", Kind::Func);
            let Some(prog) = Program::counting_at(ProgramType::Tracing, attach_type, target, &counter) else {
                return;
            };
            let Some(link) = link_or_skip(trace(prog.fd(), attach_type, TraceOptions::default())) else {
                return;
            };
            // The kernel calls its test functions once.
            let fire = || {
                let _ran = sys::test_run(prog.fd(), &mut TestRun::default());
            };
            fire();
            assert!(counter.count() > 0, "{attach_type}");
            let taken = trace(prog.fd(), attach_type, TraceOptions::default()).unwrap_err();
            assert!(matches!(taken, AttachError::Kernel { .. }), "{taken}");
            link.detach().unwrap();
            assert!(stops(&counter, fire));
        }
    }

    #[test]
    fn a_cookie_is_passed_or_refused() {
        let Some(counter) = Counter::new() else { return };
        let target = ("bpf_fentry_test1", Kind::Func);
        let prog = Program::counting_at(ProgramType::Tracing, AttachType::TraceFentry, target, &counter);
        let Some(prog) = prog else { return };
        match trace(prog.fd(), AttachType::TraceFentry, TraceOptions { cookie: 5 }) {
            Ok(link) => link.detach().unwrap(),
            Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL), .. }) => {
                assert!(e.to_string().contains("too old for a cookie"), "{e}");
            }
            Err(e) => skip!("{e}"),
        }
    }

    #[test]
    fn an_lsm_hook_runs_its_program() {
        let Some(counter) = Counter::new() else { return };
        let target = ("bpf_lsm_file_open", Kind::Func);
        let prog = Program::counting_at(ProgramType::Lsm, AttachType::LsmMac, target, &counter);
        let Some(prog) = prog else { return };
        let Some(link) = link_or_skip(lsm(prog.fd())) else { return };
        let open = || drop(std::fs::File::open("/proc/self/status"));
        open();
        let active = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap();
        if active.split(',').any(|name| name.trim() == "bpf") {
            assert!(counter.count() > 0);
        } else {
            skip!("`bpf` is not among the kernel's LSMs ({active}), so its hooks do not run");
        }
        link.detach().unwrap();
        assert!(stops(&counter, open));
    }

    #[test]
    fn a_program_of_another_kind_is_refused() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::RawTracepoint, 0, &counter) else { return };
        assert!(matches!(lsm(prog.fd()), Err(AttachError::Kernel { .. })));
        assert!(matches!(freplace(prog.fd(), None), Err(AttachError::Kernel { .. })));
    }
}
