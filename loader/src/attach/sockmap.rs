//! Programs of sockmaps and sockhashes, which decide about the data of the sockets in a map.

use super::{
    error::{AttachError, Hint},
    link::Link,
    prog_attach::{ProgAttachment, ReplaceMethod},
    program_type::explain_einval,
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget};
use core_relo_object::object::AttachType;
use std::os::fd::BorrowedFd;

/// Attaches a program to a sockmap or sockhash by a kernel link (kernels from 6.10). Older kernels use
/// [`sockmap_attach`].
pub(super) fn sockmap(
    prog: BorrowedFd<'_>,
    map: BorrowedFd<'_>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    let target = LinkTarget::Fd(map);
    let link =
        LinkCreate { prog, target, attach_type: attach_type.number(), flags: 0, extra: LinkExtra::None };
    match sys::link_create(&link) {
        Ok(fd) => Ok(Link::from_fd(fd, attachment_label(attach_type))),
        Err(Errno(libc::EINVAL)) if !sys::has_link_type(prog, attach_type.number()) => {
            sockmap_attach(prog, map, attach_type)
        }
        Err(errno) => {
            let error = AttachError::kernel(&attachment_label(attach_type), "attach", errno);
            Err(explain_einval(error, prog, attach_type))
        }
    }
}

/// Attaches a program to a sockmap or sockhash without a link, and replaces another program of the same
/// attach type.
pub(super) fn sockmap_attach(
    prog: BorrowedFd<'_>,
    map: BorrowedFd<'_>,
    attach_type: AttachType,
) -> Result<Link, AttachError> {
    const UNSUPPORTED: Hint =
        Hint("is the map a sockmap, and the kernel new enough? `sk_skb/verdict` needs a kernel from 5.13");
    let label = attachment_label(attach_type);
    ProgAttachment::attach(&label, prog, map, attach_type, 0, None, ReplaceMethod::AttachAgain).map_err(
        |mut error| {
            if let AttachError::Kernel { errno: Errno(libc::EINVAL | libc::EOPNOTSUPP), hint, .. } =
                &mut error
            {
                *hint = UNSUPPORTED;
            }
            explain_einval(error, prog, attach_type)
        },
    )
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(attach_type: AttachType) -> String {
    format!("{attach_type} of a sockmap")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            QueryTarget, query,
            test_support::{Counting, eventually, in_own_network, kernel_before, ok_or_skip},
        },
        sys::{MapCreate, MapFd},
    };
    use core::net::Ipv4Addr;
    use core_relo::Endian;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd as _,
    };

    /// Stores one end of a connection in a sockmap. Returns both ends.
    fn connected(map: &MapFd) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let fd = Endian::native().u32_bytes(near.as_raw_fd().cast_unsigned());
        map.shape().update(&[0; 4], &fd, 0).unwrap();
        (near, far)
    }

    fn sockmap_or_skip() -> Option<MapFd> {
        let map =
            MapCreate { map_type: 15, key_size: 4, value_size: 4, max_entries: 1, ..MapCreate::default() };
        Some(MapFd::new(ok_or_skip("a sockmap", sys::map_create(&map))?).unwrap())
    }

    #[test]
    fn verdicts_run_on_sent_and_on_received_data() {
        in_own_network(|| {
            for (kind, attach_type) in [
                (ProgramType::SkMsg, AttachType::SkMsgVerdict),
                (ProgramType::SkSkb, AttachType::SkSkbStreamVerdict),
                (ProgramType::SkSkb, AttachType::SkSkbVerdict),
            ] {
                if attach_type == AttachType::SkSkbVerdict && kernel_before(5, 13, attach_type.name()) {
                    continue;
                }
                for attach in [sockmap, sockmap_attach] {
                    // SK_PASS
                    let Some(prog) = Counting::load(kind, Some(attach_type), 1) else { return };
                    let Some(map) = sockmap_or_skip() else { return };
                    let map_fd = map.shape().fd();
                    let link = attach(prog.fd(), map_fd, attach_type).unwrap();
                    match query(QueryTarget::Sockmap(map_fd), attach_type) {
                        Ok(attached) => assert_eq!(attached.prog_ids, [prog.id()]),
                        Err(e) => skip!("{e}"),
                    }
                    let (mut near, mut far) = connected(&map);
                    let mut got = [0; 2];
                    let sent: &mut TcpStream = if kind == ProgramType::SkMsg { &mut near } else { &mut far };
                    sent.write_all(b"hi").unwrap();
                    assert!(prog.ran_since(0), "{attach_type}");
                    (if kind == ProgramType::SkMsg { &mut far } else { &mut near })
                        .read_exact(&mut got)
                        .unwrap();
                    assert_eq!(&got, b"hi");
                    link.detach().unwrap();
                    // Older kernels do not list the programs.
                    let attached = || query(QueryTarget::Sockmap(map_fd), attach_type);
                    assert!(eventually(|| attached().map_or(true, |found| found.prog_ids.is_empty())));
                }
            }
        });
    }

    #[test]
    fn with_links_another_map_is_refused_without_a_second_attempt() {
        let attach_type = AttachType::SkMsgVerdict;
        let Some(prog) = Counting::load(ProgramType::SkMsg, Some(attach_type), 1) else { return };
        if kernel_before(6, 10, "a sockmap's link") {
            return;
        }
        assert!(sys::has_link_type(prog.fd(), attach_type.number()));
        let Some(map) = crate::live_test_support::map(core_relo_object::object::MapType::Array, 4, 4, 1)
        else {
            return;
        };
        let e = sockmap(prog.fd(), map.shape().fd(), attach_type).unwrap_err();
        assert_eq!(e.errno(), Some(Errno(libc::EINVAL)), "{e}");
        assert!(!e.to_string().contains("new enough"), "{e}");
    }

    #[test]
    fn without_a_link_another_program_replaces_the_first() {
        let attach_type = AttachType::SkMsgVerdict;
        let load = || Counting::load(ProgramType::SkMsg, Some(attach_type), 1);
        let (Some(a), Some(b), Some(map)) = (load(), load(), sockmap_or_skip()) else { return };
        let map_fd = map.shape().fd();
        let first = sockmap_attach(a.fd(), map_fd, attach_type).unwrap();
        let mut second = sockmap_attach(b.fd(), map_fd, attach_type).unwrap();
        assert!(first.detach().is_err());
        second.update(a.fd()).unwrap();
        match query(QueryTarget::Sockmap(map_fd), attach_type) {
            Ok(attached) => assert_eq!(attached.prog_ids, [a.id()]),
            Err(e) => skip!("{e}"),
        }
        second.detach().unwrap();
    }
}
