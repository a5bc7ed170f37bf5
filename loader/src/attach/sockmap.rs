//! Sockmaps and sockhashes: what happens to the data of the sockets in a map.

use super::{
    AttachError, Hint, Link,
    by_program::{ByProgram, Replacing},
};
use crate::{
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget},
};
use std::os::fd::BorrowedFd;

/// Attaches to a sockmap or sockhash by a link (kernels from 6.10), by [`sockmap_attach`] where there is none: `attach_type`
/// is `SkMsgVerdict`, `SkSkbVerdict`, `SkSkbStreamVerdict` or `SkSkbStreamParser`.
pub fn sockmap(
    prog: BorrowedFd<'_>,
    map: BorrowedFd<'_>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    let target = LinkTarget::Fd(map);
    let link =
        LinkCreate { prog, target, attach_type: attach_type.number(), flags: 0, extra: LinkExtra::None };
    match sys::link_create(&link) {
        Ok(fd) => Ok(Link::from_fd(fd, what(attach_type))),
        // A kernel with such links looks at the map, here at one that is not open.
        Err(Errno(libc::EINVAL))
            if sys::link_create_closed(prog, attach_type.number()) != Errno(libc::EBADF) =>
        {
            sockmap_attach(prog, map, attach_type)
        }
        Err(errno) => Err(AttachError::kernel(&what(attach_type), "attach", errno)),
    }
}

/// Attaches to a sockmap or sockhash without a link, in the place of another program of its type: it stays as long as the map
/// does, if the link is not dropped before.
pub fn sockmap_attach(
    prog: BorrowedFd<'_>,
    map: BorrowedFd<'_>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    let what = what(attach_type);
    let attached = ByProgram::attach(&what, prog, map, attach_type, 0, None, Replacing::ByAttaching);
    match attached {
        Err(AttachError::Kernel { errno: errno @ Errno(libc::EINVAL | libc::EOPNOTSUPP), .. }) => {
            let hint = Hint("is it a sockmap, and the kernel new enough? `SkSkbVerdict` needs one from 5.13");
            Err(AttachError::Kernel { what: what.into(), action: "attach", errno, hint })
        }
        attached => attached,
    }
}

fn what(attach_type: AttachType) -> String {
    format!("{attach_type} of a sockmap")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Target, query,
            testing::{Counting, eventually, in_own_network, kernel_before, skip},
        },
        object::ProgramType,
        sys::{MapCreate, MapFd},
    };
    use core::net::Ipv4Addr;
    use core_relo::Endian;
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd as _,
    };

    /// A sockmap with one end of a connection in it, and the other end.
    fn connected(map: &MapFd) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let fd = Endian::native().u32_bytes(near.as_raw_fd().cast_unsigned());
        sys::map_update(map.shape(), &[0; 4], &fd, 0).unwrap();
        (near, far)
    }

    fn sockets() -> Option<MapFd> {
        let map =
            MapCreate { map_type: 15, key_size: 4, value_size: 4, max_entries: 1, ..MapCreate::default() };
        Some(MapFd::new(skip("a sockmap", sys::map_create(&map))?).unwrap())
    }

    #[test]
    fn verdicts_on_what_is_sent_and_on_what_arrives() {
        in_own_network(|| {
            for (kind, at) in [
                (ProgramType::SkMsg, AttachType::SkMsgVerdict),
                (ProgramType::SkSkb, AttachType::SkSkbStreamVerdict),
                (ProgramType::SkSkb, AttachType::SkSkbVerdict),
            ] {
                if at == AttachType::SkSkbVerdict && kernel_before(5, 13, at.name()) {
                    continue;
                }
                for attach in [sockmap, sockmap_attach] {
                    // SK_PASS
                    let Some(prog) = Counting::load(kind, Some(at), 1) else { return };
                    let Some(map) = sockets() else { return };
                    let map_fd = map.shape().fd();
                    let link = attach(prog.fd(), map_fd, at).unwrap();
                    match query(Target::Sockmap(map_fd), at) {
                        Ok(there) => assert_eq!(there.prog_ids, [prog.id()]),
                        Err(e) => println!("SKIP: {e}"),
                    }
                    let (mut near, mut far) = connected(&map);
                    let mut got = [0; 2];
                    let sent: &mut TcpStream = if kind == ProgramType::SkMsg { &mut near } else { &mut far };
                    sent.write_all(b"hi").unwrap();
                    assert!(prog.ran_since(0), "{at}");
                    (if kind == ProgramType::SkMsg { &mut far } else { &mut near })
                        .read_exact(&mut got)
                        .unwrap();
                    assert_eq!(&got, b"hi");
                    link.detach().unwrap();
                    let there = || query(Target::Sockmap(map_fd), at).unwrap_or_default().prog_ids;
                    assert!(eventually(|| there().is_empty()));
                }
            }
        });
    }

    #[test]
    fn with_links_what_is_no_sockmap_is_not_tried_another_way() {
        let at = AttachType::SkMsgVerdict;
        let Some(prog) = Counting::load(ProgramType::SkMsg, Some(at), 1) else { return };
        if kernel_before(6, 10, "a sockmap's link") {
            return;
        }
        assert_eq!(sys::link_create_closed(prog.fd(), at.number()), Errno(libc::EBADF));
        let Some(map) = crate::live_test_support::map(crate::object::MapType::Array, 4, 4, 1) else { return };
        let e = sockmap(prog.fd(), map.shape().fd(), at).unwrap_err();
        assert_eq!(e.errno(), Some(Errno(libc::EINVAL)), "{e}");
        assert!(!e.to_string().contains("new enough"), "{e}");
    }

    #[test]
    fn without_a_link_another_takes_the_place() {
        let at = AttachType::SkMsgVerdict;
        let load = || Counting::load(ProgramType::SkMsg, Some(at), 1);
        let (Some(a), Some(b), Some(map)) = (load(), load(), sockets()) else { return };
        let map_fd = map.shape().fd();
        let first = sockmap_attach(a.fd(), map_fd, at).unwrap();
        let mut second = sockmap_attach(b.fd(), map_fd, at).unwrap();
        assert!(first.detach().is_err());
        second.update(a.fd()).unwrap();
        match query(Target::Sockmap(map_fd), at) {
            Ok(there) => assert_eq!(there.prog_ids, [a.id()]),
            Err(e) => println!("SKIP: {e}"),
        }
        second.detach().unwrap();
    }
}
