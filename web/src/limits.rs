//! Limits on input.

/// The maximum size of an object in bytes, as in the command.
pub const MAX_OBJECT_BYTES: usize = 256 << 20;

/// The maximum size of a message in bytes. The BTF of all modules of a kernel has some 100 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1 << 30;
