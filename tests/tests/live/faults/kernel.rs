//! Kernels that refuse what they are told to refuse: around the running one, or around none at all.

use core_relo_loader::{
    load::Kernel,
    maps::Arena,
    sys::{self, BtfLoad, Errno, MapCreate, MapInfo, ProgLoad},
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap, btree_map::Entry},
    env,
    fs::{self, File},
    os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    Token,
    Memlock,
    BtfLoad,
    BtfById,
    MapCreate,
    MapInfo,
    MapUpdate,
    MapFreeze,
    Arena,
    Duplicate,
    ProgLoad,
    ProgBindMap,
    Pin,
    Pinned,
    RenamePin,
    Unpin,
}

/// Something the kernel numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Program(u32),
    Map(u32),
    Btf(u32),
}

impl Id {
    pub fn is_gone(self) -> bool {
        let opened = match self {
            Self::Program(id) => sys::prog_fd_by_id(id),
            Self::Map(id) => sys::map_fd_by_id(id),
            Self::Btf(id) => sys::btf_fd_by_id(id),
        };
        opened.is_err()
    }
}

/// Passes requests on, unless `answer` refuses the n-th of its kind (from 0), and remembers what was asked and made.
pub struct Refusing<'r, K> {
    pub within: K,
    answer: Box<dyn Fn(Ask, usize) -> Option<Errno> + 'r>,
    asked: RefCell<Vec<(Ask, String)>>,
    made: RefCell<Vec<Id>>,
    renamed: RefCell<Vec<PathBuf>>,
}

impl<'r, K: Kernel> Refusing<'r, K> {
    pub fn new(within: K, answer: impl Fn(Ask, usize) -> Option<Errno> + 'r) -> Self {
        let (asked, made, renamed) = Default::default();
        Self { within, answer: Box::new(answer), asked, made, renamed }
    }

    /// Everything that was asked.
    pub fn asked(&self) -> Vec<(Ask, String)> {
        self.asked.borrow().clone()
    }

    /// The requests of one kind, each with what is to be known of it.
    pub fn details(&self, of: Ask) -> Vec<String> {
        self.asked().into_iter().filter(|(what, _)| *what == of).map(|(_, detail)| detail).collect()
    }

    /// What the running kernel made.
    pub fn made(&self) -> Vec<Id> {
        self.made.borrow().clone()
    }

    /// The pins that got their final names, in order.
    pub fn visible_pins(&self) -> Vec<PathBuf> {
        let mut pins = self.renamed.borrow().clone();
        pins.sort();
        pins
    }

    fn ask<T>(
        &self,
        what: Ask,
        detail: impl Into<String>,
        go: impl FnOnce(&K) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let nth = self.asked.borrow().iter().filter(|(other, _)| *other == what).count();
        self.asked.borrow_mut().push((what, detail.into()));
        match (self.answer)(what, nth) {
            Some(errno) => Err(errno),
            None => go(&self.within),
        }
    }

    fn note(&self, id: Option<Id>) {
        self.made.borrow_mut().extend(id);
    }
}

impl<K: Kernel> Kernel for Refusing<'_, K> {
    fn create_token(&self, bpffs: &Path) -> Result<OwnedFd, Errno> {
        self.ask(Ask::Token, "", |k| k.create_token(bpffs))
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        self.ask(Ask::Memlock, "", K::raise_memlock_limit)
    }

    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let fd = self.ask(Ask::BtfLoad, format!("log {}", log.len()), |k| k.btf_load(btf, log))?;
        self.note(sys::btf_info(&fd).ok().map(|info| Id::Btf(info.id)));
        Ok(fd)
    }

    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno> {
        self.ask(Ask::BtfById, "", |k| k.btf_by_id(id))
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        let has_types = map.btf.is_some() && (map.key_type, map.value_type) != (0, 0);
        let types = if has_types { " with types" } else { "" };
        let detail = format!("{}{types}", String::from_utf8_lossy(map.name));
        let fd = self.ask(Ask::MapCreate, detail, |k| k.map_create(map))?;
        self.note(sys::map_info(&fd).ok().map(|info| Id::Map(info.id)));
        Ok(fd)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        self.ask(Ask::MapInfo, "", |k| k.map_info(map))
    }

    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.ask(Ask::MapUpdate, "", |k| k.map_update(map, key, value))
    }

    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.ask(Ask::MapFreeze, "", |k| k.map_freeze(map))
    }

    fn map_arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno> {
        self.ask(Ask::Arena, "", |k| k.map_arena(map, offset, data))
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        self.ask(Ask::Duplicate, "", |k| k.duplicate(fd))
    }

    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let fd = self.ask(Ask::ProgLoad, format!("log {}", log.len()), |k| k.prog_load(prog, log))?;
        self.note(sys::prog_info(&fd).ok().map(|info| Id::Program(info.id)));
        Ok(fd)
    }

    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.ask(Ask::ProgBindMap, "", |k| k.prog_bind_map(prog, map))
    }

    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        self.ask(Ask::Pin, path.display().to_string(), |k| k.pin(object, path))
    }

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.ask(Ask::Pinned, path.display().to_string(), |k| k.open_pin(path))
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        self.ask(Ask::RenamePin, to.display().to_string(), |k| k.rename_pin(from, to))?;
        self.renamed.borrow_mut().push(to.to_path_buf());
        Ok(())
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        self.ask(Ask::Unpin, path.display().to_string(), |k| k.unpin(path))
    }

    fn make_folder(&self, path: &Path) -> Result<bool, Errno> {
        self.within.make_folder(path)
    }

    fn remove_folder(&self, path: &Path) {
        self.within.remove_folder(path);
    }
}

