//! Limits for the size of input files.

/// Bytes of a BPF object. The largest known objects have less than a tenth.
pub(crate) const OBJECT_BYTES: u64 = 256 << 20;

/// Bytes of a kernel image, and of everything unpacked from it. A vmlinux with all its debug information has about 1 GiB.
const KERNEL_BYTES: u64 = 1 << 30;

/// Bytes of a file that is searched for BTF because its first bytes have no known format.
pub(crate) const SEARCHED_BYTES: u64 = 256 << 20;

/// The limit for reading and unpacking one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of a file that is read whole, of a decompressed file, and of an archive member.
    pub(crate) bytes: u64,
    /// Whether the user set the limit.
    pub(crate) is_user_set: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: KERNEL_BYTES, is_user_set: false }
    }
}

impl Limits {
    /// Returns the limit that the user set with `--max-bytes`, or the default.
    pub(crate) fn new(max_bytes: Option<u64>) -> Self {
        max_bytes.map_or_else(Self::default, |bytes| Self { bytes, is_user_set: true })
    }
}
