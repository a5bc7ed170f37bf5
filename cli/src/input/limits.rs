//! Limits for the size of input files.

/// The maximum size of a BPF object, in bytes. The largest known objects have less than a tenth of it.
pub(crate) const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// The maximum size of all objects of one command, in bytes. A large build has 2,000 objects of 1 MiB.
pub(crate) const MAX_OBJECTS_BYTES: u64 = 4 << 30;

/// The maximum size of the holes in all objects of one command, in bytes. Holes take memory but no space on the disk, and no compiler
/// writes them.
pub(crate) const MAX_OBJECT_HOLE_BYTES: u64 = 256 << 20;

/// The default limit for a kernel image, and for everything unpacked from it, in bytes. A vmlinux with all its debug information
/// has about 1 GiB.
const MAX_KERNEL_BYTES: u64 = 1 << 30;

/// The maximum size of a file that is searched for BTF because its first bytes have no known format.
pub(crate) const MAX_SEARCHED_BYTES: u64 = 256 << 20;

/// The maximum size of a budget file, in bytes. A line has about 200 bytes, and large fleets have 100,000 lines.
pub(crate) const MAX_BUDGET_BYTES: u64 = 256 << 20;

/// The maximum size of the data of `btf print`, in bytes. A value's text is several times as large.
pub(crate) const MAX_VALUE_BYTES: u64 = 16 << 20;

/// The limit for reading and unpacking one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The maximum size of a file that is read whole, of a decompressed file, and of an archive member, in bytes.
    pub(crate) bytes: u64,
    /// Whether the user set the limit.
    pub(crate) is_user_set: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: MAX_KERNEL_BYTES, is_user_set: false }
    }
}

impl Limits {
    /// Returns the limit that the user set with `--max-bytes`, or the default.
    pub(crate) fn new(max_bytes: Option<u64>) -> Self {
        max_bytes.map_or_else(Self::default, |bytes| Self { bytes, is_user_set: true })
    }
}

/// The limit on the bytes of a kernel's configuration or symbols, unpacked. `/proc/kallsyms` of a distribution's kernel has about 15 MiB.
pub(super) const KERNEL_TEXT_BYTES: u64 = 64 << 20;

/// The largest section of an ELF that is searched for facts about a kernel, in bytes. The read-only data of a kernel have less than
/// 32 MiB.
pub(super) const MAX_FACT_SECTION_BYTES: u64 = 128 << 20;

/// The longest name of a symbol in a symbol table, in bytes (the kernel's `KSYM_NAME_LEN`).
pub(super) const MAX_SYMBOL_BYTES: usize = 512;

/// The largest banner of a kernel that is parsed, in bytes.
pub(super) const MAX_BANNER_BYTES: usize = 1024;

/// The largest number of places in an image that are parsed as a banner or signature. A kernel has a few of each.
pub(super) const MAX_BANNERS: usize = 256;

/// The maximum length of a pattern for names, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 512;

/// The largest file of `batch`, in bytes.
pub(crate) const MAX_BATCH_BYTES: u64 = 16 << 20;

/// The largest file of a private key, certificate or signature, in bytes. Most have a few KiB.
pub(crate) const MAX_KEY_BYTES: u64 = 1 << 20;
/// The largest number of characters of an error about a line of `batch`, which repeats the line's words.
pub(crate) const MAX_BATCH_ERROR_CHARS: usize = 400;
