//! The process that made a resource outside of its memory. A child after `fork` has copies of all values, and must not undo the parent's work.

/// The process to which a value belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerProcess(u32);

impl OwnerProcess {
    /// Returns the calling process.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Returns whether this process is the calling one.
    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }
}
