//! Maps that hold kernel objects, given by their descriptors.

use super::{
    Flags,
    error::{MapError, READ},
    iter::Keys,
    raw::Raw,
};
use crate::{
    object::MapType,
    sys::{self, Errno, MapFd, Pod},
};
use core::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

/// What the slots hold.
macro_rules! holds {
    ($($name:ident $types:expr;)*) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Holds for $name {
            const TYPES: &'static [MapType] = &$types;
        }
    )*};
}

#[doc(hidden)]
pub trait Holds {
    const TYPES: &'static [MapType];
}

holds! {
    MapsByIndex [MapType::ArrayOfMaps];
    MapsByKey [MapType::HashOfMaps];
    Progs [MapType::ProgArray];
    PerfEvents [MapType::PerfEventArray];
    Cgroups [MapType::CgroupArray];
    SocketsByIndex [MapType::Sockmap];
    SocketsByKey [MapType::Sockhash];
    XdpSockets [MapType::Xskmap];
    ReuseportSockets [MapType::ReuseportSockarray];
}

/// An array of maps: `ARRAY_OF_MAPS`. Maps put in must be like the one it was made with.
pub type ArrayOfMaps = Slots<u32, MapsByIndex>;
/// A hash of maps: `HASH_OF_MAPS`.
pub type HashOfMaps<K> = Slots<K, MapsByKey>;
/// Programs to tail-call: `PROG_ARRAY`. When its last descriptor and pin go, the kernel empties it.
pub type ProgArray = Slots<u32, Progs>;
/// Perf events to read or write: `PERF_EVENT_ARRAY`. The kernel takes those out that were put in through a descriptor that closes.
pub type PerfEventArray = Slots<u32, PerfEvents>;
/// Cgroups to compare with: `CGROUP_ARRAY`.
pub type CgroupArray = Slots<u32, Cgroups>;
/// Sockets by number: `SOCKMAP`.
pub type SockMap = Slots<u32, SocketsByIndex>;
/// Sockets by key: `SOCKHASH`.
pub type SockHash<K> = Slots<K, SocketsByKey>;
/// AF_XDP sockets by queue: `XSKMAP`.
pub type XskMap = Slots<u32, XdpSockets>;
/// Sockets of a reuseport group: `REUSEPORT_SOCKARRAY`.
pub type ReuseportArray = Slots<u32, ReuseportSockets>;

/// A map that holds kernel objects: maps, programs, perf events, cgroups, sockets.
#[derive(Debug)]
pub struct Slots<K, T> {
    raw: Raw,
    of: PhantomData<fn() -> (K, T)>,
}

impl<K: Pod, T: Holds> Slots<K, T> {
    /// Takes a map. Its type and the size of keys must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, T::TYPES)?;
        let value = match raw.info().value_size {
            // Sockets' cookies have eight bytes.
            8 if matches!(
                raw.map_type(),
                Some(MapType::Sockmap | MapType::Sockhash | MapType::ReuseportSockarray)
            ) =>
            {
                8
            }
            _ => 4,
        };
        let raw = raw.sized(size_of::<K>(), value)?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// Puts an object in.
    pub fn set(&self, key: &K, object: impl AsFd) -> Result<(), MapError> {
        self.set_with(key, object, Flags::ANY)
    }

    /// Puts an object in; not all types of maps know flags.
    pub fn set_with(&self, key: &K, object: impl AsFd, flags: Flags) -> Result<(), MapError> {
        let fd = object.as_fd().as_raw_fd().cast_unsigned();
        if self.raw.shape().value_size() == 8 {
            self.raw.insert(key.as_bytes(), u64::from(fd).as_bytes(), flags.0)
        } else {
            self.raw.insert(key.as_bytes(), fd.as_bytes(), flags.0)
        }
    }

    /// Takes an object out; whether there was one.
    pub fn remove(&self, key: &K) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// The keys as the kernel lists them: of arrays all, whether there is an object or not. Not all types of maps can.
    pub fn keys(&self) -> impl Iterator<Item = Result<K, MapError>> {
        Keys::new(&self.raw).filter_map(|key| key.map(|key| K::from_bytes(&key)).transpose())
    }

    /// How many it may hold.
    pub fn max_entries(&self) -> u32 {
        self.raw.info().max_entries
    }

    fn number<N: Pod>(&self, key: &K) -> Result<Option<N>, MapError> {
        let mut id = N::zeroed();
        Ok(self.raw.get(key.as_bytes(), id.as_bytes_mut(), 0)?.then_some(id))
    }

    fn map(&self, key: &K) -> Result<Option<MapFd>, MapError> {
        let Some(id) = self.number(key)? else { return Ok(None) };
        match sys::map_fd_by_id(id).and_then(MapFd::new) {
            Ok(map) => Ok(Some(map)),
            // It went between the two calls.
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(self.raw.failed(READ, e)),
        }
    }

    fn socket_cookie(&self, key: &K) -> Result<Option<u64>, MapError> {
        if self.raw.info().value_size != 8 {
            return Err(self.raw.unfit("cookies can be read if its value has 8 bytes, not 4"));
        }
        self.number(key)
    }
}

impl ArrayOfMaps {
    /// The map at an index. Needs CAP_SYS_ADMIN.
    pub fn get(&self, index: u32) -> Result<Option<MapFd>, MapError> {
        self.map(&index)
    }

    /// The id of the map at an index.
    pub fn id(&self, index: u32) -> Result<Option<u32>, MapError> {
        self.number(&index)
    }
}

impl<K: Pod> HashOfMaps<K> {
    /// The map of a key. Needs CAP_SYS_ADMIN.
    pub fn get(&self, key: &K) -> Result<Option<MapFd>, MapError> {
        self.map(key)
    }

    /// The id of the map of a key.
    pub fn id(&self, key: &K) -> Result<Option<u32>, MapError> {
        self.number(key)
    }
}

impl ProgArray {
    /// The id of the program at an index.
    pub fn id(&self, index: u32) -> Result<Option<u32>, MapError> {
        self.number(&index)
    }
}

impl SockMap {
    /// The cookie of the socket at an index; the map's values must have 8 bytes.
    pub fn cookie(&self, index: u32) -> Result<Option<u64>, MapError> {
        self.socket_cookie(&index)
    }
}

impl<K: Pod> SockHash<K> {
    /// The cookie of the socket of a key; the map's values must have 8 bytes.
    pub fn cookie(&self, key: &K) -> Result<Option<u64>, MapError> {
        self.socket_cookie(key)
    }
}

impl<K, T> AsFd for Slots<K, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
