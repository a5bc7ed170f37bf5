//! Iterators: programs that write what is read from a file.

use super::{
    error::{AttachError, Hint},
    link::Link,
};
use crate::{
    object::AttachType,
    sys::{self, LinkCreate, LinkExtra, LinkTarget},
};
use core_relo::Endian;
use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
};

/// What an iterator goes through, if its type lets it be told (`union bpf_iter_link_info`).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum IterTarget<'a> {
    /// All there is.
    #[default]
    All,
    /// The elements of a map: `iter/bpf_map_elem`, `iter/bpf_sk_storage_map`, `iter/sockmap`.
    Map(BorrowedFd<'a>),
    /// Cgroups: `iter/cgroup`.
    Cgroup {
        /// From which one.
        of: CgroupRef<'a>,
        /// In which order.
        order: CgroupOrder,
    },
    /// Tasks, their files or their memory: `iter/task`, `iter/task_file`, `iter/task_vma`.
    Task(TaskRef<'a>),
}

/// A cgroup, for an iterator.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CgroupRef<'a> {
    /// The root of cgroup v2.
    Root,
    /// Its opened folder.
    Fd(BorrowedFd<'a>),
    /// Its id.
    Id(u64),
}

/// The order of cgroups (`enum bpf_cgroup_iter_order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CgroupOrder {
    /// The one cgroup.
    SelfOnly,
    /// It and its descendants, each before those below it.
    DescendantsPre,
    /// It and its descendants, each after those below it.
    DescendantsPost,
    /// It and its ancestors.
    AncestorsUp,
    /// The cgroups directly below it (newest kernels).
    Children,
}

/// A task, for an iterator.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TaskRef<'a> {
    /// One thread.
    Thread(u32),
    /// The threads of a process.
    Process(u32),
    /// The same, by descriptor.
    PidFd(BorrowedFd<'a>),
}

/// How an iterator is attached.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct IterOptions<'a> {
    /// What it goes through.
    pub target: IterTarget<'a>,
}

/// Attaches an iterator (libbpf: `bpf_program__attach_iter`). It runs when an [`IterReader`] of the link is read.
pub fn iter(prog: BorrowedFd<'_>, options: &IterOptions<'_>) -> Result<Link, AttachError> {
    let info = options.target.bytes();
    let create = LinkCreate {
        prog,
        target: LinkTarget::None,
        attach_type: AttachType::TraceIter.number(),
        flags: 0,
        extra: if info.is_empty() { LinkExtra::None } else { LinkExtra::Iter(&info) },
    };
    match sys::link_create(&create) {
        Ok(fd) => Ok(Link::from_fd(fd, "iter")),
        Err(errno) => {
            let hint = match (errno.0, options.target) {
                (libc::EBADF, IterTarget::All) => Hint("this iterator has to be told a map"),
                (libc::EINVAL, IterTarget::Cgroup { .. } | IterTarget::Task(_)) => {
                    Hint("the iterator is not of this kind, or the kernel is too old to narrow it")
                }
                _ => Hint::of(errno),
            };
            Err(AttachError::hinted("iter", "attach", errno, hint))
        }
    }
}

impl IterTarget<'_> {
    fn bytes(&self) -> Vec<u8> {
        let e = Endian::native();
        let mut out = Vec::new();
        let fd = |of: BorrowedFd<'_>| of.as_raw_fd().cast_unsigned();
        match *self {
            Self::All => {}
            Self::Map(map) => e.put_u32(&mut out, fd(map)),
            Self::Cgroup { of, order } => {
                let (cgroup, id) = match of {
                    CgroupRef::Root => (0, 0),
                    CgroupRef::Fd(cgroup) => (fd(cgroup), 0),
                    CgroupRef::Id(id) => (0, id),
                };
                e.put_u32(&mut out, order.number());
                e.put_u32(&mut out, cgroup);
                e.put_u64(&mut out, id);
            }
            Self::Task(task) => {
                let (tid, pid, pid_fd) = match task {
                    TaskRef::Thread(tid) => (tid, 0, 0),
                    TaskRef::Process(pid) => (0, pid, 0),
                    TaskRef::PidFd(of) => (0, 0, fd(of)),
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

/// One run of an iterator: reading it runs the program, and gives what that writes.
#[derive(Debug)]
pub struct IterReader(File);

impl IterReader {
    /// Begins a run.
    pub fn new(link: &Link) -> Result<Self, AttachError> {
        let fd = link.fd().ok_or_else(|| AttachError::target(link.what(), "an iterator's link is needed"))?;
        let fd = sys::iter_create(fd).map_err(|errno| {
            let hint =
                if errno.0 == libc::EINVAL { Hint("is it an iterator's link?") } else { Hint::of(errno) };
            AttachError::hinted(link.what(), "read", errno, hint)
        })?;
        Ok(Self(File::from(fd)))
    }
}

impl io::Read for IterReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                // The program asks for the element once more.
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => {}
                done => return done,
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
    use super::*;

    #[test]
    fn what_the_kernel_is_told() {
        let e = Endian::native();
        assert_eq!(IterTarget::All.bytes(), []);
        let bytes = IterTarget::Task(TaskRef::Process(7)).bytes();
        assert_eq!(
            (bytes.len(), e.u32(&bytes, 0), e.u32(&bytes, 4), e.u32(&bytes, 8)),
            (12, Some(0), Some(7), Some(0))
        );
        let bytes = IterTarget::Cgroup { of: CgroupRef::Id(5), order: CgroupOrder::AncestorsUp }.bytes();
        assert_eq!(
            (bytes.len(), e.u32(&bytes, 0), e.u32(&bytes, 4), e.u64(&bytes, 8)),
            (16, Some(4), Some(0), Some(5))
        );
    }
}
