//! XDP on interfaces of network namespaces that the tests create.

use super::*;
use crate::attach::test_support::{Counting, in_own_network, pair, send_on_pair};
use core_relo_object::object::ProgramType;

const PASS: i32 = 2;

fn program() -> Option<Counting> {
    Counting::load(ProgramType::Xdp, Some(AttachType::Xdp), PASS)
}

#[test]
fn a_link_runs_its_program_in_either_mode_and_is_queried() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        for mode in [XdpMode::Generic, XdpMode::Driver, XdpMode::Any] {
            let link = xdp(prog.fd(), peer, mode).unwrap();
            let seen = xdp_query(peer).unwrap();
            assert_eq!(seen.prog_ids(), [prog.id()]);
            assert_eq!(seen.generic_prog_id != 0, mode == XdpMode::Generic);
            assert_eq!(seen.driver_prog_id != 0, mode != XdpMode::Generic);
            assert!(link.fd().is_some() && !seen.has_multiple_modes);
            prog.fires(link, send_on_pair);
            assert_eq!(xdp_query(peer).unwrap(), XdpPrograms::default());
        }
    });
}

#[test]
fn netlink_attaches_updates_and_detaches_its_own_program_only() {
    in_own_network(|| {
        let (Some(prog), Some(other), Some((_, peer))) = (program(), program(), pair("veth")) else {
            return;
        };
        let mut link = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpReplace::Never).unwrap();
        send_on_pair();
        assert!(prog.ran_since(0) && link.fd().is_none());
        link.update(other.fd()).unwrap();
        assert_eq!(xdp_query(peer).unwrap().driver_prog_id, other.id());
        other.fires(link, send_on_pair);
        assert_eq!(xdp_query(peer).unwrap(), XdpPrograms::default());

        let first = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpReplace::Never).unwrap();
        let second =
            xdp_netlink(other.fd(), peer, XdpMode::Generic, XdpReplace::Expected(prog.fd())).unwrap();
        // `prog` is no longer attached: `other` stays.
        assert!(first.detach().is_err());
        assert_eq!(xdp_query(peer).unwrap().generic_prog_id, other.id());
        second.leak();
        assert_eq!(xdp_query(peer).unwrap().generic_prog_id, other.id());
        assert!(xdp_detach(peer, XdpMode::Generic, Some(prog.fd())).is_err());
        xdp_detach(peer, XdpMode::Generic, None).unwrap();
        assert_eq!(xdp_query(peer).unwrap(), XdpPrograms::default());
        let over = xdp_netlink(prog.fd(), peer, XdpMode::Any, XdpReplace::Any).unwrap();
        assert_eq!(xdp_query(peer).unwrap().prog_id, prog.id());
        over.detach().unwrap();
    });
}

#[test]
fn old_kernels_detach_by_program_id() {
    in_own_network(|| {
        let (Some(prog), Some(other), Some((_, peer))) = (program(), program(), pair("veth")) else {
            return;
        };
        let attachment = |prog: &Counting| XdpAttachment {
            socket: RtnetlinkSocket::open().unwrap(),
            ifindex: peer,
            mode: XdpMode::Generic,
            prog: prog.fd().try_clone_to_owned().unwrap(),
        };
        xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpReplace::Never).unwrap().leak();
        assert_eq!(attachment(&other).detach_by_id().unwrap_err().errno, Errno(libc::ENOENT));
        assert_eq!(xdp_query(peer).unwrap().generic_prog_id, prog.id());
        attachment(&prog).detach_by_id().unwrap();
        assert_eq!(xdp_query(peer).unwrap(), XdpPrograms::default());
    });
}

#[test]
fn detach_uses_the_network_namespace_of_the_attachment() {
    let Some(prog) = program() else { return };
    in_own_network(|| {
        let Some((_, peer)) = pair("veth") else { return };
        let link = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpReplace::Never).unwrap();
        in_own_network(|| {
            // Every new namespace numbers its interfaces alike.
            let (_, same) = pair("veth").unwrap();
            assert_eq!(same, peer);
            let here = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpReplace::Never).unwrap();
            link.detach().unwrap();
            assert_eq!(xdp_query(peer).unwrap().generic_prog_id, prog.id());
            here.detach().unwrap();
        });
        assert_eq!(xdp_query(peer).unwrap(), XdpPrograms::default());
    });
}

#[test]
fn kernel_has_links_detects_links() {
    let Some(prog) = program() else { return };
    in_own_network(|| {
        if !crate::attach::test_support::kernel_before(5, 9, "links of XDP") {
            assert!(kernel_has_links(prog.fd()));
            assert_eq!(xdp_query(1).unwrap(), XdpPrograms::default());
        }
    });
}

