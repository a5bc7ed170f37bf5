//! Encoded route requests, and packets on routes of network namespaces that the tests create.

use super::{attachment::RTM_NEWROUTE, *};
use crate::attach::{
    netlink::{Attributes, CREATE, REPLACE, Request, messages},
    test_support::{Counting, in_own_network, pair},
};
use core::net::{Ipv4Addr, Ipv6Addr};
use core_relo::Endian;
use core_relo_object::object::ProgramType;
use core_relo_test_support::skip;
use std::{net::UdpSocket, os::fd::AsRawFd as _};

const SEGMENTS: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0x88, 0, 0, 0, 0);

fn to_ipv4(ifindex: u32) -> LwtRoute {
    LwtRoute::new(Ipv4Addr::new(10, 88, 0, 0).into(), 24, ifindex)
}

fn to_ipv6(ifindex: u32) -> LwtRoute {
    LwtRoute::new(SEGMENTS.into(), 64, ifindex)
}

fn xmit(prog: &Counting) -> LwtPrograms<'_> {
    LwtPrograms { xmit: Some(prog.fd()), ..LwtPrograms::default() }
}

/// Unwraps the link. `None` if the kernel is built without lightweight tunnels.
fn link_or_skip(link: Result<Link, AttachError>) -> Option<Link> {
    match link {
        Err(e) if e.errno() == Some(Errno(libc::EOPNOTSUPP)) => {
            skip!("{e}");
            None
        }
        link => Some(link.unwrap()),
    }
}

fn send() {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    // Without the route, the network is unreachable.
    let _sent: Result<_, _> = socket.send_to(b"?", (Ipv4Addr::new(10, 88, 0, 5), 9));
}

/// Encodes a `struct rtattr`.
fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
    let e = Endian::native();
    let len = u16::try_from([&[0; 4], value].concat().len()).unwrap();
    let mut out = [&e.u16_bytes(len)[..], &e.u16_bytes(kind), value].concat();
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn message(fixed: [u8; 12], attributes: &[Vec<u8>]) -> Vec<u8> {
    let e = Endian::native();
    let attributes = attributes.concat();
    let len = u32::try_from([&[0; 16], &fixed[..], &attributes].concat().len()).unwrap();
    // RTM_NEWROUTE; NLM_F_REQUEST | NLM_F_EXCL | NLM_F_CREATE; sequence; port
    let header = [&e.u32_bytes(len)[..], &e.u16_bytes(24), &e.u16_bytes(0x601), &e.u32_bytes(3), &[0; 4]];
    [&header.concat()[..], &fixed, &attributes].concat()
}

#[test]
fn the_request_that_adds_a_route_with_programs() {
    let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
    let programs = LwtPrograms { headroom: 16, output: Some(prog.fd()), ..xmit(&prog) };
    let gateway = Some(Ipv4Addr::new(10, 77, 0, 2).into());
    let route = LwtRoute { gateway, table: 1000, priority: 7, ..to_ipv4(3) };
    let word = |n| Endian::native().u32_bytes(n);
    let name = format!("counting:[{}]\0", prog.id());
    let program = [attr(1, &word(prog.fd().as_raw_fd().cast_unsigned())), attr(2, name.as_bytes())].concat();
    let encap = [attr(0x8002, &program), attr(0x8003, &program), attr(4, &word(16))].concat();
    let tail = [attr(21, &Endian::native().u16_bytes(6)), attr(0x8016, &encap)].concat();
    let to = [attr(1, &[10, 88, 0, 0]), attr(4, &word(3))].concat();
    let expected = message(
        [2, 24, 0, 0, 0, 4, 0, 1, 0, 0, 0, 0],
        &[to.clone(), attr(15, &word(1000)), attr(5, &[10, 77, 0, 2]), attr(6, &word(7)), tail.clone()],
    );
    let encap = Encap::bpf(&programs).unwrap();
    assert_eq!(route.add_request(&encap).encode(3).unwrap(), expected);
    // Without a gateway, in the main table, without a metric.
    let expected = message([2, 24, 0, 0, 0, 4, 253, 1, 0, 0, 0, 0], &[to, attr(15, &word(254)), tail]);
    assert_eq!(to_ipv4(3).add_request(&encap).encode(3).unwrap(), expected);
}

