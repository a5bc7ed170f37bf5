//! Tests of `prog attach`, `prog detach` and `load --attach-to`, in own network namespaces and cgroups.

use super::{
    common::{Run, has_own_bpffs, prebuilt, run, schema, text},
    fixture::*,
    links::has_own_netns,
};
use core_relo_loader::{
    Errno,
    attach::QueryTarget,
    inventory::{MapInfo, ProgramInfo},
    load::{Kernel as _, MapCreate, ProgLoad, RunningKernel},
    object::AttachType,
};
use core_relo_test_support::skip;
use serde_json::json;
use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

const CHANGE: &str = "prog attach, prog detach";

/// The program of `live/raw_tp.bpf.o`, whose section is `raw_tp/sys_enter`.
const PROGRAM: &str = "enter";

const SOCKET_FILTER: u32 = 1;
pub(super) const SCHED_CLS: u32 = 3;
pub(super) const XDP: u32 = 6;
const CGROUP_SKB: u32 = 8;
pub(super) const CGROUP_DEVICE: u32 = 15;
const SK_MSG: u32 = 16;
const RAW_TRACEPOINT: u32 = 17;
pub(super) const FLOW_DISSECTOR: u32 = 22;
const SK_LOOKUP: u32 = 30;
const BPF_SK_LOOKUP: u32 = 36;

/// Loads a program that returns a number.
pub(super) fn load(prog_type: u32, expected_attach_type: u32, number: i32) -> Result<OwnedFd, Errno> {
    let code = [insn(0xb7, 0, 0, 0, number), insn(0x95, 0, 0, 0, 0)].concat();
    let load =
        ProgLoad { prog_type, expected_attach_type, insns: &code, license: b"GPL", ..ProgLoad::default() };
    RunningKernel.prog_load(&load, &mut [])
}

pub(super) fn id_of(program: &OwnedFd) -> String {
    ProgramInfo::query(program).unwrap().id.to_string()
}

pub(super) fn attach(id: &str, point: &str, more: &[&str]) -> Run {
    run(["prog", "attach", id, "--to", point].iter().chain(more))
}

pub(super) fn detach(id: &str, point: &str) -> Run {
    run(["prog", "detach", id, "--from", point])
}

/// Returns whether the first network namespace has a flow dissector. The kernel then permits none in others.
fn is_taken_by_first_namespace(attached: &Run) -> bool {
    ["EEXIST", "EBUSY"].iter().any(|refusal| attached.err.contains(refusal))
}

/// Checks that a command failed with one line that contains a text.
pub(super) fn refused(run: &Run, what: &str) {
    assert!(
        run.exit == 2 && run.out.is_empty() && run.err.lines().count() == 1 && run.err.contains(what),
        "{run:?}"
    );
}

/// Whether the kernel has tcx (6.6): a program of another type is not refused as an unknown attach type.
pub(super) fn has_tcx() -> bool {
    core_relo_loader::attach::query(QueryTarget::Interface(1), AttachType::TcxIngress)
        .inspect_err(|e| skip!("no tcx: {e}"))
        .is_ok()
}

