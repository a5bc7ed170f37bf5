//! An attachment that its holder owns.

use super::error::AttachError;
use crate::sys::{self, Errno};
use core::fmt;
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// What keeps a program attached; dropping it detaches, as far as a descriptor's end does not already.
pub trait Attachment: Send + Sync + fmt::Debug {
    /// The kernel's link, if it is one: it can be pinned, updated and asked for its info.
    fn link_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Ends it. Called once, by [`Link::detach`] or when the link is dropped.
    fn detach(&mut self) -> Result<(), Errno>;

    /// Gives up owning it: nothing ends when it is dropped.
    fn leak(self: Box<Self>);

    /// Puts another program in the place of its own.
    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        match self.link_fd() {
            Some(link) => sys::link_update(link, prog, None),
            None => Err(Errno(libc::EOPNOTSUPP)),
        }
    }
}

/// An attached program. Dropping it detaches.
///
/// ```no_run
/// # fn example(mut link: core_relo_loader::attach::Link) -> Result<(), core_relo_loader::attach::AttachError> {
/// link.pin("/sys/fs/bpf/my_link")?; // outlives the process now
/// link.leak();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Link {
    attachment: Option<Box<dyn Attachment>>,
    what: Box<str>,
    pinned: Option<PathBuf>,
}

impl Link {
    /// An attachment with words for what it is: `kprobe/do_exit`.
    pub fn new(attachment: impl Attachment + 'static, what: impl Into<Box<str>>) -> Self {
        Self { attachment: Some(Box::new(attachment)), what: what.into(), pinned: None }
    }

    /// A link of the kernel's.
    pub fn from_fd(fd: OwnedFd, what: impl Into<Box<str>>) -> Self {
        Self::new(KernelLink(Some(fd)), what)
    }

    /// Opens a pinned link.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AttachError> {
        let path = path.as_ref();
        let fd = sys::obj_get(path, 0).map_err(|errno| AttachError::pin(path, errno))?;
        let mut link = Self::from_fd(fd, path.display().to_string());
        link.pinned = Some(path.to_path_buf());
        Ok(link)
    }

    /// What is attached where, in words.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The kernel's link, unless the attachment is of an older kind.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.attachment.as_ref()?.link_fd()
    }

    /// Detaches, and says if that failed. A link that is pinned goes on until its pin is removed, see [`unpin`](Self::unpin).
    pub fn detach(mut self) -> Result<(), AttachError> {
        let Some(mut attachment) = self.attachment.take() else { return Ok(()) };
        attachment.detach().map_err(|errno| AttachError::kernel(&self.what, "detach", errno))
    }

    /// Gives it a name below bpffs, under which it outlives its holder. Attachments without a link of the kernel's cannot be.
    pub fn pin(&mut self, path: impl AsRef<Path>) -> Result<(), AttachError> {
        let path = path.as_ref();
        let fd = self.fd().ok_or_else(|| AttachError::NotALink { what: self.what.clone() })?;
        sys::obj_pin(fd, path).map_err(|errno| AttachError::pin(path, errno))?;
        self.pinned = Some(path.to_path_buf());
        Ok(())
    }

    /// Removes its pin.
    pub fn unpin(&mut self) -> Result<(), AttachError> {
        let Some(path) = self.pinned.take() else { return Ok(()) };
        std::fs::remove_file(&path).map_err(|e| AttachError::pin(&path, Errno::of(&e)))
    }

    /// Where it is pinned.
    pub fn pin_path(&self) -> Option<&Path> {
        self.pinned.as_deref()
    }

    /// Puts another program in the place of the attached one, without a gap where the kernel can.
    pub fn update(&mut self, prog: impl AsFd) -> Result<(), AttachError> {
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        attachment.update(prog.as_fd()).map_err(|errno| AttachError::kernel(&self.what, "update", errno))
    }

    /// Leaves it attached for as long as the kernel keeps it: what depends on a descriptor lasts until the process ends.
    pub fn leak(mut self) {
        if let Some(attachment) = self.attachment.take() {
            attachment.leak();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(mut attachment) = self.attachment.take()
            && let Err(errno) = attachment.detach()
        {
            log::warn!("{}: not detached: {errno}", self.what);
        }
    }
}

/// A link of the kernel's: it lasts as long as its descriptors and pins.
#[derive(Debug)]
struct KernelLink(Option<OwnedFd>);

impl Attachment for KernelLink {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    fn detach(&mut self) -> Result<(), Errno> {
        self.0 = None;
        Ok(())
    }

    fn leak(mut self: Box<Self>) {
        if let Some(fd) = self.0.take() {
            core::mem::forget(fd);
        }
    }
}
