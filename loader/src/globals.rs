//! Rust types that a global variable can be read and set as.

use crate::sys::{Element, Pod, Shape};
use core::any::type_name;
use core_relo_object::globals::{Global, GlobalError, RustType};

/// A Rust type that a global variable is read and set as: every [`Pod`] type, and `bool`.
///
/// `bool` is not [`Pod`], because most bytes are no `bool`. A C `bool` is read and set as a Rust `bool` all
/// the same: any byte but 0 and 1 is an error ([`GlobalError::Bool`]). The trait cannot be implemented
/// elsewhere.
#[diagnostic::on_unimplemented(
    message = "a global variable cannot be read or set as `{Self}`",
    label = "neither plain old data nor `bool`",
    note = "declare a struct with `core_relo_loader::pod! {{ struct … }}`, or use the bytes: `set_global_bytes`, `global_bytes`"
)]
pub trait GlobalValue: sealed::Sealed + Copy {
    /// The value as plain old data.
    #[doc(hidden)]
    type Stored: Pod;

    /// The type's shape, which is compared with the variable's type in C.
    #[doc(hidden)]
    const SHAPE: Shape;

    /// Returns the value as it lies in memory.
    #[doc(hidden)]
    fn to_stored(self) -> Self::Stored;

    /// Returns the value. Fails with the byte that no value of the type has.
    #[doc(hidden)]
    fn from_stored(stored: Self::Stored) -> Result<Self, u8>;
}

mod sealed {
    pub trait Sealed {}

    impl<T: super::Pod> Sealed for T {}
    impl Sealed for bool {}
}

impl<T: Pod> GlobalValue for T {
    type Stored = Self;

    const SHAPE: Shape = T::SHAPE;

    fn to_stored(self) -> Self {
        self
    }

    fn from_stored(stored: Self) -> Result<Self, u8> {
        Ok(stored)
    }
}

impl GlobalValue for bool {
    type Stored = u8;

    const SHAPE: Shape = Shape::scalar(Element::Bool, 1);

    fn to_stored(self) -> u8 {
        u8::from(self)
    }

    fn from_stored(stored: u8) -> Result<Self, u8> {
        match stored {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(other),
        }
    }
}

/// Describes a Rust type for the comparison with a variable's type in C.
pub(crate) fn rust_type<T: GlobalValue>() -> RustType {
    RustType { shape: T::SHAPE, size: size_of::<T::Stored>(), name: type_name::<T>() }
}

/// Converts the bytes of a variable to a value.
pub(crate) fn from_stored<T: GlobalValue>(global: &Global, stored: T::Stored) -> Result<T, GlobalError> {
    T::from_stored(stored).map_err(|found| GlobalError::Bool {
        name: global.name.as_str().into(),
        c_type: type_name::<T>().into(),
        found,
    })
}
