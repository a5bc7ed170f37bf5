//! The error for a broken invariant: a bug in these libraries, not bad input.

use thiserror::Error;

/// A broken invariant of the library: a bug, whatever the input.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("internal error, please report it: {invariant}")]
#[non_exhaustive]
pub struct InternalError {
    /// The invariant that does not hold.
    pub invariant: &'static str,
}

crate::debug_as_message!(InternalError);

impl InternalError {
    /// Creates an error that names a broken invariant.
    pub const fn new(invariant: &'static str) -> Self {
        Self { invariant }
    }
}

/// An extension of `Option` and `Result` for values that are missing only if an invariant is broken.
pub trait Invariant<T> {
    /// Returns the value, or an error that names the broken invariant.
    fn invariant(self, invariant: &'static str) -> Result<T, InternalError>;
}

impl<T> Invariant<T> for Option<T> {
    fn invariant(self, invariant: &'static str) -> Result<T, InternalError> {
        self.ok_or(InternalError { invariant })
    }
}

impl<T, E> Invariant<T> for Result<T, E> {
    fn invariant(self, invariant: &'static str) -> Result<T, InternalError> {
        self.map_err(|_broken| InternalError { invariant })
    }
}
