//! Limits of guests.

/// The maximum time limit for a kernel that boots, in seconds.
pub(crate) const MAX_BOOT_SECONDS: u64 = 86400;

/// The maximum number of modules that a guest loads, without their dependencies. Names that many modules have
/// tell nothing about the object.
pub(crate) const MAX_GUEST_MODULES: usize = 32;
