//! Programs on interfaces and network namespaces. Each test creates its namespaces, most of them two with a
//! veth pair.

use super::harness::{Need, Netns, Route, Veth, hits, live, load, load_with};
use core_relo_loader::{
    attach::{
        self, Link, NetfilterHook, Placement, ProgramRef, TcAttachPoint, TcHook, TcOptions, XdpMode,
        XdpReplace,
    },
    inventory::{self, ProgramInfo},
    load::{Loaded, TestRun},
    maps::SockMap,
    object::AttachType,
};
use std::{
    io::Read as _,
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd as _,
    time::Duration,
};

const XDP_TX: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends datagrams from the near end to the far end. Returns true if one arrives. An interface may lose
/// packets during an attach.
pub(super) fn arrives(veth: &Veth) -> bool {
    let far = veth.far.inside(|| UdpSocket::bind((Veth::FAR, 7)).unwrap());
    far.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let near = veth.near.inside(|| UdpSocket::bind((Veth::NEAR, 0)).unwrap());
    (0..10).any(|_try| {
        near.send_to(b"hello", (Veth::FAR, 7)).unwrap();
        far.recv_from(&mut [0; 16]).is_ok()
    })
}

/// Checks that a program sees a datagram while it is attached, and none afterwards.
fn expect_fires(loaded: &Loaded, link: Link, veth: &Veth) {
    let before = hits(loaded);
    assert!(arrives(veth), "{}: no packet arrives", link.label());
    assert!(hits(loaded) > before, "{}: does not fire", link.label());
    link.detach().unwrap();
    let after = hits(loaded);
    assert!(arrives(veth));
    assert_eq!(hits(loaded), after);
}

#[test]
fn xdp_attaches_by_link_and_by_netlink() {
    let Some(_live) = live("network::xdp_attaches_by_link_and_by_netlink", &[Need::Veth]) else { return };
    let (veth, loaded) = (Veth::new(), load("xdp"));
    let program = loaded.program_ref("count").unwrap();
    for mode in [XdpMode::Driver, XdpMode::Generic, XdpMode::Any] {
        let link = veth.far.inside(|| program.attach_xdp(veth.far_index, mode)).unwrap();
        assert!(link.fd().is_some(), "{mode:?}: no link");
        let attached_ids = veth.far.inside(|| attach::xdp_query(veth.far_index)).unwrap();
        let id = ProgramInfo::query(&program).unwrap().id;
        assert_eq!(attached_ids.prog_ids(), [id]);
        assert_eq!(attached_ids.generic_prog_id == id, mode == XdpMode::Generic);
        expect_fires(&loaded, link, &veth);
    }
    for mode in [XdpMode::Driver, XdpMode::Generic] {
        let replace = XdpReplace::Never;
        let attached = veth.far.inside(|| program.attach_xdp_netlink(veth.far_index, mode, replace));
        let link = attached.unwrap();
        assert!(link.fd().is_none());
        expect_fires(&loaded, link, &veth);
    }
    // The program's return value decides about the packets: 1 is XDP_DROP.
    loaded.set_global("action", &1u32).unwrap();
    let link = veth.far.inside(|| program.attach_xdp(veth.far_index, XdpMode::Any)).unwrap();
    assert!(!arrives(&veth), "a dropped packet arrived");
    link.detach().unwrap();
}

#[test]
fn a_test_run_sends_live_xdp_frames() {
    let needs = [Need::Veth, Need::Kernel(5, 18)];
    let Some(_live) = live("network::a_test_run_sends_live_xdp_frames", &needs) else { return };
    const LIVE_FRAMES: u32 = 2;
    let (veth, loaded) = (Veth::new(), load("xdp"));
    // XDP_TX sends the frames out of the interface in the context.
    loaded.set_global("action", &XDP_TX).unwrap();
    let context: Vec<u8> =
        [0, 64, 0, veth.near_index, 0, 0].iter().flat_map(|n: &u32| n.to_ne_bytes()).collect();
    let mut run =
        TestRun { data_in: &[0; 64], ctx_in: &context, repeat: 20, flags: LIVE_FRAMES, ..TestRun::default() };
    let program = loaded.program("count").unwrap();
    veth.near.inside(|| inventory::test_run(program, &mut run)).unwrap();
    assert_eq!(hits(&loaded), 20);
}

