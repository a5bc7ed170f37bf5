//! Reading and writing global variables of loaded programs.

use super::loaded::{Loaded, LoadedMap};
use crate::{
    globals::{GlobalValue, from_stored, rust_type},
    maps::{Arena, MapError, MappedMap},
    sys::{Errno, MapFd, Pod as _},
};
use core::ops::Range;
use core_relo_object::{
    globals::{Global, GlobalError, GlobalKind, check_size, check_type, check_value, find_global},
    map_flags::SEGV_ON_FAULT,
};

impl Loaded {
    /// Returns the variables of all data sections and of the arena, kconfig values, and struct_ops maps.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// Finds a variable by name, or a part of a variable by path, see
    /// [`Loader::find_global`](crate::Loader::find_global).
    pub fn find_global(&self, name: &str) -> Result<Global, MapError> {
        Ok(find_global(&self.globals, self.types.btf(), name)?)
    }

    /// Reads the present value of a variable by name or path. Also reads kconfig values and variables in the
    /// arena.
    ///
    /// The types that fit are those of [`Loader::set_global`](crate::Loader::set_global).
    /// [`mapped`](Self::mapped) reads many variables without system calls, if the kernel can map the section
    /// into memory.
    pub fn global<T: GlobalValue>(&self, name: &str) -> Result<T, MapError> {
        let global = self.find_global(name)?;
        check_type(self.types.btf(), &global, &rust_type::<T>())?;
        let mut stored = T::Stored::zeroed();
        self.read(&global, stored.as_bytes_mut())?;
        Ok(from_stored(&global, stored)?)
    }