#[test]
fn programs_of_interfaces_are_attached_replaced_and_detached() {
    if types().is_none()
        || !has_own_netns("attach_points::programs_of_interfaces_are_attached_replaced_and_detached")
    {
        return;
    }
    let (first, second) = (load(XDP, 0, 2).unwrap(), load(XDP, 0, 1).unwrap());
    let [first, second] = [&first, &second].map(id_of);
    let attached = ok(attach(&first, "dev:own_lo", &["--format", "json"])).lines();
    schema().check(CHANGE, &attached[0]);
    assert_eq!(
        (&attached[0]["change"], &attached[0]["attach_point"]),
        (&json!("attached"), &json!("dev:own_lo"))
    );
    refused(
        &attach(&second, "dev:own_lo", &[]),
        &format!("program {first} is attached there: --replace replaces it"),
    );
    let by_link = attach(&second, "dev:own_lo", &["--pin", "/sys/fs/bpf/no_link"]);
    let way_out = format!(
        "attached there: program {first}; `core-relo prog detach {first} --from dev:own_lo,xdpgeneric`"
    );
    refused(&by_link, &way_out);
    // Nothing of another program is detached.
    refused(&detach(&second, "dev:own_lo"), &format!("program {second} is not attached there"));
    assert_eq!(
        ok(attach(&second, "dev:own_lo", &["--replace"])).out,
        format!("attached: program {second}: dev:own_lo\n")
    );
    refused(&detach(&first, "dev:own_lo"), "is not attached there");
    ok(detach(&second, "dev:own_lo"));
    refused(&detach(&second, "dev:own_lo"), "is not attached there");
    refused(
        &attach(&second, "dev:own_lo,ingress", &[]),
        "expected `xdp`, `xdpgeneric`, `xdpdrv` or `xdpoffload`",
    );
    refused(&attach(&second, "dev:nowhere0", &[]), "interface nowhere0: cannot find: ENODEV");

    let classifier = load(SCHED_CLS, 0, -1).unwrap();
    let id = id_of(&classifier);
    refused(&attach(&id, "dev:own_lo", &[]), "expected `dev:NAME,ingress` or `dev:NAME,egress`");
    let attached = attach(&id, "dev:own_lo,tc_ingress", &[]);
    if attached.err.contains("EOPNOTSUPP") || attached.err.contains("ENOENT") {
        skip!("no classifiers of tc: {}", attached.err);
    } else {
        ok(attached);
        refused(&detach(&id, "dev:own_lo,tc_egress"), "is not attached there");
        refused(&attach(&id, "dev:own_lo,tc_ingress", &[]), "is attached there already, with priority ");
        ok(detach(&id, "dev:own_lo,tc_ingress"));
        refused(&detach(&id, "dev:own_lo,tc_ingress"), "is not attached there");
    }
    if has_tcx() {
        ok(attach(&id, "dev:own_lo,egress", &[]));
        let again = attach(&id, "dev:own_lo,egress", &[]);
        refused(&again, &format!("dev:own_lo,egress: cannot attach program {id}: EEXIST"));
        refused(&again, &format!("attached there: this program ({id}); "));
        refused(&detach(&id, "dev:own_lo,ingress"), "is not attached there");
        ok(detach(&id, "dev:own_lo,egress"));
    }
}

/// The kernel replaces a flow dissector without a question.
#[test]
fn a_flow_dissector_is_replaced_only_if_asked() {
    let test = "attach_points::a_flow_dissector_is_replaced_only_if_asked";
    if types().is_none() || !has_own_netns(test) {
        return;
    }
    let (first, second) = (load(FLOW_DISSECTOR, 0, 0).unwrap(), load(FLOW_DISSECTOR, 0, 0).unwrap());
    let [first, second] = [&first, &second].map(id_of);
    let point = "netns:/proc/self/ns/net";
    let attached = attach(&first, point, &[]);
    if is_taken_by_first_namespace(&attached) {
        return skip!("the first namespace has a flow dissector: {}", attached.err);
    }
    ok(attached);
    refused(
        &attach(&second, point, &[]),
        &format!("program {first} is attached there: --replace replaces it"),
    );
    ok(attach(&second, point, &["--replace"]));
    refused(&detach(&first, point), "is not attached there");
    ok(detach(&second, point));

    // Nothing replaces the program of a link.
    let pin = "/sys/fs/bpf/dissector_link";
    let linked = attach(&first, point, &["--pin", pin]);
    if linked.err.contains("EINVAL") {
        return skip!("no links of network namespaces: {}", linked.err);
    }
    ok(linked);
    for more in [&[][..], &["--replace"]] {
        let second = attach(&second, point, more);
        refused(&second, &format!("EEXIST: File exists; attached there: program {first} by link "));
        assert!(
            second.err.contains("`core-relo link detach ") && !second.err.contains("--replace"),
            "{second:?}"
        );
    }
    fs::remove_file(pin).unwrap();
}

#[test]
fn programs_of_routes_are_attached_with_a_new_route() {
    const LWT_XMIT: u32 = 12;
    if types().is_none() || !has_own_netns("attach_points::programs_of_routes_are_attached_with_a_new_route")
    {
        return;
    }
    let up = std::process::Command::new("ip").args(["link", "set", "own_lo", "up"]).status();
    if !up.is_ok_and(|status| status.success()) {
        return skip!("no interface can be set up");
    }
    let program = load(LWT_XMIT, 0, 0).unwrap();
    let id = id_of(&program);
    let point = "route:10.88.0.0/24,own_lo";
    for wrong in ["route:10.88.0.0,own_lo", "route:10.88.0.0/24", "route:10.88.0.0/24,own_lo,gate"] {
        let wrong = attach(&id, wrong, &[]);
        assert!(wrong.exit == 2 && wrong.err.contains("expected ADDRESS/PREFIX,INTERFACE"), "{wrong:?}");
    }
    let attached = attach(&id, point, &[]);
    if attached.err.contains("EOPNOTSUPP") {
        return skip!("{}", attached.err);
    }
    assert_eq!(ok(attached).out, format!("attached: program {id}: {point}\n"));
    refused(&attach(&id, point, &[]), "EEXIST");
    refused(&detach(&id, point), "`ip route del 10.88.0.0/24 dev own_lo` removes both");
}

