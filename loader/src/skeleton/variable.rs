//! Variables of a skeleton, before and after the load.

use super::SkeletonError;
use crate::{load::Loaded, loader::Loader, maps::MapError, sys::Pod};
use alloc::sync::Arc;
use core::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut, Range},
};
use core_relo::btf::{Extent, Kind, Layout, LayoutPart, Type};
use core_relo_object::{globals::check_size, load_plan::LoadPlanError};

/// The initial value of a variable, before the load. It dereferences to the value.
///
/// The load takes the value from this field if it differs from the object's, and else from the skeleton's
/// loader, where [`Loader::set_global`] may have set another. Each member of a struct counts by itself.
#[derive(Clone, Debug)]
pub struct InitialValue<T> {
    name: &'static str,
    value: Box<T>,
}

impl<T: Pod> InitialValue<T> {
    /// Reads the initial value of a variable from the object. `name` is the section and the name, such as
    /// `.bss/dropped`.
    pub fn new(loader: &Loader<'_, '_>, name: &'static str) -> Result<Self, SkeletonError> {
        let bytes = loader.global_bytes(name).map_err(|cause| global_error(loader, cause))?;
        let mut value = T::boxed_zeroed();
        let (found, expected) = (bytes.len(), size_of::<T>());
        if found != expected {
            let object = loader.settings().name.as_str().into();
            return Err(SkeletonError::Stale { object, variable: name, found, expected });
        }
        value.as_bytes_mut().copy_from_slice(&bytes);
        Ok(Self { name, value })
    }

    /// Sets the value.
    pub fn set(&mut self, value: impl Into<T>) {
        *self.value = value.into();
    }

    /// Gives the value to a loader, as far as it differs from the object's.
    pub fn apply(&self, loader: &mut Loader<'_, '_>) -> Result<(), SkeletonError> {
        self.set_changes(loader).map_err(|cause| global_error(loader, cause))
    }

    fn set_changes(&self, loader: &mut Loader<'_, '_>) -> Result<(), LoadPlanError> {
        let value = self.value.as_bytes();
        let (global, unchanged) = loader.object_value(self.name)?;
        if unchanged == value {
            return Ok(());
        }
        let mut merged = loader.global_bytes(self.name)?;
        // The settings can change the size of a variable. A value of another size is refused.
        check_size(loader.object().btf(), &global, merged.len())?;
        let ty = loader.object().btf().zip(global.ty).and_then(|(btf, ty)| btf.strip(ty).ok());
        for part in parts(ty, global.size) {
            let (from, own) = (value.get(part.clone()), unchanged.get(part.clone()));
            if from != own
                && let (Some(to), Some(from)) = (merged.get_mut(part), from)
            {
                to.copy_from_slice(from);
            }
        }
        loader.set_global_bytes(self.name, &merged)?;
        Ok(())
    }
}

