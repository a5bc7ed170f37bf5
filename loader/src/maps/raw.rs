//! The common part of all handles: a map's descriptor and name, elements as bytes, errors.

use super::error::{CLONE, INFO, INSERT, MapError, NEXT_KEY, READ, REMOVE};
use crate::{
    convert::to_usize,
    sys::{Cpus, Errno, MapFd, MapInfo, MapShape},
};
use core::slice::Chunks;
use core_relo_object::{InternalError, object::MapType};
use std::{
    fs,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd},
};

/// `ENOTSUPP` of the kernel, which user space has no name for.
const ENOTSUPP: i32 = 524;

/// A map whose elements are bytes.
#[derive(Debug)]
pub(super) struct RawMap {
    map: MapFd,
    info: MapInfo,
    name: Box<str>,
}

impl RawMap {
    /// Creates a handle of a map that must have one of these types.
    pub(super) fn new(map: MapFd, types: &'static [MapType]) -> Result<Self, MapError> {
        let this = Self::untyped(map)?;
        let number = this.info.map_type;
        if types.iter().any(|t| t.number() == number) {
            return Ok(this);
        }
        let found =
            MapType::from_number(number).map_or_else(|| number.to_string(), |known| known.name().to_owned());
        Err(MapError::Type { map: this.name.into(), expected: types, found: found.into() })
    }

    /// Creates a handle of a map of any type.
    pub(super) fn untyped(map: MapFd) -> Result<Self, MapError> {
        let info = MapInfo::query(&map).map_err(|e| MapError::kernel("", INFO, e))?;
        let name = map.name().map_or_else(|| info.name().into(), Box::from);
        Ok(Self { map, info, name })
    }

    /// Duplicates the descriptor of a map.
    pub(super) fn duplicate(map: &MapFd) -> Result<MapFd, MapError> {
        map.try_clone().map_err(|e| {
            // The error has no name if the kernel does not report one.
            let kernel_name = || MapInfo::query(map).map_or_else(|_errno| String::new(), |info| info.name());
            MapError::kernel(&map.name().map_or_else(kernel_name, str::to_owned), CLONE, e)
        })
    }

    /// Checks that keys and values (per CPU) have the sizes of the Rust types.
    pub(super) fn check_sizes(self, key: usize, value: usize) -> Result<Self, MapError> {
        let (found_key, found_value) = (to_usize(self.info.key_size), to_usize(self.info.value_size));
        let wrong =
            |part, expected, found| MapError::Size { map: self.name.clone().into(), part, expected, found };
        if found_key != key {
            Err(wrong("key", key, found_key))
        } else if found_value != value {
            Err(wrong("value", value, found_value))
        } else {
            Ok(self)
        }
    }

