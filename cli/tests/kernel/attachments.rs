//! Tests of `net`, `cgroup` and `perf`: attachments are listed by the place where the programs run.

use super::{
    common::{run, schema},
    fixture::*,
    links::has_own_netns,
};
use core_relo_loader::{
    attach::{
        CgroupSharing, NetfilterHook, Placement, ProgramRef, RawTracepointOptions, TcAttachPoint, TcHook,
        TcOptions, TracepointOptions, UprobeOptions, XdpMode,
    },
    inventory::{LinkInfo, ProgramInfo},
    load::{Kernel as _, ProgLoad, RunningKernel},
    object::AttachType,
};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{
    fs,
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    process::{Command, id},
};

const CGROUP: &str = "cgroup list, cgroup tree";

/// Loads a program that returns a number.
fn returning(prog_type: u32, attach_type: u32, name: &str, result: i32) -> Option<OwnedFd> {
    let code = [insn(0xb7, 0, 0, 0, result), insn(0x95, 0, 0, 0, 0)].concat();
    let load = ProgLoad {
        prog_type,
        expected_attach_type: attach_type,
        name: name.as_bytes(),
        insns: &code,
        license: b"GPL",
        ..ProgLoad::default()
    };
    RunningKernel.prog_load(&load, &mut []).map_err(|e| skip!("{name}: {e}")).ok()
}

fn prog_id(prog: &OwnedFd) -> u32 {
    ProgramInfo::query(prog).unwrap().id
}

/// Returns the only line of a program in the output of a command.
fn line_of(args: &[&str], section: &str, prog: &OwnedFd) -> Value {
    let lines = ok(run(args.iter().chain(&["--format", "json"]))).lines();
    lines.iter().for_each(|line| schema().check(section, line));
    let mut own = lines.into_iter().filter(|line| line["prog_id"] == prog_id(prog));
    let line = own.next().expect("the own program is listed");
    assert_eq!(own.next(), None);
    line
}

#[test]
fn programs_of_a_network_namespace_are_listed_by_their_place() {
    if !has_own_netns("attachments::programs_of_a_network_namespace_are_listed_by_their_place") {
        return;
    }
    let net = |prog: &OwnedFd| line_of(&["net", "list"], "net list", prog);
    assert_eq!(ok(run(["net", "list", "own_lo"])).out, "no programs are attached\n");

    let Some(xdp) = returning(6, 37, "own_xdp", 2) else { return };
    let link = ProgramRef::from_fd(xdp.as_fd()).attach_xdp(1, XdpMode::Generic).unwrap();
    let line = net(&xdp);
    let link_id = LinkInfo::query(&link.fd().unwrap()).unwrap().id;
    assert_eq!(
        (&line["type"], &line["devname"], &line["mode"], &line["name"], &line["link_id"]),
        (&json!("xdp"), &json!("own_lo"), &json!("generic"), &json!("own_xdp"), &json!(link_id))
    );

    let Some(cls) = returning(3, 0, "own_cls", -1) else { return };
    let hook = TcHook { ifindex: 1, attach_point: TcAttachPoint::Egress };
    match hook
        .create()
        .and_then(|_| hook.attach(cls.as_fd(), TcOptions { handle: 5, priority: 7, ..TcOptions::default() }))
    {
        Ok(_link) => {
            let line = net(&cls);
            assert_eq!((&line["type"], &line["kind"]), (&json!("tc"), &json!("clsact/egress")));
            assert_eq!(
                line["classifier"],
                json!({"kind": "bpf", "name": format!("own_cls:[{}]", prog_id(&cls)), "parent": null, "handle": 5,
                    "priority": 7, "is_action": false})
            );
            let text = ok(run(["net", "show", "dev", "own_lo"])).out;
            assert!(text.contains("clsact/egress handle 0x5 priority 7"), "{text}");
        }
        Err(e) => skip!("{e}"),
    }
    match ProgramRef::from_fd(cls.as_fd())
        .with_attach_type(AttachType::TcxIngress)
        .attach_tcx(1, &Placement::default())
    {
        Ok(_link) => assert_eq!(net(&cls)["kind"], "tcx/ingress"),
        Err(e) => skip!("{e}"),
    }
    if let Some(filter) = returning(32, 45, "own_filter", 1) {
        let hook = NetfilterHook { family: 10, hook: 1, priority: -77, defragment: false };
        match ProgramRef::from_fd(filter.as_fd()).attach_netfilter(hook) {
            Ok(_link) => {
                let line = net(&filter);
                assert_eq!(line["netfilter"], json!({"pf": 10, "hook": 1, "prio": -77, "flags": 0}));
                assert!(ok(run(["net", "list"])).out.contains("ip6 input priority -77"));
                let of_device = ok(run(["net", "list", "own_lo"])).out;
                assert!(!of_device.contains("own_filter"), "{of_device}");
            }
            Err(e) => skip!("{e}"),
        }
    }
    if let Some(lookup) = returning(30, 36, "own_lookup", 1) {
        let link = ProgramRef::from_fd(lookup.as_fd())
            .with_attach_type(AttachType::SkLookup)
            .attach_netns("/proc/self/ns/net")
            .unwrap();
        let line = net(&lookup);
        let link_id = link.fd().map(|fd| LinkInfo::query(&fd).unwrap().id);
        assert_eq!((&line["type"], &line["link_id"]), (&json!("sk_lookup"), &json!(link_id)));
    }

    let wrong = run(["net", "list", "nowhere0"]);
    assert_eq!(
        (wrong.exit, &*wrong.err),
        (2, "core-relo: nowhere0: no such interface in this network namespace; it has own_lo\n")
    );
    let wrong = run(["net", "list", "device", "own_lo"]);
    assert!(wrong.exit == 2 && wrong.err.contains("expected `dev`"), "{wrong:?}");
}