/// Returns the parts of a variable that are set by themselves: the members of a struct, each with the padding
/// after it, or else the whole. Members that share a byte, as bitfields may, are one part.
fn parts(ty: Option<Type<'_>>, size: usize) -> Vec<Range<usize>> {
    let structure = ty.filter(|ty| ty.kind() == Kind::Struct);
    // A struct with a member of unknown size is one part.
    let layout = structure.and_then(|ty| Layout::new(ty).ok());
    let mut extents: Vec<Extent> = Vec::new();
    for part in layout.iter().flat_map(|layout| &layout.parts) {
        if let LayoutPart::Member { extent, .. } = part {
            extents.push(*extent);
        }
    }
    extents.sort_by_key(|extent| extent.bit_offset);
    let mut starts = vec![0];
    // The first bit after all earlier members.
    let mut end = 0u64;
    for extent in extents {
        let first_bit = u64::from(extent.bit_offset.0);
        let first_byte = usize::try_from(first_bit / 8).ok().filter(|byte| *byte < size);
        if let Some(first_byte) = first_byte.filter(|_| end.div_ceil(8) <= first_bit / 8) {
            starts.push(first_byte);
        }
        // An offset has 32 bits, a size in bits 35.
        end = first_bit.saturating_add(extent.bits).max(end);
    }
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([size]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn global_error(loader: &Loader<'_, '_>, cause: LoadPlanError) -> SkeletonError {
    SkeletonError::Global { object: loader.settings().name.as_str().into(), cause }
}

impl<T> Deref for InitialValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for InitialValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A variable of a loaded object: `.data`, `.bss`, or a variable in the arena.
pub struct Variable<T> {
    constant: Constant<T>,
}

impl<T: Pod> Variable<T> {
    /// Creates the handle of a variable. `name` is the section and the name, such as `.bss/dropped`.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { constant: Constant::new(loaded, name) }
    }

    /// Reads the present value. A program that writes at the same time may leave a large value half written.
    pub fn get(&self) -> Result<T, MapError> {
        self.constant.get()
    }

    /// Reads the present value into memory of the heap, for variables that are large.
    pub fn get_boxed(&self) -> Result<Box<T>, MapError> {
        self.constant.get_boxed()
    }

    /// Writes the value.
    pub fn set(&self, value: impl Into<T>) -> Result<(), MapError> {
        let Constant { loaded, name, .. } = &self.constant;
        loaded.set_global_bytes(name, value.into().as_bytes())
    }
}

/// A constant of a loaded object: `.rodata`, or a kconfig value.
pub struct Constant<T> {
    loaded: Arc<Loaded>,
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T: Pod> Constant<T> {
    /// Creates the handle of a constant. `name` is the section and the name, such as `.rodata/target_pid`.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, value: PhantomData }
    }

    /// Reads the value.
    pub fn get(&self) -> Result<T, MapError> {
        let mut value = T::zeroed();
        self.read(&mut value)?;
        Ok(value)
    }

    /// Reads the value into memory of the heap, for constants that are large.
    pub fn get_boxed(&self) -> Result<Box<T>, MapError> {
        let mut value = T::boxed_zeroed();
        self.read(&mut value)?;
        Ok(value)
    }

    fn read(&self, value: &mut T) -> Result<(), MapError> {
        self.loaded.read_global(self.name, value.as_bytes_mut())
    }
}

impl<T> Clone for Variable<T> {
    fn clone(&self) -> Self {
        Self { constant: self.constant.clone() }
    }
}

impl<T> Clone for Constant<T> {
    fn clone(&self) -> Self {
        Self { loaded: Arc::clone(&self.loaded), name: self.name, value: PhantomData }
    }
}

impl<T> fmt::Debug for Variable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.constant.name).finish()
    }
}

impl<T> fmt::Debug for Constant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Constant").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian,
        btf::{Btf, Builder, BuiltMember},
    };

    /// Returns the parts of a struct of 8 bytes with members of the type `unsigned int`: their first bits,
    /// and their widths, which are 0 for members that are no bitfields.
    fn parts_of(members: &[(u32, u8)]) -> Vec<Range<usize>> {
        let mut b = Builder::new(Endian::Little);
        let ty = b.int("unsigned int", 4, 0);
        let members: Vec<_> = members
            .iter()
            .map(|(bit_offset, bits)| BuiltMember {
                name: "m",
                ty,
                bit_offset: *bit_offset,
                bitfield_bits: *bits,
            })
            .collect();
        b.composite(Kind::Struct, "config", 8, &members);
        let btf = Btf::parse(b.finish()).unwrap();
        parts(btf.find(b"config", Kind::Struct), 8)
    }

    #[test]
    fn members_that_share_a_byte_are_one_part() {
        assert_eq!(parts_of(&[(0, 0), (32, 0)]), [0..4, 4..8]);
        assert_eq!(parts_of(&[(0, 8), (8, 8), (32, 0)]), [0..1, 1..4, 4..8]);
        // `unsigned a:12, b:4`: `b` begins in the second byte of `a`.
        assert_eq!(parts_of(&[(0, 12), (12, 4), (32, 0)]), [0..4, 4..8]);
        assert_eq!(parts_of(&[(0, 3), (3, 20), (23, 9), (32, 0)]), [0..4, 4..8]);
        assert_eq!(parts_of(&[(0, 12), (12, 4), (16, 16), (32, 0)]), [0..2, 2..4, 4..8]);
        // Members that overlap, in any order.
        assert_eq!(parts_of(&[(0, 0), (8, 8), (32, 0)]), [0..4, 4..8]);
        assert_eq!(parts_of(&[(32, 0), (0, 12), (12, 4)]), [0..4, 4..8]);
        assert_eq!(parts_of(&[(0, 12), (40, 0)]), [0..5, 5..8]);
        for size in [0, 8] {
            assert_eq!(parts(None, size).as_slice(), core::slice::from_ref(&(0..size)));
        }
    }
}
