//! Limits of guests.

/// The maximum time limit for a kernel that boots, in seconds.
pub(crate) const MAX_BOOT_SECONDS: u64 = 86400;