#[test]
fn the_request_that_adds_a_segment_route() {
    let word = |n| Endian::native().u32_bytes(n);
    let program = [attr(1, &word(9)), attr(2, b"end:[4]\0")].concat();
    let encap = [attr(1, &word(15)), attr(0x8008, &program)].concat();
    let expected = message(
        [10, 64, 0, 0, 0, 4, 253, 1, 0, 0, 0, 0],
        &[
            attr(1, &SEGMENTS.octets()),
            attr(4, &word(3)),
            attr(15, &word(254)),
            attr(6, &word(1024)),
            attr(21, &Endian::native().u16_bytes(7)),
            attr(0x8016, &encap),
        ],
    );
    let encap = Encap::end_bpf(9, "end:[4]".into());
    assert_eq!(to_ipv6(3).add_request(&encap).encode(3).unwrap(), expected);
}

#[test]
fn a_route_is_recognised_by_destination_and_programs() {
    let encap = |name: &str| Encap::end_bpf(9, name.into());
    let matches = |route: LwtRoute, name: &str| {
        let bytes = route.add_request(&encap(name)).encode(1).unwrap();
        let message = messages(&bytes).next().unwrap().unwrap();
        to_ipv6(3).matches_message(&encap("end:[4]"), &message)
    };
    let route = to_ipv6(3);
    assert!(matches(route, "end:[4]"));
    assert!(matches(LwtRoute { priority: 1024, table: 254, ..route }, "end:[4]"));
    for other in [
        LwtRoute { prefix_len: 65, ..route },
        LwtRoute { destination: Ipv6Addr::UNSPECIFIED.into(), ..route },
        LwtRoute { destination: Ipv4Addr::UNSPECIFIED.into(), ..route },
        LwtRoute { ifindex: 4, ..route },
        LwtRoute { table: 1, ..route },
        LwtRoute { priority: 1, ..route },
    ] {
        assert!(!matches(other, "end:[4]"), "{other:?}");
    }
    assert!(!matches(route, "end:[5]") && !matches(route, "end:[4"));
    let plain = Request {
        kind: RTM_NEWROUTE,
        flags: 0,
        fixed: route.add_request(&encap("")).fixed,
        attributes: Attributes::default().bytes(1, &SEGMENTS.octets()).u32(4, 3).u32(15, 254).u32(6, 1024),
    };
    let bytes = plain.encode(1).unwrap();
    assert!(!route.matches_message(&encap("end:[4]"), &messages(&bytes).next().unwrap().unwrap()));
}

#[test]
fn programs_run_on_a_routes_packets_until_the_route_is_removed() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        for (kind, table) in [(ProgramType::LwtXmit, 0), (ProgramType::LwtOut, 254)] {
            // BPF_OK
            let Some(prog) = Counting::load(kind, None, 0) else { return };
            let route = LwtRoute { table, priority: 7, ..to_ipv4(near) };
            let programs = if kind == ProgramType::LwtXmit {
                LwtPrograms { headroom: 16, ..xmit(&prog) }
            } else {
                LwtPrograms { output: Some(prog.fd()), ..LwtPrograms::default() }
            };
            let Some(link) = link_or_skip(lwt(&programs, &route)) else { return };
            assert!(link.fd().is_none() && link.outlives_process());
            let taken = lwt(&programs, &route).unwrap_err();
            assert_eq!(taken.errno(), Some(Errno(libc::EEXIST)), "{taken}");
            assert!(taken.to_string().contains("with this destination and metric already"), "{taken}");
            prog.fires(link, send);
        }
    });
}

#[test]
fn a_leaked_route_stays_and_its_replacement_is_left_alone() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        let load = || Counting::load(ProgramType::LwtXmit, None, 0);
        let (Some(prog), Some(other)) = (load(), load()) else { return };
        let default = LwtRoute { destination: Ipv4Addr::UNSPECIFIED.into(), prefix_len: 0, ..to_ipv4(near) };
        for route in [to_ipv4(near), default, to_ipv6(near), LwtRoute { table: 1000, ..to_ipv6(near) }] {
            let Some(link) = link_or_skip(lwt(&xmit(&prog), &route)) else { return };
            link.leak();
            let duplicate = lwt(&xmit(&prog), &route).unwrap_err();
            assert_eq!(duplicate.errno(), Some(Errno(libc::EEXIST)), "{duplicate}");
            // Replaces the route by the same route with another program.
            let replace = |prog: &Counting| {
                let request = route.add_request(&Encap::bpf(&xmit(prog)).unwrap());
                RtnetlinkSocket::open()
                    .unwrap()
                    .request(Request { flags: CREATE | REPLACE, ..request }, |_| {})
                    .unwrap();
            };
            let link = |prog: &Counting| {
                let encap = Encap::bpf(&xmit(prog)).unwrap();
                let socket = RtnetlinkSocket::open().unwrap();
                Link::new(LwtAttachment { socket, route, encap }, "route")
            };
            replace(&other);
            let gone = link(&prog).detach().unwrap_err();
            assert_eq!(gone.errno(), Some(Errno(libc::ENOENT)), "{gone}");
            link(&other).detach().unwrap();
            // The kernel may drop a table with its last route.
            let gone = link(&other).detach().unwrap_err();
            assert_eq!(gone.errno(), Some(Errno(libc::ENOENT)), "{gone}");
            lwt(&xmit(&prog), &route).unwrap().detach().unwrap();
        }
    });
}

