//! Limits on data that is read from the system. `core_relo_object` has the limits on objects, linking and
//! planning.
//!
//! Limits marked as own are this project's, the others the kernel's.

pub use core_relo_object::limits::*;

/// Bytes of the symbol table of a user-space binary. Own limit, since a sparse file may claim any size. 1 GiB
/// holds 44 million symbols; a browser with all symbols has a tenth of that.
pub const BINARY_SYMBOLS_BYTES: u64 = 1 << 30;
/// Bytes of function names that are read from a user-space binary. Own limit, as [`BINARY_SYMBOLS_BYTES`].
pub const BINARY_NAMES_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of any other table of a user-space binary: headers, versions, USDT notes. Own limit, as
/// [`BINARY_SYMBOLS_BYTES`].
pub const BINARY_TABLE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of the build id of a user-space binary. Own limit; linkers write 8 to 32 bytes.
pub const BUILD_ID_BYTES: usize = 64;
/// Bytes of the mini debug info of a user-space binary when unpacked. Own limit, since a packed file may
/// claim any size. Real ones have some megabytes.
pub const MINI_DEBUG_INFO_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of unpacked mini debug info for each byte of the binary. Own limit: names of functions rarely have
/// as many bytes as their code.
pub const MINI_DEBUG_INFO_RATIO: u64 = 4;
/// Bytes of a debug file whose checksum is computed, because it has no build id. Own limit, as
/// [`BINARY_SYMBOLS_BYTES`].
pub const DEBUG_FILE_BYTES: u64 = 1 << 30;
/// Functions in the function table of a Go program. Own limit, since names may overlap; large programs have
/// some hundred thousand.
pub const GO_FUNCTIONS: usize = 1 << 20;
/// Loadable segments of a user-space binary. Own limit, since each USDT probe is searched in all segments.
/// Real binaries have a dozen.
pub const BINARY_SEGMENTS: usize = 4096;
/// Files with code of a process that are searched: for calls of an indirect function, or for the file of a
/// name. Own limit, since a hostile process may map many. Large programs map some hundred.
pub const MAPPED_BINARIES: usize = 1024;
/// Functions of a user-space binary that a pattern may match (`MAX_UPROBE_MULTI_CNT`).
pub const BINARY_MATCHES: usize = 1 << 20;
/// Bytes of a pattern of function names. The kernel accepts names of up to 512 bytes (`KSYM_NAME_LEN`).
pub const GLOB_BYTES: usize = 512;
/// Bytes that are compared while all names of a binary or of the kernel are matched with one pattern. Own
/// limit: one name may take the product of both lengths. The names of a browser with all symbols take less
/// than half of that.
pub const GLOB_COMPARISONS: u64 = 1 << 30;
/// Bytes of a kernel configuration. Own limit; real configurations have a quarter of a megabyte.
pub const KCONFIG_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a program's stream that one call reads. Own limit: the program may write all the time. The kernel
/// holds 100,000.
pub const STREAM_BYTES: usize = 1 << 20;
/// Parameters of a function that trampolines support (`MAX_BPF_FUNC_ARGS`).
pub const TRACED_PARAMETERS: usize = 12;
/// Bytes of such a parameter (libbpf: `btf_type_is_traceable_func`).
pub const TRACED_PARAMETER_BYTES: u32 = 16;
