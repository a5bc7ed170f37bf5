//! Test support for attachments: programs that count their runs, network namespaces and cgroups that are
//! removed after the test.

pub(crate) mod elf;
pub(crate) mod shell;
pub(crate) mod trace;

use super::{
    netlink::{Attributes, CREATE, EXCL, Request},
    rtnetlink::{RtnetlinkSocket, ifinfomsg, interface_index},
};
use crate::sys::{self, Errno, MapCreate, MapFd, ProgLoad};
use core::{
    net::Ipv4Addr,
    sync::atomic::{AtomicU8, AtomicU32, Ordering},
    time::Duration,
};
use core_relo::{Endian, insn::Insn};
use core_relo_object::object::{AttachType, ProgramType};
use core_relo_test_support::skip;
use std::{
    io::{ErrorKind, Write as _},
    net::UdpSocket,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// A program that counts its runs.
#[derive(Debug)]
pub(crate) struct Counting {
    prog: OwnedFd,
    runs: MapFd,
}

impl Counting {
    /// Loads a program that returns `retval`. Prints `SKIP` and returns `None` if this process may not load
    /// programs.
    pub(crate) fn load(kind: ProgramType, attach_type: Option<AttachType>, retval: i32) -> Option<Self> {
        Self::load_for(kind, attach_type.map_or(0, AttachType::number), 0, retval)
    }

    /// Loads a program for a function in the kernel's BTF.
    pub(crate) fn load_for(kind: ProgramType, attach_type: u32, btf_id: u32, retval: i32) -> Option<Self> {
        let map =
            MapCreate { map_type: 2, key_size: 4, value_size: 8, max_entries: 1, ..MapCreate::default() };
        let map = ok_or_skip("a map", sys::map_create(&map))?;
        let insns = counting(map.as_fd(), retval);
        let load = ProgLoad {
            prog_type: kind.number(),
            name: b"counting",
            insns: &insns,
            license: b"GPL",
            expected_attach_type: attach_type,
            attach_btf_id: btf_id,
            log_level: 1,
            ..ProgLoad::default()
        };
        let mut log = vec![0; 1 << 16];
        let prog = match sys::prog_load(&load, &mut log) {
            Err(Errno(libc::EINVAL | libc::EACCES)) => {
                panic!("{kind}: {}", String::from_utf8_lossy(&log).trim_end_matches('\0'))
            }
            other => ok_or_skip(&format!("a {kind}"), other)?,
        };
        Some(Self { prog, runs: MapFd::new(map).unwrap() })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.prog.as_fd()
    }

    pub(crate) fn id(&self) -> u32 {
        sys::ProgramInfo::query(&self.prog).unwrap().id
    }

    pub(crate) fn runs(&self) -> u64 {
        let mut value = [0; 8];
        self.runs.shape().lookup(&[0; 4], &mut value, 0).unwrap();
        Endian::native().u64(&value, 0).unwrap()
    }

    /// Returns whether the program has run more than `before` times, or does so soon.
    pub(crate) fn ran_since(&self, before: u64) -> bool {
        eventually(|| self.runs() > before)
    }

    /// Asserts that `act` runs the program, and no longer does after `link` is dropped.
    pub(crate) fn fires(&self, link: super::Link, mut act: impl FnMut()) {
        let before = self.runs();
        act();
        assert!(self.ran_since(before), "{} does not run", link.label());
        drop(link);
        let stopped = eventually(|| {
            let after = self.runs();
            act();
            std::thread::sleep(Duration::from_millis(20));
            self.runs() == after
        });
        assert!(stopped, "a detached program still runs");
    }
}

/// Returns whether a condition becomes true within five seconds.
///
/// A process that another test starts holds all descriptors until its `exec`, so a closed link may last a
/// moment longer.
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Encodes a program that adds 1 to the first element of an array and returns `retval`.
fn counting(map: BorrowedFd<'_>, retval: i32) -> Vec<u8> {
    let map = map.as_raw_fd();
    [
        // r1 = &map[0]; r2 = 1; atomic *r1 += r2; r0 = retval; exit
        Insn { code: 0x18, dst: 1, src: 2, off: 0, imm: map },
        Insn::default(),
        Insn { code: 0xb7, dst: 2, src: 0, off: 0, imm: 1 },
        Insn { code: 0xdb, dst: 1, src: 2, off: 0, imm: 0 },
        Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: retval },
        Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 },
    ]
    .iter()
    .flat_map(|insn| insn.encode(Endian::native()))
    .collect()
}

