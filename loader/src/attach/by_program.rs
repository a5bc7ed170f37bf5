//! The older way: a program attached to a descriptor without a link, until it is detached or what it is attached to is gone.

use super::{AttachError, Attachment, Link};
use crate::{
    object::AttachType,
    sys::{self, Errno, ProgAttach},
};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// How another program is put in a program's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacing {
    /// It cannot be.
    Never,
    /// By attaching it: there is room for one.
    ByAttaching,
    /// By naming the one that goes (`BPF_F_REPLACE`).
    ByNaming,
}

/// A program on a cgroup, map or device.
#[derive(Debug)]
pub(super) struct ByProgram {
    target: OwnedFd,
    prog: OwnedFd,
    attach_type: AttachType,
    flags: u32,
    replacing: Replacing,
}

/// `BPF_F_REPLACE`.
pub(super) const REPLACE: u32 = 1 << 2;

impl ByProgram {
    /// Attaches; `flags` go with it, and `replace` is the program whose place it takes.
    pub(super) fn attach(
        what: &str,
        prog: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        attach_type: AttachType,
        flags: u32,
        replace: Option<BorrowedFd<'_>>,
        replacing: Replacing,
    ) -> Result<Link, AttachError> {
        let attach = || {
            let own = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e));
            let this = Self { target: own(target)?, prog: own(prog)?, attach_type, flags, replacing };
            let more = if replace.is_some() { REPLACE } else { 0 };
            sys::prog_attach(&ProgAttach { flags: flags | more, replace, ..this.request() })?;
            Ok(this)
        };
        match attach() {
            Ok(this) => Ok(Link::new(this, what)),
            Err(errno) => Err(AttachError::kernel(what, "attach", errno)),
        }
    }

    fn request(&self) -> ProgAttach<'_> {
        ProgAttach {
            prog: Some(self.prog.as_fd()),
            target: Some(self.target.as_fd()),
            attach_type: self.attach_type.number(),
            ..ProgAttach::default()
        }
    }

    /// Where there is room for one, the kernel detaches whichever it is: see first that it is this one. Whether what it is
    /// attached to is still there is the answer: a cgroup that was removed took it along.
    fn still_there(&self) -> Result<bool, Errno> {
        let there = sys::prog_query(Some(self.target.as_fd()), 0, self.attach_type.number(), 0);
        let id = sys::prog_info(&self.prog)?.id;
        match there {
            Ok(there) if !there.prog_ids.contains(&id) => Err(Errno(libc::ENOENT)),
            Err(Errno(libc::ENOENT | libc::ENODEV)) => Ok(false),
            // Where nothing can be asked (sockmaps before 5.18), the program named counts.
            Ok(_) | Err(_) => Ok(true),
        }
    }
}

impl Attachment for ByProgram {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        if self.still_there()? { sys::prog_detach(&self.request()) } else { Ok(()) }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        let new = prog.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let old = self.request();
        let request = match self.replacing {
            Replacing::Never => return Err(Errno(libc::EOPNOTSUPP)),
            Replacing::ByAttaching => ProgAttach { prog: Some(new.as_fd()), flags: self.flags, ..old },
            Replacing::ByNaming => {
                ProgAttach { prog: Some(new.as_fd()), flags: self.flags | REPLACE, replace: old.prog, ..old }
            }
        };
        if !self.still_there()? {
            return Err(Errno(libc::ENOENT));
        }
        sys::prog_attach(&request)?;
        self.prog = new;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}
}
