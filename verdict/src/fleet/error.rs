//! The errors of objects on kernels.

use core_relo::Endian;
use core_relo_object::{InternalError, object::ObjectError};
use thiserror::Error;

/// A reason why an object cannot be judged on a kernel.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The byte orders of the kernel and the object differ.
    #[error("the object has another byte order than the kernel")]
    ByteOrder {
        /// The byte order of the kernel.
        kernel: Endian,
        /// The byte order of the object.
        object: Endian,
    },
    /// The kernel's BTF is reduced to the types of relocations.
    #[error("the kernel's BTF is minimal BTF without the types on which verdicts depend")]
    MinimalBtf,
    /// The relocations of the object cannot be planned.
    #[error(transparent)]
    Plan(#[from] InternalError),
}

core_relo::debug_as_message!(FleetError);

/// The error of [`check`](super::check).
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The object's relocations cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object cannot be judged on the kernel.
    #[error(transparent)]
    Kernel(#[from] FleetError),
    /// A broken invariant: the object has no plan on the kernel.
    #[error("no plan on the kernel, expected one plan for one object")]
    NoPlan,
}

core_relo::debug_as_message!(CheckError);
