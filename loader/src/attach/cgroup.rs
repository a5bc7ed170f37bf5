//! Programs of cgroups: all `cgroup/…` programs, `sockops`, and LSM programs. They run for the processes in
//! the cgroup and in its descendants.

use super::{
    error::{AttachError, Hint},
    link::Link,
    placement::{Order, Placement, placement_error},
    prog_attach::{ProgAttachment, ReplaceMethod},
    program_type::explain_einval,
    target::FileRef,
};
use crate::{
    privileges,
    sys::{self, Errno, LinkTarget},
};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, BorrowedFd};

/// `BPF_F_PREORDER`.
const PREORDER: u32 = 1 << 6;

/// The way in which a program without a link shares its cgroup with other programs of its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CgroupSharing {
    /// No other program is attached to the cgroup or to its descendants.
    Exclusive,
    /// A program of a descendant runs instead of this one (`BPF_F_ALLOW_OVERRIDE`).
    Override,
    /// All programs run: those of the cgroup and of its descendants (`BPF_F_ALLOW_MULTI`).
    #[default]
    Multi,
}

impl CgroupSharing {
    const fn flags(self) -> u32 {
        match self {
            Self::Exclusive => 0,
            Self::Override => 1,
            Self::Multi => 2,
        }
    }
}

/// The options of a cgroup link.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct CgroupOptions<'a> {
    /// The position among the cgroup's programs of the same type. Positions other than the last need a kernel
    /// from 6.17.
    pub placement: Placement<'a>,
    /// Runs before the programs of descendants (`BPF_F_PREORDER`, kernels from 6.15).
    pub preorder: bool,
}

/// Attaches a program to a cgroup by a kernel link. The cgroup is its directory, by path or descriptor.
pub(super) fn cgroup<'c>(
    prog: BorrowedFd<'_>,
    cgroup: impl Into<FileRef<'c>>,
    attach_type: AttachType,
    options: &CgroupOptions<'_>,
) -> Result<Link, AttachError> {
    const UNSUPPORTED: Hint = Hint(
        "was the program loaded for this attach type, and does the kernel support the attach type and the position?",
    );
    let dir = cgroup.into().open_dir()?;
    let label = attachment_label(attach_type);
    let flags = if options.preorder { PREORDER } else { 0 };
    let target = LinkTarget::Fd(dir.as_fd());
    match options.placement.create_link(prog, target, attach_type, flags) {
        Ok(fd) => Ok(Link::from_fd(fd, label)),
        Err(Errno(libc::EINVAL)) if uses_no_link_options(options) && !kernel_has_links() => {
            cgroup_attach(prog, dir.as_fd(), attach_type, CgroupSharing::Multi, None)
        }
        Err(errno) => {
            let error = match refusal_hint(errno) {
                Some(hint) => AttachError::kernel_with_hint(&label, "attach", errno, hint),
                None => placement_error(&label, errno, &options.placement, UNSUPPORTED),
            };
            Err(explain_einval(error, prog, attach_type))
        }
    }
}

/// Attaches a program to a cgroup without a link. The program stays attached until the link is dropped or the
/// cgroup is removed.
pub(super) fn cgroup_attach<'c>(
    prog: BorrowedFd<'_>,
    cgroup: impl Into<FileRef<'c>>,
    attach_type: AttachType,
    sharing: CgroupSharing,
    replace: Option<BorrowedFd<'_>>,
) -> Result<Link, AttachError> {
    let dir = cgroup.into().open_dir()?;
    let (label, flags) = (attachment_label(attach_type), sharing.flags());
    let method = match sharing {
        CgroupSharing::Multi => ReplaceMethod::ReplaceFlag,
        CgroupSharing::Exclusive | CgroupSharing::Override => ReplaceMethod::AttachAgain,
    };
    ProgAttachment::attach(&label, prog, dir.as_fd(), attach_type, flags, replace, method).map_err(
        |mut error| {
            if let AttachError::Kernel { errno, hint, .. } = &mut error {
                *hint = match errno.0 {
                    libc::ENOENT if replace.is_some() => Hint("the program to replace is not attached there"),
                    libc::ENOENT => Hint("the attach target is gone"),
                    _ => refusal_hint(*errno).unwrap_or(*hint),
                };
            }
            explain_einval(error, prog, attach_type)
        },
    )
}

