//! Tests of the programs that an error names because they are attached at the place already. The suggested
//! command makes room.

use super::{
    attach_points::*,
    common::{Run, has_own_bpffs, run},
    fixture::*,
    links::has_own_netns,
};
use core_relo_loader::{
    attach::{ProgramRef, XdpMode},
    inventory::LinkInfo,
};
use core_relo_test_support::skip;
use std::{
    fs,
    os::fd::{AsFd as _, OwnedFd},
    process::{Child, Command},
    thread,
    time::Duration,
};

/// Runs the command that an error suggests.
fn run_suggestion(refused: &Run) -> Run {
    let (_, suggested) = refused.err.split_once("attached there: ").expect(&refused.err);
    let (_, suggested) = suggested.split_once("`core-relo ").expect(&refused.err);
    let (command, rest) = suggested.split_once('`').expect(&refused.err);
    assert!(rest.starts_with(" makes room"), "{refused:?}");
    run(command.split(' '))
}

fn two(prog_type: u32, attach_type: u32, number: i32) -> ([OwnedFd; 2], [String; 2]) {
    let programs = [(); 2].map(|()| load(prog_type, attach_type, number).unwrap());
    let ids = [id_of(&programs[0]), id_of(&programs[1])];
    (programs, ids)
}

#[test]
fn a_classifier_that_is_attached_twice_is_named_among_the_others() {
    if types().is_none()
        || !has_own_netns("occupants::a_classifier_that_is_attached_twice_is_named_among_the_others")
        || !has_tcx()
    {
        return;
    }
    let (_programs, [first, second]) = two(SCHED_CLS, 0, -1);
    let point = "dev:own_lo,egress";
    ok(attach(&first, point, &[]));
    ok(attach(&second, point, &[]));
    let again = attach(&second, point, &[]);
    refused(&again, &format!("attached there: program {first}, this program ({second}); "));
    refused(&again, &format!("`core-relo prog detach {second} --from dev:own_lo,tcx_egress` makes room"));
    ok(run_suggestion(&again));
    ok(attach(&second, point, &[]));
}

/// The refused program has another mode, in which the command would not find the one that is attached.
#[test]
fn the_mode_of_an_xdp_program_is_named() {
    if types().is_none() || !has_own_netns("occupants::the_mode_of_an_xdp_program_is_named") {
        return;
    }
    let (_programs, [first, second]) = two(XDP, 0, 2);
    ok(attach(&first, "dev:own_lo,xdpgeneric", &[]));
    let occupied = attach(&second, "dev:own_lo,xdpdrv", &[]);
    let way_out = format!("`core-relo prog detach {first} --from dev:own_lo,xdpgeneric` makes room");
    refused(&occupied, &way_out);
    ok(run_suggestion(&occupied));
    ok(attach(&second, "dev:own_lo,xdpgeneric", &[]));
}

#[test]
fn the_link_of_an_interface_is_named() {
    if types().is_none() || !has_own_netns("occupants::the_link_of_an_interface_is_named") {
        return;
    }
    let ([program, _other], [first, second]) = two(XDP, 0, 2);
    let link = ProgramRef::from_fd(program.as_fd()).attach_xdp("own_lo", XdpMode::Generic).unwrap();
    let Some(fd) = link.fd() else { return skip!("no XDP links") };
    let id = LinkInfo::query(&fd).unwrap().id;
    // Netlink explains that a link holds the interface, which netlink does not remove.
    let occupied = attach(&second, "dev:own_lo", &[]);
    let way_out = format!("program {first} by link {id}; `core-relo link detach {id}` makes room\n");
    refused(&occupied, &way_out);
    refused(&attach(&second, "dev:own_lo", &["--replace"]), &way_out);
    // A link that is refused has no explanation.
    refused(
        &attach(&second, "dev:own_lo", &["--pin", "/sys/fs/bpf/no_link"]),
        &format!("program {first}, perhaps by link {id}; `core-relo link detach {id}` makes room if "),
    );
    ok(run_suggestion(&occupied));
    ok(attach(&second, "dev:own_lo", &[]));
    ok(detach(&second, "dev:own_lo"));
}