    /// Reads the bytes of a variable, in the machine's byte order.
    pub fn global_bytes(&self, name: &str) -> Result<Vec<u8>, MapError> {
        let global = self.find_global(name)?;
        let mut bytes = vec![0; global.size];
        self.read(&global, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes of a variable into a buffer of its size.
    pub(crate) fn read_global(&self, name: &str, buffer: &mut [u8]) -> Result<(), MapError> {
        let global = self.find_global(name)?;
        check_size(self.types.btf(), &global, buffer.len())?;
        self.read(&global, buffer)
    }

    /// Sets a variable by name or path. Constants, kconfig values and struct_ops maps cannot be set after the
    /// load.
    ///
    /// The types that fit are those of [`Loader::set_global`](crate::Loader::set_global). If the section
    /// cannot be mapped into memory (kernels before 5.5, sections of static variables only), the method reads
    /// the whole section and writes it back. A concurrent write of a program to the section is lost then.
    pub fn set_global<T: GlobalValue>(&self, name: &str, value: &T) -> Result<(), MapError> {
        let global = self.find_global(name)?;
        let value = value.to_stored();
        check_value(self.types.btf(), &global, &rust_type::<T>(), value.as_bytes())?;
        self.write(&global, value.as_bytes())
    }

    /// Sets the bytes of a variable, in the machine's byte order. Only the size must fit, not the type.
    pub fn set_global_bytes(&self, name: &str, value: &[u8]) -> Result<(), MapError> {
        let global = self.find_global(name)?;
        check_size(self.types.btf(), &global, value.len())?;
        self.write(&global, value)
    }

    /// Maps a data section such as `.bss` into memory. [`globals`](Self::globals) has the offsets of the
    /// variables.
    ///
    /// The arena is mapped by the load, see [`LoadedMap::arena`]. Add
    /// [`data_offset`](crate::load_plan::MapPlan::data_offset) to the offsets of the arena's variables.
    pub fn mapped(&self, section: &str) -> Result<MappedMap, MapError> {
        MappedMap::new(self.map_handle(section)?)
    }

    /// Returns a handle of a map, for the types in [`maps`](crate::maps).
    pub fn map_handle(&self, name: &str) -> Result<MapFd, MapError> {
        let handle = self.map(name).ok_or(Errno(libc::ENOENT)).and_then(LoadedMap::handle);
        handle.map_err(|errno| MapError::kernel(name, "find it in the loaded object", errno))
    }

    fn read(&self, global: &Global, buffer: &mut [u8]) -> Result<(), MapError> {
        match global.kind {
            GlobalKind::StructOps => {
                Err(unavailable(global, "read", "the kernel stores the table in another layout"))
            }
            GlobalKind::Arena => self.with_arena(global, |arena, at| arena.read_bytes(at, buffer)),
            _ => {
                let map = self.map_handle(&global.map)?;
                let value = read_section(global, &map, "read it")?;
                let range = byte_range(global, buffer.len())?;
                buffer.copy_from_slice(value.get(range).ok_or_else(|| outside(global))?);
                Ok(())
            }
        }
    }

    fn write(&self, global: &Global, bytes: &[u8]) -> Result<(), MapError> {
        let result = match global.kind {
            GlobalKind::StructOps => {
                return Err(unavailable(global, "set", "the kernel has the table: set it before the load"));
            }
            GlobalKind::Arena => return self.with_arena(global, |arena, at| arena.write_bytes(at, bytes)),
            _ => self.write_to_map(global, bytes),
        };
        // Constants of a reused map can be set if that map is not frozen.
        match (result, global.kind) {
            (Err(e), GlobalKind::Constant) if e.errno() == Some(Errno(libc::EPERM)) => {
                Err(unavailable(global, "set", "it is constant once it is loaded: set it before"))
            }
            (Err(e), GlobalKind::Config) if e.errno() == Some(Errno(libc::EPERM)) => Err(unavailable(
                global,
                "set",
                "it is the kernel's configuration, constant once it is loaded",
            )),
            (other, _) => other,
        }
    }

    /// Writes the variable alone if the section can be mapped into memory, else the whole section.
    fn write_to_map(&self, global: &Global, bytes: &[u8]) -> Result<(), MapError> {
        let map = self.map_handle(&global.map)?;
        if let Ok(mapped) = MappedMap::open(&map) {
            return mapped.write_bytes(global.value_offset(), bytes);
        }
        let mut value = read_section(global, &map, "set it")?;
        let range = byte_range(global, bytes.len())?;
        value.get_mut(range).ok_or_else(|| outside(global))?.copy_from_slice(bytes);
        map.shape()
            .update(0u32.as_bytes(), &value, 0)
            .map_err(|e| MapError::kernel(&global.name, "set it", e))
    }

    /// Calls a function with the arena of a variable and the variable's offset in the arena.
    fn with_arena(
        &self,
        global: &Global,
        access: impl FnOnce(&Arena, usize) -> Result<(), MapError>,
    ) -> Result<(), MapError> {
        let handle = self.map_handle(&global.map)?;
        let Some(map) = self.map(&global.map) else { return Err(outside(global)) };
        let start = usize::try_from(map.plan.data_offset()).ok();
        let offset = start.and_then(|start| start.checked_add(global.value_offset()));
        let offset = offset.ok_or_else(|| outside(global))?;
        if let Some(arena) = map.arena() {
            return access(arena, offset);
        }
        if map.plan.map_flags() & SEGV_ON_FAULT != 0 {
            let problem = "the reused map has BPF_F_SEGV_ON_FAULT: the pages of its variables may not exist";
            return Err(MapError::Unfit { map: map.name().into(), problem });
        }
        access(&Arena::new(handle)?, offset)
    }
}

/// Reads the whole section of a variable.
fn read_section(global: &Global, map: &MapFd, action: &'static str) -> Result<Vec<u8>, MapError> {
    let mut value = vec![0; map.shape().value_size()];
    let result = map.shape().lookup(0u32.as_bytes(), &mut value, 0);
    result.map_err(|errno| MapError::kernel(&global.name, action, errno))?;
    Ok(value)
}

/// Returns the bytes of a variable in the value of its map.
fn byte_range(global: &Global, len: usize) -> Result<Range<usize>, MapError> {
    let start = global.value_offset();
    let end = start.checked_add(len).ok_or_else(|| outside(global))?;
    Ok(start..end)
}

/// Creates the error of a variable beyond the end of its map's value. A reused map may be smaller than the
/// object's section.
fn outside(global: &Global) -> MapError {
    unavailable(global, "reached", "the reused map is smaller than the object's section")
}

fn unavailable(global: &Global, action: &'static str, why: &'static str) -> MapError {
    GlobalError::Inaccessible { name: global.name.as_str().into(), action, reason: why }.into()
}