/// A kernel that says yes to everything: its descriptors are those of a file of its own, so that they can be counted whatever
/// else this process has open.
pub struct Fake {
    file: PathBuf,
    shapes: RefCell<HashMap<RawFd, MapInfo>>,
    pub pins: RefCell<BTreeMap<PathBuf, MapInfo>>,
    last_id: Cell<u32>,
}

impl Fake {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("core-relo-fake-{}-{number}", process::id()));
        fs::write(&file, "").unwrap();
        Self { file, shapes: RefCell::default(), pins: RefCell::default(), last_id: Cell::new(0) }
    }

    /// How many of its descriptors are open.
    pub fn open(&self) -> usize {
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
        links.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == self.file)).count()
    }

    fn descriptor(&self) -> Result<OwnedFd, Errno> {
        File::open(&self.file).map(OwnedFd::from).map_err(|e| Errno::of(&e))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

impl Kernel for &Fake {
    fn create_token(&self, _bpffs: &Path) -> Result<OwnedFd, Errno> {
        self.descriptor()
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        Ok(())
    }

    fn btf_load(&self, _btf: &BtfLoad<'_>, _log: &mut [u8]) -> Result<OwnedFd, Errno> {
        self.descriptor()
    }

    fn btf_by_id(&self, _id: u32) -> Result<OwnedFd, Errno> {
        self.descriptor()
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        let fd = self.descriptor()?;
        let mut info = MapInfo::default();
        (info.map_type, info.key_size, info.value_size) = (map.map_type, map.key_size, map.value_size);
        (info.max_entries, info.map_flags, info.map_extra) = (map.max_entries, map.map_flags, map.map_extra);
        self.last_id.set(self.last_id.get() + 1);
        info.id = self.last_id.get();
        self.shapes.borrow_mut().insert(fd.as_raw_fd(), info);
        Ok(fd)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        self.shapes.borrow().get(&map.as_raw_fd()).copied().ok_or(super::errno(rustix::io::Errno::BADF))
    }

    fn map_update(&self, _map: BorrowedFd<'_>, _key: &[u8], _value: &[u8]) -> Result<(), Errno> {
        Ok(())
    }

    fn map_freeze(&self, _map: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    fn map_arena(&self, _map: BorrowedFd<'_>, _offset: usize, _data: &[u8]) -> Result<Option<Arena>, Errno> {
        Ok(None)
    }

    fn duplicate(&self, _fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        self.descriptor()
    }

    fn prog_load(&self, _prog: &ProgLoad<'_>, _log: &mut [u8]) -> Result<OwnedFd, Errno> {
        self.descriptor()
    }

    fn prog_bind_map(&self, _prog: BorrowedFd<'_>, _map: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        let shape = self.map_info(object)?;
        match self.pins.borrow_mut().entry(path.to_path_buf()) {
            Entry::Vacant(free) => free.insert(shape),
            Entry::Occupied(_) => return Err(super::errno(rustix::io::Errno::EXIST)),
        };
        Ok(())
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        let mut pins = self.pins.borrow_mut();
        if pins.contains_key(to) {
            return Err(super::errno(rustix::io::Errno::EXIST));
        }
        let shape = pins.remove(from).ok_or(super::errno(rustix::io::Errno::NOENT))?;
        pins.insert(to.to_path_buf(), shape);
        Ok(())
    }

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let shape = self.pins.borrow().get(path).copied().ok_or(super::errno(rustix::io::Errno::NOENT))?;
        let fd = self.descriptor()?;
        self.shapes.borrow_mut().insert(fd.as_raw_fd(), shape);
        Ok(fd)
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        let gone = self.pins.borrow_mut().remove(path);
        gone.map(drop).ok_or(super::errno(rustix::io::Errno::NOENT))
    }
}
