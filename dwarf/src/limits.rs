//! The limits of conversion, with the reason of each.

/// The maximum size of a file that is read from a stream, in bytes. A kernel with all its debug information
/// has a tenth of it.
pub const FILE_BYTES: u64 = 8 << 30;

/// The maximum size of all debug sections of a file, decompressed, in bytes. A kernel with all its debug
/// information has half of it.
pub const SECTIONS_BYTES: u64 = 4 << 30;

/// The maximum size of all debug sections, decompressed, as a multiple of the file's size, in addition to
/// [`FILE_SLACK_BYTES`].
///
/// Debug information compresses to a third, that of repetitive code to a tenth.
pub const FILE_EXPANSION: u64 = 64;

/// The size of all decompressed debug sections that is always allowed, in bytes.
///
/// In object files, sections whose values are in relocations are all zero, and compress to a thousandth.
pub const FILE_SLACK_BYTES: u64 = 64 << 20;

/// The maximum size of a decompressed section as a multiple of the compressed size, in addition to
/// [`SECTION_SLACK_BYTES`].
///
/// DEFLATE cannot expand data more than this. Debug information compresses to a third.
pub const SECTION_EXPANSION: u64 = 1032;

/// The size of a decompressed section that is always allowed, in bytes.
pub const SECTION_SLACK_BYTES: u64 = 1 << 20;

/// The levels of nested entries. Functions with inlined functions in blocks have some dozens.
pub const ENTRY_DEPTH: usize = 1024;

/// The attributes of an abbreviation. Compilers write up to 25.
///
/// Attributes may take no bytes in an entry, so that entries of one byte could have any number of them.
pub const ATTRIBUTES: usize = 128;

/// The types, functions, members, enumerators, dimensions and parameters of a unit, those of other units
/// included to which it refers.
///
/// Entries may have one byte each. Large units of a kernel have 100,000.
pub const UNIT_ENTRIES: u32 = 1 << 21;

/// The BTF records of a unit, before equal types are merged. Entries may share annotations, which become a
/// record of each entry.
pub const UNIT_RECORDS: usize = 1 << 22;

/// The BTF records that the shards of a file keep, for each byte of its debug information, in addition to
/// [`FILE_RECORDS`].
///
/// A type takes two bytes or more, but annotations may be shared.
pub const RECORDS_PER_BYTE: u64 = 1;

/// The number of BTF records that the shards of a file may always keep.
pub const FILE_RECORDS: u64 = 1 << 20;

/// The length of a name, in bytes. The kernel accepts 511.
pub const NAME_BYTES: usize = 4096;

/// The total length of the names that a shard of units reads from the string sections, in addition to
/// [`NAME_BYTES_PER_BYTE`].
///
/// Names may overlap: each offset into a long string is a name. Compilers write no such names.
pub const SHARD_NAME_BYTES: u64 = 16 << 20;

/// The length of the names that a shard of units reads for each byte of its entries.
pub const NAME_BYTES_PER_BYTE: u64 = 8;

/// The chain of types whose size is followed for a bitfield. Typedefs and modifiers seldom have ten levels.
pub const SIZE_HOPS: u32 = 256;

/// The annotations of one entry (`btf_decl_tag`, `btf_type_tag`). Sources have up to five.
pub const ANNOTATIONS: usize = 256;

/// The entries that units read from other units, skipped entries included, for each byte of the debug
/// sections.
///
/// Files that `dwz` wrote have references to other units. Each unit reads all types that it reaches.
pub const FOREIGN_ENTRIES_PER_BYTE: u64 = 16;

/// The size of a shard, in bytes of debug information. Types are merged first in a shard, then across shards.
///
/// Threads work on shards. A kernel has about ten. The result depends on the shards, not on the number of
/// threads.
pub const SHARD_BYTES: u64 = 16 << 20;

/// The elements of an array dimension and the bytes of a type (`struct btf_array` and `struct btf_type` have
/// 32 bits).
pub const MAX_SIZE: u64 = 0xffff_ffff;

/// The largest offset in bits of a member of a struct with bitfields. The upper byte of the word has the
/// width.
pub const BITFIELD_OFFSET: u32 = 0x00ff_ffff;
