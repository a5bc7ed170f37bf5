//! Pins of a loaded object: all or none.

use crate::error::shown;
use core_relo_loader::{
    attach::{AttachError, Link},
    load::Loaded,
    sys,
};
use std::{
    fs, io,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

/// Pins and folders that were made, in order.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    pins: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Pins {
    /// Pins programs in `folder`, maps in `folder/maps`, links in `folder/links`.
    pub(crate) fn all(&mut self, folder: &Path, loaded: &Loaded, links: &mut [Link]) -> Result<(), String> {
        can_be_kept(links).map_err(|e| e.to_string())?;
        self.folder(folder)?;
        for program in loaded.programs() {
            self.pin(program, folder.join(fit(program.name())))?;
        }
        let maps = folder.join("maps");
        let created = || loaded.maps().iter().filter_map(|m| Some((m, m.fd()?)));
        if created().next().is_some() {
            self.folder(&maps)?;
        }
        for (map, fd) in created() {
            self.pin(fd, maps.join(fit(map.name().trim_start_matches('.'))))?;
        }
        let folder = folder.join("links");
        if links.iter().any(|l| l.fd().is_some()) {
            self.folder(&folder)?;
        }
        for (n, link) in links.iter_mut().enumerate().filter(|(_, l)| l.fd().is_some()) {
            let path = folder.join(format!("{n}_{}", fit(link.what())));
            link.pin(&path).map_err(|e| e.to_string())?;
            self.pins.push(path);
        }
        Ok(())
    }

    /// Removes everything that was made.
    pub(crate) fn remove(&self) {
        for path in self.pins.iter().rev() {
            if let Err(e) = fs::remove_file(path) {
                log::warn!("{}: {e}", path.display());
            }
        }
        for path in self.folders.iter().rev() {
            if let Err(e) = fs::remove_dir(path) {
                log::warn!("{}: {e}", path.display());
            }
        }
    }

    fn folder(&mut self, path: &Path) -> Result<(), String> {
        match fs::create_dir(path) {
            Ok(()) => self.folders.push(path.to_path_buf()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(e) => {
                return Err(format!(
                    "{}: {e}; is it below a mounted bpffs? (mount -t bpf bpf /sys/fs/bpf)",
                    shown(path)
                ));
            }
        }
        Ok(())
    }

    fn pin(&mut self, object: impl AsFd, path: PathBuf) -> Result<(), String> {
        sys::obj_pin(object, &path).map_err(|errno| {
            let help = match errno.0 {
                EEXIST => "something is pinned there already",
                _ => "is it below a mounted bpffs?",
            };
            format!("{}: {errno}; {help}", shown(&path))
        })?;
        self.pins.push(path);
        Ok(())
    }
}

/// Whether each outlives the command: by its pin, or (struct_ops tables that registered themselves) without.
fn can_be_kept(links: &[Link]) -> Result<(), AttachError> {
    match links.iter().find(|link| link.fd().is_none() && !link.outlives_process()) {
        Some(link) => Err(AttachError::NotALink { what: link.what().into() }),
        None => Ok(()),
    }
}

/// The errno of a name that is taken.
const EEXIST: i32 = 17;

/// A name that bpffs takes: without dots and slashes.
fn fit(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::{attach::Attachment, sys::Errno};
    use std::os::fd::BorrowedFd;

    /// An attachment without a link of the kernel's.
    #[derive(Debug)]
    struct Plain {
        outlives: bool,
    }

    impl Attachment for Plain {
        fn link_fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn outlives_process(&self) -> bool {
            self.outlives
        }

        fn detach(&mut self) -> Result<(), Errno> {
            Ok(())
        }

        fn leak(self: Box<Self>) {}
    }

    #[test]
    fn what_would_end_with_the_command_is_refused() {
        let link = |what: &str, outlives| Link::new(Plain { outlives }, what);
        let links = [link("struct_ops a", true), link("kprobe/f", false)];
        assert_eq!(can_be_kept(&links), Err(AttachError::NotALink { what: "kprobe/f".into() }));
        assert_eq!(can_be_kept(&links[..1]), Ok(()));
    }
}