#[test]
fn an_xdp_program_with_frags_attaches() {
    let needs = [Need::Veth, Need::Kernel(5, 18)];
    let Some(_live) = live("network::an_xdp_program_with_frags_attaches", &needs) else { return };
    let (veth, loaded) = (Veth::new(), load("xdp_frags"));
    let program = loaded.program_ref("count").unwrap();
    let link = veth.far.inside(|| program.attach_xdp(veth.far_index, XdpMode::Driver)).unwrap();
    expect_fires(&loaded, link, &veth);
}

#[test]
fn tc_classifiers_attach_by_netlink() {
    let Some(_live) = live("network::tc_classifiers_attach_by_netlink", &[Need::Veth]) else { return };
    let (veth, loaded) = (Veth::new(), load("tc"));
    let hook = TcHook { ifindex: veth.far_index, attach_point: TcAttachPoint::Ingress };
    assert!(veth.far.inside(|| hook.create()).unwrap());
    for name in ["count", "old_name"] {
        let program = loaded.program(name).unwrap().as_fd();
        let link = veth.far.inside(|| hook.attach(program, TcOptions::default())).unwrap();
        assert_eq!(veth.far.inside(|| hook.filters()).unwrap().len(), 1);
        expect_fires(&loaded, link, &veth);
    }
    assert!(loaded.global::<u64>("bytes").unwrap() > 0);
    let near = TcHook { ifindex: veth.near_index, attach_point: TcAttachPoint::Egress };
    assert!(veth.near.inside(|| near.create()).unwrap());
    let program = loaded.program("count").unwrap().as_fd();
    let link = veth.near.inside(|| near.attach(program, TcOptions::default())).unwrap();
    expect_fires(&loaded, link, &veth);
    veth.far.inside(|| hook.destroy()).unwrap();
}

#[test]
fn tcx_classifiers_attach_by_link() {
    let needs = [Need::Veth, Need::Enumerator("BPF_TCX_INGRESS")];
    let Some(_live) = live("network::tcx_classifiers_attach_by_link", &needs) else { return };
    let (veth, loaded) = (Veth::new(), load("tcx"));
    let link_to = |name: &str, at| {
        let program = loaded.program_ref(name).unwrap();
        veth.far
            .inside(|| program.with_attach_type(at).attach_tcx(veth.far_index, &Placement::default()))
            .unwrap()
    };
    let (first, egress) =
        (link_to("ingress", AttachType::TcxIngress), link_to("egress", AttachType::TcxEgress));
    // The answer passes the egress program.
    let echo = || {
        let far = veth.far.inside(|| UdpSocket::bind((Veth::FAR, 7)).unwrap());
        let near = veth.near.inside(|| UdpSocket::bind((Veth::NEAR, 0)).unwrap());
        for socket in [&far, &near] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        near.send_to(b"hello", (Veth::FAR, 7)).unwrap();
        let (_, from) = far.recv_from(&mut [0; 16]).unwrap();
        far.send_to(b"you too", from).unwrap();
        near.recv_from(&mut [0; 16]).unwrap();
    };
    echo();
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert!(read("in") > 0 && read("out") > 0, "in {}, out {}", read("in"), read("out"));
    egress.detach().unwrap();
    let out = read("out");
    echo();
    assert_eq!(read("out"), out);
    expect_fires(&loaded, first, &veth);
}

