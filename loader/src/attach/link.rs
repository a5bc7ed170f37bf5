//! Owned attachments.

use super::error::{AttachError, Hint};
use crate::{
    owner_process::OwnerProcess,
    sys::{self, Errno},
};
use core::fmt;
use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// An attachment of one kind: the resource that keeps a program attached. Dropping the resource may, but need
/// not, detach.
pub trait Attachment: Send + Sync + fmt::Debug {
    /// Returns the kernel link, if the attachment has one. A kernel link can be pinned, updated and queried.
    fn link_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Keeps the resources that the program still uses. [`Link`] calls this before [`detach`](Self::detach)
    /// if a pin keeps the program attached.
    fn keep_for_pin(&mut self) {}

    /// Returns whether a leaked attachment outlives this process without a pin.
    fn outlives_process(&self) -> bool {
        false
    }

    /// Detaches the program. [`Link`] calls this once, in [`Link::detach`] or when the link is dropped.
    fn detach(&mut self) -> Result<(), Errno>;

    /// Gives up ownership: the program stays attached.
    fn leak(self: Box<Self>);

    /// Closes this process's copies of descriptors, and changes nothing else: the program stays attached for
    /// the process that owns the link. [`Link`] calls this instead of [`detach`](Self::detach) when it is
    /// dropped in another process, a child after `fork`.
    fn abandon(self: Box<Self>);

    /// Replaces the attached program.
    fn update(&mut self, prog: BorrowedFd<'_>) -> Result<(), Errno> {
        match self.link_fd() {
            Some(link) => sys::update_link(link, prog, None),
            None => Err(Errno(libc::EOPNOTSUPP)),
        }
    }
}

/// An attached program. Dropping the link detaches the program, except in a child after `fork`: see
/// [`take_ownership`](Self::take_ownership).
///
/// ```no_run
/// # use core_relo_loader::attach::{AttachError, Link};
/// # fn example(mut link: Link) -> Result<(), AttachError> {
/// link.pin("/sys/fs/bpf/my_link")?; // outlives the process now
/// link.leak();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it detaches"]
pub struct Link {
    attachment: Option<Box<dyn Attachment>>,
    label: Box<str>,
    pinned: Option<PathBuf>,
    owner: OwnerProcess,
}

impl Link {
    /// Wraps an attachment. The label names the attachment in messages, such as `kprobe/do_exit`.
    pub fn new(attachment: impl Attachment + 'static, label: impl Into<Box<str>>) -> Self {
        Self {
            attachment: Some(Box::new(attachment)),
            label: label.into(),
            pinned: None,
            owner: OwnerProcess::current(),
        }
    }

    /// Wraps the descriptor of a kernel link.
    pub fn from_fd(fd: OwnedFd, label: impl Into<Box<str>>) -> Self {
        Self::new(KernelLink(Some(fd)), label)
    }

    /// Renames the attachment in messages and in the names of pins, for example to the words with which a
    /// user names it.
    pub fn with_label(mut self, label: impl Into<Box<str>>) -> Self {
        self.label = label.into();
        self
    }