#[test]
fn a_load_adds_routes_of_both_families_with_programs_of_every_kind() {
    let test = "attach_points::a_load_adds_routes_of_both_families_with_programs_of_every_kind";
    if types().is_none() || !has_own_netns(test) {
        return;
    }
    let object = prebuilt("live/lwt.bpf.o");
    let load = |requests: &[&str]| {
        let attach_to = requests.iter().flat_map(|request| ["--attach-to", request]);
        run(["load", text(&object), "--format", "json"].into_iter().chain(attach_to))
    };
    let wrong = load(&["end=route:10.88.4.0/24,own_lo"]);
    assert!(wrong.exit == 2 && wrong.err.contains("segment routing needs IPv6"), "{wrong:?}");
    // The routes stay while the command runs.
    let script = r#"mount -t bpf bpf /sys/fs/bpf && ip link set own_lo up || exit 99
        "$@" --pin /sys/fs/bpf/routes || exit
        ip route show; ip -6 route show"#;
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.args([env!("CARGO_BIN_EXE_core-relo"), "load", text(&object)]);
    for request in [
        "input=route:10.88.1.0/24,own_lo",
        "output=route:fd00:88:2::/64,own_lo",
        "transmit=route:10.88.3.0/24,own_lo",
        "end=route:fd00:88:4::/64,own_lo",
    ] {
        command.args(["--attach-to", request]);
    }
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if output.status.code() == Some(99) || out.contains("EOPNOTSUPP") {
        return skip!("no mount namespace, or no programs of routes: {out}{err}");
    }
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    for route in [
        "10.88.1.0/24  encap bpf in ",
        "fd00:88:2::/64  encap bpf out ",
        "10.88.3.0/24  encap bpf xmit ",
        "fd00:88:4::/64  encap seg6local action End.BPF ",
    ] {
        assert!(out.contains(route), "{route}: {out}");
    }
}

/// A classifier of traffic control has no link. Its user must know that it stays when the pins are removed.
#[test]
fn a_pinned_load_names_the_attachments_that_no_pin_keeps() {
    if types().is_none() {
        return;
    }
    let script = r#"mount -t bpf bpf /sys/fs/bpf && ip link set lo up || exit 99
        "$1" load "$2" --attach-to count=dev:lo,tc_ingress --pin /sys/fs/bpf/kept"#;
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "-n", "--propagation", "private", "sh", "-c", script, "sh"]);
    let output =
        command.arg(env!("CARGO_BIN_EXE_core-relo")).arg(prebuilt("live/tc.bpf.o")).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if output.status.code() != Some(0)
        && (out.contains("EOPNOTSUPP") || out.contains("ENOENT") || out.is_empty())
    {
        return skip!("no namespaces, or no classifiers of tc: {out}{err}");
    }
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(err.contains("dev:lo,tc_ingress: attached without a link, which no pin keeps"), "{err}");
    assert!(out.contains("  link     dev:lo,tc_ingress\n"), "{out}");
}

/// A cgroup that is removed when it is dropped.
pub(super) struct Cgroup(pub(super) PathBuf);

impl Cgroup {
    pub(super) fn new(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (dir, kind) = (words.next()?, words.next()?);
            (kind == "cgroup2").then_some(dir)
        });
        let dir = Path::new(mount.or_else(|| {
            skip!("no cgroup2 is mounted");
            None
        })?)
        .join(unique(name));
        match fs::create_dir(&dir) {
            Ok(()) => Some(Self(dir)),
            Err(e) => {
                skip!("no cgroup can be created: {e}");
                None
            }
        }
    }

    pub(super) fn point(&self, end: &str) -> String {
        format!("cgroup:{}{end}", self.0.display())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).unwrap();
    }
}

