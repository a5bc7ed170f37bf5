//! BPF tokens: a bpffs that delegates to a user namespace whose root has no privileges outside. The test runs
//! itself again as a child in that namespace, connected by the child's standard input.

use super::harness::{Need, hits, live, object};
use core_relo_adaptive::{AdaptiveLoad, AdaptiveLoader, StartupReport, variants::VariantTable};
use core_relo_loader::{
    Loader,
    features::{Feature, Prober},
    load::{LoadError, Loaded},
    load_plan::TokenSource,
    object::{AttachType, MapType, Object, ProgramType},
    privileges::Capability,
};
use rustix::{
    fs::CWD,
    io::{IoSlice, IoSliceMut},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, fsconfig_create,
        fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
    },
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, recvmsg, sendmsg,
    },
    thread::{UnshareFlags, unshare_unsafe},
};
use std::{
    env, io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            net::UnixStream,
            process::{CommandExt as _, parent_id},
        },
    },
    path::Path,
    process::{Command, Stdio},
};

const BPFFS: &str = "/sys/fs/bpf";
/// The environment variable that marks the child in the namespace.
const INSIDE: &str = "CORE_RELO_INSIDE";

#[test]
fn a_token_is_delegated_to_a_user_namespace() {
    const TEST: &str = "token::a_token_is_delegated_to_a_user_namespace";
    if env::var_os(INSIDE).is_some() {
        return run_inside();
    }
    run_in_namespace(TEST, &[], &[&[COMMANDS, MAPS, PROGRAMS, ATTACH_TYPES]]);
}

/// A probe or a load that needs what the token does not delegate fails and names it. Others work.
#[test]
fn a_token_may_delegate_some_types_only() {
    const TEST: &str = "token::a_token_may_delegate_some_types_only";
    if env::var_os(INSIDE).is_some() {
        return load_with_partial_tokens();
    }
    run_in_namespace(TEST, &[Need::PrivilegedBpf], &PARTIAL);
}

/// Mount options of a bpffs.
type Delegation<'o> = &'o [(&'o str, &'o str)];

const COMMANDS: (&str, &str) = ("delegate_cmds", "any");
const MAPS: (&str, &str) = ("delegate_maps", "any");
const PROGRAMS: (&str, &str) = ("delegate_progs", "any");
const ATTACH_TYPES: (&str, &str) = ("delegate_attachs", "any");

/// The delegations in the order of [`load_with_partial_tokens`].
const PARTIAL: [Delegation<'_>; 4] = [
    &[COMMANDS, MAPS, ("delegate_progs", "raw_tracepoint"), ATTACH_TYPES],
    &[COMMANDS, MAPS, ("delegate_progs", "kprobe"), ATTACH_TYPES],
    &[COMMANDS, ("delegate_maps", "hash_of_maps"), PROGRAMS, ATTACH_TYPES],
    &[("delegate_cmds", "map_create:prog_load"), MAPS, PROGRAMS, ATTACH_TYPES],
];

/// Runs a test again as a child in a user namespace. Mounts a bpffs for each delegation when the child asks
/// for it.
fn run_in_namespace(test: &'static str, more_needs: &[Need], delegations: &[Delegation<'_>]) {
    let needs = [&[Need::Btf, Need::Enumerator("BPF_TOKEN_CREATE")], more_needs].concat();
    let Some(_live) = live(test, &needs) else { return };
    let (here, there) = UnixStream::pair().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &format!("live::{test}"), "--nocapture"]).env(INSIDE, "1");
    command.stdin(OwnedFd::from(there)).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the child has one thread, and the function only makes system calls.
    unsafe { command.pre_exec(enter_user_namespace) };
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let reason = format!("no user namespace here: {error}");
            return core_relo_test_support::skip(test, &reason);
        }
    };
    // Close the parent's copy of the child's end, so that the parent sees its close.
    drop(command);
    for delegation in delegations {
        let Some(context) = receive(&here) else { break };
        send(&here, mount_delegating(&context, delegation));
    }
    let out = child.wait_with_output().unwrap();
    let text = [out.stdout, out.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
}

/// Moves the process to a new user namespace, as its root, and to a new mount namespace.
fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: the process has one thread.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", "0 0 1")?;
    std::fs::write("/proc/self/gid_map", "0 0 1")?;
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

/// Configures and mounts the bpffs that the child opened. Only a privileged process may delegate.
fn mount_delegating(context: &OwnedFd, delegation: Delegation<'_>) -> OwnedFd {
    for (option, value) in delegation {
        fsconfig_set_string(context, *option, *value).unwrap_or_else(|e| panic!("{option}: {e}"));
    }
    fsconfig_create(context).unwrap();
    fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).unwrap()
}

/// Loads a program at the raw tracepoint with a token.
fn attempt(token: TokenSource) -> Result<Loaded, LoadError> {
    let bytes = object("raw_tp");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("raw_tp");
    loader.set_global("only_pid", &std::process::id()).unwrap();
    loader.settings_mut().token = token;
    loader.load()
}

/// Returns the child's end of the connection to the parent.
fn socket_to_parent() -> UnixStream {
    UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap())
}

