//! Lightweight tunnel programs on the routes of two namespaces that a veth pair connects.

use super::harness::{Need, Veth, hits, live, load};
use core_relo_loader::{
    attach::{self, AttachError, Link, LwtPrograms, LwtRoute, ProgramRef},
    load::Loaded,
};
use core_relo_test_support::skip;
use std::{
    fs, io,
    net::{Ipv4Addr, Ipv6Addr, UdpSocket},
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
    time::{Duration, Instant},
};

const DROP: u32 = 2;
/// A network without hosts. The far end forwards packets to it.
const BEYOND: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 0);
const SEGMENT: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0x88, 0, 0, 0, 0);

fn program<'a>(loaded: &'a Loaded, name: &str) -> BorrowedFd<'a> {
    loaded.program(name).unwrap().as_fd()
}

/// Returns the link. If the kernel does not support it, skips the test and returns `None`.
fn link_or_skip(test: &str, link: Result<Link, AttachError>) -> Option<Link> {
    match link {
        Err(error) if error.errno().is_some_and(|errno| errno.0 == libc::EOPNOTSUPP) => {
            skip(test, &error.to_string());
            None
        }
        link => Some(link.unwrap()),
    }
}

/// Returns true if `act` increases a global within half a second.
fn increases(loaded: &Loaded, global: &str, act: impl Fn()) -> bool {
    let read = || loaded.global::<u64>(global).unwrap();
    let before = read();
    act();
    let start = Instant::now();
    while read() == before && start.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(5));
    }
    read() > before
}

#[test]
fn output_and_xmit_programs_of_a_route_run() {
    let test = "lwt::output_and_xmit_programs_of_a_route_run";
    let Some(_live) = live(test, &[Need::Veth]) else { return };
    let (veth, loaded) = (Veth::new(), load("lwt"));
    // The route is more specific than that of the interface's network.
    let route = LwtRoute::new(Veth::FAR.into(), 32, veth.near_index);
    let programs = LwtPrograms {
        output: Some(program(&loaded, "output")),
        xmit: Some(program(&loaded, "transmit")),
        headroom: 32,
        ..LwtPrograms::default()
    };
    let far = veth.far.inside(|| UdpSocket::bind((Veth::FAR, 7)).unwrap());
    far.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let near = veth.near.inside(|| UdpSocket::bind((Veth::NEAR, 0)).unwrap());
    // If the program drops the packet, the send fails.
    let arrives = || {
        (0..5).any(|_try| near.send_to(b"hello", (Veth::FAR, 7)).is_ok() && far.recv(&mut [0; 16]).is_ok())
    };
    let Some(link) = link_or_skip(test, veth.near.inside(|| attach::lwt(&programs, &route))) else { return };
    assert!(arrives(), "no packet arrives");
    let read = |name| loaded.global::<u64>(name).unwrap();
    // Both programs see the packet from its IP header on.
    assert!(read("out") >= 33 && read("xmit") >= 33, "out {}, xmit {}", read("out"), read("xmit"));
    assert_eq!(read("in"), 0);
    loaded.set_global("verdict", &DROP).unwrap();
    assert!(!arrives(), "a dropped packet arrived");
    // The drop of the link removes the route, and packets take the previous route.
    drop(link);
    let after = hits(&loaded);
    assert!(arrives());
    assert_eq!(hits(&loaded), after);
}

#[test]
fn an_input_program_of_a_route_runs() {
    let test = "lwt::an_input_program_of_a_route_runs";
    let Some(_live) = live(test, &[Need::Veth]) else { return };
    let (veth, loaded) = (Veth::new(), load("lwt"));
    veth.far.inside(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    let via_far =
        LwtRoute { gateway: Some(Veth::FAR.into()), ..LwtRoute::new(BEYOND.into(), 24, veth.near_index) };
    let sent = LwtPrograms { xmit: Some(program(&loaded, "transmit")), ..LwtPrograms::default() };
    let Some(sending) = link_or_skip(test, veth.near.inside(|| attach::lwt(&sent, &via_far))) else { return };
    let received = LwtPrograms { input: Some(program(&loaded, "input")), ..LwtPrograms::default() };
    let route = LwtRoute::new(BEYOND.into(), 24, veth.far_index);
    let receiving = veth.far.inside(|| attach::lwt(&received, &route)).unwrap();
    let near = veth.near.inside(|| UdpSocket::bind((Veth::NEAR, 0)).unwrap());
    let send = || drop(near.send_to(b"hello", (Ipv4Addr::new(10, 88, 0, 5), 9)));
    assert!(increases(&loaded, "in", send), "the input program does not run");
    assert!(loaded.global::<u64>("xmit").unwrap() > 0, "the xmit program does not run");
    receiving.detach().unwrap();
    assert!(increases(&loaded, "xmit", send));
    assert!(!increases(&loaded, "in", send), "the detached program runs");
    sending.detach().unwrap();
}

#[test]
fn a_seg6local_program_runs() {
    let test = "lwt::a_seg6local_program_runs";
    let Some(_live) = live(test, &[Need::Veth]) else { return };
    let (veth, loaded) = (Veth::new(), load("lwt"));
    loaded.set_global("verdict", &DROP).unwrap();
    let route = LwtRoute::new(SEGMENT.into(), 64, veth.far_index);
    let link = veth.far.inside(|| ProgramRef::from_fd(program(&loaded, "end")).attach_seg6local(&route));
    let Some(link) = link_or_skip(test, link) else { return };
    let socket = match veth.near.inside(packet_socket) {
        Ok(socket) => socket,
        Err(error) => return skip(test, &format!("no packet sockets here: {error}")),
    };
    let send = || send_frame(&socket, veth.near_index, &segment_routing_frame()).unwrap();
    assert!(increases(&loaded, "segments", send), "the program does not run");
    link.detach().unwrap();
    assert!(!increases(&loaded, "segments", send), "the detached program runs");
}

/// Returns an Ethernet frame with a segment routing header with one segment left.
fn segment_routing_frame() -> Vec<u8> {
    const NOTHING_MORE: u8 = 59;
    const ROUTING: u8 = 43;
    let segment = |host| [&SEGMENT.octets()[..15], &[host]].concat();
    let source = [&[0xfd, 0x00][..], &[0; 13], &[0x77]].concat();
    let ethernet = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1], &[0x86, 0xdd]].concat();
    let ipv6 = [&[0x60, 0, 0, 0, 0, 40, ROUTING, 64][..], &source, &segment(1)].concat();
    // Next header, length after the first 8 bytes in units of 8, type, segments left, last entry, flags and
    // tag.
    let routing = [&[NOTHING_MORE, 4, 4, 1, 1, 0, 0, 0][..], &segment(2), &segment(1)].concat();
    [ethernet, ipv6, routing].concat()
}

/// Opens a socket that sends raw frames in this thread's network namespace.
fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above created the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn send_frame(socket: &OwnedFd, ifindex: u32, frame: &[u8]) -> io::Result<()> {
    // SAFETY: all fields are integers, for which zero is valid.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = u16::try_from(libc::AF_PACKET).unwrap();
    to.sll_protocol = 0x86ddu16.to_be();
    to.sll_ifindex = i32::try_from(ifindex).unwrap();
    let length = libc::socklen_t::try_from(size_of_val(&to)).unwrap();
    // SAFETY: the frame and the address outlive the call and have the given lengths.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            0,
            std::ptr::from_ref(&to).cast(),
            length,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