    /// Opens a pinned link.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, AttachError> {
        let path = path.as_ref();
        let fd = sys::obj_get(path, 0).map_err(|errno| AttachError::missing_pin(path, errno))?;
        let mut link = Self::from_fd(fd, path.display().to_string());
        link.pinned = Some(path.to_path_buf());
        Ok(link)
    }

    /// Makes this process the owner of the link, for a child after `fork` whose parent ends without dropping
    /// the link, such as a daemon.
    ///
    /// The process that made a link owns it. In any other process, dropping the link closes only the
    /// process's copies of descriptors, so that the program stays attached for the parent.
    /// [`detach`](Self::detach) detaches in any process.
    pub fn take_ownership(&mut self) {
        self.owner = OwnerProcess::current();
    }

    /// Returns the attachment's name in messages, such as `kprobe/do_exit` or `xdp on interface 3`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the descriptor of the kernel link, if the attachment has one.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.attachment.as_ref()?.link_fd()
    }

    /// Returns whether the program stays attached after this process ends, without a pin, if the link is
    /// [leaked](Self::leak). True for netlink attachments and for struct_ops maps without a kernel link.
    pub fn outlives_process(&self) -> bool {
        self.attachment.as_ref().is_some_and(|attachment| attachment.outlives_process())
    }

    /// Detaches the program and returns the error, if detaching fails.
    ///
    /// A pinned link's program stays attached, and the call fails with [`AttachError::Pinned`]. The link is
    /// gone all the same. Call [`unpin`](Self::unpin) before, or use [`force_detach`](Self::force_detach).
    pub fn detach(mut self) -> Result<(), AttachError> {
        let detached = self.release().map_err(|errno| AttachError::kernel(&self.label, "detach", errno));
        match self.pinned.take() {
            Some(path) => Err(AttachError::Pinned { label: self.label.clone().into(), path }),
            None => detached,
        }
    }

    /// Detaches the program even if other descriptors or a pin keep the link (libbpf: `bpf_link__detach`).
    /// The pin stays.
    ///
    /// Kernels from 5.9 support this for links of cgroups, network namespaces and interfaces, of struct_ops,
    /// netfilter and sockmaps. Other links end only with their last descriptor and pin. If the call fails,
    /// the link is dropped all the same.
    pub fn force_detach(mut self) -> Result<(), AttachError> {
        const UNSUPPORTED: Hint = Hint("links of this kind end only with their last descriptor and pin");
        let Some(link) = self.fd() else { return self.detach() };
        sys::detach_link(link).map_err(|errno| match errno.0 {
            libc::EOPNOTSUPP | libc::EINVAL => {
                AttachError::kernel_with_hint(&self.label, "detach by force", errno, UNSUPPORTED)
            }
            _ => AttachError::kernel(&self.label, "detach by force", errno),
        })?;
        // The program is detached in spite of the pin, so nothing that it used has to be kept.
        self.pinned = None;
        self.detach()
    }

    /// Pins the link in a bpffs, where the link outlives this process. Creates the pin's directory if that
    /// directory is missing, but no directory above it.
    ///
    /// A link without a kernel link and a link that is pinned already cannot be pinned.
    pub fn pin(&mut self, path: impl AsRef<Path>) -> Result<(), AttachError> {
        let path = path.as_ref();
        let fd = self.fd_for_pin(path)?;
        sys::pin_in_new_directory(fd, path).map_err(|errno| AttachError::pin(path, errno))?;
        self.pinned = Some(path.to_path_buf());
        Ok(())
    }

    /// Returns the kernel link, if it can be pinned at a path.
    pub(crate) fn fd_for_pin(&self, path: &Path) -> Result<BorrowedFd<'_>, AttachError> {
        const PINNED: Hint = Hint("this link is pinned elsewhere already: unpin it before");
        match self.fd() {
            None => Err(AttachError::NoKernelLink { label: self.label.clone().into() }),
            Some(_) if self.pinned.is_some() => {
                Err(AttachError::Pin { path: path.into(), errno: Errno(libc::EBUSY), hint: PINNED })
            }
            Some(fd) => Ok(fd),
        }
    }

    /// Records a pin that was made for this link.
    pub(crate) fn set_pinned(&mut self, path: PathBuf) {
        self.pinned = Some(path);
    }

    /// Removes the link's pin.
    pub fn unpin(&mut self) -> Result<(), AttachError> {
        let Some(path) = &self.pinned else { return Ok(()) };
        fs::remove_file(path).map_err(|e| AttachError::missing_pin(path, Errno::from_io_error(&e)))?;
        self.pinned = None;
        Ok(())
    }

    /// Returns the path of the link's pin.
    pub fn pin_path(&self) -> Option<&Path> {
        self.pinned.as_deref()
    }

    /// Replaces the attached program, atomically where the kernel can.
    pub fn update(&mut self, prog: impl AsFd) -> Result<(), AttachError> {
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        attachment.update(prog.as_fd()).map_err(|errno| AttachError::kernel(&self.label, "update", errno))
    }

    /// Leaves the program attached. An attachment that depends on a descriptor lasts until the process ends.
    pub fn leak(mut self) {
        if let Some(attachment) = self.attachment.take() {
            attachment.leak();
        }
    }

    /// Detaches the program, unless a pin keeps it attached.
    fn release(&mut self) -> Result<(), Errno> {
        let Some(mut attachment) = self.attachment.take() else { return Ok(()) };
        if self.pinned.is_some() {
            attachment.keep_for_pin();
        }
        attachment.detach()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            if let Some(attachment) = self.attachment.take() {
                attachment.abandon();
            }
            return;
        }
        if let Err(errno) = self.release() {
            log::warn!("{}: not detached: {errno}", self.label);
        }
    }
}