#[test]
fn a_removed_interface_takes_its_routes_along() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
        let Some(link) = link_or_skip(lwt(&xmit(&prog), &to_ipv4(near))) else { return };
        crate::attach::test_support::remove(near);
        link.detach().unwrap();
    });
}

#[test]
fn segments_are_routed_through_a_program() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        let Some(prog) = Counting::load(ProgramType::LwtSeg6local, None, 0) else { return };
        let Some(link) = link_or_skip(seg6local(prog.fd(), &to_ipv6(near))) else { return };
        let taken = seg6local(prog.fd(), &to_ipv6(near)).unwrap_err();
        assert_eq!(taken.errno(), Some(Errno(libc::EEXIST)), "{taken}");
        link.detach().unwrap();
        seg6local(prog.fd(), &to_ipv6(near)).unwrap().detach().unwrap();
    });
}

#[test]
fn an_impossible_route_is_refused_with_its_mistake() {
    // If a request were sent by mistake, it would change routes of this namespace only.
    in_own_network(|| {
        let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
        let error_text =
            |programs: &LwtPrograms<'_>, route: LwtRoute| lwt(programs, &route).unwrap_err().to_string();
        let words = "lwt on 10.88.0.0/24 by interface 9999: expected at least one program";
        assert_eq!(error_text(&LwtPrograms::default(), to_ipv4(9999)), words);
        let headroom = LwtPrograms { output: Some(prog.fd()), headroom: 1, ..LwtPrograms::default() };
        assert!(error_text(&headroom, to_ipv4(1)).ends_with("headroom needs an `xmit` program"));
        for (route, words) in [
            (LwtRoute { prefix_len: 33, ..to_ipv4(1) }, "the prefix is longer"),
            (LwtRoute { prefix_len: 12, ..to_ipv4(1) }, "without bits beyond the prefix"),
            (LwtRoute { prefix_len: 0, ..to_ipv6(1) }, "without bits beyond the prefix"),
            (to_ipv4(0), "the interface index is 0"),
            (LwtRoute { gateway: Some(SEGMENTS.into()), ..to_ipv4(1) }, "destination's address family"),
        ] {
            let error = error_text(&xmit(&prog), route);
            assert!(error.contains(words), "{error}");
        }
        let error = seg6local(prog.fd(), &to_ipv4(1)).unwrap_err().to_string();
        assert!(error.ends_with("segment routing needs an IPv6 destination"), "{error}");
    });
}

#[test]
fn the_kernels_refusals_are_explained() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        let Some(prog) = Counting::load(ProgramType::LwtXmit, None, 0) else { return };
        let Some(link) = link_or_skip(lwt(&xmit(&prog), &to_ipv4(near))) else { return };
        link.detach().unwrap();
        let missing = lwt(&xmit(&prog), &to_ipv4(9999)).unwrap_err();
        assert_eq!(missing.errno(), Some(Errno(libc::ENODEV)), "{missing}");
        let wrong = LwtPrograms { input: Some(prog.fd()), ..LwtPrograms::default() };
        let wrong = lwt(&wrong, &to_ipv4(near)).unwrap_err();
        assert_eq!(wrong.errno(), Some(Errno(libc::EINVAL)), "{wrong}");
        assert!(
            matches!(wrong, AttachError::WrongProgramType { found: ProgramType::LwtXmit, .. }),
            "{wrong}"
        );
        let much = lwt(&LwtPrograms { headroom: 257, ..xmit(&prog) }, &to_ipv4(near)).unwrap_err();
        assert_eq!(much.errno(), Some(Errno(libc::ERANGE)), "{much}");
        let gateway = Some(Ipv4Addr::new(192, 0, 2, 1).into());
        let far = lwt(&xmit(&prog), &LwtRoute { gateway, ..to_ipv4(near) }).unwrap_err();
        let AttachError::Netlink { ext_ack, .. } = &far else { panic!("{far}") };
        assert!(ext_ack.contains("gateway") && far.to_string().contains("the kernel says: "), "{far}");
    });
}
