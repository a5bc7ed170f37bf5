//! Programs of network namespaces: socket lookup (kernels from 5.9) and flow dissection (kernels from 5.8),
//! by kernel links.

use super::{
    error::{AttachError, Hint},
    link::Link,
    program_type::explain_einval,
    target::FileRef,
};
use crate::sys::{self, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Attaches a program to a network namespace. `attach_type` is `SkLookup` or `FlowDissector`.
pub(super) fn netns<'n>(
    prog: BorrowedFd<'_>,
    netns: impl Into<FileRef<'n>>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    let label = format!("{attach_type} of a network namespace");
    let netns = netns.into().open()?;
    let target = LinkTarget::Fd(netns.as_fd());
    let link =
        LinkCreate { prog, target, attach_type: attach_type.number(), flags: 0, extra: LinkExtra::None };
    sys::link_create(&link).map(|fd| Link::from_fd(fd, label.as_str())).map_err(|errno| {
        let hint = match errno.0 {
            libc::EEXIST | libc::E2BIG | libc::EBUSY => {
                Hint("another program is attached there, or a program of the initial network namespace excludes it")
            }
            libc::EINVAL => Hint("is the file a network namespace, such as /proc/self/ns/net?"),
            _ => Hint::for_errno(errno),
        };
        explain_einval(AttachError::kernel_with_hint(&label, "attach", errno, hint), prog, attach_type)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::{
        QueryTarget, query,
        test_support::{Counting, in_own_network, pair, send_on_pair},
    };
    use core::net::Ipv4Addr;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::{
        fs::File,
        net::{TcpListener, TcpStream},
    };

    fn open_own_netns() -> File {
        File::open("/proc/thread-self/ns/net").unwrap()
    }

    #[test]
    fn socket_lookup_runs() {
        in_own_network(|| {
            let attach_type = AttachType::SkLookup;
            let Some(prog) = Counting::load(ProgramType::SkLookup, Some(attach_type), 1) else { return };
            let netns_file = open_own_netns();
            let link = netns(prog.fd(), netns_file.as_fd(), attach_type).unwrap();
            assert_eq!(
                query(QueryTarget::Netns(netns_file.as_fd()), attach_type).unwrap().prog_ids,
                [prog.id()]
            );
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            prog.fires(link, || drop(TcpStream::connect(address).unwrap()));
            assert_eq!(query(QueryTarget::Netns(netns_file.as_fd()), attach_type).unwrap().prog_ids, [0; 0]);
        });
    }

    #[test]
    fn flow_dissection_runs_and_is_updated() {
        in_own_network(|| {
            let attach_type = AttachType::FlowDissector;
            let dropping = 2;
            let load = || Counting::load(ProgramType::FlowDissector, Some(attach_type), dropping);
            let (Some(prog), Some(other), Some(_)) = (load(), load(), pair("veth")) else { return };
            let netns_file = open_own_netns();
            let mut link = match netns(prog.fd(), netns_file.as_fd(), attach_type) {
                Ok(link) => link,
                // A flow dissector of the initial namespace excludes all others.
                Err(e) if e.to_string().contains("EEXIST") => return skip!("{e}"),
                Err(e) => panic!("{e}"),
            };
            let again = netns(other.fd(), netns_file.as_fd(), attach_type).unwrap_err().to_string();
            assert!(again.contains("another program is attached there"), "{again}");
            link.update(other.fd()).unwrap();
            assert_eq!(
                query(QueryTarget::Netns(netns_file.as_fd()), attach_type).unwrap().prog_ids,
                [other.id()]
            );
            other.fires(link, send_on_pair);
        });
    }
    #[test]
    fn a_file_that_is_no_namespace_and_a_wrong_program_type_are_named() {
        let attach_type = AttachType::SkLookup;
        let Some(prog) = Counting::load(ProgramType::SkLookup, Some(attach_type), 1) else { return };
        let file = netns(prog.fd(), "/proc/self/status", attach_type).unwrap_err().to_string();
        assert!(file.contains("is the file a network namespace"), "{file}");
        let Some(other) = Counting::load(ProgramType::CgroupDevice, None, 1) else { return };
        let error = netns(other.fd(), "/proc/self/ns/net", attach_type).unwrap_err();
        assert!(matches!(error, AttachError::WrongProgramType { .. }), "{error}");
    }
}
