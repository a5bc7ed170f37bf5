//! How the kernel's types of maps hold their values.

use super::error::MapError;
use crate::{
    object::MapType,
    sys::{MapShape, Pod},
};
use core::borrow::Borrow;

/// A type of map whose elements are keys and values: one of [`kinds`]. It cannot be implemented elsewhere.
pub trait Kind<V: Pod>: sealed::Sealed {
    /// What reading an element gives: the value, or one for each possible CPU.
    type Value: Borrow<Self::Given>;
    /// What writing an element takes.
    type Given: ?Sized;

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
    fn write(shape: MapShape<'_>, map: &str, value: &Self::Given, out: &mut Vec<u8>) -> Result<(), MapError>;
}

mod sealed {
    pub trait Sealed {}
}

/// The kinds of tables and arrays.
pub mod kinds {
    use super::{Kind, MapError, MapShape, MapType, Pod, parse_each, sealed::Sealed, write_each};

    macro_rules! single {
        ($($(#[$doc:meta])* $name:ident $types:expr;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[expect(clippy::exhaustive_enums, reason = "it only names a kind")]
            pub enum $name {}

            impl Sealed for $name {}

            impl<V: Pod> Kind<V> for $name {
                type Value = V;
                type Given = V;

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
            #[expect(clippy::exhaustive_enums, reason = "it only names a kind")]
            pub enum $name {}

            impl Sealed for $name {}

            impl<V: Pod> Kind<V> for $name {
                type Value = Vec<V>;
                type Given = [V];

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
        /// Hash tables, also those that drop the least recently used, and those that grow.
        Hash [MapType::Hash, MapType::LruHash, MapType::Rhash];
        /// Tries of prefixes.
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

/// Bytes from one CPU's value to the next one's.
const fn stride<V>() -> usize {
    match size_of::<V>().checked_next_multiple_of(8) {
        Some(0) | None => 8,
        Some(stride) => stride,
    }
}

fn parse_each<V: Pod>(value: &[u8]) -> Option<Vec<V>> {
    value.chunks(stride::<V>()).map(V::from_bytes).collect()
}

fn write_each<V: Pod>(
    shape: MapShape<'_>,
    map: &str,
    values: &[V],
    out: &mut Vec<u8>,
) -> Result<(), MapError> {
    let stride = stride::<V>();
    let expected = shape.value_size().checked_div(stride).unwrap_or_default();
    if values.len() != expected {
        return Err(MapError::Cpus { map: map.into(), expected, found: values.len() });
    }
    for value in values {
        let end = out.len().saturating_add(stride);
        out.extend_from_slice(value.as_bytes());
        out.resize(end, 0);
    }
    Ok(())
}
