//! Local storage: values that belong to a task, socket, inode or cgroup. User space passes the owner as a
//! descriptor.

use super::{error::MapError, flags::Flags, raw::RawMap};
use crate::sys::{MapFd, Pod};
use core::marker::PhantomData;
use core_relo_object::object::MapType;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

macro_rules! storage_owners {
    ($($name:ident $types:expr;)*) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl StorageOwner for $name {
            const TYPES: &'static [MapType] = &$types;
        }
    )*};
}

#[doc(hidden)]
pub trait StorageOwner {
    const TYPES: &'static [MapType];
}

storage_owners! {
    Tasks [MapType::TaskStorage];
    Sockets [MapType::SkStorage];
    Inodes [MapType::InodeStorage];
    Cgroups [MapType::CgrpStorage];
}

/// A value for each task, by pidfd, of type `TASK_STORAGE`.
pub type TaskStorage<V> = LocalStorage<V, Tasks>;
/// A value for each socket, of type `SK_STORAGE`.
pub type SkStorage<V> = LocalStorage<V, Sockets>;
/// A value for each inode, by an open file, of type `INODE_STORAGE`.
pub type InodeStorage<V> = LocalStorage<V, Inodes>;
/// A value for each cgroup, by its open directory, of type `CGRP_STORAGE`.
pub type CgrpStorage<V> = LocalStorage<V, Cgroups>;

/// A map of values that live as long as their owners, see [`TaskStorage`], [`SkStorage`], [`InodeStorage`],
/// [`CgrpStorage`].
///
/// The kernel does not list the owners.
#[derive(Debug)]
pub struct LocalStorage<V, T> {
    raw: RawMap,
    marker: PhantomData<fn() -> (V, T)>,
}

impl<V: Pod, T: StorageOwner> LocalStorage<V, T> {
    /// Creates a handle. The map must have the handle's map type and the value size of `V`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, T::TYPES)?.check_sizes(4, size_of::<V>())?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Reads the owner's value.
    pub fn get(&self, owner: impl AsFd) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get(key(&owner).as_bytes(), value.as_bytes_mut(), 0)?.then_some(value))
    }

    /// Writes the owner's value.
    pub fn insert(&self, owner: impl AsFd, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert(key(&owner).as_bytes(), value.as_bytes(), flags.0)
    }

    /// Removes the owner's value. Returns whether the owner had a value.
    pub fn remove(&self, owner: impl AsFd) -> Result<bool, MapError> {
        self.raw.remove(key(&owner).as_bytes())
    }
}

fn key(owner: &impl AsFd) -> i32 {
    owner.as_fd().as_raw_fd()
}

impl<V, T> AsFd for LocalStorage<V, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
