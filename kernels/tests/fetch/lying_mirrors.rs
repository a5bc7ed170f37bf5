//! Mirrors that are busy, that send too much, or whose lists change while they are read.

use super::{
    Machine, Repository, defect, releases,
    server::{Fault, Server},
};
use core_relo_kernels::fetch::MirrorDefect;
use std::{
    fs,
    time::{Duration, Instant},
};

#[test]
fn a_busy_server_gets_the_pause_that_it_asks_for_within_a_bound() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    let kernel = machine.find("debian:12").unwrap().remove(0);

    server.add_fault(".deb", Fault::Busy { code: 503, seconds: 3600, times: usize::MAX });
    server.take_requests();
    assert_eq!(defect(machine.fetch(&kernel)), MirrorDefect::Busy { code: 503, seconds: 3600 });
    assert_eq!(server.take_requests().len(), 1, "nobody waits for an hour");
    machine.assert_empty();

    server.clear_faults();
    server.add_fault(".deb", Fault::Busy { code: 429, seconds: 2, times: 1 });
    let start = Instant::now();
    machine.fetch(&kernel).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn streams_without_an_end_are_errors() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    let kernel = machine.find("debian:12").unwrap().remove(0);
    server.add_fault("Release", Fault::Endless);
    assert!(matches!(defect(machine.find("debian:12")), MirrorDefect::TooLarge { .. }));
    server.clear_faults();
    server.add_fault(".deb", Fault::Endless);
    assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Long { .. }));
    machine.assert_empty();
}

/// While a mirror changes, its index may name lists that it does not have yet.
#[test]
fn lists_that_a_mirror_lacks_are_errors() {
    let Some(repository) = Repository::new() else { return };
    repository.apt.write_index("Acquire-By-Hash: yes\n");
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    server.add_fault("Packages", Fault::Status(404));
    server.add_fault("by-hash", Fault::Status(404));
    assert_eq!(defect(machine.find("debian:12")), MirrorDefect::Status { code: 404 });
    // A copy of a mirror may lack the directory of hashes only.
    server.clear_faults();
    assert_eq!(releases(&machine.find("debian:12").unwrap()), ["6.1.0-2-amd64"]);
    let by_hash = Machine::new(&format!("{}/debian", server.address()));
    let list = repository.apt.suite().join("main/binary-amd64/Packages.xz");
    fs::write(&list, "another list").unwrap();
    assert!(matches!(
        defect(by_hash.find("debian:12")),
        MirrorDefect::Hash { .. } | MirrorDefect::Short { .. }
    ));
    by_hash.assert_empty();
}
