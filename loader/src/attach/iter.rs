//! Iterators: programs whose output is read from a file.

use super::{
    error::{AttachError, Hint},
    link::Link,
};
use crate::sys::{self, LinkCreate, LinkExtra, LinkTarget};
use core_relo::Endian;
use core_relo_object::object::AttachType;
use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
};

/// The objects that an iterator visits (`union bpf_iter_link_info`). The iterator's type decides which
/// targets it accepts.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum IterTarget<'a> {
    /// All objects of the iterator's type.
    #[default]
    All,
    /// The elements of a map: `iter/bpf_map_elem`, `iter/bpf_sk_storage_map`, `iter/sockmap`.
    Map(BorrowedFd<'a>),
    /// Cgroups: `iter/cgroup`.
    Cgroup {
        /// The cgroup where the iteration starts.
        cgroup: CgroupRef<'a>,
        /// The order of the visited cgroups.
        order: CgroupOrder,
    },
    /// Tasks, their files or their memory: `iter/task`, `iter/task_file`, `iter/task_vma`.
    Task(TaskRef<'a>),
}

/// The cgroup where an iteration starts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CgroupRef<'a> {
    /// The root of the cgroup v2 hierarchy.
    Root,
    /// The descriptor of the cgroup's directory.
    Fd(BorrowedFd<'a>),
    /// The cgroup's id.
    Id(u64),
}

/// The visited cgroups and their order (`enum bpf_cgroup_iter_order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CgroupOrder {
    /// The cgroup only.
    SelfOnly,
    /// The cgroup and its descendants, each before its own descendants.
    DescendantsPre,
    /// The cgroup and its descendants, each after its own descendants.
    DescendantsPost,
    /// The cgroup and its ancestors.
    AncestorsUp,
    /// The direct children of the cgroup (newest kernels).
    Children,
}

/// The task that an iteration visits.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TaskRef<'a> {
    /// One thread.
    Thread(u32),
    /// All threads of a process.
    Process(u32),
    /// All threads of a process, by pidfd.
    PidFd(BorrowedFd<'a>),
}

/// The options of an iterator.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct IterOptions<'a> {
    /// The visited objects.
    pub target: IterTarget<'a>,
}

/// Attaches an iterator (libbpf: `bpf_program__attach_iter`). The program runs when an [`IterReader`] of the
/// link is read.
pub(super) fn iter(prog: BorrowedFd<'_>, options: &IterOptions<'_>) -> Result<Link, AttachError> {
    let info = options.target.encode();
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: AttachType::TraceIter.number(),
        flags: 0,
        extra: if info.is_empty() { LinkExtra::None } else { LinkExtra::Iter(&info) },
    };
    match sys::link_create(&create) {
        Ok(fd) => {
            options.target.check_accepted(&fd)?;
            Ok(Link::from_fd(fd, "iter"))
        }
        Err(errno) => {
            let hint = match (errno.0, options.target) {
                (libc::EBADF, IterTarget::All) => Hint("this iterator needs a map as its target"),
                (libc::EACCES, IterTarget::Map(_)) => {
                    Hint("are the keys and values of the map as long as the program reads them?")
                }
                (libc::EINVAL | libc::E2BIG, target) if !matches!(target, IterTarget::All) => {
                    Hint("the iterator does not accept this target, or the kernel is too old for it")
                }
                _ => Hint::for_errno(errno),
            };
            Err(AttachError::kernel_with_hint("iter", "attach", errno, hint))
        }
    }
}

