//! Pinning all programs, maps and links of a loaded object in a directory.

use super::{
    kernel::Kernel,
    loaded::{Loaded, LoadedMap},
};
use crate::{
    attach::{AttachError, Link},
    sys::Errno,
};
use std::{
    collections::HashSet,
    fs,
    io::ErrorKind,
    os::fd::{AsFd as _, BorrowedFd},
    path::{Path, PathBuf},
};

/// The directory of the maps.
const MAPS: &str = "maps";
/// The directory of the links.
const LINKS: &str = "links";
/// The limit on the bytes of a file name (`NAME_MAX`).
const NAME_BYTES: usize = 255;

/// The pins and directories that [`Loaded::pin_all`] created, in order. Dropping it removes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pins {
    /// The pins.
    pub pins: Vec<PathBuf>,
    /// The directories that were created.
    pub dirs: Vec<PathBuf>,
}

impl Loaded {
    /// Pins programs in `dir`, maps in `directory/maps`, links in `directory/links` (libbpf:
    /// `bpf_object__pin`, which pins maps beside the programs, and no links).
    ///
    /// Creates missing directories. Characters that bpffs refuses become `_`, so `.bss` is pinned as
    /// `maps/_bss`, as in libbpf. If a name is taken, or a program is called `maps` or `links`, the pin's
    /// name ends in `_2`, `_3` and so on. An attachment without a kernel link would end with this process, so
    /// it is an error. If one pin fails, all pins are removed again.
    ///
    /// [`pin_maps`](Self::pin_maps) makes the pins that the object itself defines.
    pub fn pin_all(&self, kernel: &impl Kernel, dir: &Path, links: &mut [Link]) -> Result<Pins, AttachError> {
        if let Some(link) = links.iter().find(|link| link.fd().is_none() && !link.outlives_process()) {
            return Err(AttachError::NoKernelLink { label: link.label().into() });
        }
        let mut pins = Pins::default();
        match pins.pin_object(kernel, dir, self, links) {
            Ok(()) => Ok(pins),
            Err(error) => {
                pins.remove(links);
                Err(error)
            }
        }
    }
}

impl Loaded {
    /// Returns [`AttachError::PinsExist`] if pins of these programs and maps exist in `dir`.
    /// [`pin_all`](Self::pin_all) would fail.
    ///
    /// Links are not counted. An attach point that is taken, perhaps by an earlier load of the same object,
    /// is a reason to ask.
    pub fn check_pins(&self, dir: &Path) -> Result<(), AttachError> {
        let planned = PlannedPins::new(dir, self, &[]);
        let taken = planned.programs.iter().chain(&planned.maps).find(|pin| pin.symlink_metadata().is_ok());
        taken.map_or(Ok(()), |path| Err(planned.taken(path, &[])))
    }
}

impl Pins {
    fn pin_object(
        &mut self,
        kernel: &impl Kernel,
        dir: &Path,
        loaded: &Loaded,
        links: &mut [Link],
    ) -> Result<(), AttachError> {
        let planned = PlannedPins::new(dir, loaded, links);
        self.create_dir(kernel, dir)?;
        for (path, program) in planned.programs.iter().zip(loaded.programs()) {
            self.pin(kernel, program.as_fd(), path, &planned)?;
        }
        if !planned.maps.is_empty() {
            self.create_dir(kernel, &dir.join(MAPS))?;
        }
        for (path, fd) in planned.maps.iter().zip(loaded.maps().iter().filter_map(LoadedMap::fd)) {
            self.pin(kernel, fd, path, &planned)?;
        }
        if !planned.links.is_empty() {
            self.create_dir(kernel, &dir.join(LINKS))?;
        }
        for (path, link) in planned.links.iter().zip(links.iter_mut().filter(|link| link.fd().is_some())) {
            self.pin(kernel, link.fd_for_pin(path)?, path, &planned)?;
            link.set_pinned(path.clone());
        }
        Ok(())
    }

