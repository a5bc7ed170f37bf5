//! BPF tokens: a bpffs that delegates to a user namespace, in which root is nobody outside. The process of that namespace is this
//! program once more, with its standard input joined to the test.

use super::harness::{Need, hits, live, object};
use core_relo_loader::{
    Loader,
    load::{LoadError, Loaded},
    load_plan::TokenSource,
    object::Object,
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
/// Says to the process of the namespace that it is that.
const INSIDE: &str = "CORE_RELO_INSIDE";

#[test]
fn delegated_to_a_user_namespace() {
    if env::var_os(INSIDE).is_some() {
        return inside();
    }
    let needs = [Need::Btf, Need::Enumerator("BPF_TOKEN_CREATE")];
    let Some(_live) = live("token::delegated_to_a_user_namespace", &needs) else { return };
    let (here, there) = UnixStream::pair().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "live::token::delegated_to_a_user_namespace", "--nocapture"]).env(INSIDE, "1");
    command.stdin(OwnedFd::from(there)).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the child has one thread, and does nothing there but make system calls.
    unsafe { command.pre_exec(enter_user_namespace) };
    let child = match command.spawn() {
        Ok(child) => child,
        Err(why) => {
            let why = format!("no user namespace here: {why}");
            return core_relo_tests::skip::skip("token::delegated_to_a_user_namespace", &why);
        }
    };
    // The child's end is the child's alone, so that its end is seen.
    drop(command);
    if let Some(context) = receive(&here) {
        send(&here, delegating(&context));
    }
    let out = child.wait_with_output().unwrap();
    let text = [out.stdout, out.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
}

/// Root of a user namespace of its own, with mounts of its own.
fn enter_user_namespace() -> io::Result<()> {
    // SAFETY: the process has one thread.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", "0 0 1")?;
    std::fs::write("/proc/self/gid_map", "0 0 1")?;
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

/// The file system that was opened inside is set up outside: nobody inside may delegate to itself.
fn delegating(context: &OwnedFd) -> OwnedFd {
    for what in ["delegate_cmds", "delegate_maps", "delegate_progs", "delegate_attachs"] {
        fsconfig_set_string(context, what, "any").unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    fsconfig_create(context).unwrap();
    fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).unwrap()
}

/// What the process of the namespace does.
fn inside() {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
    let attempt = |token: TokenSource| -> Result<Loaded, LoadError> {
        let bytes = object("raw_tp");
        let object = Object::parse(&bytes).unwrap();
        let mut loader = Loader::new(&object).name("raw_tp");
        loader.set_global("only_pid", &std::process::id()).unwrap();
        loader.settings().token = token;
        loader.load()
    };
    for token in [TokenSource::Off, TokenSource::Auto] {
        let refused = attempt(token).expect_err("loaded without a token");
        assert!(refused.to_string().contains("EPERM"), "{refused}");
    }
    let refused = attempt(TokenSource::Path(BPFFS.into())).expect_err("a token of what delegates nothing");
    assert!(refused.to_string().contains("BPF token from /sys/fs/bpf"), "{refused}");

    send(&socket, fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC).unwrap());
    let bpffs = receive(&socket).expect("a bpffs that delegates");
    let place = env::temp_dir().join(format!("core-relo-token-{}", std::process::id()));
    std::fs::create_dir(&place).unwrap();
    put(&bpffs, &place);
    let by_path = attempt(TokenSource::Path(place.clone()));
    let is_without = attempt(TokenSource::Auto).is_err();
    put(&bpffs, Path::new(BPFFS));
    std::fs::remove_dir(&place).unwrap();
    assert!(is_without, "{BPFFS} did not delegate yet");
    fires(&by_path.unwrap_or_else(|e| panic!("{e}")));
    fires(&attempt(TokenSource::Auto).unwrap_or_else(|e| panic!("{e}")));
}

/// Has a mount appear somewhere.
fn put(mount: &OwnedFd, place: &Path) {
    move_mount(mount, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .unwrap_or_else(|e| panic!("{}: {e}", place.display()));
}

fn fires(loaded: &Loaded) {
    assert!(loaded.token().is_some() && loaded.btf().is_some());
    let link = loaded.attach("enter").unwrap();
    let _parent = parent_id();
    assert!(hits(loaded) > 0, "{} does not fire", link.label());
}

fn send(socket: &UnixStream, fd: OwnedFd) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(socket, &[IoSlice::new(b"!")], &mut control, SendFlags::empty()).unwrap();
}

/// None, if the other end is closed.
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
