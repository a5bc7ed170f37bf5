//! Programs that were loaded for what they attach to: fentry, fexit, fmod_ret, fsession, tp_btf, LSM, freplace.

use super::{
    error::{AttachError, Hint},
    link::Link,
};
use crate::{
    host::program_btf,
    load_plan::find_program_function,
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use std::os::fd::BorrowedFd;

/// How a tracing program is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TraceOptions {
    /// What `bpf_get_attach_cookie` gives (kernels from 5.19).
    pub cookie: u64,
}

/// Attaches a tracing program to the function or tracepoint it was loaded for (libbpf: `bpf_program__attach_trace_opts`).
pub fn trace(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    options: &TraceOptions,
) -> Result<Link, AttachError> {
    trace_named(prog, attach_type, *options, &target_words(prog, attach_type))
}

/// The same in the words of who knows what it was loaded for.
pub(super) fn trace_named(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    options: TraceOptions,
    what: &str,
) -> Result<Link, AttachError> {
    let cookie = LinkExtra::Tracing { btf_id: 0, cookie: options.cookie };
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: attach_type.number(),
        flags: 0,
        extra: if options.cookie == 0 { LinkExtra::None } else { cookie },
    };
    as_loaded(&create, options.cookie == 0, what)
}

/// Attaches an LSM program to the hook it was loaded for (libbpf: `bpf_program__attach_lsm`).
pub fn lsm(prog: BorrowedFd<'_>) -> Result<Link, AttachError> {
    trace(prog, AttachType::LsmMac, &TraceOptions::default())
}

/// Attaches a program that replaces a function of another (libbpf: `bpf_program__attach_freplace`): that which it was loaded
/// for, or that of another program, by descriptor and the function's id in that program's BTF.
pub fn freplace(prog: BorrowedFd<'_>, target: Option<(BorrowedFd<'_>, u32)>) -> Result<Link, AttachError> {
    freplace_named(prog, target, "freplace")
}

