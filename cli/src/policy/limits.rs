//! Limits for configuration files.

/// The longest unknown word for which a known one is suggested, in characters.
pub(super) const MAX_SUGGESTED_CHARS: usize = 32;

/// The largest configuration file, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

/// The largest number of entries of the allow list in a configuration file.
pub(super) const MAX_ENTRIES: usize = 1000;