/// Loads with tokens that delegate some types only. Runs in the child.
fn load_with_partial_tokens() {
    let socket = socket_to_parent();
    let mount_next = || {
        send(&socket, fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC).unwrap());
        mount_at(&receive(&socket).expect("a bpffs that delegates"), Path::new(BPFFS));
    };
    let refusal = || attempt(TokenSource::Auto).expect_err("loaded without delegation").to_string();

    mount_next();
    // The token delegates neither socket filters nor tracepoints, which libbpf loads first.
    expect_fires(&attempt(TokenSource::Auto).unwrap_or_else(|e| panic!("{e}")));

    mount_next();
    let text = refusal();
    assert!(
        text.contains(
            "the BPF token does not delegate the program type BPF_PROG_TYPE_RAW_TRACEPOINT (delegate_progs)"
        ),
        "{text}"
    );
    let prober = Prober::from_token_source(&TokenSource::Auto).unwrap();
    let loops = prober.feature(Feature::BoundedLoops).unwrap();
    assert!(prober.program_type(ProgramType::Kprobe).unwrap().is_supported && loops.is_supported);
    let unknown = prober.program_type(ProgramType::Xdp).unwrap_err().to_string();
    assert!(unknown.contains("does not delegate the program type BPF_PROG_TYPE_XDP"), "{unknown}");
    // The probe attaches a program of another type than PERF_EVENT.
    let unknown = prober.attach_type(AttachType::PerfEvent).unwrap_err().to_string();
    assert!(unknown.contains("does not delegate the program type BPF_PROG_TYPE_TRACEPOINT"), "{unknown}");

    mount_next();
    let text = refusal();
    let expected = "the BPF token does not delegate the map type BPF_MAP_TYPE_ARRAY (delegate_maps)";
    assert!(text.contains(expected), "{text}");
    let prober = Prober::from_token_source(&TokenSource::Auto).unwrap();
    let unknown = prober.attach_type(AttachType::XdpDevmap).unwrap_err().to_string();
    assert!(unknown.contains("does not delegate the map type BPF_MAP_TYPE_DEVMAP"), "{unknown}");
    let unknown = prober.map_type(MapType::HashOfMaps).unwrap_err().to_string();
    assert!(unknown.contains("does not delegate the map type BPF_MAP_TYPE_HASH "), "{unknown}");

    mount_next();
    let loaded = attempt(TokenSource::Auto).unwrap_or_else(|e| panic!("{e}"));
    let reason = loaded.btf_refusal().unwrap_or_default();
    assert!(reason.contains("does not delegate the command BPF_BTF_LOAD (delegate_cmds)"), "{reason}");
}

/// Loads with and without a token. Runs in the child.
fn run_inside() {
    let socket = socket_to_parent();
    for token in [TokenSource::Off, TokenSource::Auto] {
        let refused = attempt(token).expect_err("loaded without a token");
        assert!(refused.to_string().contains("EPERM"), "{refused}");
    }
    let refused =
        attempt(TokenSource::Path(BPFFS.into())).expect_err("a token of a bpffs without delegation");
    assert!(refused.to_string().contains("BPF token from /sys/fs/bpf"), "{refused}");

    send(&socket, fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC).unwrap());
    let bpffs = receive(&socket).expect("a bpffs that delegates");
    let dir = env::temp_dir().join(format!("core-relo-token-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    mount_at(&bpffs, &dir);
    let by_path = attempt(TokenSource::Path(dir.clone()));
    let has_failed = attempt(TokenSource::Auto).is_err();
    mount_at(&bpffs, Path::new(BPFFS));
    std::fs::remove_dir(&dir).unwrap();
    assert!(has_failed, "loaded with a token of {BPFFS}, which does not delegate yet");
    expect_fires(&by_path.unwrap_or_else(|e| panic!("{e}")));
    expect_fires(&attempt(TokenSource::Auto).unwrap_or_else(|e| panic!("{e}")));
    expect_capabilities_with_a_token();
}

/// Checks that an adaptive load counts the capabilities of a user namespace only with a token. Runs in the
/// child.
fn expect_capabilities_with_a_token() {
    let bytes = object("raw_tp");
    let object = Object::parse(&bytes).unwrap();
    let attempt = |token: TokenSource| {
        let mut loader = Loader::new(&object).name("raw_tp");
        loader.set_global("only_pid", &std::process::id()).unwrap();
        loader.settings_mut().token = token;
        AdaptiveLoader::new(&loader, &VariantTable::new()).unwrap().load()
    };
    let held = |report: &StartupReport| {
        assert!(report.capabilities.iter().all(|capability| capability.needs_token), "{report}");
        report.capabilities.iter().map(|capability| (capability.capability, capability.is_held)).collect()
    };
    let expected =
        |is_held| Vec::from([Capability::Bpf, Capability::Perfmon].map(|needed| (needed, Some(is_held))));
    let error = attempt(TokenSource::Off).expect_err("loaded without a token");
    let found: Vec<_> = held(error.report().unwrap());
    assert_eq!(found, expected(false), "{error}");
    let AdaptiveLoad { value: loaded, report, .. } =
        attempt(TokenSource::Auto).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<_> = held(&report);
    assert_eq!(found, expected(true), "{report}");
    expect_fires(&loaded);
}

/// Attaches a mount to a directory.
fn mount_at(mount: &OwnedFd, dir: &Path) {
    move_mount(mount, "", CWD, dir, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
}

/// Checks that a loaded program has a token and fires.
fn expect_fires(loaded: &Loaded) {
    assert!(loaded.token().is_some() && loaded.btf().is_some());
    let link = loaded.attach("enter").unwrap();
    let _parent = parent_id();
    assert!(hits(loaded) > 0, "{} does not fire", link.label());
}

/// Sends a descriptor.
fn send(socket: &UnixStream, fd: OwnedFd) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(socket, &[IoSlice::new(b"!")], &mut control, SendFlags::empty()).unwrap();
}

/// Receives a descriptor. Returns `None` if the other end is closed.
fn receive(socket: &UnixStream) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}
