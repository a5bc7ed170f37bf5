//! Attachments by `BPF_PROG_ATTACH`, without a link. They last until they are detached or their target is
//! gone.

use super::{
    error::AttachError,
    link::{Attachment, Link},
};
use crate::sys::{self, Errno, ProgAttach};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// The way to replace an attached program by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplaceMethod {
    /// The kernel cannot replace the program.
    Unsupported,
    /// Attaching the new program replaces the old one, because the target holds one program only.
    AttachAgain,
    /// The request names the old program (`BPF_F_REPLACE`).
    ReplaceFlag,
}

/// A program on a cgroup, map or device.
#[derive(Debug)]
pub(super) struct ProgAttachment {
    target: OwnedFd,
    prog: OwnedFd,
    attach_type: AttachType,
    flags: u32,
    replace_method: ReplaceMethod,
}

/// `BPF_F_REPLACE`.
const REPLACE: u32 = 1 << 2;

impl ProgAttachment {
    /// Attaches a program. With `replace`, the program replaces that program.
    pub(super) fn attach(
        label: &str,
        prog: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        attach_type: AttachType,
        flags: u32,
        replace: Option<BorrowedFd<'_>>,
        replace_method: ReplaceMethod,
    ) -> Result<Link, AttachError> {
        let attach = || {
            let clone = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e));
            let this =
                Self { target: clone(target)?, prog: clone(prog)?, attach_type, flags, replace_method };
            let replace_flag = if replace.is_some() { REPLACE } else { 0 };
            ProgAttach { flags: flags | replace_flag, replace, ..this.request() }.attach()?;
            Ok::<_, Errno>(this)
        };
        match attach() {
            Ok(this) => Ok(Link::new(this, label)),
            Err(errno) => Err(AttachError::kernel(label, "attach", errno)),
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

    /// Checks that this program is still attached, and fails with `ENOENT` if the target holds other programs
    /// only. Returns `false` if the target is gone: a removed cgroup took the attachment along.
    ///
    /// On a target that holds one program, the kernel would detach any program, not only this one.
    fn is_attached(&self) -> Result<bool, Errno> {
        let attached = sys::prog_query(Some(self.target.as_fd()), 0, self.attach_type.number(), 0);
        let id = sys::ProgramInfo::query(&self.prog)?.id;
        match attached {
            Ok(attached) if !attached.prog_ids.contains(&id) => Err(Errno(libc::ENOENT)),
            Err(Errno(libc::ENOENT | libc::ENODEV)) => Ok(false),
            // Sockmaps before 5.18 cannot be queried. They detach only the program that the request names.
            Ok(_) | Err(_) => Ok(true),
        }
    }
}

impl Attachment for ProgAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn detach(&mut self) -> Result<(), Errno> {
        if self.is_attached()? { self.request().detach() } else { Ok(()) }
    }

    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        let new = prog.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let old = self.request();
        let request = match self.replace_method {
            ReplaceMethod::Unsupported => return Err(Errno(libc::EOPNOTSUPP)),
            ReplaceMethod::AttachAgain => ProgAttach { prog: Some(new.as_fd()), flags: self.flags, ..old },
            ReplaceMethod::ReplaceFlag => {
                ProgAttach { prog: Some(new.as_fd()), flags: self.flags | REPLACE, replace: old.prog, ..old }
            }
        };
        if !self.is_attached()? {
            return Err(Errno(libc::ENOENT));
        }
        request.attach()?;
        self.prog = new;
        Ok(())
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn leak(self: Box<Self>) {}

    fn abandon(self: Box<Self>) {}
}
