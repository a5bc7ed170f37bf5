//! Tables of functions the kernel calls: a congestion control of TCP, registered by a map's update and by a link.

use super::harness::{Need, Netns, hits, live, load, load_with};
use core_relo_loader::{attach, load::Loaded};
use rustix::net::sockopt;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread::sleep,
    time::{Duration, Instant},
};

/// A connection whose near end goes by this congestion control, and sends a little.
fn converse(name: &str) -> rustix::io::Result<()> {
    let netns = Netns::new();
    let listener = netns.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let mut near = netns.inside(|| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    let (mut far, _) = listener.accept().unwrap();
    sockopt::set_tcp_congestion(&near, name)?;
    assert_eq!(sockopt::tcp_congestion(&near)?, name);
    let mut got = [0; 1000];
    for _ in 0..20 {
        near.write_all(&[7; 1000]).unwrap();
        far.read_exact(&mut got).unwrap();
    }
    Ok(())
}

fn is_known(name: &str) -> bool {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    known.split_ascii_whitespace().any(|one| one == name)
}

fn was_used(loaded: &Loaded) {
    assert_eq!(loaded.global::<u64>("inits").unwrap(), 1);
    assert!(hits(loaded) > 0, "cong_avoid was never called");
}

/// Sockets that used it may live on for a moment.
fn goes_away(name: &str) {
    let begun = Instant::now();
    while is_known(name) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{name} stays registered");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn registered_by_its_map() {
    let Some(_live) = live("struct_ops::registered_by_its_map", &[Need::Btf]) else { return };
    let loaded = load("struct_ops");
    assert!(!is_known("bpf_still"));
    let link = loaded.attach_struct_ops("still").unwrap();
    assert!(link.fd().is_none());
    assert!(is_known("bpf_still"));
    converse("bpf_still").unwrap();
    was_used(&loaded);
    link.detach().unwrap();
    goes_away("bpf_still");
}

#[test]
fn registered_by_a_link() {
    let needs = [Need::Btf, Need::Enumerator("BPF_F_LINK"), Need::Enumerator("BPF_STRUCT_OPS")];
    let Some(_live) = live("struct_ops::registered_by_a_link", &needs) else { return };
    let (loaded, other) = (load("struct_ops_link"), load("struct_ops_link"));
    let mut links = loaded.attach_all().unwrap();
    let mut link = links.pop().unwrap();
    assert!(links.is_empty() && link.fd().is_some());
    converse("bpf_still_link").unwrap();
    was_used(&loaded);
    // Another table of the same name takes its place.
    let table = other.map("still").unwrap();
    attach::struct_ops_update(&mut link, &table.handle().unwrap(), &table.plan.data).unwrap();
    let before = hits(&loaded);
    converse("bpf_still_link").unwrap();
    assert_eq!(hits(&loaded), before);
    was_used(&other);
    link.detach().unwrap();
    goes_away("bpf_still_link");
}

#[test]
fn registered_by_the_name_it_was_given() {
    let Some(_live) = live("struct_ops::registered_by_the_name_it_was_given", &[Need::Btf]) else { return };
    let loaded = load_with("struct_ops", |loader| {
        assert!(loader.set_global("still.name", b"short").is_err());
        loader.set_global("still.name", b"bpf_still_other\0").unwrap();
        assert!(loader.set_global("still.init", &0u64).is_err());
        // What counts has no part in it.
        loader.map("still").programs.insert("init".into(), None);
    });
    let link = loaded.attach_struct_ops("still").unwrap();
    assert!(is_known("bpf_still_other") && loaded.program("init").is_none());
    converse("bpf_still_other").unwrap();
    assert_eq!((loaded.global::<u64>("inits").unwrap(), hits(&loaded) > 0), (0, true));
    assert!(loaded.set_global("still.name", b"bpf_still_third\0").is_err());
    link.detach().unwrap();
    goes_away("bpf_still_other");
}

#[test]
fn registered_once() {
    let Some(_live) = live("struct_ops::registered_once", &[Need::Btf]) else { return };
    let (loaded, other) = (load("struct_ops"), load("struct_ops"));
    let link = loaded.attach_struct_ops("still").unwrap();
    let refused = other.attach_struct_ops("still").unwrap_err();
    assert!(refused.to_string().contains("EEXIST"), "{refused}");
    assert!(loaded.attach_struct_ops("no_such_table").is_err());
    drop(link);
    goes_away("bpf_still");
}
