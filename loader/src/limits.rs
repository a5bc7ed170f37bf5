//! Limits on what is read from the system; those on objects, linking and planning are in `core_relo_object`.

pub use core_relo_object::limits::*;

/// Bytes of a symbol table of a user-space binary. Ours: a sparse file may claim any size. It has room for 44 million symbols;
/// browsers with all their symbols have a tenth.
pub const BINARY_SYMBOLS_BYTES: u64 = 1 << 30;
/// Bytes of names of functions that are read from a user-space binary. Ours, as [`BINARY_SYMBOLS_BYTES`].
pub const BINARY_NAMES_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of any other table of a user-space binary: headers, versions, USDT notes. Ours, as [`BINARY_SYMBOLS_BYTES`].
pub const BINARY_TABLE_BYTES: u64 = 64 * 1024 * 1024;
/// Segments of a user-space binary that are loaded into memory. Ours: each USDT probe is looked for in all of them. Real ones have a
/// dozen.
pub const BINARY_SEGMENTS: usize = 4096;
/// Functions of a user-space binary that a pattern may match. The kernel's (`MAX_UPROBE_MULTI_CNT`).
pub const BINARY_MATCHES: usize = 1 << 20;
/// Bytes of a kernel's configuration. Ours: real ones have a quarter of a megabyte.
pub const KCONFIG_BYTES: u64 = 16 * 1024 * 1024;