/// The kernel reports the hook of a detached link of netfilter, as that of an attached one.
#[test]
fn a_link_of_netfilter_is_detached() {
    if !has_own_netns("attachments::a_link_of_netfilter_is_detached") {
        return;
    }
    let Some(filter) = returning(32, 45, "own_filter", 1) else { return };
    let hook = NetfilterHook { family: 2, hook: 1, priority: -77, defragment: false };
    let link = match ProgramRef::from_fd(filter.as_fd()).attach_netfilter(hook) {
        Ok(link) => link,
        Err(e) => return skip!("{e}"),
    };
    let id = LinkInfo::query(&link.fd().unwrap()).unwrap().id.to_string();
    let detached = run(["link", "detach", &id]);
    assert_eq!((detached.exit, detached.out), (0, format!("detached: link {id}\n")), "{}", detached.err);
    ProgramRef::from_fd(filter.as_fd())
        .attach_netfilter(hook)
        .expect("the hook and the priority are free again")
        .detach()
        .unwrap();
    assert_eq!(ok(run(["link", "detach", &id])).out, format!("detached: link {id}\n"));
    let target = &ok(run(["link", "show", &id, "--format", "json"])).lines()[0]["target"];
    assert_eq!((&target["hooknum"], &target["priority"]), (&json!(1), &json!(-77)));
    assert!(ok(run(["link", "detach", "--help"])).out.contains("netfilter, sockmaps"));
}

#[test]
fn an_action_of_another_classifier_is_listed() {
    if !has_own_netns("attachments::an_action_of_another_classifier_is_listed") {
        return;
    }
    let tc = |args: &[&str]| Command::new("tc").args(args).output();
    let classic = ["bytecode", "1,6 0 0 4294967295,"];
    let flower = ["filter", "add", "dev", "own_lo", "parent", "1:", "matchall", "action", "bpf"];
    match tc(&["qdisc", "add", "dev", "own_lo", "root", "handle", "1:", "prio"]) {
        Ok(added) if added.status.success() => {}
        other => return skip!("no tc, or no qdisc: {other:?}"),
    }
    // A classic program has no id, and is not listed.
    let added = tc(&[&flower[..], &classic].concat()).unwrap();
    if !added.status.success() {
        return skip!("{}", String::from_utf8_lossy(&added.stderr));
    }
    assert_eq!(ok(run(["net", "list", "own_lo"])).out, "no programs are attached\n");
    let Some(act) = returning(4, 0, "own_act", -1) else { return };
    // The pin is on a bpffs that only `tc` sees.
    let script = "mount -t bpf bpf /sys/fs/bpf && \"$0\" prog pin \"$1\" /sys/fs/bpf/own_act && \
         tc filter add dev own_lo parent 1: matchall action bpf object-pinned /sys/fs/bpf/own_act";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_core-relo")])
        .arg(prog_id(&act).to_string());
    let added = command.output().unwrap();
    if !added.status.success() {
        return skip!("{}", String::from_utf8_lossy(&added.stderr));
    }
    let line = line_of(&["net", "list"], "net list", &act);
    let classifier = &line["classifier"];
    assert_eq!((&line["kind"], &line["name"]), (&json!("prio"), &json!("own_act")));
    assert_eq!(
        (&classifier["kind"], &classifier["parent"], &classifier["is_action"]),
        (&json!("matchall"), &json!("1:0"), &json!(true))
    );
    assert!(ok(run(["net", "list"])).out.contains("prio parent 1:0 handle 0x1 "));
}