impl IterTarget<'_> {
    /// Checks that a new link's iterator takes this target. An iterator without targets ignores the union,
    /// and another one takes the descriptor of a map for the id of a thread. Iterators of newer kernels or of
    /// modules may take any target.
    fn check_accepted(&self, link: &OwnedFd) -> Result<(), AttachError> {
        const MAPS: &[&str] = &["bpf_map_elem", "bpf_sk_storage_map", "sockmap"];
        const CGROUPS: &[&str] = &["cgroup"];
        const TASKS: &[&str] = &["task", "task_file", "task_vma"];
        const WITHOUT_TARGET: &[&str] = &[
            "bpf_link",
            "bpf_map",
            "bpf_prog",
            "dmabuf",
            "ipv6_route",
            "kmem_cache",
            "ksym",
            "netlink",
            "tcp",
            "udp",
            "unix",
        ];
        let expected = match self {
            Self::All => return Ok(()),
            Self::Map(_) => MAPS,
            Self::Cgroup { .. } => CGROUPS,
            Self::Task(_) => TASKS,
        };
        let is_known =
            |name: &str| [MAPS, CGROUPS, TASKS, WITHOUT_TARGET].iter().any(|names| names.contains(&name));
        match sys::link_target_name(link) {
            Ok(name) if is_known(&name) && !expected.contains(&&*name) => {
                let expected = expected.join(", iter/");
                let problem = format!("does not take this target: expected iter/{expected}");
                Err(AttachError::target(format!("iter/{name}"), problem))
            }
            _ => Ok(()),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let e = Endian::native();
        let mut out = Vec::new();
        let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().cast_unsigned();
        match *self {
            Self::All => {}
            Self::Map(map) => e.put_u32(&mut out, number(map)),
            Self::Cgroup { cgroup, order } => {
                let (cgroup_fd, id) = match cgroup {
                    CgroupRef::Root => (0, 0),
                    CgroupRef::Fd(fd) => (number(fd), 0),
                    CgroupRef::Id(id) => (0, id),
                };
                e.put_u32(&mut out, order.number());
                e.put_u32(&mut out, cgroup_fd);
                e.put_u64(&mut out, id);
            }
            Self::Task(task) => {
                let (tid, pid, pid_fd) = match task {
                    TaskRef::Thread(tid) => (tid, 0, 0),
                    TaskRef::Process(pid) => (0, pid, 0),
                    TaskRef::PidFd(fd) => (0, 0, number(fd)),
                };
                for v in [tid, pid, pid_fd] {
                    e.put_u32(&mut out, v);
                }
            }
        }
        out
    }
}

impl CgroupOrder {
    const fn number(self) -> u32 {
        match self {
            Self::SelfOnly => 1,
            Self::DescendantsPre => 2,
            Self::DescendantsPost => 3,
            Self::AncestorsUp => 4,
            Self::Children => 5,
        }
    }
}

/// One run of an iterator. Reading runs the program and returns its output.
#[derive(Debug)]
pub struct IterReader(File);

impl IterReader {
    /// Starts a run.
    pub fn new(link: &Link) -> Result<Self, AttachError> {
        let fd = link
            .fd()
            .ok_or_else(|| AttachError::target(link.label(), "expected the kernel link of an iterator"))?;
        let fd = sys::iter_create(fd).map_err(|errno| {
            let hint = if errno.0 == libc::EINVAL {
                Hint("expected the link of an iterator")
            } else {
                Hint::for_errno(errno)
            };
            AttachError::kernel_with_hint(link.label(), "read", errno, hint)
        })?;
        Ok(Self(File::from(fd)))
    }
}

impl io::Read for IterReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                // The program asks the kernel to visit the same object again.
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => {}
                result => return result,
            }
        }
    }
}