    /// Removes the pins and directories. `links` are the links that were pinned. Without its pin, a link ends
    /// when it is dropped.
    pub fn remove(mut self, links: &mut [Link]) {
        for link in links {
            let position = self.pins.iter().position(|pin| link.pin_path() == Some(pin));
            let Some(position) = position else { continue };
            match link.unpin() {
                Ok(()) => drop(self.pins.remove(position)),
                Err(e) => log::warn!("{e}"),
            }
        }
        for path in self.pins.iter().rev() {
            if let Err(e) = fs::remove_file(path) {
                log::warn!("{}: {e}", path.display());
            }
        }
        for path in self.dirs.iter().rev() {
            match fs::remove_dir(path) {
                // Another load pinned in the directory.
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                Err(e) => log::warn!("{}: {e}", path.display()),
                Ok(()) => {}
            }
        }
    }

    /// Creates a directory, and the missing directories above.
    fn create_dir(&mut self, kernel: &impl Kernel, path: &Path) -> Result<(), AttachError> {
        let above = path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
        let missing: Vec<_> = above.collect();
        missing.into_iter().rev().chain([path]).try_for_each(|dir| self.create_last_dir(kernel, dir))
    }

    fn create_last_dir(&mut self, kernel: &impl Kernel, path: &Path) -> Result<(), AttachError> {
        match kernel.make_dir(path) {
            Ok(true) => self.dirs.push(path.to_path_buf()),
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
        path: &Path,
        planned: &PlannedPins<'_>,
    ) -> Result<(), AttachError> {
        kernel.pin(object, path).map_err(|errno| match errno {
            Errno(libc::EEXIST) => planned.taken(path, &self.pins),
            errno => AttachError::pin(path, errno),
        })?;
        self.pins.push(path.to_path_buf());
        Ok(())
    }
}

/// The paths at which [`Loaded::pin_all`] pins an object, in the order in which they are created.
struct PlannedPins<'d> {
    dir: &'d Path,
    programs: Vec<PathBuf>,
    maps: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

impl<'d> PlannedPins<'d> {
    fn new(dir: &'d Path, loaded: &Loaded, links: &[Link]) -> Self {
        let mut names = UniqueNames::with_reserved([MAPS, LINKS]);
        let programs = loaded.programs().iter().map(|program| dir.join(names.add(program.name()))).collect();
        let (maps_dir, links_dir) = (dir.join(MAPS), dir.join(LINKS));
        let mut names = UniqueNames::default();
        let created = loaded.maps().iter().filter(|map| map.fd().is_some());
        let maps = created.map(|map| maps_dir.join(names.add(map.name()))).collect();
        let kernel_links = links.iter().enumerate().filter(|(_, link)| link.fd().is_some());
        let link_path = |(index, link): (usize, &Link)| {
            // The label may contain a path. The index keeps shortened names apart.
            let mut name = format!("{index}_{}", sanitize(link.label()));
            name.truncate(NAME_BYTES);
            links_dir.join(name)
        };
        Self { dir, programs, maps, links: kernel_links.map(link_path).collect() }
    }

