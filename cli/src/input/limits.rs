//! Limits for the size of input files.

/// The maximum size of a BPF object, in bytes. The largest known objects have less than a tenth of it.
pub(crate) const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// The maximum size of all objects of one command, in bytes. A large build has 2,000 objects of 1 MiB.
pub(crate) const MAX_OBJECTS_BYTES: u64 = 4 << 30;

/// The maximum size of the holes in all objects of one command, in bytes. Holes take memory but no space on
/// the disk, and no compiler writes them.
pub(crate) const MAX_OBJECT_HOLE_BYTES: u64 = 256 << 20;

/// The maximum size of a budget file, in bytes. A line has about 200 bytes, and large fleets have 100,000
/// lines.
pub(crate) const MAX_BUDGET_BYTES: u64 = 256 << 20;

/// The maximum size of the data of `btf print`, in bytes. A value's text is several times as large.
pub(crate) const MAX_VALUE_BYTES: u64 = 16 << 20;

/// The largest file of `batch`, in bytes.
pub(crate) const MAX_BATCH_BYTES: u64 = 16 << 20;

/// The largest file of a private key, certificate or signature, in bytes. Most have a few KiB.
pub(crate) const MAX_KEY_BYTES: u64 = 1 << 20;
/// The largest number of characters of an error about a line of `batch`, which repeats the line's words.
pub(crate) const MAX_BATCH_ERROR_CHARS: usize = 400;