impl AsFd for IterReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::trace::{Counter, Program, insn, kernel_type},
            tracepoint::{RawTracepointOptions, raw_tracepoint},
        },
        *,
    };
    use core_relo::btf::Kind;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::io::Read as _;

    #[test]
    fn targets_are_encoded_for_the_kernel() {
        let e = Endian::native();
        assert_eq!(IterTarget::All.encode(), []);
        let bytes = IterTarget::Task(TaskRef::Process(7)).encode();
        assert_eq!(
            (bytes.len(), e.u32(&bytes, 0), e.u32(&bytes, 4), e.u32(&bytes, 8)),
            (12, Some(0), Some(7), Some(0))
        );
        let bytes = IterTarget::Cgroup { cgroup: CgroupRef::Id(5), order: CgroupOrder::AncestorsUp }.encode();
        assert_eq!(
            (bytes.len(), e.u32(&bytes, 0), e.u32(&bytes, 4), e.u64(&bytes, 8)),
            (16, Some(4), Some(0), Some(5))
        );
    }

    /// Loads an iterator that writes two bytes for each visited object.
    fn load_writer(iterator: &str) -> Option<Program> {
        let btf_id = kernel_type(iterator, Kind::Func)?;
        let code = [
            insn(0x62, 10, 0, -4, i32::from(b'x') | (i32::from(b'\n') << 8)),
            // The context's first word is `meta`, whose first word is the file.
            insn(0x79, 1, 1, 0, 0),
            insn(0x79, 1, 1, 0, 0),
            insn(0xbf, 2, 10, 0, 0),
            insn(0x07, 2, 0, 0, -4),
            insn(0xb7, 3, 0, 0, 2),
            insn(0x85, 0, 0, 0, 127), // bpf_seq_write
            insn(0xb7, 0, 0, 0, 0),
            insn(0x95, 0, 0, 0, 0),
        ];
        Program::load_for(ProgramType::Tracing, AttachType::TraceIter.number(), btf_id, &code)
    }

    #[test]
    fn an_iterators_output_is_read() {
        if Endian::native() == Endian::Big {
            return skip!("the two bytes are those of a little-endian word");
        }
        let Some(prog) = load_writer("bpf_iter_task") else { return };
        let all = iter(prog.fd(), &IterOptions::default()).unwrap();
        let mut text = String::new();
        IterReader::new(&all).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.len() >= 4 && text.starts_with("x\nx\n"), "{text}");
        // A link can be read several times.
        assert_eq!(IterReader::new(&all).unwrap().read(&mut [0; 64]).unwrap() % 2, 0);
        let target = IterTarget::Task(TaskRef::Process(std::process::id()));
        match iter(prog.fd(), &IterOptions { target }) {
            Ok(own) => {
                let mut own_text = String::new();
                IterReader::new(&own).unwrap().read_to_string(&mut own_text).unwrap();
                // One element for each thread, and the final call.
                assert!((4..=text.len()).contains(&own_text.len()), "{own_text}");
            }
            Err(e) => assert!(e.to_string().contains("too old for it"), "{e}"),
        }
    }

    #[test]
    fn an_iterator_of_map_elements_needs_a_map() {
        let Some(prog) = load_writer("bpf_iter_bpf_map_elem") else { return };
        let e = iter(prog.fd(), &IterOptions::default()).unwrap_err();
        assert_eq!(
            e.to_string(),
            "iter: cannot attach: EBADF: Bad file descriptor (this iterator needs a map as its target)"
        );
        let Some(counter) = Counter::new() else { return };
        let link = iter(prog.fd(), &IterOptions { target: IterTarget::Map(counter.map()) }).unwrap();
        let mut text = String::new();
        IterReader::new(&link).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.starts_with("x\n"), "{text}");
    }

    /// The kernel takes the first word of the union for the id of a thread.
    #[test]
    fn an_iterator_of_tasks_takes_no_map() {
        let Some(prog) = load_writer("bpf_iter_task") else { return };
        let Some(counter) = Counter::new() else { return };
        let e = iter(prog.fd(), &IterOptions { target: IterTarget::Map(counter.map()) }).unwrap_err();
        let expected = "iter/task: does not take this target: expected iter/bpf_map_elem, \
                        iter/bpf_sk_storage_map, iter/sockmap";
        assert_eq!(e.to_string(), expected);
    }

    #[test]
    fn only_an_iterators_link_is_read() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::RawTracepoint, 0, &counter) else { return };
        let link = raw_tracepoint(prog.fd(), "sys_enter", RawTracepointOptions::default()).unwrap();
        assert!(IterReader::new(&link).unwrap_err().to_string().contains("expected the link of an iterator"));
    }
}