#[test]
fn programs_of_cgroups_are_attached_and_detached() {
    if types().is_none() || !has_own_bpffs("attach_points::programs_of_cgroups_are_attached_and_detached") {
        return;
    }
    let Some(group) = Cgroup::new("core_relo_attach") else { return };
    let (device, skb) = (load(CGROUP_DEVICE, 6, 1).unwrap(), load(CGROUP_SKB, 0, 1).unwrap());
    let [device, skb] = [&device, &skb].map(id_of);
    // The program type has one attach type.
    ok(attach(&device, &group.point(""), &[]));
    refused(&detach(&skb, &group.point(",egress")), "is not attached there");
    ok(detach(&device, &group.point(",device")));
    refused(&detach(&device, &group.point("")), "is not attached there");
    refused(&attach(&skb, &group.point(""), &[]), "with `ingress` or `egress`");
    ok(attach(&skb, &group.point(",cgroup_inet_egress"), &["--sharing", "override"]));
    refused(&detach(&skb, &group.point(",ingress")), "is not attached there");
    // The cgroup tells the attach type, unless it has the program with several.
    ok(detach(&skb, &group.point("")));
    refused(&detach(&skb, &group.point("")), "is not attached there");
    for direction in ["ingress", "egress"] {
        ok(attach(&skb, &group.point(&format!(",{direction}")), &[]));
    }
    refused(
        &detach(&skb, &group.point("")),
        &format!("several attach types: expected `{},TYPE` with `ingress` or `egress`", group.point("")),
    );
    ok(detach(&skb, &group.point(",ingress")));
    ok(detach(&skb, &group.point("")));
    refused(&detach(&skb, "dev:lo"), "`dev:lo` does not fit a program of type cgroup_skb");
    // A named pipe does not block.
    let fifo = std::env::temp_dir().join(unique("core_relo_fifo"));
    super::common::pipe(&fifo);
    for run in [
        attach(&device, &format!("cgroup:{}", fifo.display()), &[]),
        detach(&device, &format!("cgroup:{}", fifo.display())),
    ] {
        refused(&run, "ot a directory");
    }
    fs::remove_file(fifo).unwrap();

    let pin = "/sys/fs/bpf/device_link";
    let attached = ok(attach(&device, &group.point(""), &["--pin", pin, "--format", "json"])).lines();
    schema().check(CHANGE, &attached[0]);
    if attached[0]["link_id"].is_null() {
        return skip!("no links of cgroups");
    }
    assert_eq!(attached[0]["pin"], json!(pin));
    refused(&detach(&device, &group.point("")), "a link attaches program");
    refused(&attach(&device, &group.point(""), &["--pin", pin]), "EEXIST");
    fs::remove_file(pin).unwrap();
}

#[test]
fn programs_of_namespaces_and_maps_are_attached_and_detached() {
    let test = "attach_points::programs_of_namespaces_and_maps_are_attached_and_detached";
    if types().is_none() || !has_own_netns(test) {
        return;
    }
    let own = "netns:/proc/self/ns/net";
    let dissector = load(FLOW_DISSECTOR, 17, 0).unwrap();
    let id = id_of(&dissector);
    let attached = attach(&id, own, &[]);
    if is_taken_by_first_namespace(&attached) {
        skip!("the first namespace has a flow dissector: {}", attached.err);
    } else {
        ok(attached);
        ok(detach(&id, own));
        refused(&detach(&id, own), "is not attached there");
    }
    refused(&attach(&id, "netns:/proc/1/ns/net", &[]), "expected the network namespace of this command");
    let lookup = load(SK_LOOKUP, BPF_SK_LOOKUP, 1).unwrap();
    refused(&attach(&id_of(&lookup), own, &[]), "it needs a pin to last: --pin PATH");

    let sockets = RunningKernel.map_create(&MapCreate {
        map_type: SOCKMAP,
        name: b"sockets",
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapCreate::default()
    });
    let sockets = sockets.unwrap();
    let map = format!("map:{}", MapInfo::query(&sockets).unwrap().id);
    let (first, second) = (load(SK_MSG, 7, 1).unwrap(), load(SK_MSG, 7, 1).unwrap());
    let [first, second] = [&first, &second].map(id_of);
    ok(attach(&first, &map, &[]));
    let kept = detach(&second, &map);
    refused(&kept, &format!("program {second}"));
    if attach(&second, &map, &[]).exit == 2 {
        ok(attach(&second, &map, &["--replace"]));
    } else {
        skip!("the programs of sockmaps cannot be queried");
    }
    ok(detach(&second, &map));
    refused(&attach(&first, "map:no_such_map", &[]), "no map of this name");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_happens() {
    if types().is_none() {
        return;
    }
    let filter = id_of(&load(SOCKET_FILTER, 0, 0).unwrap());
    let gone = attach(&filter, "dev:lo", &[]);
    refused(&gone, "no such program");
    let filter = load(SOCKET_FILTER, 0, 0).unwrap();
    refused(
        &attach(&id_of(&filter), "dev:lo", &[]),
        "no attach point that can be named here: a process attaches them",
    );
    let raw = load(RAW_TRACEPOINT, 0, 0).unwrap();
    let id = id_of(&raw);
    refused(&attach(&id, "dev:lo", &[]), "expected `raw_tracepoint`, `raw_tp`");
    refused(&attach(&id, "raw_tp:sys_enter", &[]), "--pin PATH");
    refused(&detach(&id, "raw_tp:sys_enter"), "`core-relo link list` shows them");
    for (point, what) in [("dve:lo", "did you mean `dev`?"), ("kprobe", "for example `kprobe:vfs_read`")] {
        let wrong = attach(&id, point, &[]);
        assert!(wrong.exit == 2 && wrong.err.contains(what), "{wrong:?}");
    }
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_core-relo"));
    command.args(["prog", "attach", &id, "--to"]).arg(std::ffi::OsStr::from_bytes(b"cgroup:/a\xff"));
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && err.contains("cgroup:/a\\xff: expected UTF-8 text"), "{err}");
}

