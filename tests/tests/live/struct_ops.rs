//! struct_ops: a TCP congestion control, registered by a map update and by a link.

use super::harness::{Need, Netns, hits, live, load, load_with};
use core_relo_loader::{load::Loaded, skeleton::CText};
use rustix::net::sockopt;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread::sleep,
    time::{Duration, Instant},
};

include!("skeletons/congestion.skel.rs");

use congestion::{Congestion, OpenCongestion, StructOpsProgram};

/// Sends data over a TCP connection that uses a congestion control.
pub(super) fn send_with(name: &str) -> rustix::io::Result<()> {
    let netns = Netns::new();
    let listener = netns.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let mut near = netns.inside(|| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    let (mut far, _) = listener.accept().unwrap();
    sockopt::set_tcp_congestion(&near, name)?;
    assert_eq!(sockopt::tcp_congestion(&near)?, name);
    let mut received = [0; 1000];
    for _ in 0..20 {
        near.write_all(&[7; 1000]).unwrap();
        far.read_exact(&mut received).unwrap();
    }
    Ok(())
}

/// Returns true if a congestion control is registered.
fn is_registered(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_ascii_whitespace().any(|listed| listed == name)
}

/// Checks that the programs of the congestion control ran.
fn expect_used(loaded: &Loaded) {
    assert_eq!(loaded.global::<u64>("inits").unwrap(), 1);
    assert!(hits(loaded) > 0, "cong_avoid was never called");
}

/// Waits until a congestion control is unregistered. Sockets may use it for a moment after the detach.
pub(super) fn wait_until_unregistered(name: &str) {
    let begun = Instant::now();
    while is_registered(name) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{name} stays registered");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_table_is_registered_by_its_map() {
    let Some(_live) = live("struct_ops::a_table_is_registered_by_its_map", &[Need::Btf, Need::StructOps])
    else {
        return;
    };
    let loaded = load("struct_ops");
    assert!(!is_registered("bpf_still"));
    let link = loaded.attach_struct_ops("still").unwrap();
    assert!(link.fd().is_none());
    assert!(is_registered("bpf_still"));
    send_with("bpf_still").unwrap();
    expect_used(&loaded);
    link.detach().unwrap();
    wait_until_unregistered("bpf_still");
}

#[test]
fn a_table_is_registered_and_replaced_by_a_link() {
    let needs =
        [Need::Btf, Need::StructOps, Need::Enumerator("BPF_F_LINK"), Need::Enumerator("BPF_STRUCT_OPS")];
    let Some(_live) = live("struct_ops::a_table_is_registered_and_replaced_by_a_link", &needs) else {
        return;
    };
    let (loaded, other) = (load("struct_ops_link"), load("struct_ops_link"));
    let mut links = loaded.attach_all().unwrap();
    let mut link = links.pop().unwrap();
    assert!(links.is_empty() && link.fd().is_some());
    send_with("bpf_still_link").unwrap();
    expect_used(&loaded);
    // A table of the same name replaces the registered table.
    other.update_struct_ops(&mut link, "still").unwrap();
    let before = hits(&loaded);
    send_with("bpf_still_link").unwrap();
    assert_eq!(hits(&loaded), before);
    expect_used(&other);
    link.detach().unwrap();
    wait_until_unregistered("bpf_still_link");
}

#[test]
fn a_table_is_registered_under_a_name_set_before_the_load() {
    let Some(_live) = live(
        "struct_ops::a_table_is_registered_under_a_name_set_before_the_load",
        &[Need::Btf, Need::StructOps],
    ) else {
        return;
    };
    let loaded = load_with("struct_ops", |loader| {
        assert!(loader.set_global("still.name", b"short").is_err());
        loader.set_global("still.name", b"bpf_still_other\0").unwrap();
        assert!(loader.set_global("still.init", &0u64).is_err());
        // The table works without the counting `init` program.
        loader.map_mut("still").programs.insert("init".into(), None);
    });
    let link = loaded.attach_struct_ops("still").unwrap();
    assert!(is_registered("bpf_still_other") && loaded.program("init").is_none());
    send_with("bpf_still_other").unwrap();
    assert_eq!((loaded.global::<u64>("inits").unwrap(), hits(&loaded) > 0), (0, true));
    assert!(loaded.set_global("still.name", b"bpf_still_third\0").is_err());
    link.detach().unwrap();
    wait_until_unregistered("bpf_still_other");
}

#[test]
fn a_table_name_is_registered_only_once() {
    let Some(_live) = live("struct_ops::a_table_name_is_registered_only_once", &[Need::Btf, Need::StructOps])
    else {
        return;
    };
    let (loaded, other) = (load("struct_ops"), load("struct_ops"));
    let link = loaded.attach_struct_ops("still").unwrap();
    let refused = other.attach_struct_ops("still").unwrap_err();
    assert!(refused.to_string().contains("EEXIST"), "{refused}");
    assert!(loaded.attach_struct_ops("no_such_table").is_err());
    drop(link);
    wait_until_unregistered("bpf_still");
}

#[test]
fn a_skeleton_sets_the_members_of_a_table_before_the_load() {
    let name = "struct_ops::a_skeleton_sets_the_members_of_a_table_before_the_load";
    let Some(_live) = live(name, &[Need::Btf, Need::StructOps]) else { return };
    let mut open = Congestion::open().unwrap();
    let table = &mut open.struct_ops.still;
    assert_eq!(
        (CText(&table.name).to_string(), table.init),
        ("bpf_still".into(), Some(StructOpsProgram::init))
    );
    table.name = *b"bpf_still_skel\0\0";
    table.init = Some(StructOpsProgram::init_other);
    let skeleton = open.load().unwrap();
    let links = skeleton.attach().unwrap();
    assert_eq!((links.len(), is_registered("bpf_still_skel")), (1, true));
    send_with("bpf_still_skel").unwrap();
    let globals = &skeleton.globals;
    assert_eq!((globals.inits.get().unwrap(), globals.other_inits.get().unwrap()), (0, 1));
    drop(links);
    wait_until_unregistered("bpf_still_skel");

    // A member can be left empty, and the map registered by itself.
    open.struct_ops.still.init = None;
    let skeleton = open.load().unwrap();
    assert!(skeleton.programs.init.loaded().is_none() && skeleton.programs.init_other.is_none());
    let link = skeleton.maps.still.attach().unwrap();
    send_with("bpf_still_skel").unwrap();
    assert_eq!(skeleton.globals.inits.get().unwrap(), 0);
    link.detach().unwrap();
    wait_until_unregistered("bpf_still_skel");
}

#[test]
fn settings_of_a_skeleton_leave_a_table_out_or_unregistered() {
    let name = "struct_ops::settings_of_a_skeleton_leave_a_table_out_or_unregistered";
    let Some(_live) = live(name, &[Need::Btf, Need::StructOps]) else { return };
    let mut open = Congestion::open().unwrap();
    open.maps.still.autoattach = Some(false);
    let skeleton = open.load().unwrap();
    assert!(skeleton.attach().unwrap().is_empty() && skeleton.programs.init.loaded().is_some());
    open.maps.still.autocreate = Some(false);
    let skeleton = open.load().unwrap();
    assert!(skeleton.attach().unwrap().is_empty() && skeleton.programs.init.loaded().is_none());
    let error = skeleton.maps.still.attach().unwrap_err().to_string();
    assert!(error.contains("map `still`") && error.contains("it was not created"), "{error}");
}

/// The table of a skeleton overwrote the members that `Loader::set_global` set, and the settings of the map
/// those of the loader.
#[test]
fn settings_of_the_loader_hold_unless_the_skeleton_has_others() {
    let mut open = Congestion::open().unwrap();
    open.loader_mut().set_global("still.name", b"bpf_still_other\0").unwrap();
    open.loader_mut().set_global("only_pid", &7u32).unwrap();
    open.loader_mut().map_mut("still").autoattach = Some(false);
    open.loader_mut().program_mut("init_other").autoload = Some(true);
    let check = |open: &OpenCongestion, name: &[u8; 16], pid: u32| {
        let loader = open.to_loader().unwrap();
        assert_eq!(loader.global::<[u8; 16]>("still.name").unwrap(), *name);
        assert_eq!(loader.global::<u32>("only_pid").unwrap(), pid);
        let settings = loader.settings();
        assert_eq!(settings.maps["still"].autoattach, Some(false));
        assert_eq!(settings.programs["init_other"].autoload, Some(true));
    };
    check(&open, b"bpf_still_other\0", 7);
    // Another member of the same table.
    open.struct_ops.still._pad_0[0] = 1;
    check(&open, b"bpf_still_other\0", 7);
    assert_eq!(open.to_loader().unwrap().global_bytes("still").unwrap()[0], 1);
    open.struct_ops.still.name = *b"bpf_still_skel\0\0";
    *open.globals.only_pid = 9;
    check(&open, b"bpf_still_skel\0\0", 9);
}