/// A kernel link. It lasts as long as its descriptors and pins.
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

    fn abandon(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            cgroup::{cgroup, cgroup_attach},
            test_support::{Cgroup, Counting, rerun_with_bpffs},
            *,
        },
        *,
    };
    use alloc::sync::Arc;
    use core_relo_object::object::{AttachType, ProgramType};
    use core_relo_test_support::skip;
    use std::{os::unix::fs::PermissionsExt as _, sync::Mutex};

    const AT: AttachType = AttachType::CgroupDevice;

    fn attached(prog: &Counting, group: &Cgroup) -> Option<Link> {
        let link = cgroup(prog.fd(), group.fd(), AT, &CgroupOptions::default()).unwrap();
        if link.fd().is_none() {
            skip!("no links of cgroups");
            return None;
        }
        Some(link)
    }

    fn is_attached(group: &Cgroup) -> bool {
        !query(QueryTarget::Cgroup(group.fd()), AT).unwrap().prog_ids.is_empty()
    }

    #[test]
    fn a_link_that_others_hold_is_detached_by_force() {
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let Some(link) = attached(&prog, &group) else { return };
        let other = link.fd().unwrap().try_clone_to_owned().unwrap();
        link.detach().unwrap();
        assert!(is_attached(&group), "another descriptor keeps it");
        Link::from_fd(other.try_clone().unwrap(), "x").force_detach().unwrap();
        assert!(!is_attached(&group));
    }

    /// A child has copies of the parent's links. The parent's programs must not end with the child.
    #[test]
    fn a_child_after_fork_detaches_nothing_of_its_parent() {
        let test = "attach::link::tests::a_child_after_fork_detaches_nothing_of_its_parent";
        // Alone in a process: the child has copies of the descriptors of other tests, too.
        if rerun_with_bpffs(test).is_none() {
            return;
        }
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let link = cgroup_attach(prog.fd(), group.fd(), AT, CgroupSharing::Multi, None).unwrap();
        assert!(link.fd().is_none(), "without a kernel link, a drop detaches by a request");
        let mut link = Some(link);
        sys::in_child(|| drop(link.take()));
        assert!(is_attached(&group));
        sys::in_child(|| {
            let mut own = link.take().unwrap();
            own.take_ownership();
        });
        assert!(!is_attached(&group), "the child took it over");
        let mut link = cgroup_attach(prog.fd(), group.fd(), AT, CgroupSharing::Multi, None).ok();
        sys::in_child(|| link.take().unwrap().detach().unwrap());
        assert!(!is_attached(&group), "a request is a request");
        drop(link);

        let mut link = attached(&prog, &group);
        sys::in_child(|| drop(link.take()));
        assert!(link.is_none() || is_attached(&group), "a kernel link");
        drop(link);
        assert!(!is_attached(&group), "the parent detaches");
    }

    #[test]
    fn a_pin_creates_its_directory_and_keeps_the_program() {
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let Some(mut link) = attached(&prog, &group) else { return };
        let test = "attach::link::tests::a_pin_creates_its_directory_and_keeps_the_program";
        let Some(bpffs) = rerun_with_bpffs(test) else { return };
        let dir = bpffs.join("directory");
        let deep = link.pin(dir.join("deep/er")).unwrap_err().to_string();
        assert!(deep.contains("create that directory first"), "{deep}");
        let none = Link::open(bpffs.join("nothing")).unwrap_err().to_string();
        assert!(none.ends_with("(nothing is pinned there)"), "{none}");
        assert!(!dir.exists());
        link.pin(dir.join("no.dots")).unwrap_err();
        assert!(!dir.exists(), "the directory is removed after the failure");
        link.pin(dir.join("pin")).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        let twice = link.pin(dir.join("other")).unwrap_err();
        assert_eq!(twice.errno(), Some(Errno(libc::EBUSY)), "{twice}");
        assert!(matches!(link.detach(), Err(AttachError::Pinned { .. })));
        assert!(is_attached(&group));

        let mut again = Link::open(dir.join("pin")).unwrap();
        again.pinned = Some(dir.join("nothing"));
        again.unpin().unwrap_err();
        assert_eq!(again.pin_path(), Some(dir.join("nothing").as_path()), "it is not forgotten");
        again.pinned = Some(dir.join("pin"));
        again.force_detach().unwrap();
        assert!(dir.join("pin").exists() && !is_attached(&group));
        fs::remove_file(dir.join("pin")).unwrap();
        fs::remove_dir(dir).unwrap();
    }

    #[test]
    fn a_pinned_link_keeps_shared_state() {
        #[derive(Debug)]
        struct CallRecorder(Arc<Mutex<Vec<&'static str>>>);

        impl Attachment for CallRecorder {
            fn link_fd(&self) -> Option<BorrowedFd<'_>> {
                None
            }

            fn keep_for_pin(&mut self) {
                self.0.lock().unwrap().push("keep");
            }

            fn detach(&mut self) -> Result<(), Errno> {
                self.0.lock().map_or_else(|_poisoned| {}, |mut calls| calls.push("detach"));
                Ok(())
            }

            fn leak(self: Box<Self>) {}

            fn abandon(self: Box<Self>) {}
        }

        let calls = Arc::default();
        let mut link = Link::new(CallRecorder(Arc::clone(&calls)), "x");
        assert!(matches!(link.pin("/x"), Err(AttachError::NoKernelLink { .. })) && !link.outlives_process());
        link.pinned = Some("/nowhere".into());
        drop(link);
        Link::new(CallRecorder(Arc::clone(&calls)), "x").detach().unwrap();
        assert_eq!(*calls.lock().unwrap(), ["keep", "detach", "detach"]);
    }
}