    pub(super) fn shape(&self) -> MapShape<'_> {
        self.map.shape()
    }

    pub(super) fn info(&self) -> &MapInfo {
        &self.info
    }

    pub(super) fn map_type(&self) -> Option<MapType> {
        MapType::from_number(self.info.map_type)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// Splits the bytes of consecutive keys into single keys.
    pub(super) fn key_chunks<'b>(&self, keys: &'b [u8]) -> Result<Chunks<'b, u8>, MapError> {
        self.chunks(keys, self.shape().key_size())
    }

    /// Splits the bytes of consecutive values into single values.
    pub(super) fn value_chunks<'b>(&self, values: &'b [u8]) -> Result<Chunks<'b, u8>, MapError> {
        self.chunks(values, self.shape().value_size())
    }

    fn chunks<'b>(&self, bytes: &'b [u8], size: usize) -> Result<Chunks<'b, u8>, MapError> {
        if size == 0 {
            return Err(self.broken_invariant("keys and values of a batch have a size"));
        }
        Ok(bytes.chunks(size))
    }

    /// Reads an element into `value`. Returns whether the element exists.
    pub(super) fn get(&self, key: &[u8], value: &mut [u8], flags: u64) -> Result<bool, MapError> {
        self.exists(READ, self.shape().lookup(key, value, flags))
    }

    pub(super) fn insert(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), MapError> {
        self.shape().update(key, value, flags).map_err(|e| self.error(INSERT, e))
    }

    /// Reads the value of one CPU into `value`. Returns whether the element exists.
    pub(super) fn get_cpu(&self, key: &[u8], cpu: u32, value: &mut [u8]) -> Result<bool, MapError> {
        match self.shape().lookup_cpu(key, cpu, value) {
            Err(errno) if is_unsupported(errno) => Err(MapError::cpu_flags(&self.name, READ, errno)),
            result => self.exists(READ, result),
        }
    }

    /// Writes the value of one CPU, or of all CPUs.
    pub(super) fn insert_cpus(
        &self,
        key: &[u8],
        value: &[u8],
        cpus: Cpus,
        flags: u64,
    ) -> Result<(), MapError> {
        self.shape().update_cpus(key, value, cpus, flags).map_err(|errno| match errno {
            unsupported if is_unsupported(unsupported) => MapError::cpu_flags(&self.name, INSERT, errno),
            _ => self.error(INSERT, errno),
        })
    }

    /// Removes an element. Returns whether the element existed.
    pub(super) fn remove(&self, key: &[u8]) -> Result<bool, MapError> {
        self.exists(REMOVE, self.shape().delete(key))
    }

    /// Reads an element into `value` and removes the element. Returns whether the element existed.
    ///
    /// Takes two system calls for hash maps on kernels before 5.14.
    pub(super) fn take(&self, key: &[u8], value: &mut [u8]) -> Result<bool, MapError> {
        match self.shape().lookup_and_delete(key, value, 0) {
            Err(e) if is_unsupported(e) && !key.is_empty() => {
                Ok(self.get(key, value, 0)? && self.remove(key)?)
            }
            result => self.exists(REMOVE, result),
        }
    }

    /// Returns the key after `key`, or the first key. Returns `None` at the end.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, MapError> {
        let mut next = vec![0; self.shape().key_size()];
        let has_next = self.shape().next_key(key, &mut next);
        Ok(has_next.map_err(|e| self.error(NEXT_KEY, e))?.then_some(next))
    }

    #[cold]
    pub(super) fn broken_invariant(&self, invariant: &'static str) -> MapError {
        MapError::Internal { map: self.name.clone().into(), cause: InternalError::new(invariant) }
    }

    /// Turns `ENOENT` into `false`.
    fn exists(&self, action: &'static str, result: Result<(), Errno>) -> Result<bool, MapError> {
        match result {
            Ok(()) => Ok(true),
            Err(Errno(libc::ENOENT)) => Ok(false),
            Err(e) => Err(self.error(action, e)),
        }
    }

    /// Creates the error of a refused request. An `EPERM` gets its own error if the map is frozen or opened
    /// for one direction.
    pub(super) fn error(&self, action: &'static str, errno: Errno) -> MapError {
        if matches!(errno.0, libc::EPERM | libc::EACCES)
            && let Some(restriction) = self.restriction(action)
        {
            return restriction;
        }
        MapError::kernel(&self.name, action, errno)
    }

    pub(super) fn unfit(&self, problem: &'static str) -> MapError {
        MapError::Unfit { map: self.name.clone().into(), problem }
    }

    /// Finds the property of the map or its descriptor that forbids an action.
    fn restriction(&self, action: &'static str) -> Option<MapError> {
        const ACCESS_MODE: u32 = 3;
        let text = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", self.fd().as_raw_fd())).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mode = u32::from_str_radix(field("flags:")?, 8).ok()? & ACCESS_MODE;
        let reads = matches!(action, READ | NEXT_KEY);
        let map = self.name.clone();
        match i32::try_from(mode).ok()? {
            libc::O_RDONLY if !reads => {
                Some(MapError::Access { map: map.into(), action, access: "read-only" })
            }
            libc::O_WRONLY if reads => {
                Some(MapError::Access { map: map.into(), action, access: "write-only" })
            }
            _ if !reads && field("frozen:") == Some("1") => {
                Some(MapError::Frozen { map: map.into(), action })
            }
            _ => None,
        }
    }
}

/// Returns whether an error means that the kernel lacks a command, for all maps or for this map type.
pub(super) const fn is_unsupported(errno: Errno) -> bool {
    matches!(errno.0, libc::EINVAL | libc::EOPNOTSUPP | ENOTSUPP)
}
