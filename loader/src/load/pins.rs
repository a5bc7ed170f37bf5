//! A loaded object's programs, maps and links given names below bpffs: all or none.

use super::{Kernel, Loaded};
use crate::{
    attach::{AttachError, Link},
    sys::Errno,
};
use std::{
    collections::HashSet,
    fs,
    os::fd::{AsFd as _, BorrowedFd},
    path::{Path, PathBuf},
};

/// Pins and folders that were made, in order. Dropping it removes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pins {
    /// The pins.
    pub pins: Vec<PathBuf>,
    /// The folders that were missing.
    pub folders: Vec<PathBuf>,
}

impl Loaded {
    /// Pins programs in `folder`, maps in `folder/maps`, links in `folder/links` (libbpf: `bpf_object__pin`, which knows no links
    /// and has maps beside the programs).
    ///
    /// The folders are made if they are missing. Names are made ones that bpffs takes: `.bss` is pinned as `maps/_bss`, as libbpf
    /// does. Of several that come to one name, and of a program called `maps` or `links`, the later is pinned with `_2`, `_3` and
    /// so on behind it. A link of an older kind, which cannot be pinned and would end with this process, is an error. If anything cannot be pinned, nothing is.
    ///
    /// The pins that the object asks for itself are made by [`pin_maps`](Self::pin_maps).
    pub fn pin_all(
        &self,
        kernel: &impl Kernel,
        folder: &Path,
        links: &mut [Link],
    ) -> Result<Pins, AttachError> {
        if let Some(link) = links.iter().find(|link| link.fd().is_none() && !link.outlives_process()) {
            return Err(AttachError::NoKernelLink { label: link.label().into() });
        }
        let mut pins = Pins::default();
        match pins.all(kernel, folder, self, links) {
            Ok(()) => Ok(pins),
            Err(error) => {
                pins.remove(links);
                Err(error)
            }
        }
    }
}

impl Pins {
    fn all(
        &mut self,
        kernel: &impl Kernel,
        folder: &Path,
        loaded: &Loaded,
        links: &mut [Link],
    ) -> Result<(), AttachError> {
        self.folder(kernel, folder)?;
        let mut names = Names::of_folders(["maps", "links"]);
        for program in loaded.programs() {
            self.pin(kernel, program.as_fd(), folder.join(names.give(program.name())))?;
        }
        let maps = folder.join("maps");
        let created = || loaded.maps().iter().filter_map(|m| Some((m, m.fd()?)));
        if created().next().is_some() {
            self.folder(kernel, &maps)?;
        }
        let mut names = Names::default();
        for (map, fd) in created() {
            self.pin(kernel, fd, maps.join(names.give(map.name())))?;
        }
        let folder = folder.join("links");
        if links.iter().any(|l| l.fd().is_some()) {
            self.folder(kernel, &folder)?;
        }
        for (n, link) in links.iter_mut().enumerate().filter(|(_, l)| l.fd().is_some()) {
            let path = folder.join(format!("{n}_{}", fit(link.label())));
            self.pin(kernel, link.fd_for_pin(&path)?, path.clone())?;
            link.set_pinned(path);
        }
        Ok(())
    }