/// Returns the id of a function in the kernel's BTF. Prints `SKIP` if there is none.
pub(crate) fn kernel_function(name: &str) -> Option<u32> {
    let found = crate::target::kernel().ok().and_then(|kernel| {
        let btf = kernel.parse_unvalidated(None).unwrap();
        btf.find(name.as_bytes(), core_relo::btf::Kind::Func).map(|func| func.id().0)
    });
    if found.is_none() {
        skip!("no {name} in the kernel's BTF");
    }
    found
}

/// Returns whether the kernel is older than a version. Prints `SKIP` if so.
pub(crate) fn kernel_before(major: u32, minor: u32, what: &str) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let older = (numbers.next().unwrap(), numbers.next().unwrap()) < (major, minor);
    if older {
        skip!("{what} needs a kernel from {major}.{minor}, this is {release}");
    }
    older
}

/// Unwraps a result. Prints `SKIP` and returns `None` if this process lacks a permission, or the kernel a
/// feature.
pub(crate) fn ok_or_skip<T>(what: &str, result: Result<T, Errno>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(errno @ Errno(libc::EPERM | libc::EOPNOTSUPP | libc::ENOSYS)) => {
            skip!("{what}: {errno}");
            None
        }
        Err(errno) => panic!("{what}: {errno}"),
    }
}

/// Runs a test in a new network namespace, with `lo` up.
pub(crate) fn in_own_network(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| {
            if ok_or_skip("a network namespace", sys::own_network()).is_some() {
                set_up(1);
                test();
            }
        });
        if let Err(panic) = ran.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn set_up(ifindex: u32) {
    let e = Endian::native();
    let mut fixed = vec![0; 4];
    // The index, the flags and the mask of changed flags: IFF_UP.
    for word in [ifindex, 1, 1] {
        e.put_u32(&mut fixed, word);
    }
    ask(16, 0, fixed, Attributes::default()).unwrap();
}

fn ask(kind: u16, flags: u16, fixed: Vec<u8>, attributes: Attributes) -> Result<(), Errno> {
    let request = Request { kind, flags, fixed, attributes };
    RtnetlinkSocket::open().and_then(|mut socket| socket.request(request, |_| {})).map_err(|error| {
        println!("{}", error.ext_ack);
        error.errno
    })
}

