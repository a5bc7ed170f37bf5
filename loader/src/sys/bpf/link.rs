//! BPF links.

use super::call::{Cmd, address, attr, call_done, call_fd, count, fd, opt_fd};
use core::ffi::CStr;
use core_relo::Endian;
use core_relo_object::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `BPF_F_REPLACE` of `flags`.
const REPLACE: u32 = 4;

/// `BPF_F_UPROBE_MULTI_PATH_FD` of the flags of uprobe.multi.
#[cfg(feature = "uprobe")]
const PATH_FD: u32 = 2;

attr! {
    struct CreateAttr { prog_fd: u32, target: u32, attach_type: u32, flags: u32, extra: [u64; 6], }
    struct UpdateAttr { link_fd: u32, new_fd: u32, flags: u32, old_fd: u32, }
    struct LinkAttr { link_fd: u32, }
    struct IterAttr { link_fd: u32, flags: u32, }
    struct RawTracepointAttr { name: u64, prog_fd: u32, pad: u32, cookie: u64, }
}

/// The attach target of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum LinkTarget<'a> {
    /// The target that the program was loaded for.
    #[default]
    None,
    /// A cgroup, network namespace, map, perf event or program.
    Fd(BorrowedFd<'a>),
    /// A network interface, by index.
    Interface(u32),
}

/// The parameters that depend on the link type (the union in `BPF_LINK_CREATE`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum LinkExtra<'a> {
    /// Nothing.
    #[default]
    None,
    /// A freplace or tracing program.
    Tracing {
        /// The function's type id in the target's BTF.
        btf_id: u32,
        /// The result of `bpf_get_attach_cookie`.
        cookie: u64,
    },
    /// An iterator: `union bpf_iter_link_info`.
    Iter(&'a [u8]),
    /// A perf event.
    PerfEvent {
        /// The result of `bpf_get_attach_cookie`.
        cookie: u64,
    },
    /// A kprobe.multi program, by names or by addresses.
    KprobeMulti {
        /// `BPF_F_KPROBE_MULTI_RETURN` or 0.
        flags: u32,
        /// Names of functions.
        symbols: &'a [&'a CStr],
        /// Or their addresses.
        addresses: &'a [u64],
        /// A cookie for each, or none.
        cookies: &'a [u64],
    },
    /// A uprobe.multi program.
    UprobeMulti {
        /// The binary.
        binary: UprobeBinary<'a>,
        /// Offsets in the file.
        offsets: &'a [u64],
        /// Offsets of reference counters, or none.
        ref_ctr_offsets: &'a [u64],
        /// A cookie for each, or none.
        cookies: &'a [u64],
        /// `BPF_F_UPROBE_MULTI_RETURN` or 0.
        flags: u32,
        /// The process, 0 for all.
        pid: u32,
    },
    /// A fentry.multi, fexit.multi or fsession.multi program.
    TracingMulti {
        /// The type ids of the functions, in the BTF that the program was loaded for.
        ids: &'a [u32],
        /// A cookie for each, or none.
        cookies: &'a [u64],
    },
    /// A netfilter program.
    Netfilter {
        /// Protocol family.
        pf: u32,
        /// Hook.
        hooknum: u32,
        /// Order among hooks.
        priority: i32,
        /// `BPF_F_NETFILTER_IP_DEFRAG` or 0.
        flags: u32,
    },
    /// The position of a tcx, netkit or cgroup program among the programs of its target.
    Relative {
        /// A descriptor or an id, by the flags; 0 for none.
        relative: u32,
        /// The expected revision, 0 for any.
        expected_revision: u64,
    },
}

/// The binary of a uprobe.multi program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UprobeBinary<'a> {
    /// A path.
    Path(&'a CStr),
    /// An open file (kernels from 7.2).
    #[cfg(feature = "uprobe")]
    Fd(BorrowedFd<'a>),
}

/// The parameters of a new link (`BPF_LINK_CREATE`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkCreate<'a> {
    /// The program, or a struct_ops map.
    pub prog: BorrowedFd<'a>,
    /// The attach target.
    pub target: LinkTarget<'a>,
    /// The kernel's number of the attach type.
    pub attach_type: u32,
    /// Flags by type.
    pub flags: u32,
    /// The parameters that depend on the link type.
    pub extra: LinkExtra<'a>,
}

/// Attaches a program, or registers a struct_ops map.
pub(crate) fn link_create(link: &LinkCreate<'_>) -> Result<OwnedFd, Errno> {
    let mut addresses = Vec::new();
    let target = match link.target {
        LinkTarget::None => 0,
        LinkTarget::Fd(target) => fd(target),
        LinkTarget::Interface(ifindex) => ifindex,
    };
    let extra = encode_extra(&link.extra, &mut addresses)?;
    let mut attr = CreateAttr {
        prog_fd: fd(link.prog),
        target,
        attach_type: link.attach_type,
        flags: link.flags,
        extra,
    };
    call_fd(Cmd::LinkCreate, &mut attr)
}

/// Returns whether the kernel supports links of an attach type. The request never attaches anything.
///
/// The target is a closed descriptor. A kernel with such links looks up the target and returns `EBADF`.
pub(crate) fn has_link_type(prog: BorrowedFd<'_>, attach_type: u32) -> bool {
    link_to_closed_target(prog, attach_type).is_err_and(|errno| errno == Errno(libc::EBADF))
}