/// The same in the words of who knows what it replaces.
pub(super) fn freplace_named(
    prog: BorrowedFd<'_>,
    target: Option<(BorrowedFd<'_>, u32)>,
    what: &str,
) -> Result<Link, AttachError> {
    let (target, extra) = match target {
        Some((of, btf_id)) => (LinkTarget::Fd(of), LinkExtra::Tracing { btf_id, cookie: 0 }),
        None => (LinkTarget::None, LinkExtra::None),
    };
    let older = matches!(target, LinkTarget::None);
    as_loaded(&LinkCreate { prog, target, attach_type: 0, flags: 0, extra }, older, what)
}

/// The same of another program's function by name.
pub fn freplace_function(
    prog: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    function: &str,
) -> Result<Link, AttachError> {
    let fail = |problem: String| AttachError::target(format!("freplace of `{function}`"), problem);
    let btf = program_btf(target).map_err(|errno| fail(format!("the program it attaches to: {errno}")))?;
    let btf_id = find_program_function(btf, function).map_err(fail)?;
    freplace(prog, Some((target, btf_id.0)))
}

/// By a link, or by the call that older kernels have for it (libbpf: `bpf_link_create`).
fn as_loaded(create: &LinkCreate<'_>, older: bool, what: &str) -> Result<Link, AttachError> {
    let made = match sys::link_create(create) {
        Err(Errno(libc::EINVAL)) if older => sys::raw_tracepoint_open(None, create.prog, 0),
        made => made,
    };
    made.map(|fd| Link::from_fd(fd, what)).map_err(|errno| {
        let hint = match errno.0 {
            libc::EINVAL if !older => Hint("the kernel may be too old for a cookie, or for another target"),
            libc::EBUSY => Hint("another program is attached there, which does not share it"),
            524 => Hint("this kernel has no trampolines for tracing on this architecture"),
            _ => Hint::of(errno),
        };
        AttachError::hinted(what, "attach", errno, hint)
    })
}

/// The kind, and the program's name: what it was loaded for is known by a number only.
fn target_words(prog: BorrowedFd<'_>, attach_type: AttachType) -> String {
    let family = match attach_type {
        AttachType::TraceRawTp => "tp_btf",
        AttachType::TraceFentry => "fentry",
        AttachType::TraceFexit => "fexit",
        AttachType::ModifyReturn => "fmod_ret",
        AttachType::TraceFsession => "fsession",
        AttachType::LsmMac => "lsm",
        other => other.name(),
    };
    let name = sys::prog_info(&prog).map(|info| info.name()).unwrap_or_default();
    if name.is_empty() { family.to_owned() } else { format!("{family} program `{name}`") }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_trace::{Counter, Program, getppid, stops},
        *,
    };
    use crate::{object::ProgramType, sys::TestRun};
    use core_relo::btf::Kind;

    fn skip_or(link: Result<Link, AttachError>) -> Option<Link> {
        match link {
            // No trampolines, or a policy of the kernel's.
            Err(e @ AttachError::Kernel { errno: Errno(524 | libc::EPERM), .. }) => {
                println!("SKIP: {e}");
                None
            }
            link => Some(link.unwrap()),
        }
    }

    #[test]
    fn a_tracepoint_with_types_fires() {
        let Some(counter) = Counter::new() else { return };
        let at = ("btf_trace_sys_enter", Kind::Typedef);
        let prog = Program::counting_at(ProgramType::Tracing, AttachType::TraceRawTp, at, &counter);
        let Some(prog) = prog else { return };
        let link = trace(prog.fd(), AttachType::TraceRawTp, &TraceOptions::default());
        let Some(link) = skip_or(link) else { return };
        assert_eq!(link.what(), "tp_btf program `attach_test`");
        getppid();
        assert!(counter.count() > 0);
        link.detach().unwrap();
        assert!(stops(&counter, getppid));
    }

    #[test]
    fn a_functions_entry_and_exit_fire() {
        for attach_type in [AttachType::TraceFentry, AttachType::TraceFexit] {
            let Some(counter) = Counter::new() else { return };
            let at = ("bpf_fentry_test1", Kind::Func);
            let Some(prog) = Program::counting_at(ProgramType::Tracing, attach_type, at, &counter) else {
                return;
            };
            let Some(link) = skip_or(trace(prog.fd(), attach_type, &TraceOptions::default())) else { return };
            // The kernel calls its test functions once.
            let fire = || {
                let _ran = sys::prog_test_run(prog.fd(), &mut TestRun::default());
            };
            fire();
            assert!(counter.count() > 0, "{attach_type}");
            let taken = trace(prog.fd(), attach_type, &TraceOptions::default()).unwrap_err();
            assert!(matches!(taken, AttachError::Kernel { .. }), "{taken}");
            link.detach().unwrap();
            assert!(stops(&counter, fire));
        }
    }

    #[test]
    fn a_cookie_comes_through_or_is_refused() {
        let Some(counter) = Counter::new() else { return };
        let at = ("bpf_fentry_test1", Kind::Func);
        let prog = Program::counting_at(ProgramType::Tracing, AttachType::TraceFentry, at, &counter);
        let Some(prog) = prog else { return };
        match trace(prog.fd(), AttachType::TraceFentry, &TraceOptions { cookie: 5 }) {
            Ok(link) => link.detach().unwrap(),
            Err(e @ AttachError::Kernel { errno: Errno(libc::EINVAL), .. }) => {
                assert!(e.to_string().contains("too old for a cookie"), "{e}");
            }
            Err(e) => println!("SKIP: {e}"),
        }
    }

    #[test]
    fn an_lsm_hook_fires() {
        let Some(counter) = Counter::new() else { return };
        let at = ("bpf_lsm_file_open", Kind::Func);
        let prog = Program::counting_at(ProgramType::Lsm, AttachType::LsmMac, at, &counter);
        let Some(prog) = prog else { return };
        let Some(link) = skip_or(lsm(prog.fd())) else { return };
        let open = || drop(std::fs::File::open("/proc/self/status"));
        open();
        let active = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
        if active.split(',').any(|name| name.trim() == "bpf") {
            assert!(counter.count() > 0);
        } else {
            println!("SKIP: `bpf` is not among the kernel's LSMs ({active}), so that nothing fires");
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
