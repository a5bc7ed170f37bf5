//! Netfilter programs, by a kernel link (kernels from 6.4).

use super::{
    error::{AttachError, Hint},
    link::Link,
    program_type::explain_einval,
};
use crate::sys::{self, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// A netfilter hook of the calling thread's network namespace, and the priority there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields are those of the kernel's request")]
pub struct NetfilterHook {
    /// `NFPROTO_IPV4` (2) or `NFPROTO_IPV6` (10).
    pub family: u32,
    /// `NF_INET_PRE_ROUTING` (0), `LOCAL_IN` (1), `FORWARD` (2), `LOCAL_OUT` (3), `POST_ROUTING` (4).
    pub hook: u32,
    /// The priority. Lower numbers run first. The kernel refuses the lowest and the highest number.
    pub priority: i32,
    /// Defragments packets first (`BPF_F_NETFILTER_IP_DEFRAG`, kernels from 6.6).
    pub defragment: bool,
}

/// Attaches a program to a netfilter hook.
pub fn netfilter(prog: BorrowedFd<'_>, hook: NetfilterHook) -> Result<Link, AttachError> {
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
            libc::EAFNOSUPPORT => Hint("the family is 2 (IPv4) or 10 (IPv6)"),
            libc::ERANGE => Hint("defragmenting needs a priority above -400"),
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

    const LOCAL_OUT: NetfilterHook = NetfilterHook { family: 2, hook: 3, priority: -7, defragment: false };

    #[test]
    fn a_hook_runs_its_program_and_its_priority_is_taken() {
        in_own_network(|| {
            if kernel_before(6, 4, "netfilter") {
                return;
            }
            // NF_ACCEPT
            let load = || Counting::load(ProgramType::Netfilter, Some(AttachType::Netfilter), 1);
            let (Some(prog), Some(other)) = (load(), load()) else { return };
            let link = netfilter(prog.fd(), LOCAL_OUT).unwrap();
            let info = sys::link_info(&link.fd().unwrap()).unwrap();
            assert_eq!(info.detail[..3], [2, 3, (-7i32).cast_unsigned()]);
            let taken = netfilter(other.fd(), LOCAL_OUT).unwrap_err().to_string();
            assert!(taken.contains("another program has this priority"), "{taken}");
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = socket.local_addr().unwrap();
            prog.fires(link, || assert_eq!(socket.send_to(b"!", address).unwrap(), 1));
            let odd = netfilter(prog.fd(), NetfilterHook { family: 1, ..LOCAL_OUT }).unwrap_err().to_string();
            assert!(odd.starts_with("netfilter hook 3 of family 1, priority -7: cannot attach: "), "{odd}");
        });
    }
}
