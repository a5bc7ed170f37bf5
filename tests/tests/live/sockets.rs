//! Programs that setsockopt(2) attaches to sockets.

use super::harness::{Netns, hits, live, load};
use core_relo_loader::{load::LoadedProgram, maps::ReuseportArray};
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};
use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    time::Duration,
};

/// Attaches a program with a socket option.
fn attach(socket: &impl std::os::fd::AsFd, program: &LoadedProgram, option: libc::c_int) -> io::Result<()> {
    let number = program.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(size_of_val(&number)).unwrap();
    // SAFETY: the value outlives the call and has the given length.
    let error = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_ref(&number).cast(),
            length,
        )
    };
    if error == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn a_socket_filter_drops_datagrams() {
    let Some(_live) = live("sockets::a_socket_filter_drops_datagrams", &[]) else { return };
    let (netns, loaded) = (Netns::new(), load("socket_filter"));
    let socket = netns.inside(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    attach(&socket, loaded.program("filter").unwrap(), libc::SO_ATTACH_BPF).unwrap();
    let send = || {
        socket.send_to(b"hello", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0; 16]).ok()
    };
    assert_eq!((send(), hits(&loaded)), (Some(5), 1));
    loaded.set_global("deny", &1u32).unwrap();
    assert_eq!((send(), hits(&loaded)), (None, 2));
}

#[test]
fn a_reuseport_program_chooses_the_socket() {
    let Some(_live) = live("sockets::a_reuseport_program_chooses_the_socket", &[]) else { return };
    let (netns, loaded) = (Netns::new(), load("sk_reuseport"));
    let bind_to = |port: u16| -> OwnedFd {
        let socket_fd = netns.inside(|| socket(AddressFamily::INET, SocketType::DGRAM, None)).unwrap();
        sockopt::set_socket_reuseport(&socket_fd, true).unwrap();
        bind(&socket_fd, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
        socket_fd
    };
    let first = UdpSocket::from(bind_to(0));
    let address = first.local_addr().unwrap();
    let second = UdpSocket::from(bind_to(address.port()));
    attach(&first, loaded.program("choose").unwrap(), libc::SO_ATTACH_REUSEPORT_EBPF).unwrap();
    let sockets = ReuseportArray::new(loaded.map_handle("sockets").unwrap()).unwrap();
    let both = [&first, &second];
    for (key, socket) in (0u32..).zip(both) {
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        sockets.set(&key, socket).unwrap();
    }
    let sender = netns.inside(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    for chosen in [1u32, 0, 1] {
        loaded.set_global("chosen", &chosen).unwrap();
        sender.send_to(&chosen.to_ne_bytes(), address).unwrap();
        let mut received = [0; 4];
        both[usize::try_from(chosen).unwrap()].recv(&mut received).unwrap();
        assert_eq!(u32::from_ne_bytes(received), chosen);
    }
    assert_eq!(hits(&loaded), 3);
}
