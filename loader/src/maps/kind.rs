//! Kinds of typed maps: map types with the same layout of values.

use super::error::MapError;
use crate::sys::{MapShape, Pod};
use core::{borrow::Borrow, marker::PhantomData, num::NonZeroUsize};
use core_relo_object::object::MapType;

/// A kind of typed map, one of [`kinds`]. Other crates cannot implement the trait.
pub trait MapKind<V: Pod>: sealed::Sealed {
    /// The value that reading an element returns: one value, or one for each possible CPU.
    type Value: Borrow<Self::Input>;
    /// The value that writing an element takes.
    type Input: ?Sized;

    #[doc(hidden)]
    const TYPES: &'static [MapType];

    #[doc(hidden)]
    fn read(
        shape: MapShape<'_>,
        fill: impl FnOnce(&mut [u8]) -> Result<bool, MapError>,
    ) -> Result<Option<Self::Value>, MapError>;

    #[doc(hidden)]
    fn parse(shape: MapShape<'_>, value: &[u8]) -> Option<Self::Value>;

    #[doc(hidden)]
    fn write(shape: MapShape<'_>, map: &str, value: &Self::Input, out: &mut Vec<u8>) -> Result<(), MapError>;
}

mod sealed {
    pub trait Sealed {}
}

/// The kinds of tables and arrays.
pub mod kinds {
    use super::{MapError, MapKind, MapShape, MapType, Pod, parse_each, sealed::Sealed, write_each};

    macro_rules! single {
        ($($(#[$doc:meta])* $name:ident $types:expr;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
            pub enum $name {}

            impl Sealed for $name {}

            impl<V: Pod> MapKind<V> for $name {
                type Value = V;
                type Input = V;

                const TYPES: &'static [MapType] = &$types;

                fn read(
                    _shape: MapShape<'_>,
                    fill: impl FnOnce(&mut [u8]) -> Result<bool, MapError>,
                ) -> Result<Option<V>, MapError> {
                    let mut value = V::zeroed();
                    Ok(fill(value.as_bytes_mut())?.then_some(value))
                }

                fn parse(_shape: MapShape<'_>, value: &[u8]) -> Option<V> {
                    V::from_bytes(value)
                }

                fn write(_shape: MapShape<'_>, _map: &str, value: &V, out: &mut Vec<u8>) -> Result<(), MapError> {
                    out.extend_from_slice(value.as_bytes());
                    Ok(())
                }
            }
        )*};
    }

    macro_rules! per_cpu {
        ($($(#[$doc:meta])* $name:ident $types:expr;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[expect(clippy::exhaustive_enums, reason = "a type parameter without values")]
            pub enum $name {}

            impl Sealed for $name {}

            impl<V: Pod> MapKind<V> for $name {
                type Value = Vec<V>;
                type Input = [V];

                const TYPES: &'static [MapType] = &$types;

                fn read(
                    shape: MapShape<'_>,
                    fill: impl FnOnce(&mut [u8]) -> Result<bool, MapError>,
                ) -> Result<Option<Vec<V>>, MapError> {
                    let mut value = vec![0; shape.value_size()];
                    Ok(if fill(&mut value)? { parse_each(&value) } else { None })
                }

                fn parse(_shape: MapShape<'_>, value: &[u8]) -> Option<Vec<V>> {
                    parse_each(value)
                }

                fn write(shape: MapShape<'_>, map: &str, value: &[V], out: &mut Vec<u8>) -> Result<(), MapError> {
                    write_each(shape, map, value, out)
                }
            }
        )*};
    }

    single! {
        /// Hash tables, LRU hash tables and resizable hash tables.
        Hash [MapType::Hash, MapType::LruHash, MapType::Rhash];
        /// Tries for longest-prefix matches.
        Lpm [MapType::LpmTrie];
        /// Arrays.
        Array [MapType::Array];
    }

    per_cpu! {
        /// Hash tables with a value for each CPU.
        PerCpuHash [MapType::PercpuHash, MapType::LruPercpuHash];
        /// Arrays with a value for each CPU.
        PerCpuArray [MapType::PercpuArray];
    }
}

/// The layout of the values of a per-CPU element: each value is padded to a multiple of 8 bytes.
struct PerCpuLayout<V>(PhantomData<V>);

impl<V> PerCpuLayout<V> {
    /// The number of bytes from one CPU's value to the next. For a type of size 0 the number has no meaning:
    /// the kernel has no values of size 0, so no map passes the check of the value size.
    const STRIDE: NonZeroUsize = match NonZeroUsize::new(size_of::<V>().next_multiple_of(8)) {
        Some(stride) => stride,
        None => NonZeroUsize::MIN,
    };
    /// The number of bytes after each value.
    const PADDING: usize = size_of::<V>().next_multiple_of(8) - size_of::<V>();
}

fn parse_each<V: Pod>(value: &[u8]) -> Option<Vec<V>> {
    value.chunks(PerCpuLayout::<V>::STRIDE.get()).map(V::from_bytes).collect()
}

fn write_each<V: Pod>(
    shape: MapShape<'_>,
    map: &str,
    values: &[V],
    out: &mut Vec<u8>,
) -> Result<(), MapError> {
    let expected = shape.value_size() / PerCpuLayout::<V>::STRIDE;
    if values.len() != expected {
        return Err(MapError::Cpus { map: map.into(), expected, found: values.len() });
    }
    for value in values {
        out.extend_from_slice(value.as_bytes());
        out.extend(core::iter::repeat_n(0, PerCpuLayout::<V>::PADDING));
    }
    Ok(())
}
