//! Programs of cgroups. Each test has a cgroup of its own, and its process goes there to act.

use super::harness::{Cgroup, Need, Netns, hits, live, load};
use core_relo_loader::{
    attach::{self, CgroupOptions, CgroupSharing, Link},
    load::Loaded,
    maps::MappedMap,
    object::AttachType,
};
use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd as _,
};

fn attach_to(cgroup: &Cgroup, loaded: &Loaded, program: &str, at: AttachType) -> Link {
    let fd = loaded.program(program).unwrap().as_fd();
    let made = attach::cgroup(fd, cgroup.dir().as_fd(), at, &CgroupOptions::default());
    let link = made.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(link.fd().is_some(), "{program}: not by a link, though the kernel is new enough");
    link
}

fn datagram() -> io::Result<usize> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(std::time::Duration::from_millis(300)))?;
    socket.send_to(b"hello", socket.local_addr()?)?;
    socket.recv(&mut [0; 16])
}

#[test]
fn packets() {
    let Some(_live) = live("cgroups::packets", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("cgroup_skb"));
    let read = |name| loaded.global::<u64>(name).unwrap();
    let ingress = attach_to(&cgroup, &loaded, "ingress", AttachType::CgroupInetIngress);
    let egress = attach_to(&cgroup, &loaded, "egress", AttachType::CgroupInetEgress);
    let inside = || netns.inside(|| cgroup.inside(datagram));
    inside().unwrap();
    // 5 bytes behind headers of 28.
    assert_eq!((hits(&loaded), read("in"), read("out")), (2, 33, 33));
    // Sockets belong to the cgroup they were made in: others are not seen.
    netns.inside(datagram).unwrap();
    assert_eq!(hits(&loaded), 2);
    loaded.set_global("deny", &1u32).unwrap();
    assert!(inside().is_err(), "a packet that was refused came");
    ingress.detach().unwrap();
    inside().unwrap();
    assert_eq!((hits(&loaded), read("out")), (5, 99));
    drop(egress);
    inside().unwrap();
    assert_eq!(hits(&loaded), 5);
}

#[test]
fn a_link_goes_on_with_another_program() {
    let Some(_live) = live("cgroups::a_link_goes_on_with_another_program", &[Need::Cgroup]) else { return };
    let (cgroup, netns, old, new) = (Cgroup::new(), Netns::new(), load("cgroup_skb"), load("cgroup_skb"));
    let mut link = attach_to(&cgroup, &old, "egress", AttachType::CgroupInetEgress);
    let inside = || netns.inside(|| cgroup.inside(datagram)).unwrap();
    inside();
    link.update(new.program("egress").unwrap()).unwrap();
    inside();
    assert_eq!((hits(&old), hits(&new)), (1, 1));
    // The link keeps its program, and that its maps.
    let seen = new.map_handle(".bss").unwrap();
    let at = new.globals().iter().find(|global| global.name == "hits").unwrap().offset;
    let wrong = link.update(load("socket_filter").program("filter").unwrap()).unwrap_err();
    assert!(wrong.to_string().contains("EINVAL"), "{wrong}");
    drop((old, new));
    inside();
    assert_eq!(MappedMap::new(seen).unwrap().read::<u64>(at).unwrap(), 2);
    link.detach().unwrap();
}

#[test]
fn packets_without_a_link() {
    let Some(_live) = live("cgroups::packets_without_a_link", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded, other) =
        (Cgroup::new(), Netns::new(), load("cgroup_skb"), load("cgroup_skb"));
    let fd = |loaded: &Loaded| loaded.program("egress").unwrap().as_fd().try_clone_to_owned().unwrap();
    let at = AttachType::CgroupInetEgress;
    let (dir, sharing) = (cgroup.dir(), CgroupSharing::Multi);
    let mut link = attach::cgroup_attach(fd(&loaded).as_fd(), dir.as_fd(), at, sharing, None).unwrap();
    assert!(link.fd().is_none());
    let inside = || netns.inside(|| cgroup.inside(datagram)).unwrap();
    inside();
    assert_eq!((hits(&loaded), hits(&other)), (1, 0));
    link.update(fd(&other)).unwrap();
    inside();
    assert_eq!((hits(&loaded), hits(&other)), (1, 1));
    link.detach().unwrap();
    inside();
    assert_eq!((hits(&loaded), hits(&other)), (1, 1));
}

#[test]
fn sockets_made_and_bound() {
    let Some(_live) = live("cgroups::sockets_made_and_bound", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("cgroup_sock"));
    let links = [
        attach_to(&cgroup, &loaded, "create", AttachType::CgroupInetSockCreate),
        attach_to(&cgroup, &loaded, "post_bind4", AttachType::CgroupInet4PostBind),
        attach_to(&cgroup, &loaded, "release", AttachType::CgroupInetSockRelease),
    ];
    let inside = || netns.inside(|| cgroup.inside(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)));
    inside().unwrap();
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert_eq!((read("hits"), read("bound"), read("released")), (1, 1, 1));
    assert_eq!(loaded.global::<u32>("last_family").unwrap(), 2);
    loaded.set_global("deny", &1u32).unwrap();
    assert_eq!(inside().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    links.into_iter().for_each(|link| link.detach().unwrap());
    inside().unwrap();
}

