//! Objects of the running kernel that a caller provides for a load.

use alloc::sync::Arc;
use core::any::Any;

/// A map or a program of the running kernel that the caller has opened.
///
/// A plan passes the handle on to the system that executes it, and never looks inside. `core-relo-loader`
/// expects an `Arc<std::os::fd::OwnedFd>`, and fails with `EBADF` for a handle of another type.
#[derive(Clone, Debug)]
pub struct KernelHandle(Arc<dyn Any + Send + Sync>);

impl KernelHandle {
    /// Returns the handle as a value of type `T`, if it was made of one.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl<T: Any + Send + Sync> From<Arc<T>> for KernelHandle {
    fn from(handle: Arc<T>) -> Self {
        Self(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::KernelHandle;
    use alloc::sync::Arc;

    /// A system that gets a foreign handle must notice.
    #[test]
    fn a_handle_is_a_value_of_its_own_type_only() {
        let handle = KernelHandle::from(Arc::new(7_u32));
        assert_eq!(handle.get::<u32>(), Some(&7));
        assert_eq!(handle.get::<Arc<u32>>(), None);
        assert_eq!(handle.get::<i32>(), None);
    }
}
