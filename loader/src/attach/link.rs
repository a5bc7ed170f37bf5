//! An attachment that its holder owns.

use super::error::{AttachError, Hint};
use crate::sys::{self, Errno};
use core::fmt;
use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// What keeps a program attached; dropping it detaches, as far as a descriptor's end does not already.
pub trait Attachment: Send + Sync + fmt::Debug {
    /// The kernel's link, if it is one: it can be pinned, updated and asked for its info.
    fn link_fd(&self) -> Option<BorrowedFd<'_>>;

    /// It is about to be detached, but its pin keeps it: what the program goes on to use must not be given back.
    fn keep(&mut self) {}

    /// Whether it lasts beyond this process without a pin if it is leaked, until it is detached by other means.
    fn outlives_process(&self) -> bool {
        false
    }

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
#[must_use = "dropping it detaches"]
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
        let fd = sys::obj_get(path, 0).map_err(|errno| AttachError::no_pin(path, errno))?;
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

    /// Whether it lasts beyond this process without a pin if it is [leaked](Self::leak), as what netlink attached does, and
    /// struct_ops maps that registered themselves.
    pub fn outlives_process(&self) -> bool {
        self.attachment.as_ref().is_some_and(|attachment| attachment.outlives_process())
    }

    /// Detaches, and says if that failed.
    ///
    /// The program of a link that is pinned goes on, for the pin keeps it: that is [`AttachError::Pinned`], though this holder
    /// lets go of it. [`unpin`](Self::unpin) it before, or use [`force_detach`](Self::force_detach).
    pub fn detach(mut self) -> Result<(), AttachError> {
        let done = self.let_go().map_err(|errno| AttachError::kernel(&self.what, "detach", errno));
        match self.pinned.take() {
            Some(path) => Err(AttachError::Pinned { what: self.what.clone().into(), path }),
            None => done,
        }
    }

    /// Detaches though others hold the link, too, or a pin does, which stays (libbpf: `bpf_link__detach`).
    ///
    /// Kernels from 5.9 can, with links of cgroups, network namespaces and interfaces, of struct_ops, netfilter and sockmaps;
    /// others end with their last descriptor and pin alone. If it fails, this holder lets go of it nevertheless.
    pub fn force_detach(mut self) -> Result<(), AttachError> {
        const CANNOT: Hint = Hint("links of this kind end with their last descriptor and pin alone");
        let Some(link) = self.fd() else { return self.detach() };
        sys::link_detach(link).map_err(|errno| match errno.0 {
            libc::EOPNOTSUPP | libc::EINVAL => {
                AttachError::hinted(&self.what, "detach by force", errno, CANNOT)
            }
            _ => AttachError::kernel(&self.what, "detach by force", errno),
        })?;
        // Nothing uses what it shared with the program any more, whatever its pin is.
        self.pinned = None;
        self.detach()
    }

    /// Gives it a name below bpffs, under which it outlives its holder. The folder is made if it is missing, but not the one
    /// above. Attachments without a link of the kernel's cannot be pinned, and none is twice.
    pub fn pin(&mut self, path: impl AsRef<Path>) -> Result<(), AttachError> {
        let path = path.as_ref();
        let fd = self.to_pin(path)?;
        let made = make_folder_of(path).map_err(|errno| AttachError::pin(path, errno))?;
        if let Err(errno) = sys::obj_pin(fd, path) {
            if let Some(folder) = made
                && let Err(e) = fs::remove_dir(folder)
            {
                log::warn!("{}: not removed: {}", folder.display(), Errno::from_io_error(&e));
            }
            return Err(AttachError::pin(path, errno));
        }
        self.pinned = Some(path.to_path_buf());
        Ok(())
    }

    /// Returns the kernel's link, if it can be pinned at a path.
    pub(crate) fn to_pin(&self, path: &Path) -> Result<BorrowedFd<'_>, AttachError> {
        const TWICE: Hint = Hint("this link is pinned elsewhere already: unpin it before");
        match self.fd() {
            None => Err(AttachError::NotALink { what: self.what.clone().into() }),
            Some(_) if self.pinned.is_some() => {
                Err(AttachError::Pin { path: path.into(), errno: Errno(libc::EBUSY), hint: TWICE })
            }
            Some(fd) => Ok(fd),
        }
    }

    /// Records a pin that was made for this link.
    pub(crate) fn set_pinned(&mut self, path: PathBuf) {
        self.pinned = Some(path);
    }

    /// Removes its pin.
    pub fn unpin(&mut self) -> Result<(), AttachError> {
        let Some(path) = &self.pinned else { return Ok(()) };
        fs::remove_file(path).map_err(|e| AttachError::no_pin(path, Errno::from_io_error(&e)))?;
        self.pinned = None;
        Ok(())
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

    /// Ends this holder's part in it.
    fn let_go(&mut self) -> Result<(), Errno> {
        let Some(mut attachment) = self.attachment.take() else { return Ok(()) };
        if self.pinned.is_some() {
            attachment.keep();
        }
        attachment.detach()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Err(errno) = self.let_go() {
            log::warn!("{}: not detached: {errno}", self.what);
        }
    }
}