/// The directory of a temporary cgroup, which is removed with all those in it.
struct Cgroup(PathBuf);

impl Cgroup {
    fn create() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let Some(root) = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")) else {
            skip!("no cgroup2 is mounted");
            return None;
        };
        let dir = PathBuf::from(root.split(' ').nth(1).unwrap()).join(unique("core-relo-tree"));
        fs::create_dir(&dir).map_err(|e| skip!("no cgroup can be made: {e}")).ok()?;
        Some(Self(dir))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let mut dirs = vec![self.0.clone()];
        while let Some(child) = fs::read_dir(dirs.last().unwrap())
            .into_iter()
            .flatten()
            .flatten()
            .find(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            dirs.push(child.path());
        }
        dirs.into_iter().rev().for_each(|dir| drop(fs::remove_dir(dir)));
    }
}

#[test]
fn programs_of_cgroups_are_listed_with_their_flags() {
    let Some(group) = Cgroup::create() else { return };
    let child = group.0.join("child");
    fs::create_dir(&child).unwrap();
    let (Some(skb), Some(sock)) = (returning(8, 1, "own_egress", 1), returning(9, 2, "own_create", 1)) else {
        return;
    };
    let multi = (AttachType::CgroupInetEgress, CgroupSharing::Multi);
    let attach = |prog: &OwnedFd, dir: &PathBuf, (attach_type, sharing)| {
        ProgramRef::from_fd(prog.as_fd())
            .with_attach_type(attach_type)
            .attach_cgroup_without_link(&**dir, sharing, None)
    };
    let (_egress, _create) = match (
        attach(&skb, &group.0, multi),
        attach(&sock, &child, (AttachType::CgroupInetSockCreate, CgroupSharing::Override)),
    ) {
        (Ok(egress), Ok(create)) => (egress, create),
        (Err(e), _) | (_, Err(e)) => return skip!("{e}"),
    };
    let list = |args: &[&str], prog: &OwnedFd| line_of(&[&["cgroup"], args].concat(), CGROUP, prog);
    let line = list(&["list", group.path()], &skb);
    assert_eq!(
        line,
        json!({"cgroup": group.path(), "prog_id": prog_id(&skb), "attach_type": "BPF_CGROUP_INET_EGRESS",
            "attach_flags": "multi", "name": "own_egress", "attach_btf_name": null})
    );
    let child = child.to_str().unwrap();
    assert_eq!(list(&["show", child], &sock)["attach_flags"], "override");
    assert!(!ok(run(["cgroup", "list", child])).out.contains("own_egress"), "it is the parent's");
    let effective = list(&["list", child, "--effective"], &skb);
    assert_eq!((&effective["cgroup"], &effective["attach_flags"]), (&json!(child), &Value::Null));

    let tree = ok(run(["cgroup", "tree", group.path()])).out;
    let (parent, below) = tree.split_once(&format!("\n{child}\n")).unwrap_or_else(|| panic!("{tree}"));
    assert!(parent.starts_with(group.path()) && parent.contains("cgroup_inet_egress"), "{tree}");
    assert!(below.contains("own_create") && !below.contains("own_egress"), "{tree}");
    assert_eq!(list(&["tree"], &sock)["cgroup"], child);
}

