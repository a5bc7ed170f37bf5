//! Facts with their origins.

use std::sync::Arc;

/// A fact about a kernel, with the place where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFact<T> {
    /// The value.
    pub value: T,
    /// The place, such as `banner of the image`.
    pub origin: Arc<str>,
}

impl<T> ImageFact<T> {
    pub(super) fn new(value: T, origin: impl Into<Arc<str>>) -> Self {
        Self { value, origin: origin.into() }
    }
}