#[test]
fn a_netkit_program_fires() {
    let needs = [Need::Enumerator("BPF_NETKIT_PRIMARY")];
    let test = "network::a_netkit_program_fires";
    let Some(_live) = live(test, &needs) else { return };
    let netns = Netns::new();
    let index = match netns.inside(|| {
        let route = Route::open()?;
        route.pair("netkit", "kit0", "kit1")?;
        let index = route.index("kit0")?;
        route.address(index, [10, 78, 0, 1])?;
        route.up(route.index("kit1")?)?;
        route.up(index).map(|()| index)
    }) {
        Ok(index) => index,
        Err(error) => return core_relo_test_support::skip(test, &format!("no netkit here: {error}")),
    };
    let loaded = load("tc");
    let program = loaded.program_ref("count").unwrap();
    // netkit accepts any classifier, without an expected attach type.
    let primary = AttachType::NetkitPrimary;
    let link = netns
        .inside(|| program.with_attach_type(primary).attach_netkit(index, &Placement::default()))
        .unwrap();
    netns.inside(|| {
        let socket = UdpSocket::bind((Ipv4Addr::new(10, 78, 0, 1), 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        // Only the run of the program matters, not the delivery.
        let _sent = socket.send_to(b"x", (Ipv4Addr::new(10, 78, 0, 255), 9));
    });
    assert!(hits(&loaded) > 0, "netkit's program did not fire");
    link.detach().unwrap();
}

#[test]
fn an_sk_lookup_program_selects_a_socket() {
    let Some(_live) = live("network::an_sk_lookup_program_selects_a_socket", &[]) else { return };
    let netns = Netns::new();
    let loaded = load("sk_lookup");
    let listener = netns.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    SockMap::new(loaded.map_handle("listener").unwrap()).unwrap().set(&0, &listener).unwrap();
    loaded.set_global("port", &7777u32).unwrap();
    let program = loaded.program_ref("lookup").unwrap();
    let link = program.attach_netns(netns.file().as_fd()).unwrap();
    let to = (Ipv4Addr::LOCALHOST, 7777);
    let connected = netns.inside(|| TcpStream::connect(to)).unwrap();
    let (_, from) = listener.accept().unwrap();
    assert_eq!(from, connected.local_addr().unwrap());
    assert_eq!(hits(&loaded), 1);
    link.detach().unwrap();
    assert!(netns.inside(|| TcpStream::connect(to)).is_err(), "connected to a port without a listener");
    assert_eq!(hits(&loaded), 1);
}

#[test]
fn a_flow_dissector_program_dissects_a_packet() {
    let Some(_live) = live("network::a_flow_dissector_program_dissects_a_packet", &[]) else { return };
    let netns = Netns::new();
    let loaded = load("flow_dissector");
    let program = loaded.program_ref("dissect").unwrap();
    let link = program.attach_netns(netns.file().as_fd()).unwrap();
    // A test run returns the flow keys as data.
    let mut keys = [0; 64];
    let mut packet = [0; 64];
    packet[12] = 8;
    packet[14] = 0x45;
    let mut run = TestRun { data_in: &packet, data_out: &mut keys, ..TestRun::default() };
    netns.inside(|| inventory::test_run(program, &mut run)).unwrap();
    assert_eq!(hits(&loaded), 1);
    // nhoff, thoff, addr_proto, three flags, ip_proto, n_proto, addresses, sport, dport
    assert_eq!(keys[9], 17, "{keys:?}");
    link.detach().unwrap();
}

#[test]
fn a_netfilter_program_drops_packets() {
    let needs = [Need::Function("bpf_nf_link_attach")];
    let Some(_live) = live("network::a_netfilter_program_drops_packets", &needs) else { return };
    const IPV4: u32 = 2;
    const LOCAL_OUT: u32 = 3;
    let (netns, loaded) = (Netns::new(), load("netfilter"));
    let program = loaded.program_ref("hook").unwrap();
    let at = NetfilterHook { family: IPV4, hook: LOCAL_OUT, priority: -100, defragment: false };
    let link = netns.inside(|| program.attach_netfilter(at)).unwrap();
    let send = || {
        netns.inside(|| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.send_to(b"x", socket.local_addr().unwrap()).is_ok()
        })
    };
    assert!(send() && hits(&loaded) == 1, "{} hits", hits(&loaded));
    loaded.set_global("deny", &1u32).unwrap();
    assert!(!send(), "a dropped packet was sent");
    link.detach().unwrap();
    assert!(send());
    assert_eq!(hits(&loaded), 2);
}

#[test]
fn sockmap_programs_redirect_between_sockets() {
    let Some(_live) = live("network::sockmap_programs_redirect_between_sockets", &[]) else { return };
    for (object, map_types) in [
        (
            "sockmap_skb",
            &[("parser", AttachType::SkSkbStreamParser), ("verdict", AttachType::SkSkbStreamVerdict)][..],
        ),
        ("sockmap_msg", &[("verdict", AttachType::SkMsgVerdict)][..]),
    ] {
        let (netns, loaded) = (Netns::new(), load(object));
        let sockets = SockMap::new(loaded.map_handle("sockets").unwrap()).unwrap();
        let links: Vec<Link> = map_types
            .iter()
            .map(|(name, at)| {
                loaded
                    .program_ref(name)
                    .unwrap()
                    .with_attach_type(*at)
                    .attach_sockmap(sockets.as_fd())
                    .unwrap()
            })
            .collect();
        let listener = netns.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let connect = || {
            let near = netns.inside(|| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            (near, listener.accept().unwrap().0)
        };
        let ((first, first_far), (second, second_far)) = (connect(), connect());
        for stream in [&first, &first_far, &second, &second_far] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut received = [0; 5];
        if object == "sockmap_skb" {
            // The program redirects data for `first_far` to the send side of `second_far`, so `second`
            // receives it.
            sockets.set(&0, &first_far).unwrap();
            sockets.set(&1, &second_far).unwrap();
            loaded.set_global("to", &1u32).unwrap();
            (&first).write_all_bytes(b"hello");
            (&second).read_exact(&mut received).unwrap();
        } else {
            // The program redirects data from `first` to the receive side of `second`.
            sockets.set(&0, &first).unwrap();
            sockets.set(&1, &second).unwrap();
            loaded.set_global("to", &1u32).unwrap();
            (&first).write_all_bytes(b"hello");
            (&second).read_exact(&mut received).unwrap();
        }
        assert_eq!(&received, b"hello", "{object}");
        assert!(hits(&loaded) > 0);
        for key in 0..2u32 {
            sockets.remove(&key).unwrap();
        }
        for link in links {
            link.detach().unwrap();
        }
    }
}

/// An extension that writes all bytes or panics.
trait WriteAll {
    fn write_all_bytes(self, bytes: &[u8]);
}

impl WriteAll for &TcpStream {
    fn write_all_bytes(mut self, bytes: &[u8]) {
        std::io::Write::write_all(&mut self, bytes).unwrap();
    }
}

#[test]
fn an_xdp_link_is_updated_to_another_program() {
    let Some(_live) = live("network::an_xdp_link_is_updated_to_another_program", &[Need::Veth]) else {
        return;
    };
    let (veth, old, new) = (Veth::new(), load("xdp"), load_with("xdp", |_| {}));
    let fd = |loaded: &Loaded| loaded.program("count").unwrap().as_fd().try_clone_to_owned().unwrap();
    let mut link = veth
        .far
        .inside(|| ProgramRef::from_fd(fd(&old).as_fd()).attach_xdp(veth.far_index, XdpMode::Any))
        .unwrap();
    assert!(arrives(&veth));
    let before = hits(&old);
    assert!(before > 0);
    link.update(fd(&new)).unwrap();
    assert!(arrives(&veth));
    assert_eq!(hits(&old), before);
    expect_fires(&new, link, &veth);
}
