//! Input bytes that are borrowed, owned or shared, such as a mapped file.

use alloc::{sync::Arc, vec::Vec};
use core::{fmt, ops::Deref};

/// Returns the elements from `start` on, and none if the slice ends before: for data that may end early.
#[inline]
pub(crate) const fn rest_from<T>(slice: &[T], start: usize) -> &[T] {
    match slice.split_at_checked(start) {
        Some((_, rest)) => rest,
        None => &[],
    }
}

/// The bytes of an input, without a copy.
///
/// ```
/// use core_relo_btf::Data;
/// let owned = Data::from(vec![1u8, 2]);
/// let borrowed = Data::from(&[1u8, 2][..]);
/// assert_eq!(&*owned, &*borrowed);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Data<'d> {
    /// Borrowed bytes.
    Borrowed(&'d [u8]),
    /// Reference-counted bytes: an owned vector or a mapped file.
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync + 'd>),
}

impl<'d> Data<'d> {
    /// Shares `bytes`, such as a vector or a mapped file, for as long as a value uses them.
    pub fn shared(bytes: impl AsRef<[u8]> + Send + Sync + 'd) -> Self {
        Self::Shared(Arc::new(bytes))
    }
}

impl Deref for Data<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => (**bytes).as_ref(),
        }
    }
}

impl<'d> From<&'d [u8]> for Data<'d> {
    fn from(bytes: &'d [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'d> From<&'d Vec<u8>> for Data<'d> {
    fn from(bytes: &'d Vec<u8>) -> Self {
        Self::Borrowed(bytes)
    }
}

impl<'d, const N: usize> From<&'d [u8; N]> for Data<'d> {
    fn from(bytes: &'d [u8; N]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Vec<u8>> for Data<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::shared(bytes)
    }
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.len())
    }
}