/// Returns the remedy for the errors of cgroups. `EPERM` in spite of all capabilities is a conflict with
/// attached programs (`hierarchy_allows_attach` in the kernel).
fn refusal_hint(errno: Errno) -> Option<Hint> {
    match errno.0 {
        libc::EBADF => Some(Hint(
            "not a cgroup v2 directory: expected a directory below the cgroup2 mount, such as /sys/fs/cgroup/system.slice",
        )),
        libc::EPERM => Some(Hint(privileges::missing_privilege_or(
            "a program attached there, or to a cgroup above, shares the cgroup in another way (exclusive, override or multi); or a \
             policy (an LSM, seccomp) forbids it",
        ))),
        _ => None,
    }
}

fn uses_no_link_options(options: &CgroupOptions<'_>) -> bool {
    let Placement { order, expected_revision } = options.placement;
    matches!(order, Order::Last) && expected_revision == 0 && !options.preorder
}

/// Returns whether the kernel can list links. Kernel 5.7 has cgroup links but cannot list them; attaching
/// without a link serves as well there.
fn kernel_has_links() -> bool {
    !matches!(sys::ObjectKind::Link.next_id(0), Err(Errno(libc::EINVAL)))
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(attach_type: AttachType) -> String {
    format!("{attach_type} of a cgroup")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::{
        Anchor, QueryTarget, query,
        test_support::{Cgroup, Counting, in_own_network, kernel_before},
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    fn program(kind: ProgramType, attach_type: AttachType) -> Option<Counting> {
        Counting::load(kind, Some(attach_type), 1)
    }

    fn ids(cgroup: &Cgroup, attach_type: AttachType) -> Vec<u32> {
        query(QueryTarget::Cgroup(cgroup.fd()), attach_type).unwrap().prog_ids
    }

    #[test]
    fn each_attach_type_runs_for_processes_in_the_cgroup() {
        use {AttachType as A, ProgramType as P};
        in_own_network(|| {
            let Some(group) = Cgroup::new() else { return };
            for (kind, attach_type, action) in [
                (P::CgroupSkb, A::CgroupInetIngress, "udp"),
                (P::CgroupSkb, A::CgroupInetEgress, "udp"),
                (P::CgroupSock, A::CgroupInetSockCreate, "udp"),
                (P::CgroupSock, A::CgroupInetSockRelease, "udp"),
                (P::CgroupSock, A::CgroupInet4PostBind, "udp"),
                (P::CgroupSockAddr, A::CgroupInet4Bind, "udp"),
                (P::CgroupSockAddr, A::CgroupUdp4Sendmsg, "udp"),
                (P::CgroupSockAddr, A::CgroupUdp4Recvmsg, "udp"),
                (P::CgroupSockAddr, A::CgroupInet4Connect, "connect"),
                (P::CgroupSockAddr, A::CgroupInet4Getsockname, "udp"),
                (P::CgroupSockopt, A::CgroupSetsockopt, "setsockopt"),
                (P::CgroupSysctl, A::CgroupSysctl, "sysctl"),
                (P::CgroupDevice, A::CgroupDevice, "device"),
                (P::SockOps, A::CgroupSockOps, "tcp"),
            ] {
                let Some(prog) = program(kind, attach_type) else { return };
                let link = cgroup(prog.fd(), group.fd(), attach_type, &CgroupOptions::default()).unwrap();
                assert_eq!(ids(&group, attach_type), [prog.id()]);
                assert!(link.fd().is_some());
                prog.fires(link, || group.act(action));
                assert_eq!(ids(&group, attach_type), [0; 0]);
            }
        });
    }

    #[test]
    fn without_a_link_programs_share_the_cgroup_and_detach_only_themselves() {
        let attach_type = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let progs: Vec<_> = (0..3).filter_map(|_| program(ProgramType::CgroupDevice, attach_type)).collect();
        let [a, b, c] = &progs[..] else { return };
        let attach = |prog: &Counting, sharing, replace| {
            cgroup_attach(prog.fd(), group.fd(), attach_type, sharing, replace)
        };
        let mut a_link = attach(a, CgroupSharing::Multi, None).unwrap();
        let b_link = attach(b, CgroupSharing::Multi, None).unwrap();
        assert_eq!(ids(&group, attach_type), [a.id(), b.id()]);
        a_link.update(c.fd()).unwrap();
        assert_eq!(ids(&group, attach_type), [c.id(), b.id()]);
        c.fires(a_link, || group.act("device"));
        assert_eq!(ids(&group, attach_type), [b.id()]);
        let over = attach(a, CgroupSharing::Multi, Some(b.fd())).unwrap();
        assert!(b_link.detach().unwrap_err().to_string().contains("ENOENT"));
        assert_eq!(ids(&group, attach_type), [a.id()]);
        assert_eq!(query(QueryTarget::Cgroup(group.fd()), attach_type).unwrap().flags, 2);
        drop(over);

        // The second program replaces the first. Detaching the first must not detach the second.
        let first = attach(a, CgroupSharing::Override, None).unwrap();
        let mut second = attach(b, CgroupSharing::Override, None).unwrap();
        assert!(first.detach().is_err());
        assert_eq!(ids(&group, attach_type), [b.id()]);
        second.update(c.fd()).unwrap();
        assert_eq!(ids(&group, attach_type), [c.id()]);
        let below = group.child();
        assert_eq!(ids(&below, attach_type), [0; 0]);
        assert_eq!(query(QueryTarget::CgroupEffective(below.fd()), attach_type).unwrap().prog_ids, [c.id()]);
        drop(below);
        second.leak();
        assert_eq!(ids(&group, attach_type), [c.id()]);
        let error = attach(a, CgroupSharing::Multi, None).unwrap_err().to_string();
        assert!(error.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot attach: EPERM"), "{error}");
        assert!(error.contains("shares the cgroup in another way"), "{error}");
        let error =
            cgroup(a.fd(), group.fd(), attach_type, &CgroupOptions::default()).unwrap_err().to_string();
        assert!(error.contains("shares the cgroup in another way"), "{error}");
    }

    #[test]
    fn a_removed_cgroup_takes_its_programs_along() {
        let attach_type = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = program(ProgramType::CgroupDevice, attach_type) else { return };
        let below = group.child();
        let fd = below.fd().try_clone_to_owned().unwrap();
        let mut link = cgroup_attach(prog.fd(), below.fd(), attach_type, CgroupSharing::Multi, None).unwrap();
        drop(below);
        assert_eq!(link.update(prog.fd()).unwrap_err().errno(), Some(Errno(libc::ENOENT)));
        link.detach().unwrap();
        let late =
            cgroup(prog.fd(), fd.as_fd(), attach_type, &CgroupOptions::default()).unwrap_err().to_string();
        assert!(late.contains("is gone"), "{late}");
    }

    #[test]
    fn links_are_updated_and_ordered() {
        let attach_type = AttachType::CgroupSysctl;
        let Some(group) = Cgroup::new() else { return };
        let progs: Vec<_> = (0..3).filter_map(|_| program(ProgramType::CgroupSysctl, attach_type)).collect();
        let [a, b, c] = &progs[..] else { return };
        let mut a_link = cgroup(a.fd(), group.fd(), attach_type, &CgroupOptions::default()).unwrap();
        a_link.update(c.fd()).unwrap();
        c.fires(a_link, || group.act("sysctl"));
        let a_link = cgroup(a.fd(), group.fd(), attach_type, &CgroupOptions::default()).unwrap();
        let order = Order::Before(Anchor::Link(a_link.fd().unwrap()));
        let options = CgroupOptions {
            placement: Placement { order, ..Placement::default() },
            ..CgroupOptions::default()
        };
        match cgroup(b.fd(), group.fd(), attach_type, &options) {
            Ok(_b) => assert_eq!(ids(&group, attach_type), [b.id(), a.id()]),
            Err(e) => skip!("no order of cgroup links: {e}"),
        }
        let options = CgroupOptions { preorder: true, ..CgroupOptions::default() };
        match cgroup(c.fd(), group.fd(), attach_type, &options) {
            Ok(link) => c.fires(link, || group.act("sysctl")),
            Err(e) => skip!("no preorder: {e}"),
        }
    }

    #[test]
    fn this_kernels_links_are_detected() {
        if !kernel_before(5, 8, "links") {
            assert!(kernel_has_links());
        }
    }

    #[test]
    fn an_lsm_program_of_a_cgroup() {
        let attach_type = AttachType::LsmCgroup;
        if kernel_before(6, 0, attach_type.name()) {
            return;
        }
        let Some(group) = Cgroup::new() else { return };
        let Some(hook) = crate::attach::test_support::kernel_function("bpf_lsm_socket_bind") else { return };
        let Some(prog) = Counting::load_for(ProgramType::Lsm, attach_type.number(), hook, 1) else { return };
        let link = cgroup(prog.fd(), group.fd(), attach_type, &CgroupOptions::default()).unwrap();
        prog.fires(link, || group.act("udp"));
    }

    #[test]
    fn a_cgroup_is_named_by_its_path() {
        let attach_type = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = program(ProgramType::CgroupDevice, attach_type) else { return };
        let link = cgroup(prog.fd(), group.path(), attach_type, &CgroupOptions::default()).unwrap();
        assert_eq!(ids(&group, attach_type), [prog.id()]);
        prog.fires(link, || group.act("device"));
    }

    #[test]
    fn a_directory_that_is_no_cgroup_and_a_wrong_program_type_are_named() {
        let attach_type = AttachType::CgroupDevice;
        let options = CgroupOptions::default();
        let Some(prog) = program(ProgramType::CgroupDevice, attach_type) else { return };
        let dir = cgroup(prog.fd(), "/proc", attach_type, &options).unwrap_err();
        assert_eq!(dir.errno(), Some(Errno(libc::EBADF)));
        assert!(dir.to_string().contains("EBADF: Bad file descriptor (not a cgroup v2 directory"), "{dir}");
        let dir = cgroup_attach(prog.fd(), "/proc", attach_type, CgroupSharing::Multi, None).unwrap_err();
        assert!(dir.to_string().contains("not a cgroup v2 directory"), "{dir}");
        let file = std::fs::File::open("/dev/null").unwrap();
        let error = cgroup(prog.fd(), &file, attach_type, &options).unwrap_err().to_string();
        assert!(error.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot attach: EBADF"), "{error}");

        let Some(group) = Cgroup::new() else { return };
        let Some(other) = program(ProgramType::SockOps, AttachType::CgroupSockOps) else { return };
        let expected = AttachError::WrongProgramType {
            label: "BPF_CGROUP_DEVICE of a cgroup".into(),
            found: ProgramType::SockOps,
            expected: vec![ProgramType::CgroupDevice],
        };
        assert_eq!(cgroup(other.fd(), group.fd(), attach_type, &options).unwrap_err(), expected);
        let error =
            cgroup_attach(other.fd(), group.fd(), attach_type, CgroupSharing::Multi, None).unwrap_err();
        assert_eq!(error, expected);
    }
}
