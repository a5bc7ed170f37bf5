//! Cgroups: all the `cgroup/…` programs, `sockops`, and LSM programs of a cgroup, for the processes in it and below it.

use super::{
    AttachError, Hint, Link,
    by_program::{ByProgram, Replacing},
    order::{Order, Placement, not_placed},
};
use crate::{
    object::AttachType,
    privileges,
    sys::{self, Errno, LinkTarget},
};
use std::os::fd::BorrowedFd;

/// How a program gets on with others of its type, without a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CgroupSharing {
    /// Alone: none in cgroups below, and none beside it.
    Alone,
    /// One in a cgroup below runs instead of it (`BPF_F_ALLOW_OVERRIDE`).
    Override,
    /// All run, this cgroup's and those below it, up to the root (`BPF_F_ALLOW_MULTI`).
    #[default]
    Multi,
}

impl CgroupSharing {
    const fn flags(self) -> u32 {
        match self {
            Self::Alone => 0,
            Self::Override => 1,
            Self::Multi => 2,
        }
    }
}

/// How a program is attached to a cgroup by a link.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct CgroupOptions<'a> {
    /// Where among the cgroup's programs of its type; another than the last needs a kernel from 6.17.
    pub place: Placement<'a>,
    /// Runs before the programs of cgroups below (`BPF_F_PREORDER`, kernels from 6.15).
    pub preorder: bool,
}

/// Attaches to a cgroup (a descriptor of its directory) by a link; kernels before 5.7 have none, and get
/// [`cgroup_attach`] with [`CgroupSharing::Multi`], which is what a link's program shares.
pub fn cgroup(
    prog: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    attach_type: AttachType,
    options: &CgroupOptions<'_>,
) -> Result<Link, AttachError> {
    const PREORDER: u32 = 1 << 6;
    const UNKNOWN: Hint =
        Hint("is the program of this type, and is the kernel new enough for the type and the place?");
    let what = what(attach_type);
    let flags = if options.preorder { PREORDER } else { 0 };
    match options.place.link(prog, LinkTarget::Fd(cgroup), attach_type, flags) {
        Ok(fd) => Ok(Link::from_fd(fd, what)),
        Err(Errno(libc::EINVAL)) if is_plain(options) && !kernel_has_links() => {
            cgroup_attach(prog, cgroup, attach_type, CgroupSharing::Multi, None)
        }
        Err(errno @ Errno(libc::EPERM)) => Err(AttachError::hinted(&what, "attach", errno, other_sharing())),
        Err(errno) => Err(not_placed(&what, errno, &options.place, UNKNOWN)),
    }
}

/// Attaches to a cgroup without a link: it stays until the cgroup is removed, if the link is not dropped before.
///
/// With `replace`, it takes that program's place (kernels from 5.6, and only with [`CgroupSharing::Multi`]).
pub fn cgroup_attach(
    prog: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
    attach_type: AttachType,
    sharing: CgroupSharing,
    replace: Option<BorrowedFd<'_>>,
) -> Result<Link, AttachError> {
    let replacing =
        if sharing == CgroupSharing::Multi { Replacing::ByNaming } else { Replacing::ByAttaching };
    let attached =
        ByProgram::attach(&what(attach_type), prog, cgroup, attach_type, sharing.flags(), replace, replacing);
    attached.map_err(|mut error| {
        if let AttachError::Kernel { errno, hint, .. } = &mut error {
            *hint = match errno.0 {
                libc::EPERM => other_sharing(),
                libc::ENOENT if replace.is_some() => Hint("the program to be replaced is not attached there"),
                libc::ENOENT => Hint("what it is to be attached to is gone"),
                _ => *hint,
            };
        }
        error
    })
}

/// What helps against EPERM: where nothing is lacking, it is what is attached already (`hierarchy_allows_attach` in the kernel).
fn other_sharing() -> Hint {
    Hint(privileges::lacking_or(
        "a program is attached there, or to a cgroup above, that shares the place in another way (`CgroupSharing`); or a policy \
         (an LSM, seccomp) forbids it",
    ))
}

fn is_plain(options: &CgroupOptions<'_>) -> bool {
    let Placement { order, expected_revision } = options.place;
    matches!(order, Order::Last) && expected_revision == 0 && !options.preorder
}

/// Kernels with links name the first, say that there is none, or that one may not know. (5.7 has links, and no numbers of
/// them: there, the older way serves as well.)
fn kernel_has_links() -> bool {
    !matches!(sys::next_link_id(0), Err(Errno(libc::EINVAL)))
}