/// Returns a bpffs for a test. The first call runs the test again in a mount namespace with a new bpffs, and
/// returns `None`.
pub(crate) fn rerun_with_bpffs(test: &str) -> Option<PathBuf> {
    const OWN: &str = "CORE_RELO_TEST_BPFFS";
    if let Some(own) = std::env::var_os(OWN) {
        return Some(own.into());
    }
    // Tests of one process run at the same time.
    let name = format!("core-relo-bpffs-{}-{}", std::process::id(), test.replace("::", "-"));
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir(&dir).unwrap();
    let script = r#"mount -t bpf bpf "$1" || exit 99; exec "$2" --exact "$3" --nocapture"#;
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.arg(&dir).arg(std::env::current_exe().unwrap()).arg(test).env(OWN, &dir);
    let output = command.output();
    std::fs::remove_dir(&dir).unwrap();
    match output {
        Ok(output) if output.status.code() == Some(99) => skip!("no bpffs can be mounted"),
        // The messages of unshare(1) itself begin with its name.
        Ok(output) if output.stderr.starts_with(b"unshare: ") => {
            skip!("no mount namespace for a bpffs: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Err(e) => skip!("no mount namespace for a bpffs: {e}"),
        Ok(output) => {
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
        }
    }
    None
}

/// Creates the pair of interfaces `near0` and `peer0`, up, with the address 10.77.0.1/24 on `near0`. Returns
/// their indices. Prints `SKIP` and returns `None` if the kernel lacks the kind.
pub(crate) fn pair(kind: &str) -> Option<(u32, u32)> {
    let peer = Attributes::default().text(3, "peer0").u32(31, 2).u32(32, 2);
    let peer = [ifinfomsg(0), peer.raw().to_vec()].concat();
    let data = Attributes::default().bytes(1 | 0x8000, &peer);
    let info = Attributes::default().text(1, kind).nest(2, &data);
    // Two transmit queues, so that the kernel chooses one by a packet's hash. XDP needs as many receive
    // queues at the other end.
    let attributes = Attributes::default().text(3, "near0").u32(31, 2).u32(32, 2).nest(18, &info);
    ok_or_skip(&format!("a {kind} pair"), ask(16, CREATE | EXCL, ifinfomsg(0), attributes))?;
    let (near, peer) = (interface_index("near0").unwrap(), interface_index("peer0").unwrap());
    // struct ifaddrmsg: AF_INET, 24 bits, on `near`.
    let mut fixed = vec![2, 24, 0, 0];
    Endian::native().put_u32(&mut fixed, near);
    let address = Attributes::default().bytes(1, &[10, 77, 0, 1]).bytes(2, &[10, 77, 0, 1]);
    ask(20, CREATE | EXCL, fixed, address).unwrap();
    set_up(near);
    set_up(peer);
    Some((near, peer))
}

/// Removes an interface and its peer.
pub(crate) fn remove(ifindex: u32) {
    ask(17, 0, ifinfomsg(ifindex), Attributes::default()).unwrap();
}

/// Sends a packet from the near end of a pair: an ARP request for an unused address.
pub(crate) fn send_on_pair() {
    static HOST: AtomicU8 = AtomicU8::new(0);
    let host = HOST.fetch_add(1, Ordering::Relaxed) & 0x3f | 0x80;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.send_to(b"?", (Ipv4Addr::new(10, 77, 0, host), 9)).unwrap();
}

/// A cgroup that is removed when dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    dir: OwnedFd,
}

impl Cgroup {
    pub(crate) fn new() -> Option<Self> {
        let Some(mount) = cgroup2() else {
            skip!("no cgroup2 is mounted");
            return None;
        };
        Self::below(&mount)
    }

    /// Creates a cgroup below this cgroup.
    pub(crate) fn child(&self) -> Self {
        Self::below(&self.path).unwrap()
    }

    fn below(parent: &Path) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("core-relo-test-{}-{count}", std::process::id()));
        // An ordinary user may not write to the hierarchy. A container may have mounted it read-only.
        if let Err(e) = std::fs::create_dir(&path) {
            let is_denied = matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
            assert!(is_denied, "a cgroup: {e}");
            skip!("a cgroup: {e}");
            return None;
        }
        let dir = std::fs::File::open(&path).unwrap().into();
        Some(Self { path, dir })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Performs one of [`ACTIONS`] in a process of this cgroup, in the calling thread's network namespace.
    pub(crate) fn act(&self, action: &str) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "attach::test_support::actions_succeed_where_nothing_forbids_them",
                "--nocapture",
            ])
            .env("CORE_RELO_TEST_ACTION", action)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The process waits for a line before it acts.
        std::fs::write(self.path.join("cgroup.procs"), child.id().to_string()).unwrap();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process that ended a moment ago may still count as a member.
        for _ in 0..500 {
            match std::fs::remove_dir(&self.path) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                done => return done.unwrap(),
            }
        }
        panic!("{} is still in use", self.path.display());
    }
}

fn cgroup2() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
    let words = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.into_iter().find(|words| words.get(2) == Some(&"cgroup2")).map(|words| words[1].into())
}

/// The actions that run programs of cgroups.
const ACTIONS: [&str; 6] = ["udp", "connect", "tcp", "setsockopt", "sysctl", "device"];

/// Performs the action that [`Cgroup::act`] names, or all actions when run as a test.
#[test]
fn actions_succeed_where_nothing_forbids_them() {
    let Ok(action) = std::env::var("CORE_RELO_TEST_ACTION") else { return ACTIONS.into_iter().for_each(act) };
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    act(&action);
}

fn act(action: &str) {
    let address = (Ipv4Addr::LOCALHOST, 0);
    match action {
        "udp" => {
            let socket = UdpSocket::bind(address).unwrap();
            socket.send_to(b"!", socket.local_addr().unwrap()).unwrap();
            socket.recv_from(&mut [0; 8]).unwrap();
        }
        "connect" => drop(UdpSocket::bind(address).unwrap().connect((Ipv4Addr::LOCALHOST, 9))),
        "tcp" => {
            let listener = std::net::TcpListener::bind(address).unwrap();
            let _stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        }
        "setsockopt" => UdpSocket::bind(address).unwrap().set_broadcast(true).unwrap(),
        "sysctl" => drop(std::fs::read("/proc/sys/kernel/ostype").unwrap()),
        "device" => drop(std::fs::read("/dev/null").unwrap()),
        other => panic!("{other}?"),
    }
}
