//! Programs that were loaded for what they attach to: fentry, fexit, fmod_ret, fsession, tp_btf, LSM, freplace.

use super::{
    error::{AttachError, Hint},
    link::Link,
};
use crate::{
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use std::os::fd::BorrowedFd;

/// How a tracing program is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TraceOptions {
    /// What `bpf_get_attach_cookie` gives (kernels from 6.0).
    pub cookie: u64,
}

/// Attaches a tracing program to the function or tracepoint it was loaded for (libbpf: `bpf_program__attach_trace_opts`).
pub fn trace(
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
    options: &TraceOptions,
) -> Result<Link, AttachError> {
    let cookie = LinkExtra::Tracing { btf_id: 0, cookie: options.cookie };
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: attach_type.number(),
        flags: 0,
        extra: if options.cookie == 0 { LinkExtra::None } else { cookie },
    };
    let what = target_words(prog, attach_type);
    as_loaded(&create, options.cookie == 0, &what)
}

/// Attaches an LSM program to the hook it was loaded for (libbpf: `bpf_program__attach_lsm`).
pub fn lsm(prog: BorrowedFd<'_>) -> Result<Link, AttachError> {
    trace(prog, AttachType::LsmMac, &TraceOptions::default())
}

/// Attaches a program that replaces a function of another (libbpf: `bpf_program__attach_freplace`): that which it was loaded
/// for, or that of another program, by descriptor and the function's id in that program's BTF.
pub fn freplace(prog: BorrowedFd<'_>, target: Option<(BorrowedFd<'_>, u32)>) -> Result<Link, AttachError> {
    let (target, extra) = match target {
        Some((of, btf_id)) => (LinkTarget::Fd(of), LinkExtra::Tracing { btf_id, cookie: 0 }),
        None => (LinkTarget::None, LinkExtra::None),
    };
    let older = matches!(target, LinkTarget::None);
    as_loaded(&LinkCreate { prog, target, attach_type: 0, flags: 0, extra }, older, "freplace")
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
