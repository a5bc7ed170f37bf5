//! Classifiers on interfaces of network namespaces that the tests create.

use super::*;
use crate::attach::test_support::{Counting, in_own_network, pair, send_on_pair};
use core_relo_object::object::ProgramType;
use core_relo_test_support::skip;

/// `TC_ACT_UNSPEC`: the next classifier decides.
const NEXT: i32 = -1;

fn program() -> Option<Counting> {
    Counting::load(ProgramType::SchedCls, None, NEXT)
}

#[test]
fn both_directions_run_their_program_until_detached() {
    in_own_network(|| {
        let (Some(prog), Some((near, peer))) = (program(), pair("veth")) else { return };
        for hook in [
            TcHook { ifindex: peer, attach_point: TcAttachPoint::Ingress },
            TcHook { ifindex: near, attach_point: TcAttachPoint::Egress },
        ] {
            assert_eq!(hook.filters().unwrap(), []);
            assert!(hook.create().unwrap());
            assert!(!hook.create().unwrap());
            let link = hook.attach(prog.fd(), TcOptions::default()).unwrap();
            let [filter] = &hook.filters().unwrap()[..] else { panic!("one classifier") };
            assert_eq!(filter.prog_id, prog.id());
            assert_eq!(filter.name, format!("counting:[{}]", prog.id()));
            assert!(filter.handle != 0 && filter.priority != 0 && link.fd().is_none());
            prog.fires(link, send_on_pair);
            assert_eq!(hook.filters().unwrap(), []);
            TcHook::clsact(hook.ifindex).destroy().unwrap();
        }
    });
}

#[test]
fn handles_and_priorities_are_kept_replaced_and_updated() {
    in_own_network(|| {
        let (Some(prog), Some(other), Some((_, peer))) = (program(), program(), pair("veth")) else {
            return;
        };
        let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Ingress };
        hook.create().unwrap();
        let place = TcOptions { handle: 7, priority: 3, replace: false };
        let mut link = hook.attach(prog.fd(), place).unwrap();
        assert_eq!(hook.query(7, 3).unwrap().prog_id, prog.id());
        let taken = hook.attach(other.fd(), place).unwrap_err().to_string();
        assert!(taken.contains("tc ingress of interface") && taken.contains("EEXIST"), "{taken}");
        link.update(other.fd()).unwrap();
        assert_eq!(hook.query(7, 3).unwrap().prog_id, other.id());
        let first = hook.attach(prog.fd(), TcOptions { handle: 1, priority: 1, replace: false }).unwrap();
        let ids: Vec<_> = hook.filters().unwrap().iter().map(|f| f.prog_id).collect();
        assert_eq!(ids, [prog.id(), other.id()]);
        drop(first);
        // Another program replaces the classifier: detaching leaves that program alone.
        let over = hook.attach(prog.fd(), TcOptions { replace: true, ..place }).unwrap();
        assert!(link.detach().is_err());
        assert_eq!(hook.query(7, 3).unwrap().prog_id, prog.id());
        over.leak();
        hook.detach(7, 3).unwrap();
        assert!(hook.detach(7, 3).is_err() && hook.query(7, 3).is_err());
        hook.attach(prog.fd(), place).unwrap().leak();
        hook.flush().unwrap();
        assert_eq!(hook.filters().unwrap(), []);
        // A classifier that was flushed counts as detached.
        let flushed = hook.attach(prog.fd(), place).unwrap();
        hook.flush().unwrap();
        flushed.detach().unwrap();
        let destroyed = hook.attach(prog.fd(), place).unwrap();
        TcHook::clsact(peer).destroy().unwrap();
        destroyed.detach().unwrap();
    });
}

#[test]
fn without_a_hook_or_an_interface_the_kernel_says_so() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Egress };
        let error = hook.attach(prog.fd(), TcOptions::default()).unwrap_err().to_string();
        assert!(error.contains("the kernel says: "), "{error}");
        let nowhere = TcHook { ifindex: 9999, attach_point: TcAttachPoint::Egress };
        assert!(nowhere.create().unwrap_err().to_string().contains("is there such an interface"));
        assert!(nowhere.destroy().is_err());
        let odd = TcHook { ifindex: peer, attach_point: TcAttachPoint::Parent(0x1_0002) };
        assert_eq!(odd.label(), format!("tc 1:2 of interface {peer}"));
        assert!(odd.attach(prog.fd(), TcOptions::default()).is_err());
        for refused in [odd.create().unwrap_err(), odd.destroy().unwrap_err()] {
            assert_eq!(refused.errno(), Some(Errno(libc::EOPNOTSUPP)), "{refused}");
        }
    });
}