/// The link of another namespace has the same program and index. Only the program without a link is in the
/// way.
#[test]
fn the_link_of_another_interface_with_the_same_index_is_not_blamed() {
    let test = "occupants::the_link_of_another_interface_with_the_same_index_is_not_blamed";
    if types().is_none() || !has_own_netns(test) || !has_own_bpffs(test) {
        return;
    }
    let (_programs, [first, second]) = two(XDP, 0, 2);
    let Some(netns) = OtherNetns::new() else { return skip!("no network namespace") };
    let pin = "/sys/fs/bpf/elsewhere";
    let mut elsewhere = Command::new("nsenter");
    elsewhere.args([&format!("--net={}", netns.path()), env!("CARGO_BIN_EXE_core-relo"), "prog", "attach"]);
    let status = elsewhere.args([&first, "--to", "dev:lo,xdpgeneric", "--pin", pin]).status().unwrap();
    if !status.success() {
        return skip!("no XDP links");
    }
    ok(attach(&first, "dev:own_lo", &[]));
    let occupied = attach(&second, "dev:own_lo", &[]);
    refused(&occupied, &format!("program {first} is attached there: --replace replaces it"));
    assert!(!occupied.err.contains("link"), "{occupied:?}");
    ok(attach(&second, "dev:own_lo", &["--replace"]));
    ok(detach(&second, "dev:own_lo"));
    fs::remove_file(pin).unwrap();
}

#[test]
fn a_cgroup_that_is_not_shared_names_its_program_and_those_below_the_command_that_shows_it() {
    if types().is_none() {
        return;
    }
    let Some(parent) = Cgroup::new("core_relo_occupied") else { return };
    let child = Cgroup(parent.0.join("child"));
    fs::create_dir(&child.0).unwrap();
    let (_programs, [first, second]) = two(CGROUP_DEVICE, 6, 1);
    ok(attach(&first, &parent.point(""), &["--sharing", "exclusive"]));
    let occupied = attach(&second, &parent.point(""), &[]);
    let way_out = format!(
        "attached there: program {first}; `core-relo prog detach {first} --from {}`",
        parent.point(",cgroup_device")
    );
    refused(&occupied, &way_out);
    refused(
        &attach(&second, &child.point(""), &[]),
        "`core-relo cgroup tree` shows the programs of the cgroups above",
    );
    assert!(!occupied.err.contains("CgroupSharing"), "{occupied:?}");
    ok(run_suggestion(&occupied));
    ok(attach(&second, &parent.point(""), &[]));
    ok(detach(&second, &parent.point("")));
}

/// A process in a network namespace of its own, which ends when it is dropped.
struct OtherNetns(Child);

impl OtherNetns {
    fn new() -> Option<Self> {
        let child = Command::new("unshare").args(["--net", "sleep", "60"]).spawn().ok()?;
        let other = Self(child);
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        for _ in 0..200 {
            match fs::read_link(other.path()) {
                Ok(netns) if netns != own => return Some(other),
                _ => thread::sleep(Duration::from_millis(10)),
            }
        }
        None
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }
}

impl Drop for OtherNetns {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_link_of_another_network_namespace_is_named() {
    if types().is_none() || !has_own_bpffs("occupants::the_link_of_another_network_namespace_is_named") {
        return;
    }
    let Some(netns) = OtherNetns::new() else { return skip!("no network namespace") };
    let point = format!("netns:{}", netns.path());
    let (_programs, [first, second]) = two(FLOW_DISSECTOR, 17, 0);
    let pins = ["/sys/fs/bpf/first", "/sys/fs/bpf/second"];
    let attached = attach(&first, &point, &["--pin", pins[0], "--format", "json"]);
    if attached.exit != 0 {
        return skip!("no flow dissector by link: {}", attached.err);
    }
    let link = attached.lines()[0]["link_id"].clone();
    let occupied = attach(&second, &point, &["--pin", pins[1]]);
    refused(&occupied, &format!("program {first} by link {link}; `core-relo link detach {link}` makes room"));
    assert_eq!(run_suggestion(&occupied).exit, 0);
    ok(attach(&second, &point, &["--pin", pins[1]]));
    pins.iter().for_each(|pin| fs::remove_file(pin).unwrap());
}
