//! What all handles share: a map's descriptor and name, elements as bytes, errors.

use super::error::{CLONE, INFO, INSERT, MapError, READ, REMOVE, WALK};
use crate::{
    object::MapType,
    sys::{self, Errno, MapFd, MapInfo, MapShape},
};
use std::{
    fs,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd},
};

/// `ENOTSUPP`, which libc does not know.
const NOTSUPP: i32 = 524;

#[derive(Debug)]
pub(super) struct Raw {
    map: MapFd,
    info: MapInfo,
    name: Box<str>,
}

impl Raw {
    /// A map of one of these types.
    pub(super) fn new(map: MapFd, types: &'static [MapType]) -> Result<Self, MapError> {
        let this = Self::any(map)?;
        let number = this.info.map_type;
        if types.iter().any(|t| t.number() == number) {
            return Ok(this);
        }
        let found =
            MapType::from_number(number).map_or_else(|| number.to_string(), |known| known.name().to_owned());
        Err(MapError::Type { map: this.name.into(), expected: types, found: found.into() })
    }

    /// A map of whatever type.
    pub(super) fn any(map: MapFd) -> Result<Self, MapError> {
        let info = sys::map_info(&map).map_err(|e| MapError::kernel("", INFO, e))?;
        let name = map.name().map_or_else(|| info.name().into(), Box::from);
        Ok(Self { map, info, name })
    }

    /// Another descriptor of a map.
    pub(super) fn clone_of(map: &MapFd) -> Result<MapFd, MapError> {
        map.try_clone().map_err(|e| {
            let by_kernel = || sys::map_info(map).map(|info| info.name()).unwrap_or_default();
            MapError::kernel(&map.name().map_or_else(by_kernel, str::to_owned), CLONE, e)
        })
    }

    /// That keys and values (those of one CPU) have the sizes of the Rust types.
    pub(super) fn sized(self, key: usize, value: usize) -> Result<Self, MapError> {
        let found = |size: u32| usize::try_from(size).unwrap_or(usize::MAX);
        let (found_key, found_value) = (found(self.info.key_size), found(self.info.value_size));
        let wrong =
            |what, expected, found| MapError::Size { map: self.name.clone().into(), what, expected, found };
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

    /// Reads into `value`; whether there is such an element.
    pub(super) fn get(&self, key: &[u8], value: &mut [u8], flags: u64) -> Result<bool, MapError> {
        self.found(READ, sys::map_lookup(self.shape(), key, value, flags))
    }

    pub(super) fn insert(&self, key: &[u8], value: &[u8], flags: u64) -> Result<(), MapError> {
        sys::map_update(self.shape(), key, value, flags).map_err(|e| self.failed(INSERT, e))
    }

    /// Whether there was such an element.
    pub(super) fn remove(&self, key: &[u8]) -> Result<bool, MapError> {
        self.found(REMOVE, sys::map_delete(self.shape(), key))
    }

    /// Reads into `value` and removes; whether there was such an element. Kernels before 5.14 do it in two steps for hash maps.
    pub(super) fn take(&self, key: &[u8], value: &mut [u8]) -> Result<bool, MapError> {
        match sys::map_lookup_and_delete(self.shape(), key, value, 0) {
            Err(e) if is_lacking(e) && !key.is_empty() => Ok(self.get(key, value, 0)? && self.remove(key)?),
            done => self.found(REMOVE, done),
        }
    }

    /// The key after `key`, or the first; `None` at the end.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, MapError> {
        let mut next = vec![0; self.shape().key_size()];
        let found = sys::map_next_key(self.shape(), key, &mut next);
        Ok(found.map_err(|e| self.failed(WALK, e))?.then_some(next))
    }

    fn found(&self, action: &'static str, done: Result<(), Errno>) -> Result<bool, MapError> {
        match done {
            Ok(()) => Ok(true),
            Err(Errno(libc::ENOENT)) => Ok(false),
            Err(e) => Err(self.failed(action, e)),
        }
    }

    /// What an errno means for this map.
    pub(super) fn failed(&self, action: &'static str, errno: Errno) -> MapError {
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

    /// Why the kernel does not permit it, if that is the map or how it was opened.
    fn restriction(&self, action: &'static str) -> Option<MapError> {
        const ACCESS_MODE: u32 = 3;
        let text = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", self.fd().as_raw_fd())).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mode = u32::from_str_radix(field("flags:")?, 8).ok()? & ACCESS_MODE;
        let reads = matches!(action, READ | WALK);
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

/// Whether the kernel lacks a command, at all or for maps of this type.
pub(super) const fn is_lacking(errno: Errno) -> bool {
    matches!(errno.0, libc::EINVAL | libc::EOPNOTSUPP | NOTSUPP)
}
