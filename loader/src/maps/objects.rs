//! Maps whose values are kernel objects: maps, programs, sockets and so on. User space writes a value as a
//! file descriptor.

use super::{
    error::{MapError, READ},
    flags::Flags,
    iter::Keys,
    raw::RawMap,
};
use crate::sys::{self, Errno, MapFd, Pod};
use core::marker::PhantomData;
use core_relo_object::object::MapType;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

/// Declares kinds of kernel objects with the map types that hold them.
macro_rules! object_kinds {
    ($($name:ident $types:expr;)*) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl HeldMapTypes for $name {
            const TYPES: &'static [MapType] = &$types;
        }
    )*};
}

#[doc(hidden)]
pub trait HeldMapTypes {
    const TYPES: &'static [MapType];
}

object_kinds! {
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

/// An array of maps, of type `ARRAY_OF_MAPS`. Its elements must have the properties of the inner map that it
/// was created with.
pub type ArrayOfMaps = ObjectMap<u32, MapsByIndex>;
/// A hash map of maps, of type `HASH_OF_MAPS`.
pub type HashOfMaps<K> = ObjectMap<K, MapsByKey>;
/// An array of programs for tail calls, of type `PROG_ARRAY`. The kernel clears it when its last descriptor
/// and pin are gone.
pub type ProgArray = ObjectMap<u32, Progs>;
/// An array of perf events, of type `PERF_EVENT_ARRAY`. When a descriptor of the map closes, the kernel
/// removes the events that were added through it.
pub type PerfEventArray = ObjectMap<u32, PerfEvents>;
/// An array of cgroups, of type `CGROUP_ARRAY`.
pub type CgroupArray = ObjectMap<u32, Cgroups>;
/// An array of sockets, of type `SOCKMAP`.
pub type SockMap = ObjectMap<u32, SocketsByIndex>;
/// A hash map of sockets, of type `SOCKHASH`.
pub type SockHash<K> = ObjectMap<K, SocketsByKey>;
/// An array of AF_XDP sockets by queue, of type `XSKMAP`.
pub type XskMap = ObjectMap<u32, XdpSockets>;
/// An array of sockets of a reuseport group, of type `REUSEPORT_SOCKARRAY`.
pub type ReuseportArray = ObjectMap<u32, ReuseportSockets>;

/// A map of kernel objects: maps, programs, perf events, cgroups, sockets.
#[derive(Debug)]
pub struct ObjectMap<K, T> {
    raw: RawMap,
    marker: PhantomData<fn() -> (K, T)>,
}

impl<K: Pod, T: HeldMapTypes> ObjectMap<K, T> {
    /// Creates a handle. The map must have the handle's map type and the key size of `K`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, T::TYPES)?;
        let value = match raw.info().value_size {
            // Socket cookies have 8 bytes.
            8 if matches!(
                raw.map_type(),
                Some(MapType::Sockmap | MapType::Sockhash | MapType::ReuseportSockarray)
            ) =>
            {
                8
            }
            _ => 4,
        };
        let raw = raw.check_sizes(size_of::<K>(), value)?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Writes an element.
    pub fn set(&self, key: &K, object: impl AsFd) -> Result<(), MapError> {
        self.set_with(key, object, Flags::ANY)
    }

    /// Writes an element. Not all map types support flags.
    pub fn set_with(&self, key: &K, object: impl AsFd, flags: Flags) -> Result<(), MapError> {
        let fd = object.as_fd().as_raw_fd().cast_unsigned();
        if self.raw.shape().value_size() == 8 {
            self.raw.insert(key.as_bytes(), u64::from(fd).as_bytes(), flags.0)
        } else {
            self.raw.insert(key.as_bytes(), fd.as_bytes(), flags.0)
        }
    }

    /// Removes an element. Returns `false` if the element did not exist.
    pub fn remove(&self, key: &K) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// Iterates over the keys. The keys of an array include those of empty elements. Not all map types
    /// support the iteration.
    pub fn keys(&self) -> impl Iterator<Item = Result<K, MapError>> {
        Keys::new(&self.raw).filter_map(|key| key.map(|key| K::from_bytes(&key)).transpose())
    }

    /// Returns the maximum number of elements.
    pub fn max_entries(&self) -> u32 {
        self.raw.info().max_entries
    }

    /// Reads the id or cookie of an element.
    fn read_id<N: Pod>(&self, key: &K) -> Result<Option<N>, MapError> {
        let mut id = N::zeroed();
        Ok(self.raw.get(key.as_bytes(), id.as_bytes_mut(), 0)?.then_some(id))
    }

    /// Opens the map of an element.
    fn open_map(&self, key: &K) -> Result<Option<MapFd>, MapError> {
        let Some(id) = self.read_id(key)? else { return Ok(None) };
        match sys::ObjectKind::Map.open(id).and_then(MapFd::new) {
            Ok(map) => Ok(Some(map)),
            // The map was removed between the two calls.
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(self.raw.error(READ, e)),
        }
    }

    fn socket_cookie(&self, key: &K) -> Result<Option<u64>, MapError> {
        if self.raw.info().value_size != 8 {
            return Err(self.raw.unfit("wrong value size for cookies: 4 bytes, expected 8"));
        }
        self.read_id(key)
    }
}

impl ArrayOfMaps {
    /// Opens the map at an index. Needs CAP_SYS_ADMIN.
    pub fn get(&self, index: u32) -> Result<Option<MapFd>, MapError> {
        self.open_map(&index)
    }

    /// Returns the id of the map at an index.
    pub fn id(&self, index: u32) -> Result<Option<u32>, MapError> {
        self.read_id(&index)
    }
}

impl<K: Pod> HashOfMaps<K> {
    /// Opens the map of a key. Needs CAP_SYS_ADMIN.
    pub fn get(&self, key: &K) -> Result<Option<MapFd>, MapError> {
        self.open_map(key)
    }

    /// Returns the id of the map of a key.
    pub fn id(&self, key: &K) -> Result<Option<u32>, MapError> {
        self.read_id(key)
    }
}

impl ProgArray {
    /// Returns the id of the program at an index.
    pub fn id(&self, index: u32) -> Result<Option<u32>, MapError> {
        self.read_id(&index)
    }
}

impl SockMap {
    /// Returns the cookie of the socket at an index. The map's values must have 8 bytes.
    pub fn cookie(&self, index: u32) -> Result<Option<u64>, MapError> {
        self.socket_cookie(&index)
    }
}

impl<K: Pod> SockHash<K> {
    /// Returns the cookie of the socket of a key. The map's values must have 8 bytes.
    pub fn cookie(&self, key: &K) -> Result<Option<u64>, MapError> {
        self.socket_cookie(key)
    }
}

impl<K, T> AsFd for ObjectMap<K, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