    /// Removes the pins and folders again. `links` are the links that were pinned, which end with their holder from then on.
    pub fn remove(mut self, links: &mut [Link]) {
        for link in links {
            let Some(at) = self.pins.iter().position(|pin| link.pin_path() == Some(pin)) else { continue };
            match link.unpin() {
                Ok(()) => drop(self.pins.remove(at)),
                Err(e) => log::warn!("{e}"),
            }
        }
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

    fn folder(&mut self, kernel: &impl Kernel, path: &Path) -> Result<(), AttachError> {
        match kernel.make_folder(path) {
            Ok(true) => self.folders.push(path.to_path_buf()),
            Ok(false) if path.is_dir() => {}
            Ok(false) => return Err(AttachError::pin(path, Errno(libc::ENOTDIR))),
            Err(errno) => return Err(AttachError::pin(path, errno)),
        }
        Ok(())
    }

    fn pin(
        &mut self,
        kernel: &impl Kernel,
        object: BorrowedFd<'_>,
        path: PathBuf,
    ) -> Result<(), AttachError> {
        kernel.pin(object, &path).map_err(|errno| AttachError::pin(&path, errno))?;
        self.pins.push(path);
        Ok(())
    }
}

/// The names in one folder, each given once.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn of_folders<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// A name that bpffs takes, with a number if another has it already.
    fn give(&mut self, name: &str) -> String {
        let plain = fit(name);
        let numbered = (2u32..).map(|n| format!("{plain}_{n}"));
        let free = core::iter::once(plain.clone()).chain(numbered).find(|name| !self.0.contains(name));
        let given = free.unwrap_or(plain);
        self.0.insert(given.clone());
        given
    }
}

/// A name that bpffs takes: without dots and slashes.
fn fit(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            self, Attachment, CgroupOptions,
            test_support::{Cgroup, Counting, rerun_with_bpffs},
        },
        load::Running,
        object::{AttachType, ProgramType},
        sys,
    };

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
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        let given = ["bss", ".bss", ".data.x", "_data_x", "bss"].map(|name| names.give(name));
        assert_eq!(given, ["bss", "_bss", "_data_x", "_data_x_2", "bss_2"]);
        let mut names = Names::of_folders(["maps", "links"]);
        assert_eq!(["main", "maps", "links"].map(|name| names.give(name)), ["main", "maps_2", "links_2"]);
    }

    #[test]
    fn links_that_could_not_all_be_pinned_are_not_pinned() {
        const AT: AttachType = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let attached = || attach::cgroup(prog.fd(), group.fd(), AT, &CgroupOptions::default()).unwrap();
        let mut links = [attached(), attached()];
        if links.iter().any(|link| link.fd().is_none()) {
            return println!("SKIP: no links of cgroups");
        }
        let test = "load::pins::tests::links_that_could_not_all_be_pinned_are_not_pinned";
        let Some(bpffs) = rerun_with_bpffs(test) else { return };
        let in_the_way = bpffs.join(format!("links/1_{}", fit(links[1].label())));
        fs::create_dir(bpffs.join("links")).unwrap();
        sys::obj_pin(prog.fd(), &in_the_way).unwrap();
        let loaded = Loaded::default();
        let refused = loaded.pin_all(&Running, &bpffs, &mut links).unwrap_err();
        assert_eq!(refused.errno(), Some(Errno(libc::EEXIST)), "{refused}");
        assert!(links.iter().all(|link| link.pin_path().is_none()));
        assert_eq!(fs::read_dir(bpffs.join("links")).unwrap().count(), 1);
        fs::remove_file(&in_the_way).unwrap();
        let pins = loaded.pin_all(&Running, &bpffs, &mut links).unwrap();
        assert_eq!(pins.pins.len(), 2);
        for mut link in links {
            link.unpin().unwrap();
            link.detach().unwrap();
        }
        fs::remove_dir(bpffs.join("links")).unwrap();
    }

    #[test]
    fn what_would_end_with_the_process_is_refused() {
        let link = |what: &str, outlives| Link::new(Plain { outlives }, what);
        let mut links = [link("struct_ops a", true), link("kprobe/f", false)];
        let pinned = Loaded::default().pin_all(&Running, Path::new("/nowhere/at/all"), &mut links);
        assert_eq!(pinned, Err(AttachError::NoKernelLink { label: "kprobe/f".into() }));
        let pinned = Loaded::default().pin_all(&Running, Path::new("/nowhere/at/all"), &mut links[..1]);
        assert!(matches!(pinned, Err(AttachError::Pin { .. })), "{pinned:?}");
    }
}