#[test]
fn addresses() {
    let Some(_live) = live("cgroups::addresses", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("cgroup_addr"));
    let links = [
        attach_to(&cgroup, &loaded, "connect4", AttachType::CgroupInet4Connect),
        attach_to(&cgroup, &loaded, "bind4", AttachType::CgroupInet4Bind),
        attach_to(&cgroup, &loaded, "sendmsg4", AttachType::CgroupUdp4Sendmsg),
    ];
    let inside = |act: &dyn Fn() -> io::Result<()>| netns.inside(|| cgroup.inside(act));
    let listener = netns.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let real = listener.local_addr().unwrap();
    let read = |name| loaded.global::<u64>(name).unwrap();
    // To a port where nobody listens, which becomes one where somebody does.
    loaded.set_global("to_port", &u32::from(real.port().to_be())).unwrap();
    inside(&|| TcpStream::connect((Ipv4Addr::LOCALHOST, 9)).map(drop)).unwrap();
    assert_eq!(read("hits"), 1);
    inside(&|| datagram().map(drop)).unwrap();
    assert_eq!((read("binds"), read("sends")), (1, 1));
    loaded.set_global("deny", &1u32).unwrap();
    let refused = inside(&|| TcpStream::connect(real).map(drop)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    links.into_iter().for_each(|link| link.detach().unwrap());
    inside(&|| TcpStream::connect(real).map(drop)).unwrap();
    assert_eq!(read("hits"), 2);
}

#[test]
fn settings_of_the_kernel() {
    let Some(_live) = live("cgroups::settings_of_the_kernel", &[Need::Cgroup]) else { return };
    let (cgroup, loaded) = (Cgroup::new(), load("cgroup_sysctl"));
    let link = attach_to(&cgroup, &loaded, "access", AttachType::CgroupSysctl);
    let file = "/proc/sys/kernel/ostype";
    cgroup.inside(|| fs::read_to_string(file)).unwrap();
    // Other threads read settings, too (the allocator asks for overcommit_memory).
    assert!(hits(&loaded) > 0);
    let name = loaded.global::<[u8; 64]>("name").unwrap();
    assert!(name.starts_with(b"kernel/ostype\0"), "{}", name.escape_ascii());
    loaded.set_global("deny", &1u32).unwrap();
    let random = "/proc/sys/kernel/pid_max";
    let same = fs::read_to_string(random).unwrap();
    assert!(cgroup.inside(|| fs::write(random, &same)).is_err(), "a write that was refused was done");
    link.detach().unwrap();
    let before = hits(&loaded);
    cgroup.inside(|| fs::write(random, &same)).unwrap();
    assert_eq!(hits(&loaded), before);
}

#[test]
fn devices() {
    let Some(_live) = live("cgroups::devices", &[Need::Cgroup]) else { return };
    let (cgroup, loaded) = (Cgroup::new(), load("cgroup_dev"));
    let link = attach_to(&cgroup, &loaded, "access", AttachType::CgroupDevice);
    let open = || cgroup.inside(|| File::open("/dev/null").map(drop));
    open().unwrap();
    assert!(hits(&loaded) > 0);
    loaded.set_global("deny_minor", &3u32).unwrap();
    loaded.set_global("deny_major", &1u32).unwrap();
    assert_eq!(open().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    link.detach().unwrap();
    open().unwrap();
}

#[test]
fn options_of_sockets() {
    let Some(_live) = live("cgroups::options_of_sockets", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("cgroup_sockopt"));
    let links = [
        attach_to(&cgroup, &loaded, "set", AttachType::CgroupSetsockopt),
        attach_to(&cgroup, &loaded, "get", AttachType::CgroupGetsockopt),
    ];
    let socket = netns.inside(|| cgroup.inside(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)))).unwrap();
    const IP_TTL: i32 = 2;
    cgroup.inside(|| socket.set_ttl(9)).unwrap();
    assert_eq!(cgroup.inside(|| socket.ttl()).unwrap(), 9);
    let number = |name| loaded.global::<i32>(name).unwrap();
    assert_eq!((number("last_level"), number("last_optname")), (0, IP_TTL));
    assert_eq!((hits(&loaded), loaded.global::<u64>("gets").unwrap()), (1, 1));
    loaded.set_global("deny", &1u32).unwrap();
    let refused = cgroup.inside(|| socket.set_ttl(10)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    links.into_iter().for_each(|link| link.detach().unwrap());
    cgroup.inside(|| socket.set_ttl(10)).unwrap();
}

#[test]
fn operations_of_sockets() {
    let Some(_live) = live("cgroups::operations_of_sockets", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("sockops"));
    let link = attach_to(&cgroup, &loaded, "count", AttachType::CgroupSockOps);
    let connection = || {
        netns.inside(|| {
            cgroup.inside(|| {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                (near.local_addr().unwrap().port(), listener.accept().unwrap()).0
            })
        })
    };
    connection();
    // BPF_SOCK_OPS_TCP_CONNECT_CB, ACTIVE_ESTABLISHED_CB, PASSIVE_ESTABLISHED_CB
    let seen = loaded.global::<u32>("seen").unwrap();
    assert_eq!(seen >> 3 & 7, 7, "{seen:#x}");
    link.detach().unwrap();
    let before = hits(&loaded);
    connection();
    assert_eq!(hits(&loaded), before);
}

#[test]
fn security_hooks() {
    let needs = [Need::Cgroup, Need::Lsm, Need::Enumerator("BPF_LSM_CGROUP")];
    let Some(_live) = live("cgroups::security_hooks", &needs) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("lsm_cgroup"));
    let link = attach_to(&cgroup, &loaded, "socket_bind", AttachType::LsmCgroup);
    let bind = || netns.inside(|| cgroup.inside(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)));
    bind().unwrap();
    assert_eq!(hits(&loaded), 1);
    loaded.set_global("deny", &1u32).unwrap();
    assert_eq!(bind().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    link.detach().unwrap();
    bind().unwrap();
    assert_eq!(hits(&loaded), 2);
}