#[test]
fn a_link_is_named_by_its_processor() {
    if !has_own_bpffs("attach_points::a_link_is_named_by_its_processor") {
        return;
    }
    let (object, pin) = (prebuilt("live/perf_event.bpf.o"), "/sys/fs/bpf/cpus");
    let load = |format: &str| {
        run(["load", text(&object), "--attach-to", "sample=cpu:all", "--pin", pin, "--format", format])
    };
    let loaded = load("json");
    if loaded.exit != 0 {
        return skip!("no perf events: {}", loaded.out);
    }
    fs::remove_dir_all(pin).unwrap();
    let shown = ok(load("text")).out;
    fs::remove_dir_all(pin).unwrap();
    let links = loaded.lines()[0]["links"].as_array().unwrap().clone();
    assert!(!links.is_empty());
    for (index, link) in links.iter().enumerate() {
        let name = link["what"].as_str().unwrap();
        let cpu: usize = name.strip_prefix("cpu:").unwrap().parse().unwrap();
        let expected = format!("  link     {name}, pinned at {pin}/links/{index}_cpu_{cpu}\n");
        assert!(shown.contains(&expected), "{expected}: {shown}");
    }
}

#[test]
fn load_attaches_to_the_named_points() {
    if types().is_none() {
        return;
    }
    let object = prebuilt("live/raw_tp.bpf.o");
    let load = |args: &[&str]| run([&["load", text(&object)], args].concat());
    for (request, what) in [
        ("nosuch=raw_tp:sys_enter", "it has no program `nosuch`"),
        ("PROG=dev:lo", "does not fit a program of type raw_tracepoint: expected `raw_tracepoint`, `raw_tp`"),
    ] {
        let request = request.replace("PROG", PROGRAM);
        refused(&load(&["--attach-to", &request]), what);
    }
    let wrong = load(&["--attach-to", &format!("{PROGRAM}=raw_tp:no_such_point")]);
    assert!(wrong.exit == 1 && wrong.out.contains("no such raw tracepoint in this kernel"), "{wrong:?}");
    let named = format!("program `{PROGRAM}`");
    assert_eq!(wrong.out.matches(&named).count(), 1, "{wrong:?}");

    if !has_own_bpffs("attach_points::load_attaches_to_the_named_points") {
        return;
    }
    let request = format!("{PROGRAM}=raw_tp:sys_exit");
    let loaded = load(&["--attach-to", &request, "--pin", "/sys/fs/bpf/named", "--format", "json"]);
    let line = &ok(loaded).lines()[0];
    schema().check("load", line);
    assert_eq!(line["links"][0]["what"], "raw_tp:sys_exit", "the name of the text output");
    assert_eq!(line["links"].as_array().unwrap().len(), 1, "not to the point of its section");
    fs::remove_dir_all("/sys/fs/bpf/named").unwrap();
    let shown = ok(load(&["--attach-to", &request, "--pin", "/sys/fs/bpf/named"])).out;
    let link = "  link     raw_tp:sys_exit, pinned at /sys/fs/bpf/named/links/0_raw_tp_sys_exit\n";
    assert!(shown.contains(link), "{shown}");
    fs::remove_dir_all("/sys/fs/bpf/named").unwrap();
}
