//! Tests of `link`: links are listed with their targets.

use super::*;
use core_relo_loader::{
    attach::{CgroupOptions, ProgramRef},
    inventory::{LinkInfo, ProgramInfo},
    load::{Kernel as _, RunningKernel},
};
use core_relo_test_support::skip;

#[test]
fn a_cgroup_link_is_listed_with_its_target() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, ARRAY, "unused");
    // Attach a program to a temporary cgroup.
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let Some(root) = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")) else {
        return skip!("no cgroup2 is mounted");
    };
    let dir = PathBuf::from(root.split(' ').nth(1).unwrap()).join(unique("core-relo-cli"));
    if let Err(e) = fs::create_dir(&dir) {
        return skip!("no cgroup can be made: {e}");
    }
    let code = [insn(0xb7, 0, 0, 0, 1), insn(0x95, 0, 0, 0, 0)].concat();
    let load =
        ProgLoad { prog_type: 8, name: b"let_pass", insns: &code, license: b"GPL", ..ProgLoad::default() };
    let attached = RunningKernel.prog_load(&load, &mut []).map_err(|e| e.to_string()).and_then(|prog| {
        let (attach_type, options) = (AttachType::CgroupInetIngress, CgroupOptions::default());
        link_fd(ProgramRef::from_fd(prog.as_fd()).with_attach_type(attach_type).attach_cgroup(&dir, &options))
    });
    fs::remove_dir(&dir).unwrap();
    drop(map);
    let link = match attached {
        Ok(link) => link,
        Err(e) => return skip!("no cgroup link: {e}"),
    };
    let id = LinkInfo::query(&link).unwrap().id.to_string();
    let schema = schema();
    let listed = ok(run(["link", "list", "--format", "json"])).lines();
    listed.iter().for_each(|line| schema.check("link list, link show", line));
    let own = listed
        .iter()
        .find(|line| line["id"].as_u64().is_some_and(|n| n.to_string() == *id))
        .expect("the own link is listed");
    assert_eq!((&own["link_type"], &own["program"]), (&json!("BPF_LINK_TYPE_CGROUP"), &json!("let_pass")));
    assert_eq!(own["target"]["attach_type"], "BPF_CGROUP_INET_INGRESS");
    let text = ok(run(["link", "show", "--id", &id])).out;
    assert!(text.contains("let_pass") && text.contains("attach_type CGROUP_INET_INGRESS"), "{text}");
    assert!(!ok(run(["link", "show", "--name", "let_pass"])).out.is_empty());
    assert!(ok(run(["link", "list"])).out.contains("let_pass"));
}

/// Returns the target of a link as `link show` prints it, in JSON and as text.
fn target_of(link: &Link) -> (Value, String) {
    let id = LinkInfo::query(&link.fd().expect("a link of the kernel's")).unwrap().id.to_string();
    let lines = ok(run(["link", "show", "--id", &id, "--format", "json"])).lines();
    schema().check("link list, link show", &lines[0]);
    (lines[0]["target"].clone(), ok(run(["link", "show", "--id", &id])).out)
}

