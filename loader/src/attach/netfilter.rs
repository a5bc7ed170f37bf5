//! Netfilter programs (`BPF_PROG_TYPE_NETFILTER`), attached by a kernel link (kernels from 6.4).

use super::{
    error::{AttachError, Hint},
    link::Link,
    program_type::explain_einval,
};
use crate::sys::{self, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// A netfilter hook in the calling thread's network namespace, and the program's priority at the hook
/// (libbpf: `struct bpf_netfilter_opts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields are those of the kernel's request")]
pub struct NetfilterHook {
    /// The protocol family: `NFPROTO_IPV4` (2) or `NFPROTO_IPV6` (10).
    pub family: u32,
    /// The hook: `NF_INET_PRE_ROUTING` (0), `NF_INET_LOCAL_IN` (1), `NF_INET_FORWARD` (2),
    /// `NF_INET_LOCAL_OUT` (3) or `NF_INET_POST_ROUTING` (4).
    pub hook: u32,
    /// The priority. Programs with lower numbers run first. The kernel refuses `i32::MIN` and `i32::MAX`.
    pub priority: i32,
    /// Whether the kernel defragments packets before the program runs (`BPF_F_NETFILTER_IP_DEFRAG`, kernels
    /// from 6.6). Requires a priority above -400.
    pub defragment: bool,
}

/// Attaches a program to a netfilter hook (libbpf: `bpf_program__attach_netfilter`).
pub(super) fn netfilter(prog: BorrowedFd<'_>, hook: NetfilterHook) -> Result<Link, AttachError> {
    let NetfilterHook { family, hook, priority, defragment } = hook;
    let label = format!("netfilter hook {hook} of family {family}, priority {priority}");
    let link = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: AttachType::Netfilter.number(),
        flags: 0,
        extra: LinkExtra::Netfilter { pf: family, hooknum: hook, priority, flags: defragment.into() },
    };
    sys::link_create(&link).map(|fd| Link::from_fd(fd, label.as_str())).map_err(|errno| {
        let hint = match errno.0 {
            libc::EBUSY => Hint("another program has this priority: choose another priority"),
            libc::EAFNOSUPPORT => Hint("expected family 2 (IPv4) or 10 (IPv6)"),
            libc::ERANGE if defragment => {
                Hint("`defragment` needs a priority above -400, below the highest number")
            }
            libc::ERANGE => Hint("the lowest and the highest priority are reserved: choose another priority"),
            _ => Hint::for_errno(errno),
        };
        let error = AttachError::kernel_with_hint(&label, "attach", errno, hint);
        explain_einval(error, prog, AttachType::Netfilter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::test_support::{Counting, in_own_network, kernel_before},
        sys,
    };
    use core::net::Ipv4Addr;
    use core_relo_object::object::ProgramType;
    use std::net::UdpSocket;

    const NF_ACCEPT: i32 = 1;
    const LOCAL_OUT: NetfilterHook = NetfilterHook { family: 2, hook: 3, priority: -7, defragment: false };

    #[test]
    fn a_hook_runs_its_program_and_refuses_a_second_program_of_the_priority() {
        in_own_network(|| {
            if kernel_before(6, 4, "netfilter") {
                return;
            }
            let load = || Counting::load(ProgramType::Netfilter, Some(AttachType::Netfilter), NF_ACCEPT);
            let (Some(prog), Some(other)) = (load(), load()) else { return };
            let link = netfilter(prog.fd(), LOCAL_OUT).unwrap();
            let info = sys::LinkInfo::query(&link.fd().unwrap()).unwrap();
            assert_eq!(info.detail[..3], [2, 3, (-7i32).cast_unsigned()]);
            let taken = netfilter(other.fd(), LOCAL_OUT).unwrap_err().to_string();
            assert!(taken.contains("another program has this priority"), "{taken}");
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = socket.local_addr().unwrap();
            prog.fires(link, || assert_eq!(socket.send_to(b"!", address).unwrap(), 1));
            let error = |hook| netfilter(prog.fd(), hook).unwrap_err().to_string();
            let wrong = error(NetfilterHook { family: 1, ..LOCAL_OUT });
            assert!(
                wrong.starts_with("netfilter hook 3 of family 1, priority -7: cannot attach: "),
                "{wrong}"
            );
            let lowest = error(NetfilterHook { priority: i32::MIN, ..LOCAL_OUT });
            assert!(lowest.contains("lowest and the highest priority are reserved"), "{lowest}");
        });
    }
}
