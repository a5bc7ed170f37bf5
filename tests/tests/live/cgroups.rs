//! Cgroup programs. Each test creates a cgroup and moves its process there to trigger the programs.

use super::harness::{Cgroup, Need, Netns, hits, live, load};
use core_relo_loader::{
    attach::{CgroupOptions, CgroupSharing, Link, ProgramRef},
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

/// Attaches a program and checks that the kernel made a link.
fn attach_to(cgroup: &Cgroup, loaded: &Loaded, program: &str, at: AttachType) -> Link {
    let program_ref = loaded.program_ref(program).unwrap();
    let attached =
        program_ref.with_attach_type(at).attach_cgroup(cgroup.dir().as_fd(), &CgroupOptions::default());
    let link = attached.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(link.fd().is_some(), "{program}: attached without a link");
    link
}

/// Sends a datagram to the sender's own socket and receives it.
fn send_datagram() -> io::Result<usize> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(std::time::Duration::from_millis(300)))?;
    socket.send_to(b"hello", socket.local_addr()?)?;
    socket.recv(&mut [0; 16])
}

#[test]
fn skb_programs_count_and_drop_packets() {
    let Some(_live) = live("cgroups::skb_programs_count_and_drop_packets", &[Need::Cgroup]) else { return };
    let (cgroup, netns, loaded) = (Cgroup::new(), Netns::new(), load("cgroup_skb"));
    let read = |name| loaded.global::<u64>(name).unwrap();
    let ingress = attach_to(&cgroup, &loaded, "ingress", AttachType::CgroupInetIngress);
    let egress = attach_to(&cgroup, &loaded, "egress", AttachType::CgroupInetEgress);
    let inside = || netns.inside(|| cgroup.inside(send_datagram));
    inside().unwrap();
    // 5 bytes after 28 bytes of IP and UDP headers.
    assert_eq!((hits(&loaded), read("in"), read("out")), (2, 33, 33));
    // A socket belongs to the cgroup in which it was created. The programs do not see sockets of other
    // cgroups.
    netns.inside(send_datagram).unwrap();
    assert_eq!(hits(&loaded), 2);
    loaded.set_global("deny", &1u32).unwrap();
    assert!(inside().is_err(), "a denied packet arrived");
    ingress.detach().unwrap();
    inside().unwrap();
    assert_eq!((hits(&loaded), read("out")), (5, 99));
    drop(egress);
    inside().unwrap();
    assert_eq!(hits(&loaded), 5);
}

#[test]
fn a_link_is_updated_to_another_program() {
    let Some(_live) = live("cgroups::a_link_is_updated_to_another_program", &[Need::Cgroup]) else { return };
    let (cgroup, netns, old, new) = (Cgroup::new(), Netns::new(), load("cgroup_skb"), load("cgroup_skb"));
    let mut link = attach_to(&cgroup, &old, "egress", AttachType::CgroupInetEgress);
    let inside = || netns.inside(|| cgroup.inside(send_datagram)).unwrap();
    inside();
    link.update(new.program("egress").unwrap()).unwrap();
    inside();
    assert_eq!((hits(&old), hits(&new)), (1, 1));
    // The link keeps its program alive, and the program keeps its maps.
    let bss = new.map_handle(".bss").unwrap();
    let at = new.globals().iter().find(|global| global.name == "hits").unwrap().offset;
    let wrong = link.update(load("socket_filter").program("filter").unwrap()).unwrap_err();
    assert!(wrong.to_string().contains("EINVAL"), "{wrong}");
    drop((old, new));
    inside();
    assert_eq!(MappedMap::new(bss).unwrap().read::<u64>(at).unwrap(), 2);
    link.detach().unwrap();
}

