//! Values that belong to a task, socket, inode or cgroup, which a descriptor names.

use super::{Flags, error::MapError, raw::Raw};
use crate::{
    object::MapType,
    sys::{MapFd, Pod},
};
use core::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

macro_rules! owners {
    ($($name:ident $types:expr;)*) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Owner for $name {
            const TYPES: &'static [MapType] = &$types;
        }
    )*};
}

#[doc(hidden)]
pub trait Owner {
    const TYPES: &'static [MapType];
}

owners! {
    Tasks [MapType::TaskStorage];
    Sockets [MapType::SkStorage];
    Inodes [MapType::InodeStorage];
    Cgroups [MapType::CgrpStorage];
}

/// A value for each task, by its pidfd: `TASK_STORAGE`.
pub type TaskStorage<V> = Storage<V, Tasks>;
/// A value for each socket: `SK_STORAGE`.
pub type SkStorage<V> = Storage<V, Sockets>;
/// A value for each inode, by an open file: `INODE_STORAGE`.
pub type InodeStorage<V> = Storage<V, Inodes>;
/// A value for each cgroup, by its open folder: `CGRP_STORAGE`.
pub type CgrpStorage<V> = Storage<V, Cgroups>;

/// Values that live as long as what they belong to: [`TaskStorage`], [`SkStorage`], [`InodeStorage`], [`CgrpStorage`].
///
/// The kernel does not list the owners.
#[derive(Debug)]
pub struct Storage<V, T> {
    raw: Raw,
    of: PhantomData<fn() -> (V, T)>,
}

impl<V: Pod, T: Owner> Storage<V, T> {
    /// Takes a map. Its type and the size of values must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, T::TYPES)?.sized(4, size_of::<V>())?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// The owner's value.
    pub fn get(&self, owner: impl AsFd) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get(key(&owner).as_bytes(), value.as_bytes_mut(), 0)?.then_some(value))
    }

    /// Writes the owner's value.
    pub fn insert(&self, owner: impl AsFd, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert(key(&owner).as_bytes(), value.as_bytes(), flags.0)
    }

    /// Removes the owner's value; whether it had one.
    pub fn remove(&self, owner: impl AsFd) -> Result<bool, MapError> {
        self.raw.remove(key(&owner).as_bytes())
    }
}

fn key(owner: &impl AsFd) -> i32 {
    owner.as_fd().as_raw_fd()
}

impl<V, T> AsFd for Storage<V, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
