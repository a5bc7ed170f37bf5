//! Limits for configuration files.

/// The largest configuration file, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

/// The largest number of entries of the allow list in a configuration file.
pub(super) const MAX_ENTRIES: usize = 1000;