#[test]
fn a_program_attached_without_a_link_is_replaced_and_detached() {
    let Some(_live) =
        live("cgroups::a_program_attached_without_a_link_is_replaced_and_detached", &[Need::Cgroup])
    else {
        return;
    };
    let (cgroup, netns, loaded, other) =
        (Cgroup::new(), Netns::new(), load("cgroup_skb"), load("cgroup_skb"));
    let fd = |loaded: &Loaded| loaded.program("egress").unwrap().as_fd().try_clone_to_owned().unwrap();
    let at = AttachType::CgroupInetEgress;
    let (dir, sharing) = (cgroup.dir(), CgroupSharing::Multi);
    let mut link = ProgramRef::from_fd(fd(&loaded).as_fd())
        .with_attach_type(at)
        .attach_cgroup_without_link(dir.as_fd(), sharing, None)
        .unwrap();
    assert!(link.fd().is_none());
    let inside = || netns.inside(|| cgroup.inside(send_datagram)).unwrap();
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
fn sock_programs_see_create_bind_and_release() {
    let Some(_live) = live("cgroups::sock_programs_see_create_bind_and_release", &[Need::Cgroup]) else {
        return;
    };
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
fn sock_addr_programs_rewrite_and_deny_addresses() {
    let Some(_live) = live("cgroups::sock_addr_programs_rewrite_and_deny_addresses", &[Need::Cgroup]) else {
        return;
    };
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
    // The program rewrites a port without a listener to that of the listener.
    loaded.set_global("to_port", &u32::from(real.port().to_be())).unwrap();
    inside(&|| TcpStream::connect((Ipv4Addr::LOCALHOST, 9)).map(drop)).unwrap();
    assert_eq!(read("hits"), 1);
    inside(&|| send_datagram().map(drop)).unwrap();
    assert_eq!((read("binds"), read("sends")), (1, 1));
    loaded.set_global("deny", &1u32).unwrap();
    let refused = inside(&|| TcpStream::connect(real).map(drop)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    links.into_iter().for_each(|link| link.detach().unwrap());
    inside(&|| TcpStream::connect(real).map(drop)).unwrap();
    assert_eq!(read("hits"), 2);
}

#[test]
fn a_sysctl_program_sees_reads_and_denies_writes() {
    let Some(_live) = live("cgroups::a_sysctl_program_sees_reads_and_denies_writes", &[Need::Cgroup]) else {
        return;
    };
    let (cgroup, loaded) = (Cgroup::new(), load("cgroup_sysctl"));
    let link = attach_to(&cgroup, &loaded, "access", AttachType::CgroupSysctl);
    let file = "/proc/sys/kernel/ostype";
    cgroup.inside(|| fs::read_to_string(file)).unwrap();
    // Other threads read settings as well: the allocator reads overcommit_memory.
    assert!(hits(&loaded) > 0);
    let name = loaded.global::<[u8; 64]>("name").unwrap();
    assert!(name.starts_with(b"kernel/ostype\0"), "{}", name.escape_ascii());
    loaded.set_global("deny", &1u32).unwrap();
    let setting = "/proc/sys/kernel/pid_max";
    let value = fs::read_to_string(setting).unwrap();
    assert!(cgroup.inside(|| fs::write(setting, &value)).is_err(), "a denied write succeeded");
    link.detach().unwrap();
    let before = hits(&loaded);
    cgroup.inside(|| fs::write(setting, &value)).unwrap();
    assert_eq!(hits(&loaded), before);
}

#[test]
fn a_device_program_denies_an_open() {
    let Some(_live) = live("cgroups::a_device_program_denies_an_open", &[Need::Cgroup]) else { return };
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
fn sockopt_programs_see_and_deny_options() {
    let Some(_live) = live("cgroups::sockopt_programs_see_and_deny_options", &[Need::Cgroup]) else { return };
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
fn a_sock_ops_program_sees_tcp_events() {
    let Some(_live) = live("cgroups::a_sock_ops_program_sees_tcp_events", &[Need::Cgroup]) else { return };
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
fn an_lsm_cgroup_program_denies_a_bind() {
    let needs = [Need::Cgroup, Need::Lsm, Need::Enumerator("BPF_LSM_CGROUP")];
    let Some(_live) = live("cgroups::an_lsm_cgroup_program_denies_a_bind", &needs) else { return };
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