/// Makes the folder of a pin, if it is missing; which, if it was (libbpf: `make_parent_dir`).
fn make_folder_of(path: &Path) -> Result<Option<&Path>, Errno> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(None) };
    Ok(sys::make_pin_folder(folder)?.then_some(folder))
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

#[cfg(test)]
mod tests {
    use super::{
        super::{
            testing::{Cgroup, Counting, again_with_a_bpffs},
            *,
        },
        *,
    };
    use crate::object::{AttachType, ProgramType};
    use alloc::sync::Arc;
    use std::{os::unix::fs::PermissionsExt as _, sync::Mutex};

    const AT: AttachType = AttachType::CgroupDevice;

    fn attached(prog: &Counting, group: &Cgroup) -> Option<Link> {
        let link = cgroup(prog.fd(), group.fd(), AT, &CgroupOptions::default()).unwrap();
        if link.fd().is_none() {
            println!("SKIP: no links of cgroups");
            return None;
        }
        Some(link)
    }

    fn is_attached(group: &Cgroup) -> bool {
        !query(Target::Cgroup(group.fd()), AT).unwrap().prog_ids.is_empty()
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

    #[test]
    fn a_pin_is_made_in_a_new_folder_once_and_keeps_the_program() {
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let Some(mut link) = attached(&prog, &group) else { return };
        let test = "attach::link::tests::a_pin_is_made_in_a_new_folder_once_and_keeps_the_program";
        let Some(bpffs) = again_with_a_bpffs(test) else { return };
        let folder = bpffs.join("folder");
        let deep = link.pin(folder.join("deep/er")).unwrap_err().to_string();
        assert!(deep.contains("make that first"), "{deep}");
        let none = Link::open(bpffs.join("nothing")).unwrap_err().to_string();
        assert!(none.ends_with("(nothing is pinned there)"), "{none}");
        assert!(!folder.exists());
        link.pin(folder.join("no.dots")).unwrap_err();
        assert!(!folder.exists(), "made for nothing, it is removed");
        link.pin(folder.join("pin")).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let twice = link.pin(folder.join("other")).unwrap_err();
        assert_eq!(twice.errno(), Some(Errno(libc::EBUSY)), "{twice}");
        assert!(matches!(link.detach(), Err(AttachError::Pinned { .. })));
        assert!(is_attached(&group));

        let mut again = Link::open(folder.join("pin")).unwrap();
        again.pinned = Some(folder.join("nothing"));
        again.unpin().unwrap_err();
        assert_eq!(again.pin_path(), Some(folder.join("nothing").as_path()), "it is not forgotten");
        again.pinned = Some(folder.join("pin"));
        again.force_detach().unwrap();
        assert!(folder.join("pin").exists() && !is_attached(&group));
        fs::remove_file(folder.join("pin")).unwrap();
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn what_a_pinned_link_shares_is_kept() {
        #[derive(Debug)]
        struct Said(Arc<Mutex<Vec<&'static str>>>);

        impl Attachment for Said {
            fn link_fd(&self) -> Option<BorrowedFd<'_>> {
                None
            }

            fn keep(&mut self) {
                self.0.lock().unwrap().push("keep");
            }

            fn detach(&mut self) -> Result<(), Errno> {
                self.0.lock().map_or_else(|_poisoned| {}, |mut said| said.push("detach"));
                Ok(())
            }

            fn leak(self: Box<Self>) {}
        }

        let said = Arc::default();
        let mut link = Link::new(Said(Arc::clone(&said)), "x");
        assert!(matches!(link.pin("/x"), Err(AttachError::NotALink { .. })) && !link.outlives_process());
        link.pinned = Some("/nowhere".into());
        drop(link);
        Link::new(Said(Arc::clone(&said)), "x").detach().unwrap();
        assert_eq!(*said.lock().unwrap(), ["keep", "detach", "detach"]);
    }
}