/// Requests a link to a target that does not exist: a closed descriptor, and the index of no network
/// interface.
pub(crate) fn link_to_closed_target(prog: BorrowedFd<'_>, attach_type: u32) -> Result<OwnedFd, Errno> {
    let closed = CreateAttr { prog_fd: fd(prog), target: u32::MAX, attach_type, ..CreateAttr::default() };
    call_fd(Cmd::LinkCreate, &mut { closed })
}

/// Encodes the union of `BPF_LINK_CREATE`. `addresses_of_symbols` owns the array that the result may point
/// to.
fn encode_extra(extra: &LinkExtra<'_>, addresses_of_symbols: &mut Vec<u64>) -> Result<[u64; 6], Errno> {
    let mut out = Vec::new();
    let e = Endian::native();
    let word = |out: &mut Vec<u8>, v: u32| e.put_u32(out, v);
    match *extra {
        LinkExtra::None => {}
        LinkExtra::Tracing { btf_id, cookie } => {
            word(&mut out, btf_id);
            word(&mut out, 0);
            e.put_u64(&mut out, cookie);
        }
        LinkExtra::Iter(info) => {
            e.put_u64(&mut out, address(info));
            word(&mut out, count(info)?);
        }
        LinkExtra::PerfEvent { cookie } => e.put_u64(&mut out, cookie),
        LinkExtra::KprobeMulti { flags, symbols, addresses, cookies } => {
            let n = if symbols.is_empty() { addresses.len() } else { symbols.len() };
            if (!symbols.is_empty() && !addresses.is_empty()) || !(cookies.is_empty() || cookies.len() == n) {
                return Err(Errno(libc::EINVAL));
            }
            *addresses_of_symbols = symbols.iter().map(|s| address(s.to_bytes_with_nul())).collect();
            word(&mut out, flags);
            word(&mut out, if symbols.is_empty() { count(addresses)? } else { count(symbols)? });
            for at in [address(addresses_of_symbols), address(addresses), address(cookies)] {
                e.put_u64(&mut out, at);
            }
        }
        LinkExtra::UprobeMulti { binary, offsets, ref_ctr_offsets, cookies, flags, pid } => {
            if [ref_ctr_offsets, cookies].iter().any(|a| !a.is_empty() && a.len() != offsets.len()) {
                return Err(Errno(libc::EINVAL));
            }
            let (path, flags, path_fd) = match binary {
                UprobeBinary::Path(path) => (address(path.to_bytes_with_nul()), flags, 0),
                #[cfg(feature = "uprobe")]
                UprobeBinary::Fd(file) => (0, flags | PATH_FD, fd(file)),
            };
            e.put_u64(&mut out, path);
            for array in [offsets, ref_ctr_offsets, cookies] {
                e.put_u64(&mut out, address(array));
            }
            for v in [count(offsets)?, flags, pid, path_fd] {
                word(&mut out, v);
            }
        }
        LinkExtra::TracingMulti { ids, cookies } => {
            if !(cookies.is_empty() || cookies.len() == ids.len()) {
                return Err(Errno(libc::EINVAL));
            }
            for at in [address(ids), address(cookies)] {
                e.put_u64(&mut out, at);
            }
            word(&mut out, count(ids)?);
        }
        LinkExtra::Netfilter { pf, hooknum, priority, flags } => {
            for v in [pf, hooknum, priority.cast_unsigned(), flags] {
                word(&mut out, v);
            }
        }
        LinkExtra::Relative { relative, expected_revision } => {
            word(&mut out, relative);
            word(&mut out, 0);
            e.put_u64(&mut out, expected_revision);
        }
    }
    out.resize(48, 0);
    let mut extra = [0; 6];
    for (to, at) in extra.iter_mut().zip((0..).step_by(8)) {
        *to = e.u64(&out, at).ok_or(Errno(libc::EINVAL))?;
    }
    Ok(extra)
}

/// Replaces the program (or struct_ops map) of a link. With `old`, replaces only that program.
pub fn update_link(link: impl AsFd, new: impl AsFd, old: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let flags = if old.is_some() { REPLACE } else { 0 };
    let attr = UpdateAttr { link_fd: fd(link.as_fd()), new_fd: fd(new.as_fd()), flags, old_fd: opt_fd(old) };
    call_done(Cmd::LinkUpdate, &mut { attr })
}

/// Detaches a link, even if other descriptors or pins of the link exist.
pub fn detach_link(link: impl AsFd) -> Result<(), Errno> {
    call_done(Cmd::LinkDetach, &mut LinkAttr { link_fd: fd(link.as_fd()) })
}

/// Opens an iterator's output for reading.
pub(crate) fn iter_create(link: impl AsFd) -> Result<OwnedFd, Errno> {
    call_fd(Cmd::IterCreate, &mut IterAttr { link_fd: fd(link.as_fd()), flags: 0 })
}

/// Attaches a program to a raw tracepoint by name. Without a name, attaches a tracing or LSM program to the
/// target that it was loaded for.
pub(crate) fn raw_tracepoint_open(
    name: Option<&CStr>,
    prog: impl AsFd,
    cookie: u64,
) -> Result<OwnedFd, Errno> {
    let name = name.map_or(0, |name| address(name.to_bytes_with_nul()));
    call_fd(
        Cmd::RawTracepointOpen,
        &mut RawTracepointAttr { name, prog_fd: fd(prog.as_fd()), pad: 0, cookie },
    )
}
