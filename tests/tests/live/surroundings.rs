//! Tests of the live test harness: requirements, namespaces, cgroups and objects.

use super::harness::{Cgroup, Need, Netns, Veth, in_vm, is_configured, kernel_version, live, names, object};
use core_relo_loader::object::Object;
use std::{
    fs,
    net::{Ipv4Addr, UdpSocket},
    os::unix::fs::MetadataExt as _,
    time::Duration,
};

#[test]
fn every_need_is_met_in_the_virtual_machine() {
    let Some(_live) = live("surroundings::every_need_is_met_in_the_virtual_machine", &[]) else { return };
    if !in_vm() {
        return;
    }
    // The virtual machine meets all needs that its kernel is built for. An error here would skip other tests
    // silently.
    let has_btf = is_configured("CONFIG_DEBUG_INFO_BTF");
    // The kernel attaches programs to functions only with a JIT compiler, and on most architectures only
    // through direct calls.
    let has_tracing = has_btf
        && is_configured("CONFIG_BPF_JIT")
        && is_configured("CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS");
    let all = [
        (Need::Kernel(5, 10), true),
        (Need::Btf, has_btf),
        (Need::Tracing, has_tracing),
        (Need::Lsm, has_tracing && is_configured("CONFIG_BPF_LSM")),
        (Need::Kprobes, Need::FunctionEntries.is_met().is_ok()),
        (Need::KprobeMulti, has_btf && is_configured("CONFIG_FPROBE") && kernel_version() >= (5, 18)),
        (Need::Uprobes, true),
        (Need::Tracefs, true),
        (Need::Cgroup, true),
        (Need::Veth, true),
    ];
    for (need, _) in all.into_iter().filter(|(_, is_expected)| *is_expected) {
        assert_eq!(need.is_met(), Ok(()), "{need:?}");
    }
    // The kernels of x86-64 meet all of them, but for links that came later than 5.10.
    let is_later = |need: &Need| matches!(need, Need::KprobeMulti);
    let is_met = |(need, is_expected): &(Need, bool)| *is_expected || is_later(need);
    assert!(!cfg!(target_arch = "x86_64") || all.iter().all(is_met));
    let (major, minor) = kernel_version();
    assert!(Need::Kernel(major, minor + 1).is_met().unwrap_err().contains(&format!("{major}.{minor}")));
}

#[test]
fn a_packet_goes_from_one_namespace_to_the_other() {
    let test = "surroundings::a_packet_goes_from_one_namespace_to_the_other";
    let Some(_live) = live(test, &[Need::Veth]) else { return };
    let veth = Veth::new();
    let far = veth.far.inside(|| UdpSocket::bind((Veth::FAR, 7)).unwrap());
    far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let near = veth.near.inside(|| UdpSocket::bind((Veth::NEAR, 0)).unwrap());
    near.send_to(b"hello", (Veth::FAR, 7)).unwrap();
    let mut got = [0; 16];
    let (length, from) = far.recv_from(&mut got).unwrap();
    assert_eq!((&got[..length], from.ip()), (b"hello".as_slice(), Veth::NEAR.into()));
    assert_ne!((veth.near_index, veth.far_index), (0, 0));
}

#[test]
fn a_namespace_is_left_again() {
    let Some(_live) = live("surroundings::a_namespace_is_left_again", &[]) else { return };
    let inode = || fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let home = inode();
    let netns = Netns::new();
    assert_eq!(inode(), home);
    let own = netns.inside(|| {
        let lo = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        lo.send_to(b"x", lo.local_addr().unwrap()).unwrap();
        inode()
    });
    assert_eq!((own, inode()), (netns.file().metadata().unwrap().ino(), home));
    assert_ne!(own, home);
}

#[test]
fn a_cgroup_is_entered_left_and_removed() {
    let test = "surroundings::a_cgroup_is_entered_left_and_removed";
    let Some(_live) = live(test, &[Need::Cgroup]) else { return };
    let own = || fs::read_to_string("/proc/self/cgroup").unwrap();
    let (home, cgroup) = (own(), Cgroup::new());
    let path = cgroup.path().to_path_buf();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(cgroup.inside(own).contains(name));
    assert_eq!(own(), home);
    assert_eq!(cgroup.dir().metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    drop(cgroup);
    assert!(!path.exists());
}

#[test]
fn every_live_object_parses() {
    let names = names();
    assert!(names.len() >= 60, "{} objects of live programs", names.len());
    for name in names {
        let bytes = object(&name);
        let parsed = Object::parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(parsed.programs().iter().any(|p| p.sec_def().is_some()), "{name}: no program");
    }
}