#[test]
fn tracing_links_name_their_target() {
    if types().is_none() {
        return;
    }
    let code = [insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)].concat();
    let load = |prog_type| {
        let load = ProgLoad { prog_type, insns: &code, license: b"GPL", ..ProgLoad::default() };
        RunningKernel.prog_load(&load, &mut []).unwrap()
    };
    let skip = |kind: &str, e: AttachError| skip!("{kind}: {e}");

    match ProgramRef::from_fd(load(17).as_fd())
        .attach_raw_tracepoint("sched_process_exec", &RawTracepointOptions::default())
    {
        Err(e) => skip("raw tracepoint", e),
        Ok(link) => assert_eq!(target_of(&link).0["tp_name"], "sched_process_exec"),
    }
    match ProgramRef::from_fd(load(5).as_fd()).attach_tracepoint(
        "sched",
        "sched_process_exec",
        &TracepointOptions::default(),
    ) {
        Err(e) => skip("tracepoint", e),
        Ok(link) if link.fd().is_none() => skip!("this kernel has no links of perf events"),
        Ok(link) => {
            let (target, text) = target_of(&link);
            // Kernels before 6.6 only report a perf event.
            if target["event"] == "unspecified" {
                return skip!("this kernel does not say what perf events are of");
            }
            assert_eq!(
                (&target["event"], &target["tracepoint"]),
                (&json!("tracepoint"), &json!("sched_process_exec"))
            );
            assert!(text.contains("event tracepoint, tracepoint sched_process_exec"), "{text}");
        }
    }
    let own = UprobeOptions { function: Some("getpid"), pid: Some(id()), ..UprobeOptions::default() };
    match ProgramRef::from_fd(load(2).as_fd()).attach_uprobe("libc.so.6", &own) {
        Err(e) => skip("uprobe", e),
        Ok(link) if link.fd().is_none() => skip!("this kernel has no links of perf events"),
        Ok(link) => {
            let (target, _) = target_of(&link);
            assert_eq!(target["event"], "uprobe");
            assert!(target["path"].as_str().is_some_and(|path| path.ends_with("libc.so.6")), "{target}");
            assert!(target["offset"].as_u64().is_some_and(|offset| offset > 0), "{target}");
        }
    }
}

#[test]
fn a_freplace_link_names_the_replaced_function() {
    if types().is_none() {
        return;
    }
    let read = |name: &str| fs::read(common::prebuilt(&format!("live/{name}.bpf.o"))).unwrap();
    let (target, replacing) = (read("freplace_target"), read("freplace"));
    let (target, replacing) = (Object::parse(&target).unwrap(), Object::parse(&replacing).unwrap());
    let target = Loader::new(&target).load().unwrap();
    let whole = target.program("whole").unwrap();
    let mut loader = Loader::new(&replacing);
    loader.program_mut("instead").attach_to = Some(AttachTarget::Program {
        program: Arc::new(whole.as_fd().try_clone_to_owned().unwrap()).into(),
        function: "replaced".to_owned(),
    });
    let loaded = match loader.load() {
        Ok(loaded) => loaded,
        Err(e) => return skip!("{e}"),
    };
    let link = match loaded.attach("instead") {
        Ok(link) => link,
        Err(e) => return skip!("{e}"),
    };
    let (target, text) = target_of(&link);
    let target_id = ProgramInfo::query(&whole).unwrap().id;
    assert_eq!(
        (&target["target_name"], &target["target_obj_id"]),
        (&json!("replaced"), &json!(target_id)),
        "{text}"
    );
    assert!(!text.contains("attach_type"), "{text}");
}