    /// Creates the error of a path that is taken. `own` are the pins that this load created.
    ///
    /// A load that was killed leaves some of the pins, in order. A complete load, or another object with the
    /// same names, leaves all.
    #[cold]
    fn taken(&self, path: &Path, own: &[PathBuf]) -> AttachError {
        let all = || [&self.programs, &self.maps, &self.links].into_iter().flatten();
        let existing = all().filter(|pin| !own.contains(pin) && pin.symlink_metadata().is_ok()).count();
        AttachError::PinsExist {
            path: path.to_path_buf(),
            dir: self.dir.to_path_buf(),
            existing,
            planned: all().count(),
        }
    }
}

/// The names that are taken in a directory.
#[derive(Default)]
struct UniqueNames(HashSet<String>);

impl UniqueNames {
    fn with_reserved<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// Returns a free name that bpffs accepts, with a number at the end if the plain name is taken.
    fn add(&mut self, name: &str) -> String {
        let plain = sanitize(name);
        let mut unique = plain.clone();
        let mut numbers = 2u64..;
        while !self.0.insert(unique.clone())
            && let Some(number) = numbers.next()
        {
            unique = format!("{plain}_{number}");
        }
        unique
    }
}

/// Replaces characters that bpffs refuses in names, such as dots and slashes.
fn sanitize(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Attachment, CgroupOptions, ProgramRef,
            test_support::{Cgroup, Counting, rerun_with_bpffs},
        },
        load::RunningKernel,
        sys,
    };
    use core_relo_object::object::{AttachType, ProgramType};
    use core_relo_test_support::skip;

    /// An attachment without a kernel link.
    #[derive(Debug)]
    struct FakeAttachment {
        outlives_process: bool,
    }

    impl Attachment for FakeAttachment {
        fn link_fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn outlives_process(&self) -> bool {
            self.outlives_process
        }

        fn detach(&mut self) -> Result<(), Errno> {
            Ok(())
        }

        fn leak(self: Box<Self>) {}

        fn abandon(self: Box<Self>) {}
    }

    #[test]
    fn names_in_a_directory_are_unique() {
        let mut names = UniqueNames::default();
        let unique = ["bss", ".bss", ".data.x", "_data_x", "bss"].map(|name| names.add(name));
        assert_eq!(unique, ["bss", "_bss", "_data_x", "_data_x_2", "bss_2"]);
        let mut names = UniqueNames::with_reserved(["maps", "links"]);
        assert_eq!(["main", "maps", "links"].map(|name| names.add(name)), ["main", "maps_2", "links_2"]);
    }

    #[test]
    fn if_one_link_cannot_be_pinned_none_is() {
        const AT: AttachType = AttachType::CgroupDevice;
        let Some(group) = Cgroup::new() else { return };
        let Some(prog) = Counting::load(ProgramType::CgroupDevice, Some(AT), 1) else { return };
        let program = ProgramRef::from_fd(prog.fd()).with_attach_type(AT);
        let attached = || program.attach_cgroup(group.fd(), &CgroupOptions::default()).unwrap();
        // The longer name does not fit into a file name.
        let mut links = [attached().with_label(format!("cgroup:/{}", "a/".repeat(200))), attached()];
        if links.iter().any(|link| link.fd().is_none()) {
            return skip!("no links of cgroups");
        }
        let test = "load::pins::tests::if_one_link_cannot_be_pinned_none_is";
        let Some(bpffs) = rerun_with_bpffs(test) else { return };
        let taken_path = bpffs.join(format!("links/1_{}", sanitize(links[1].label())));
        fs::create_dir(bpffs.join("links")).unwrap();
        sys::obj_pin(prog.fd(), &taken_path).unwrap();
        let loaded = Loaded::default();
        let refused = loaded.pin_all(&RunningKernel, &bpffs, &mut links).unwrap_err();
        assert_eq!(refused.errno(), Some(Errno(libc::EEXIST)), "{refused}");
        assert!(matches!(refused, AttachError::PinsExist { existing: 1, planned: 2, .. }), "{refused}");
        assert!(links.iter().all(|link| link.pin_path().is_none()));
        assert_eq!(fs::read_dir(bpffs.join("links")).unwrap().count(), 1);
        fs::remove_file(&taken_path).unwrap();
        let pins = loaded.pin_all(&RunningKernel, &bpffs, &mut links).unwrap();
        assert_eq!(pins.pins.len(), 2);
        assert!(pins.pins[0].starts_with(bpffs.join("links")), "{pins:?}");
        assert!(
            pins.pins[0].file_name().unwrap().to_str().unwrap().starts_with("0_cgroup__a_a_a_"),
            "{pins:?}"
        );
        for mut link in links {
            link.unpin().unwrap();
            link.detach().unwrap();
        }
        fs::remove_dir(bpffs.join("links")).unwrap();
    }

    #[test]
    fn an_attachment_that_ends_with_the_process_cannot_be_pinned() {
        let link = |label: &str, outlives_process| Link::new(FakeAttachment { outlives_process }, label);
        let mut links = [link("struct_ops a", true), link("kprobe/f", false)];
        // No directory can be created below a device.
        let dir = Path::new("/dev/null/pins");
        let pinned = Loaded::default().pin_all(&RunningKernel, dir, &mut links);
        assert_eq!(pinned, Err(AttachError::NoKernelLink { label: "kprobe/f".into() }));
        let pinned = Loaded::default().pin_all(&RunningKernel, dir, &mut links[..1]);
        assert!(matches!(pinned, Err(AttachError::Pin { .. })), "{pinned:?}");
    }
}
