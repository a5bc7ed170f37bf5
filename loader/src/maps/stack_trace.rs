//! Stack traces that programs recorded.

use super::{error::MapError, iter::Keys, raw::RawMap};
use crate::sys::{BuildIdFrame, MapFd, Pod as _};
use core_relo_object::{map_flags, object::MapType};
use std::os::fd::{AsFd, BorrowedFd};

/// Stack traces by the id from `bpf_get_stackid`, of type `STACK_TRACE`.
#[derive(Debug)]
pub struct StackTraces(RawMap);

impl StackTraces {
    /// Creates a handle. The map must have the type `STACK_TRACE`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, &[MapType::StackTrace])?;
        let value = raw.shape().value_size();
        Ok(Self(raw.check_sizes(4, value)?))
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Returns the addresses of a stack, innermost first.
    pub fn get(&self, id: u32) -> Result<Option<Vec<u64>>, MapError> {
        if self.has_build_ids() {
            return Err(self.0.unfit("the map has build ids, expected addresses"));
        }
        let Some(value) = self.value(id)? else { return Ok(None) };
        let addresses = value.chunks(8).filter_map(u64::from_bytes);
        Ok(Some(addresses.take_while(|address| *address != 0).collect()))
    }

    /// Returns the frames of a stack in a map with `BPF_F_STACK_BUILD_ID`, innermost first.
    pub fn get_build_ids(&self, id: u32) -> Result<Option<Vec<BuildIdFrame>>, MapError> {
        if !self.has_build_ids() {
            return Err(self.0.unfit("the map has addresses, expected build ids"));
        }
        let Some(value) = self.value(id)? else { return Ok(None) };
        let frames = value.chunks(size_of::<BuildIdFrame>()).filter_map(BuildIdFrame::from_bytes);
        Ok(Some(frames.take_while(|frame| frame.status != 0).collect()))
    }

    /// Removes a stack. Returns whether the stack existed.
    pub fn remove(&self, id: u32) -> Result<bool, MapError> {
        self.0.remove(id.as_bytes())
    }

    /// Iterates over the ids of all stacks.
    pub fn ids(&self) -> impl Iterator<Item = Result<u32, MapError>> {
        Keys::new(&self.0).filter_map(|key| key.map(|key| u32::from_bytes(&key)).transpose())
    }

    fn has_build_ids(&self) -> bool {
        self.0.info().map_flags & map_flags::STACK_BUILD_ID != 0
    }

    fn value(&self, id: u32) -> Result<Option<Vec<u8>>, MapError> {
        let mut value = vec![0; self.0.shape().value_size()];
        Ok(self.0.get(id.as_bytes(), &mut value, 0)?.then_some(value))
    }
}

impl AsFd for StackTraces {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }
}