#[test]
fn errors_carry_the_extended_acknowledgement() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        let _first = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpReplace::Never).unwrap();
        let again = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpReplace::Never).unwrap_err().to_string();
        assert!(again.contains("EBUSY") && again.contains("the kernel says: "), "{again}");
        let mode = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpReplace::Never).unwrap_err().to_string();
        assert!(mode.contains("EEXIST") && mode.contains("at the same time"), "{mode}");
        let missing = xdp(prog.fd(), 9999, XdpMode::Any).unwrap_err().to_string();
        assert!(
            missing.starts_with("xdp on interface 9999: cannot attach: ")
                && missing.contains("no such interface"),
            "{missing}"
        );
        assert!(
            super::super::interface_index("nowhere0").unwrap_err().to_string().contains("interface nowhere0")
        );
    });
}

#[test]
fn prog_ids_of_one_mode_and_of_several() {
    let attributes = Attributes::default().bytes(IFLA_XDP_ATTACHED, &[1]).u32(IFLA_XDP_PROG_ID, 7);
    assert_eq!(parse_xdp_attribute(attributes.raw()).prog_ids(), [7]);
    let attributes = Attributes::default()
        .bytes(IFLA_XDP_ATTACHED, &[4])
        .u32(IFLA_XDP_DRV_PROG_ID, 7)
        .u32(IFLA_XDP_SKB_PROG_ID, 8);
    let several = parse_xdp_attribute(attributes.raw());
    assert!(several.has_multiple_modes);
    assert_eq!(several.prog_ids(), [7, 8]);
    assert_eq!(parse_xdp_attribute(&[]), XdpPrograms::default());
}

#[test]
fn an_interface_is_named_and_a_wrong_program_type_is_explained() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        let link = xdp(prog.fd(), "peer0", XdpMode::Generic).unwrap();
        assert_eq!(link.label(), "xdp on interface peer0");
        assert_eq!(xdp_query(peer).unwrap(), xdp_query("peer0").unwrap());
        drop(link);
        let missing = xdp(prog.fd(), "nowhere0", XdpMode::Any).unwrap_err();
        assert_eq!(missing.errno(), Some(Errno(libc::ENODEV)), "{missing}");
        let Some(other) = Counting::load(ProgramType::CgroupDevice, None, 1) else { return };
        let expected = AttachError::WrongProgramType {
            label: "xdp on interface peer0".into(),
            found: ProgramType::CgroupDevice,
            expected: vec![ProgramType::Xdp],
        };
        assert_eq!(xdp(other.fd(), "peer0", XdpMode::Any).unwrap_err(), expected);
        assert_eq!(
            xdp_netlink(other.fd(), "peer0", XdpMode::Generic, XdpReplace::Never).unwrap_err(),
            expected
        );
        assert_eq!(
            expected.to_string(),
            "xdp on interface peer0: cannot attach: wrong program type: BPF_PROG_TYPE_CGROUP_DEVICE, expected BPF_PROG_TYPE_XDP"
        );
    });
}

#[test]
fn a_large_mtu_is_named_with_the_ways_out() {
    const RTM_SETLINK: u16 = 19;
    const IFLA_MTU: u16 = 4;
    in_own_network(|| {
        let Some((near, peer)) = pair("veth") else { return };
        let Some(prog) = Counting::load(ProgramType::Xdp, None, 2) else { return };
        for ifindex in [near, peer] {
            let attributes = Attributes::default().u32(IFLA_MTU, 9000);
            let request = Request { kind: RTM_SETLINK, flags: 0, fixed: ifinfomsg(ifindex), attributes };
            RtnetlinkSocket::open().and_then(|mut socket| socket.request(request, |_| {})).unwrap();
        }
        let error = xdp(prog.fd(), near, XdpMode::Driver).unwrap_err();
        assert_eq!(error.errno(), Some(Errno(libc::ERANGE)), "{error}");
        assert!(error.to_string().contains("`xdp.frags`"), "{error}");
        let error = xdp_netlink(prog.fd(), near, XdpMode::Driver, XdpReplace::Never).unwrap_err();
        assert_eq!(error.errno(), Some(Errno(libc::ERANGE)), "{error}");
        let error = error.to_string();
        assert!(error.contains("`xdp.frags`") && error.contains("`xdpgeneric`"), "{error}");
        let link = xdp_netlink(prog.fd(), near, XdpMode::Generic, XdpReplace::Never).unwrap();
        let attached = xdp_query(near).unwrap();
        assert_eq!(attached.mode_of(prog.id()), Some(XdpMode::Generic));
        assert_eq!(attached.mode_of(0), None);
        drop(link);
    });
}
