//! Variables of loaded programs, read and written while they run.

use super::Loaded;
use crate::{
    Global,
    load_plan::{LoadPlanError, globals},
    maps::{MapError, MappedMap},
    sys::{Errno, MapFd, Pod, map_lookup, map_update},
};

impl Loaded {
    /// The variables of all data sections.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// A variable's value now.
    ///
    /// Where the kernel lets data be mapped into memory, [`mapped`](Self::mapped) reads many with no system call.
    pub fn global<T: Pod>(&self, name: &str) -> Result<T, MapError> {
        let (global, map) = self.place_of::<T>(name)?;
        let failed = |errno| MapError::kernel(name, "read it", errno);
        let mut bytes = vec![0; map.shape().value_size()];
        map_lookup(map.shape(), 0u32.as_bytes(), &mut bytes, 0).map_err(failed)?;
        let value = bytes.get(global.offset..).and_then(T::from_bytes);
        value.ok_or_else(|| failed(Errno(libc::ERANGE)))
    }

    /// Sets a variable. Constants cannot be set any more.
    ///
    /// Where the section cannot be mapped into memory (kernels before 5.5, sections of static variables only) all of it is read
    /// and written back: what programs write to it at that very time is lost.
    pub fn set_global<T: Pod>(&self, name: &str, value: &T) -> Result<(), MapError> {
        let (global, map) = self.place_of::<T>(name)?;
        let failed = |errno| MapError::kernel(name, "set it", errno);
        // Mapped, only the variable itself is written; else all of the section, in which programs may have written meanwhile.
        if let Ok(mapped) = MappedMap::open(&map) {
            return mapped.write(global.offset, value);
        }
        let mut bytes = vec![0; map.shape().value_size()];
        map_lookup(map.shape(), 0u32.as_bytes(), &mut bytes, 0).map_err(failed)?;
        let end = global.offset.saturating_add(global.size);
        bytes
            .get_mut(global.offset..end)
            .ok_or_else(|| failed(Errno(libc::ERANGE)))?
            .copy_from_slice(value.as_bytes());
        map_update(map.shape(), 0u32.as_bytes(), &bytes, 0).map_err(failed)
    }

    /// A data section mapped into memory, as `.bss`; [`globals`](Self::globals) says where its variables are.
    pub fn mapped(&self, section: &str) -> Result<MappedMap, MapError> {
        MappedMap::new(self.handle_of_map(section)?)
    }

    fn place_of<T: Pod>(&self, name: &str) -> Result<(&Global, MapFd), MapError> {
        let global = globals::find(&self.globals, name).map_err(|why| {
            let errno =
                if matches!(why, LoadPlanError::Ambiguous { .. }) { libc::ENOTUNIQ } else { libc::ENOENT };
            MapError::kernel(name, "find the variable", Errno(errno))
        })?;
        if global.size != size_of::<T>() {
            return Err(MapError::kernel(name, "take it for a value of another size", Errno(libc::ERANGE)));
        }
        Ok((global, self.handle_of_map(&global.section)?))
    }

    /// A handle of a map, for [`maps`](crate::maps).
    pub fn handle_of_map(&self, name: &str) -> Result<MapFd, MapError> {
        let found = self.map(name).ok_or(Errno(libc::ENOENT)).and_then(super::LoadedMap::handle);
        found.map_err(|errno| MapError::kernel(name, "find it in the loaded object", errno))
    }
}
