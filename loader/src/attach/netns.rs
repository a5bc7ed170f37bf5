//! Network namespaces: socket lookup and flow dissection, by links (kernels from 5.9 and 5.8).

use super::{AttachError, Hint, Link};
use crate::{
    object::AttachType,
    sys::{self, LinkCreate, LinkExtra, LinkTarget},
};
use std::os::fd::BorrowedFd;

/// Attaches to a network namespace, a descriptor of `/proc/…/ns/net`: `attach_type` is `SkLookup` or `FlowDissector`.
///
/// When the namespace ends, so does the attachment, though the link goes on.
pub fn netns(
    prog: BorrowedFd<'_>,
    netns: BorrowedFd<'_>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    let what = format!("{attach_type} of a network namespace");
    let target = LinkTarget::Fd(netns);
    let link =
        LinkCreate { prog, target, attach_type: attach_type.number(), flags: 0, extra: LinkExtra::None };
    match sys::link_create(&link) {
        Ok(fd) => Ok(Link::from_fd(fd, what)),
        Err(errno) => {
            let hint = match errno.0 {
                libc::EEXIST | libc::E2BIG | libc::EBUSY => {
                    Hint("another program is there, or one of the initial network namespace's excludes it")
                }
                libc::EINVAL => Hint("is the descriptor one of /proc/…/ns/net?"),
                _ => Hint::of(errno),
            };
            Err(AttachError::Kernel { what: what.into(), action: "attach", errno, hint })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Target, query,
            testing::{Counting, in_own_network, pair, send_on_pair},
        },
        object::ProgramType,
    };
    use core::net::Ipv4Addr;
    use std::{
        fs::File,
        net::{TcpListener, TcpStream},
        os::fd::AsFd as _,
    };

    fn own() -> File {
        File::open("/proc/thread-self/ns/net").unwrap()
    }

    #[test]
    fn socket_lookup_fires() {
        in_own_network(|| {
            let at = AttachType::SkLookup;
            let Some(prog) = Counting::load(ProgramType::SkLookup, Some(at), 1) else { return };
            let own = own();
            let link = netns(prog.fd(), own.as_fd(), at).unwrap();
            assert_eq!(query(Target::Netns(own.as_fd()), at).unwrap().prog_ids, [prog.id()]);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            prog.fires(link, || drop(TcpStream::connect(address).unwrap()));
            assert_eq!(query(Target::Netns(own.as_fd()), at).unwrap().prog_ids, [0; 0]);
        });
    }

    #[test]
    fn flow_dissection_fires_and_is_updated() {
        in_own_network(|| {
            let at = AttachType::FlowDissector;
            let dropping = 2;
            let load = || Counting::load(ProgramType::FlowDissector, Some(at), dropping);
            let (Some(prog), Some(other), Some(_)) = (load(), load(), pair("veth")) else { return };
            let own = own();
            let mut link = match netns(prog.fd(), own.as_fd(), at) {
                Ok(link) => link,
                // The initial namespace has one, which holds for all.
                Err(e) if e.to_string().contains("EEXIST") => return println!("SKIP: {e}"),
                Err(e) => panic!("{e}"),
            };
            let again = netns(other.fd(), own.as_fd(), at).unwrap_err().to_string();
            assert!(again.contains("another program is there"), "{again}");
            link.update(other.fd()).unwrap();
            assert_eq!(query(Target::Netns(own.as_fd()), at).unwrap().prog_ids, [other.id()]);
            other.fires(link, send_on_pair);
        });
    }
}