#[test]
fn destroying_one_direction_keeps_the_other() {
    in_own_network(|| {
        let (Some(prog), Some((_, peer))) = (program(), pair("veth")) else { return };
        let hook = |attach_point| TcHook { ifindex: peer, attach_point };
        let (ingress, egress) = (hook(TcAttachPoint::Ingress), hook(TcAttachPoint::Egress));
        assert!(ingress.create().unwrap());
        let _in = ingress.attach(prog.fd(), TcOptions::default()).unwrap();
        let out = egress.attach(prog.fd(), TcOptions::default()).unwrap();
        ingress.destroy().unwrap();
        assert_eq!((ingress.filters().unwrap().len(), egress.filters().unwrap().len()), (0, 1));
        out.detach().unwrap();
        assert!(!ingress.create().unwrap(), "the qdisc is still there");
        TcHook::clsact(peer).destroy().unwrap();
        assert!(ingress.create().unwrap());
    });
}

#[test]
fn a_classifier_that_is_not_echoed_is_found_by_comparing_lists() {
    let filter = |handle, prog_id| TcFilter { handle, priority: 1, prog_id, name: String::new() };
    let before = [filter(1, 7), filter(3, 7)];
    let now = || vec![filter(1, 7), filter(2, 7), filter(3, 7), filter(4, 8)];
    assert_eq!(find_added(&before, now(), 7), Some(filter(2, 7)));
    assert_eq!(find_added(&before, now(), 9), None);
    assert_eq!(find_added(&[], now(), 7), None, "two candidates are ambiguous");
}

#[test]
fn a_removed_interface_takes_its_classifiers_along() {
    in_own_network(|| {
        let (Some(prog), Some((near, peer))) = (program(), pair("veth")) else { return };
        let hook = TcHook { ifindex: peer, attach_point: TcAttachPoint::Ingress };
        hook.create().unwrap();
        let link = hook.attach(prog.fd(), TcOptions::default()).unwrap();
        crate::attach::test_support::remove(near);
        link.detach().unwrap();
    });
}

#[test]
fn other_qdiscs_are_created_and_destroyed() {
    in_own_network(|| {
        let Some((near, _)) = pair("veth") else { return };
        let qdisc = Qdisc { ifindex: near, parent: Qdisc::ROOT, handle: 0x11_0000, kind: "pfifo" };
        match qdisc.create() {
            Ok(made) => assert!(made),
            Err(e) => return skip!("{e}"),
        }
        assert!(!qdisc.create().unwrap());
        qdisc.destroy().unwrap();
        let error = qdisc.destroy().unwrap_err().to_string();
        assert!(error.starts_with(&format!("qdisc pfifo on interface {near}: cannot destroy: ")), "{error}");
        let none = Qdisc { kind: "no_such_kind", ..qdisc }.create().unwrap_err().to_string();
        assert!(none.contains("the kernel says: "), "{none}");
    });
}

/// The kernel puts a classifier for egress to the ingress of the older qdisc, and says nothing.
#[test]
fn egress_on_an_ingress_qdisc_is_refused() {
    in_own_network(|| {
        let (Some(prog), Some((near, _))) = (program(), pair("veth")) else { return };
        let old = Qdisc { kind: "ingress", ..TcHook::clsact(near) };
        assert!(old.create().unwrap());
        let hook = |attach_point| TcHook { ifindex: near, attach_point };
        let egress = hook(TcAttachPoint::Egress);
        assert!(!egress.create().unwrap(), "no clsact beside an ingress qdisc");
        let error = egress.attach(prog.fd(), TcOptions::default()).unwrap_err().to_string();
        assert!(error.contains("qdisc `ingress`, which has no egress"), "{error}");
        assert_eq!(hook(TcAttachPoint::Ingress).filters().unwrap(), []);
        assert!(error.contains("`tc qdisc del dev near0 ingress`"), "{error}");
        let ingress = hook(TcAttachPoint::Ingress);
        let link = ingress.attach(prog.fd(), TcOptions::default()).unwrap();
        // The classifier is not one of egress: no request for egress finds or removes it.
        let [TcFilter { handle, priority, .. }] = ingress.filters().unwrap()[..] else { panic!() };
        assert_eq!(egress.filters().unwrap(), []);
        for result in [
            egress.query(handle, priority).map(drop),
            egress.detach(handle, priority),
            egress.flush(),
            egress.destroy(),
        ] {
            assert!(result.unwrap_err().to_string().contains("has no egress"));
        }
        assert_eq!(ingress.filters().unwrap().len(), 1);
        drop(link);
    });
}