fn what(attach_type: AttachType) -> String {
    format!("{attach_type} of a cgroup")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Neighbour, Target, query,
            testing::{Cgroup, Counting, in_own_network, kernel_before},
        },
        object::ProgramType,
    };
    use std::os::fd::AsFd as _;

    fn program(kind: ProgramType, at: AttachType) -> Option<Counting> {
        Counting::load(kind, Some(at), 1)
    }

    fn ids(cgroup: &Cgroup, at: AttachType) -> Vec<u32> {
        query(Target::Cgroup(cgroup.fd()), at).unwrap().prog_ids
    }

    #[test]
    fn each_type_fires_for_processes_in_the_cgroup() {
        use {AttachType as A, ProgramType as P};
        in_own_network(|| {
            let Some(group) = Cgroup::new() else { return };
            for (kind, at, action) in [
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
                let Some(prog) = program(kind, at) else { return };
                let link = cgroup(prog.fd(), group.fd(), at, &CgroupOptions::default()).unwrap();
                assert_eq!(ids(&group, at), [prog.id()]);
                assert!(link.fd().is_some());
                prog.fires(link, || group.act(action));
                assert_eq!(ids(&group, at), [0; 0]);
            }
        });
    }

    #[test]
    fn without_a_link_programs_share_as_told_and_only_the_own_goes() {
        let at = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let progs: Vec<_> = (0..3).filter_map(|_| program(ProgramType::CgroupDevice, at)).collect();
        let [a, b, c] = &progs[..] else { return };
        let put =
            |prog: &Counting, sharing, replace| cgroup_attach(prog.fd(), group.fd(), at, sharing, replace);
        let mut a_link = put(a, CgroupSharing::Multi, None).unwrap();
        let b_link = put(b, CgroupSharing::Multi, None).unwrap();
        assert_eq!(ids(&group, at), [a.id(), b.id()]);
        a_link.update(c.fd()).unwrap();
        assert_eq!(ids(&group, at), [c.id(), b.id()]);
        c.fires(a_link, || group.act("device"));
        assert_eq!(ids(&group, at), [b.id()]);
        let over = put(a, CgroupSharing::Multi, Some(b.fd())).unwrap();
        assert!(b_link.detach().unwrap_err().to_string().contains("ENOENT"));
        assert_eq!(ids(&group, at), [a.id()]);
        assert_eq!(query(Target::Cgroup(group.fd()), at).unwrap().flags, 2);
        drop(over);

        // Where there is room for one, the second takes the first's place, which must not take it away.
        let first = put(a, CgroupSharing::Override, None).unwrap();
        let mut second = put(b, CgroupSharing::Override, None).unwrap();
        assert!(first.detach().is_err());
        assert_eq!(ids(&group, at), [b.id()]);
        second.update(c.fd()).unwrap();
        assert_eq!(ids(&group, at), [c.id()]);
        let below = group.child();
        assert_eq!(ids(&below, at), [0; 0]);
        assert_eq!(query(Target::CgroupEffective(below.fd()), at).unwrap().prog_ids, [c.id()]);
        drop(below);
        second.leak();
        assert_eq!(ids(&group, at), [c.id()]);
        let error = put(a, CgroupSharing::Multi, None).unwrap_err().to_string();
        assert!(error.starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot attach: EPERM"), "{error}");
        assert!(error.contains("shares the place in another way"), "{error}");
        let error = cgroup(a.fd(), group.fd(), at, &CgroupOptions::default()).unwrap_err().to_string();
        assert!(error.contains("shares the place in another way"), "{error}");
    }

    #[test]
    fn what_went_with_its_cgroup_is_detached() {
        let at = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = program(ProgramType::CgroupDevice, at) else { return };
        let below = group.child();
        let fd = below.fd().try_clone_to_owned().unwrap();
        let mut link = cgroup_attach(prog.fd(), below.fd(), at, CgroupSharing::Multi, None).unwrap();
        drop(below);
        assert_eq!(link.update(prog.fd()).unwrap_err().errno(), Some(Errno(libc::ENOENT)));
        link.detach().unwrap();
        let late = cgroup(prog.fd(), fd.as_fd(), at, &CgroupOptions::default()).unwrap_err().to_string();
        assert!(late.contains("is gone"), "{late}");
    }

    #[test]
    fn links_are_updated_and_ordered() {
        let at = AttachType::CgroupSysctl;
        let Some(group) = Cgroup::new() else { return };
        let progs: Vec<_> = (0..3).filter_map(|_| program(ProgramType::CgroupSysctl, at)).collect();
        let [a, b, c] = &progs[..] else { return };
        let mut a_link = cgroup(a.fd(), group.fd(), at, &CgroupOptions::default()).unwrap();
        a_link.update(c.fd()).unwrap();
        c.fires(a_link, || group.act("sysctl"));
        let a_link = cgroup(a.fd(), group.fd(), at, &CgroupOptions::default()).unwrap();
        let order = Order::Before(Neighbour::Link(a_link.fd().unwrap()));
        let options =
            CgroupOptions { place: Placement { order, ..Placement::default() }, ..CgroupOptions::default() };
        match cgroup(b.fd(), group.fd(), at, &options) {
            Ok(_b) => assert_eq!(ids(&group, at), [b.id(), a.id()]),
            Err(e) => println!("SKIP: no order of cgroup links: {e}"),
        }
        let options = CgroupOptions { preorder: true, ..CgroupOptions::default() };
        match cgroup(c.fd(), group.fd(), at, &options) {
            Ok(link) => c.fires(link, || group.act("sysctl")),
            Err(e) => println!("SKIP: no preorder: {e}"),
        }
    }

    #[test]
    fn a_kernel_with_links_is_known_as_one() {
        if !kernel_before(5, 8, "links") {
            assert!(kernel_has_links());
        }
    }

    #[test]
    fn an_lsm_program_of_a_cgroup() {
        let at = AttachType::LsmCgroup;
        if kernel_before(6, 0, at.name()) {
            return;
        }
        let Some(group) = Cgroup::new() else { return };
        let Some(hook) = crate::attach::testing::kernel_function("bpf_lsm_socket_bind") else { return };
        let Some(prog) = Counting::load_for(ProgramType::Lsm, at.number(), hook, 1) else { return };
        let link = cgroup(prog.fd(), group.fd(), at, &CgroupOptions::default()).unwrap();
        prog.fires(link, || group.act("udp"));
    }

    #[test]
    fn what_is_no_cgroup_is_refused() {
        let Some(prog) = program(ProgramType::CgroupDevice, AttachType::CgroupDevice) else { return };
        let file = std::fs::File::open("/dev/null").unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let error = cgroup(prog.fd(), fd, AttachType::CgroupDevice, &CgroupOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("BPF_CGROUP_DEVICE of a cgroup: cannot attach: "), "{error}");
    }
}