#[test]
fn a_deep_tree_of_cgroups_is_walked() {
    let Some(group) = Cgroup::create() else { return };
    let mut dir = group.0.clone();
    for _ in 0..200 {
        dir.push("d");
        if let Err(e) = fs::create_dir(&dir) {
            return skip!("no deep tree of cgroups can be made: {e}");
        }
    }
    let Some(skb) = returning(8, 1, "own_deep", 1) else { return };
    let attach_type = AttachType::CgroupInetEgress;
    let _link = ProgramRef::from_fd(skb.as_fd())
        .with_attach_type(attach_type)
        .attach_cgroup_without_link(&*dir, CgroupSharing::Multi, None)
        .unwrap();
    let line = line_of(&["cgroup", "tree", group.path()], CGROUP, &skb);
    assert_eq!(line["cgroup"], dir.to_str().unwrap());
}

#[test]
fn a_directory_that_is_no_cgroup_is_named() {
    // The kernel asks for the right before it looks at the directory.
    let expected = match rustix::process::geteuid().is_root() {
        true => "/proc/self: is no cgroup of version 2",
        false => "/proc/self: cannot query its programs: EPERM",
    };
    for command in ["list", "tree"] {
        let wrong = run(["cgroup", command, "/proc/self"]);
        assert!(wrong.exit == 2 && wrong.err.contains(expected), "{wrong:?}");
        let missing = run(["cgroup", command, "/nowhere"]);
        assert!(missing.exit == 2 && missing.err.contains("/nowhere: cannot open the cgroup"), "{missing:?}");
    }
}

/// Checks that a command succeeded. It may warn of processes whose descriptors even root may not read, as in
/// a container.
fn readable(run: super::common::Run) -> super::common::Run {
    let is_limited = run.err.starts_with("core-relo: warning: the descriptors of ");
    if is_limited && run.exit == 0 { run } else { ok(run) }
}

#[test]
fn programs_of_perf_events_are_listed_by_process() {
    let list = |prog: &OwnedFd| {
        let lines = readable(run(["perf", "list", "--format", "json"])).lines();
        lines.iter().for_each(|line| schema().check("perf list", line));
        let own = |line: &&Value| line["pid"] == id() && line["prog_id"] == prog_id(prog);
        lines.iter().find(own).cloned()
    };
    let Some(raw) = returning(17, 0, "own_raw", 0) else { return };
    match ProgramRef::from_fd(raw.as_fd())
        .attach_raw_tracepoint("sched_process_exit", &RawTracepointOptions::default())
    {
        Err(e) => skip!("raw tracepoint: {e}"),
        Ok(_link) => {
            let line = list(&raw).expect("the own raw tracepoint is listed");
            assert_eq!(
                (&line["fd_type"], &line["tracepoint"], &line["name"]),
                (&json!("raw_tracepoint"), &json!("sched_process_exit"), &json!("own_raw"))
            );
            let text = readable(run(["perf", "show"])).out;
            assert!(text.contains("own_raw") && text.contains("sched_process_exit"), "{text}");
        }
    }
    let Some(event) = returning(5, 0, "own_event", 0) else { return };
    match ProgramRef::from_fd(event.as_fd()).attach_tracepoint(
        "sched",
        "sched_process_exit",
        &TracepointOptions::default(),
    ) {
        Err(e) => skip!("tracepoint: {e}"),
        Ok(_link) => {
            let line = list(&event).expect("the own tracepoint is listed");
            assert_eq!(
                (&line["fd_type"], &line["tracepoint"]),
                (&json!("tracepoint"), &json!("sched_process_exit"))
            );
        }
    }
    let Some(probe) = returning(2, 0, "own_probe", 0) else { return };
    let own = UprobeOptions {
        function: Some("getpid"),
        pid: Some(id()),
        retprobe: true,
        ..UprobeOptions::default()
    };
    match ProgramRef::from_fd(probe.as_fd()).attach_uprobe("libc.so.6", &own) {
        Err(e) => skip!("uprobe: {e}"),
        Ok(_link) => {
            let line = list(&probe).expect("the own uprobe is listed");
            assert_eq!(line["fd_type"], "uretprobe");
            assert!(line["filename"].as_str().is_some_and(|path| path.ends_with("libc.so.6")), "{line}");
            assert!(line["offset"].as_u64().is_some_and(|offset| offset > 0), "{line}");
        }
    }
}
