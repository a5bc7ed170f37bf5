//! Variables of loaded programs, read and written while they run.

use super::{Loaded, LoadedMap};
use crate::{
    Global, GlobalError, GlobalKind,
    globals::{GlobalValue, check_size, check_type, check_value, find_global, from_stored, rust_type},
    load_plan::SEGV_ON_FAULT,
    maps::{Arena, MapError, MappedMap},
    sys::{Errno, MapFd, Pod as _, map_lookup, map_update},
};

impl Loaded {
    /// The variables of all data sections and of the arena, configuration values, and struct_ops maps.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// The variable of a name, or the part of one that a path leads to, as [`Loader::find_global`](crate::Loader::find_global).
    pub fn find_global(&self, name: &str) -> Result<Global, MapError> {
        Ok(find_global(&self.globals, self.types.btf(), name)?)
    }

    /// A variable's value now: also one of the kernel's configuration, and one in the arena.
    ///
    /// By name or path, and of types as [`Loader::set_global`](crate::Loader::set_global) takes them. Where the kernel lets data be
    /// mapped into memory, [`mapped`](Self::mapped) reads many with no system call.
    pub fn global<T: GlobalValue>(&self, name: &str) -> Result<T, MapError> {
        let global = self.find_global(name)?;
        check_type(self.types.btf(), &global, &rust_type::<T>())?;
        let mut stored = T::Stored::zeroed();
        self.read(&global, stored.as_bytes_mut())?;
        Ok(from_stored(&global, stored)?)
    }

    /// The same, as its bytes.
    pub fn global_bytes(&self, name: &str) -> Result<Vec<u8>, MapError> {
        let global = self.find_global(name)?;
        let mut bytes = vec![0; global.size];
        self.read(&global, &mut bytes)?;
        Ok(bytes)
    }

    /// Sets a variable, by name or path and of types as [`Loader::set_global`](crate::Loader::set_global) takes them. Constants,
    /// configuration and struct_ops maps cannot be set any more.
    ///
    /// Where the section cannot be mapped into memory (kernels before 5.5, sections of static variables only) all of it is read
    /// and written back: what programs write to it at that very time is lost.
    pub fn set_global<T: GlobalValue>(&self, name: &str, value: &T) -> Result<(), MapError> {
        let global = self.find_global(name)?;
        let value = value.to_stored();
        check_value(self.types.btf(), &global, &rust_type::<T>(), value.as_bytes())?;
        self.write(&global, value.as_bytes())
    }

    /// The same, by its bytes in the machine's order: of whatever type, if there are as many as it has.
    pub fn set_global_bytes(&self, name: &str, value: &[u8]) -> Result<(), MapError> {
        let global = self.find_global(name)?;
        check_size(self.types.btf(), &global, value.len())?;
        self.write(&global, value)
    }

    /// A data section mapped into memory, as `.bss`; [`globals`](Self::globals) says where its variables are.
    ///
    /// The arena is mapped already: [`LoadedMap::arena`]. Its variables lie
    /// [`data_offset`](crate::load_plan::MapPlan::data_offset) bytes behind where [`globals`](Self::globals) has them.
    pub fn mapped(&self, section: &str) -> Result<MappedMap, MapError> {
        MappedMap::new(self.handle_of_map(section)?)
    }

    /// A handle of a map, for [`maps`](crate::maps).
    pub fn handle_of_map(&self, name: &str) -> Result<MapFd, MapError> {
        let found = self.map(name).ok_or(Errno(libc::ENOENT)).and_then(LoadedMap::handle);
        found.map_err(|errno| MapError::kernel(name, "find it in the loaded object", errno))
    }

    fn read(&self, global: &Global, into: &mut [u8]) -> Result<(), MapError> {
        match global.kind {
            GlobalKind::StructOps => {
                Err(when(global, "read", "what the kernel has of the table has another layout"))
            }
            GlobalKind::Arena => self.in_arena(global, |arena, at| arena.read_bytes(at, into)),
            _ => {
                let map = self.handle_of_map(&global.map)?;
                let value = value_of(global, &map, "read it")?;
                into.copy_from_slice(part(global, &value, into.len())?);
                Ok(())
            }
        }
    }

    fn write(&self, global: &Global, from: &[u8]) -> Result<(), MapError> {
        let written = match global.kind {
            GlobalKind::StructOps => {
                return Err(when(global, "set", "the kernel has the table: set it before the load"));
            }
            GlobalKind::Arena => return self.in_arena(global, |arena, at| arena.write_bytes(at, from)),
            _ => self.write_to_map(global, from),
        };
        // A map that was taken over may not be frozen.
        match (written, global.kind) {
            (Err(e), GlobalKind::Constant) if e.errno() == Some(Errno(libc::EPERM)) => {
                Err(when(global, "set", "it is constant once it is loaded: set it before"))
            }
            (Err(e), GlobalKind::Config) if e.errno() == Some(Errno(libc::EPERM)) => {
                Err(when(global, "set", "it is the kernel's configuration, constant once it is loaded"))
            }
            (other, _) => other,
        }
    }

    /// Mapped, only the variable itself is written; else all of the section, in which programs may have written meanwhile.
    fn write_to_map(&self, global: &Global, from: &[u8]) -> Result<(), MapError> {
        let map = self.handle_of_map(&global.map)?;
        if let Ok(mapped) = MappedMap::open(&map) {
            return mapped.write_bytes(global.value_offset(), from);
        }
        let mut value = value_of(global, &map, "set it")?;
        let end = global.value_offset().saturating_add(from.len());
        let room = value.get_mut(global.value_offset()..end).ok_or_else(|| outside(global))?;
        room.copy_from_slice(from);
        map_update(map.shape(), 0u32.as_bytes(), &value, 0)
            .map_err(|e| MapError::kernel(&global.name, "set it", e))
    }

    fn in_arena(
        &self,
        global: &Global,
        act: impl FnOnce(&Arena, usize) -> Result<(), MapError>,
    ) -> Result<(), MapError> {
        let handle = self.handle_of_map(&global.map)?;
        let Some(map) = self.map(&global.map) else { return Err(outside(global)) };
        let start = usize::try_from(map.plan.data_offset).unwrap_or(usize::MAX);
        let at = start.saturating_add(global.value_offset());
        if let Some(arena) = map.arena() {
            return act(arena, at);
        }
        if map.plan.map_flags & SEGV_ON_FAULT != 0 {
            let problem = "it was there before, with BPF_F_SEGV_ON_FAULT: its variables may lie in no memory";
            return Err(MapError::Unfit { map: map.name().into(), problem });
        }
        act(&Arena::new(handle)?, at)
    }
}

/// All of the section.
fn value_of(global: &Global, map: &MapFd, action: &'static str) -> Result<Vec<u8>, MapError> {
    let mut value = vec![0; map.shape().value_size()];
    let found = map_lookup(map.shape(), 0u32.as_bytes(), &mut value, 0);
    found.map_err(|errno| MapError::kernel(&global.name, action, errno))?;
    Ok(value)
}

fn part<'v>(global: &Global, value: &'v [u8], len: usize) -> Result<&'v [u8], MapError> {
    value.get(global.value_offset()..global.value_offset().saturating_add(len)).ok_or_else(|| outside(global))
}

/// A map that was taken over may be smaller than the object's section.
fn outside(global: &Global) -> MapError {
    when(global, "reached", "it lies outside of its map's value: that map was made otherwise")
}

fn when(global: &Global, action: &'static str, why: &'static str) -> MapError {
    GlobalError::Inaccessible { name: global.name.as_str().into(), action, reason: why }.into()
}