/// Whether this process has a network namespace of its own. Where it has none yet, the test runs once more in
/// a process that has.
pub(super) fn has_own_netns(test: &str) -> bool {
    const VARIABLE: &str = "CORE_RELO_TEST_OWN_NETNS";
    if std::env::var_os(VARIABLE).is_some() {
        return true;
    }
    // /sys stays that of the first namespace, with a bpffs.
    let script = "ip link set lo name own_lo && mount -t bpf bpf /sys/fs/bpf || exit 42; exec \"$@\"";
    let mut again = Command::new("unshare");
    again.args(["--net", "--mount", "sh", "-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    match again.args(["--exact", test, "--nocapture"]).env(VARIABLE, "1").status() {
        Ok(status) if status.success() => {}
        Ok(status) if matches!(status.code(), Some(1 | 42)) => skip!("no network namespace"),
        other => panic!("{test}: {other:?}"),
    }
    false
}

#[test]
fn interfaces_have_their_names_of_the_own_namespace() {
    if !has_own_netns("links::interfaces_have_their_names_of_the_own_namespace") {
        return;
    }
    let code = [insn(0xb7, 0, 0, 0, 2), insn(0x95, 0, 0, 0, 0)].concat();
    let xdp = ProgLoad { prog_type: 6, insns: &code, license: b"GPL", ..ProgLoad::default() };
    let attached = RunningKernel
        .prog_load(&xdp, &mut [])
        .map_err(|e| e.to_string())
        .and_then(|prog| link_fd(ProgramRef::from_fd(prog.as_fd()).attach_xdp(1, XdpMode::Any)));
    let link = match attached {
        Ok(link) => link,
        Err(e) => return skip!("no XDP link: {e}"),
    };
    let id = LinkInfo::query(&link).unwrap().id.to_string();
    let line = &ok(run(["link", "show", "--id", &id, "--format", "json"])).lines()[0];
    assert_eq!((&line["target"]["ifindex"], &line["target"]["ifname"]), (&json!(1), &json!("own_lo")));
}

/// An interface of one network namespace has the index of another interface elsewhere. Its name would be
/// wrong there.
#[test]
fn an_interface_of_another_namespace_has_no_name() {
    if types().is_none() || !has_own_netns("links::an_interface_of_another_namespace_has_no_name") {
        return;
    }
    let (xdp, classifier) =
        (attach_points::load(attach_points::XDP, 0, 2), attach_points::load(attach_points::SCHED_CLS, 0, -1));
    let mut links =
        vec![ProgramRef::from_fd(xdp.unwrap().as_fd()).attach_xdp("own_lo", XdpMode::Generic).unwrap()];
    if attach_points::has_tcx() {
        let order = Placement::default();
        links.push(
            ProgramRef::from_fd(classifier.unwrap().as_fd())
                .with_attach_type(AttachType::TcxIngress)
                .attach_tcx("own_lo", &order)
                .unwrap(),
        );
    }
    for link in &links {
        let Some(fd) = link.fd() else { return skip!("no XDP links") };
        let id = LinkInfo::query(&fd).unwrap().id.to_string();
        let (target, text) = target_of(link);
        assert_eq!((&target["ifindex"], &target["ifname"]), (&json!(1), &json!("own_lo")));
        assert!(text.contains("ifindex 1, ifname own_lo"), "{text}");
        // The other namespace has an interface with the same index, `lo`.
        let elsewhere = |format: &str| {
            let mut command = Command::new("unshare");
            command.args(["--net", env!("CARGO_BIN_EXE_core-relo"), "link", "show", &id, "--format", format]);
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        let target = &serde_json::from_str::<Value>(&elsewhere("json")).unwrap()["target"];
        assert_eq!((&target["ifindex"], &target["ifname"]), (&json!(1), &Value::Null));
        let text = elsewhere("text");
        assert!(text.contains("ifindex 1, of another network namespace") && !text.contains("lo"), "{text}");
    }
}

/// The kernel reports the program of an interface, but not the XDP link.
#[test]
fn xdp_links_of_one_program_in_two_namespaces_have_no_name() {
    let test = "links::xdp_links_of_one_program_in_two_namespaces_have_no_name";
    if types().is_none() || !has_own_netns(test) || !common::has_own_bpffs(test) {
        return;
    }
    let program = attach_points::load(attach_points::XDP, 0, 2).unwrap();
    let id = attach_points::id_of(&program);
    let pin = "/sys/fs/bpf/elsewhere";
    let mut command = Command::new("unshare");
    // The interface is gone with its namespace, so the namespace stays.
    let script = r#""$@" || exit; exec sleep 60"#;
    command.args(["--net", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_core-relo"), "prog", "attach", &id]);
    command.args(["--to", "dev:lo,xdpgeneric", "--pin", pin]).stdout(Stdio::piped());
    let mut elsewhere = command.spawn().unwrap();
    let mut line = String::new();
    io::BufReader::new(elsewhere.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let link = ProgramRef::from_fd(program.as_fd()).attach_xdp("own_lo", XdpMode::Generic).unwrap();
    let (target, text) = target_of(&link);
    elsewhere.kill().unwrap();
    elsewhere.wait().unwrap();
    assert!(line.contains("attached"), "{line}");
    assert_eq!((&target["ifindex"], &target["ifname"]), (&json!(1), &Value::Null));
    assert!(text.contains("ifindex 1, perhaps of another network namespace"), "{text}");
    fs::remove_file(pin).unwrap();
}
