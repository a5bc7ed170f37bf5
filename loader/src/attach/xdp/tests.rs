//! XDP on own interfaces.

use super::*;
use crate::{
    attach::testing::{Counting, in_own_network, pair, send_on_pair},
    object::ProgramType,
};

const PASS: i32 = 2;

fn program() -> Option<Counting> {
    Counting::load(ProgramType::Xdp, Some(AttachType::Xdp), PASS)
}

#[test]
fn a_link_fires_in_either_mode_and_is_seen() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        for mode in [XdpMode::Generic, XdpMode::Driver, XdpMode::Any] {
            let link = xdp(prog.fd(), peer, mode).unwrap();
            let seen = xdp_query(peer).unwrap();
            assert_eq!(seen.prog_ids(), [prog.id()]);
            assert_eq!(seen.generic != 0, mode == XdpMode::Generic);
            assert_eq!(seen.driver != 0, mode != XdpMode::Generic);
            assert!(link.fd().is_some() && !seen.multiple);
            prog.fires(link, send_on_pair);
            assert_eq!(xdp_query(peer).unwrap(), Xdp::default());
        }
    });
}

#[test]
fn netlink_attaches_updates_and_takes_away_its_own_only() {
    in_own_network(|| {
        let (Some(prog), Some(other), Some((_, peer))) = (program(), program(), pair("veth")) else {
            return;
        };
        let mut link = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpOver::Nothing).unwrap();
        send_on_pair();
        assert!(prog.ran_since(0) && link.fd().is_none());
        link.update(other.fd()).unwrap();
        assert_eq!(xdp_query(peer).unwrap().driver, other.id());
        other.fires(link, send_on_pair);
        assert_eq!(xdp_query(peer).unwrap(), Xdp::default());

        let first = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpOver::Nothing).unwrap();
        let second = xdp_netlink(other.fd(), peer, XdpMode::Generic, XdpOver::Program(prog.fd())).unwrap();
        // `prog` is not there any more: `other` stays.
        assert!(first.detach().is_err());
        assert_eq!(xdp_query(peer).unwrap().generic, other.id());
        second.leak();
        assert_eq!(xdp_query(peer).unwrap().generic, other.id());
        assert!(xdp_detach(peer, XdpMode::Generic, Some(prog.fd())).is_err());
        xdp_detach(peer, XdpMode::Generic, None).unwrap();
        assert_eq!(xdp_query(peer).unwrap(), Xdp::default());
        let over = xdp_netlink(prog.fd(), peer, XdpMode::Any, XdpOver::Anything).unwrap();
        assert_eq!(xdp_query(peer).unwrap().prog_id, prog.id());
        over.detach().unwrap();
    });
}

#[test]
fn on_old_kernels_the_id_says_whether_it_is_still_there() {
    in_own_network(|| {
        let (Some(prog), Some(other), Some((_, peer))) = (program(), program(), pair("veth")) else {
            return;
        };
        let put = |prog: &Counting| OnInterface {
            route: Route::open().unwrap(),
            ifindex: peer,
            mode: XdpMode::Generic,
            prog: prog.fd().try_clone_to_owned().unwrap(),
        };
        xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpOver::Nothing).unwrap().leak();
        assert_eq!(put(&other).detach_unnamed().unwrap_err().errno, Errno(libc::ENOENT));
        assert_eq!(xdp_query(peer).unwrap().generic, prog.id());
        put(&prog).detach_unnamed().unwrap();
        assert_eq!(xdp_query(peer).unwrap(), Xdp::default());
    });
}

#[test]
fn a_detach_is_in_the_namespace_of_the_attachment() {
    let Some(prog) = program() else { return };
    in_own_network(|| {
        let Some((_, peer)) = pair("veth") else { return };
        let link = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpOver::Nothing).unwrap();
        in_own_network(|| {
            // The same numbers are given out in every new namespace.
            let (_, same) = pair("veth").unwrap();
            assert_eq!(same, peer);
            let here = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpOver::Nothing).unwrap();
            link.detach().unwrap();
            assert_eq!(xdp_query(peer).unwrap().generic, prog.id());
            here.detach().unwrap();
        });
        assert_eq!(xdp_query(peer).unwrap(), Xdp::default());
    });
}

#[test]
fn a_kernel_with_links_is_known_as_one() {
    let Some(prog) = program() else { return };
    in_own_network(|| {
        if !crate::attach::testing::kernel_before(5, 9, "links of XDP") {
            assert!(kernel_has_links(prog.fd()));
            assert_eq!(xdp_query(1).unwrap(), Xdp::default());
        }
    });
}

#[test]
fn refusals_carry_the_kernels_words() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        let _first = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpOver::Nothing).unwrap();
        let again = xdp_netlink(prog.fd(), peer, XdpMode::Driver, XdpOver::Nothing).unwrap_err().to_string();
        assert!(again.contains("EBUSY") && again.contains("the kernel says: "), "{again}");
        let mode = xdp_netlink(prog.fd(), peer, XdpMode::Generic, XdpOver::Nothing).unwrap_err().to_string();
        assert!(mode.contains("EEXIST") && mode.contains("at the same time"), "{mode}");
        let missing = xdp(prog.fd(), 9999, XdpMode::Any).unwrap_err().to_string();
        assert!(
            missing.starts_with("xdp on interface 9999: cannot attach: ")
                && missing.contains("is there such"),
            "{missing}"
        );
        assert!(super::super::interface("nowhere0").unwrap_err().to_string().contains("interface nowhere0"));
    });
}

#[test]
fn ids_of_one_and_of_several_modes() {
    let attributes = Attributes::default().bytes(IFLA_XDP_ATTACHED, &[1]).u32(IFLA_XDP_PROG_ID, 7);
    assert_eq!(read(attributes.raw()).prog_ids(), [7]);
    let attributes = Attributes::default()
        .bytes(IFLA_XDP_ATTACHED, &[4])
        .u32(IFLA_XDP_DRV_PROG_ID, 7)
        .u32(IFLA_XDP_SKB_PROG_ID, 8);
    let several = read(attributes.raw());
    assert!(several.multiple);
    assert_eq!(several.prog_ids(), [7, 8]);
    assert_eq!(read(&[]), Xdp::default());
}
