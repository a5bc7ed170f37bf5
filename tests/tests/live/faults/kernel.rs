//! Implementations of `Kernel` for tests: a fault injector around a kernel, and a fake kernel.

use core_relo_loader::{
    Errno,
    inventory::{BtfInfo, MapInfo, ObjectKind, ProgramInfo},
    load::{BtfLoad, Kernel, MapCreate, ProgLoad},
    maps::Arena,
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

/// Converts an errno of rustix.
pub fn errno(errno: rustix::io::Errno) -> Errno {
    Errno(errno.raw_os_error())
}

/// A method of `Kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
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
    OpenPin,
    RenamePin,
    Unpin,
}

/// A kernel object with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Program(u32),
    Map(u32),
    Btf(u32),
}

impl Id {
    /// Returns whether the kernel has freed the object.
    pub fn is_freed(self) -> bool {
        let opened = match self {
            Self::Program(id) => ObjectKind::Program.open(id),
            Self::Map(id) => ObjectKind::Map.open(id),
            Self::Btf(id) => ObjectKind::Btf.open(id),
        };
        opened.is_err()
    }
}

/// A kernel that forwards requests, fails those that `fault` selects, and records requests and created
/// objects.
///
/// `fault` gets the request and its index among the requests of its kind, from 0.
pub struct FaultInjector<'r, K> {
    pub inner: K,
    fault: Box<dyn Fn(Request, usize) -> Option<Errno> + 'r>,
    requests: RefCell<Vec<(Request, String)>>,
    created: RefCell<Vec<Id>>,
    /// The final names of pins.
    renamed: RefCell<Vec<PathBuf>>,
}

impl<'r, K: Kernel> FaultInjector<'r, K> {
    pub fn new(inner: K, fault: impl Fn(Request, usize) -> Option<Errno> + 'r) -> Self {
        let (requests, created, renamed) = Default::default();
        Self { inner, fault: Box::new(fault), requests, created, renamed }
    }

    /// Returns all requests with their details.
    pub fn requests(&self) -> Vec<(Request, String)> {
        self.requests.borrow().clone()
    }

    /// Returns the details of the requests of one kind.
    pub fn details(&self, kind: Request) -> Vec<String> {
        self.requests()
            .into_iter()
            .filter(|(request, _)| *request == kind)
            .map(|(_, detail)| detail)
            .collect()
    }

    /// Returns the objects that the running kernel created.
    pub fn created(&self) -> Vec<Id> {
        self.created.borrow().clone()
    }

    /// Returns the pins that got their final names, sorted.
    pub fn visible_pins(&self) -> Vec<PathBuf> {
        let mut pins = self.renamed.borrow().clone();
        pins.sort();
        pins
    }

    /// Records a request and fails or forwards it.
    fn request<T>(
        &self,
        kind: Request,
        detail: impl Into<String>,
        forward: impl FnOnce(&K) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let nth = self.requests.borrow().iter().filter(|(other, _)| *other == kind).count();
        self.requests.borrow_mut().push((kind, detail.into()));
        match (self.fault)(kind, nth) {
            Some(errno) => Err(errno),
            None => forward(&self.inner),
        }
    }

    fn record_created(&self, id: Option<Id>) {
        self.created.borrow_mut().extend(id);
    }
}

