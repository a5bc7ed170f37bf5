//! Facts with their origins.

use std::sync::Arc;

/// A fact about a kernel, with the place where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact<T> {
    pub(crate) value: T,
    /// The place, such as `banner of the image`.
    pub(crate) origin: Arc<str>,
}

impl<T> Fact<T> {
    pub(super) fn new(value: T, origin: impl Into<Arc<str>>) -> Self {
        Self { value, origin: origin.into() }
    }
}