impl<K: Kernel> Kernel for FaultInjector<'_, K> {
    fn create_token(&self, bpffs: &Path) -> Result<OwnedFd, Errno> {
        self.request(Request::Token, "", |k| k.create_token(bpffs))
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        self.request(Request::Memlock, "", K::raise_memlock_limit)
    }

    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let fd = self.request(Request::BtfLoad, format!("log {}", log.len()), |k| k.btf_load(btf, log))?;
        self.record_created(BtfInfo::query(&fd).ok().map(|info| Id::Btf(info.id)));
        Ok(fd)
    }

    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno> {
        self.request(Request::BtfById, "", |k| k.btf_by_id(id))
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        let has_types = map.btf.is_some() && (map.key_type, map.value_type) != (0, 0);
        let types = if has_types { " with types" } else { "" };
        let detail = format!("{}{types}", String::from_utf8_lossy(map.name));
        let fd = self.request(Request::MapCreate, detail, |k| k.map_create(map))?;
        self.record_created(MapInfo::query(&fd).ok().map(|info| Id::Map(info.id)));
        Ok(fd)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        self.request(Request::MapInfo, "", |k| k.map_info(map))
    }

    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.request(Request::MapUpdate, "", |k| k.map_update(map, key, value))
    }

    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.request(Request::MapFreeze, "", |k| k.map_freeze(map))
    }

    fn map_arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno> {
        self.request(Request::Arena, "", |k| k.map_arena(map, offset, data))
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        self.request(Request::Duplicate, "", |k| k.duplicate(fd))
    }

    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        let fd = self.request(Request::ProgLoad, format!("log {}", log.len()), |k| k.prog_load(prog, log))?;
        self.record_created(ProgramInfo::query(&fd).ok().map(|info| Id::Program(info.id)));
        Ok(fd)
    }

    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.request(Request::ProgBindMap, "", |k| k.prog_bind_map(prog, map))
    }

    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        self.request(Request::Pin, path.display().to_string(), |k| k.pin(object, path))
    }

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.request(Request::OpenPin, path.display().to_string(), |k| k.open_pin(path))
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        self.request(Request::RenamePin, to.display().to_string(), |k| k.rename_pin(from, to))?;
        self.renamed.borrow_mut().push(to.to_path_buf());
        Ok(())
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        self.request(Request::Unpin, path.display().to_string(), |k| k.unpin(path))
    }

    fn make_dir(&self, path: &Path) -> Result<bool, Errno> {
        self.inner.make_dir(path)
    }

    fn remove_dir(&self, path: &Path) {
        self.inner.remove_dir(path);
    }
}

/// A kernel that accepts every request. All its descriptors refer to one temporary file, so that they can be
/// counted.
pub struct FakeKernel {
    file: PathBuf,
    /// The maps, by descriptor.
    map_infos: RefCell<HashMap<RawFd, MapInfo>>,
    /// The pinned maps, by path.
    pub pins: RefCell<BTreeMap<PathBuf, MapInfo>>,
    last_id: Cell<u32>,
}

impl FakeKernel {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("core-relo-fake-{}-{number}", process::id()));
        fs::write(&file, "").unwrap();
        Self { file, map_infos: RefCell::default(), pins: RefCell::default(), last_id: Cell::new(0) }
    }

    /// Returns the number of open descriptors.
    pub fn open_count(&self) -> usize {
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
        links.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == self.file)).count()
    }

    fn descriptor(&self) -> Result<OwnedFd, Errno> {
        File::open(&self.file).map(OwnedFd::from).map_err(|e| Errno::from_io_error(&e))
    }
}

impl Drop for FakeKernel {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

impl Kernel for &FakeKernel {
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
        self.map_infos.borrow_mut().insert(fd.as_raw_fd(), info);
        Ok(fd)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        self.map_infos.borrow().get(&map.as_raw_fd()).copied().ok_or(errno(rustix::io::Errno::BADF))
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
        let info = self.map_info(object)?;
        match self.pins.borrow_mut().entry(path.to_path_buf()) {
            Entry::Vacant(entry) => entry.insert(info),
            Entry::Occupied(_) => return Err(errno(rustix::io::Errno::EXIST)),
        };
        Ok(())
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        let mut pins = self.pins.borrow_mut();
        if pins.contains_key(to) {
            return Err(errno(rustix::io::Errno::EXIST));
        }
        let info = pins.remove(from).ok_or(errno(rustix::io::Errno::NOENT))?;
        pins.insert(to.to_path_buf(), info);
        Ok(())
    }

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let info = self.pins.borrow().get(path).copied().ok_or(errno(rustix::io::Errno::NOENT))?;
        let fd = self.descriptor()?;
        self.map_infos.borrow_mut().insert(fd.as_raw_fd(), info);
        Ok(fd)
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        let removed = self.pins.borrow_mut().remove(path);
        removed.map(drop).ok_or(errno(rustix::io::Errno::NOENT))
    }
}
