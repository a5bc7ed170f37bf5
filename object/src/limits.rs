//! Limits on input. "Ours" marks a limit that libbpf and the kernel do not have.

/// Bytes of a symbol's or section's name.
///
/// Ours: many symbols that share one long name would take quadratic time. The kernel accepts 512.
pub const NAME_BYTES: usize = 4 * 1024;

/// Bytes of a name that an error message quotes. Ours: thousands of errors may quote one long name.
pub const SHOWN_BYTES: usize = 256;

/// Bytes parsed while searching a kernel image for BTF, as a multiple of the image's size.
///
/// Ours: in an image full of BTF headers, each header would be parsed up to the end of the image.
pub const IMAGE_PASSES: usize = 8;

/// Levels of nested maps (libbpf: one).
pub const MAP_LEVELS: u32 = 1;

/// Bytes of a file. Ours: a device may be endless. A kernel image with full debug information is less than a
/// quarter of this.
pub const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Instructions of a program with its subprograms, as in the kernel's verifier. Without it, many programs
/// that share all subprograms would take quadratic memory.
pub const PROGRAM_INSNS: u32 = 1_000_000;

/// Instructions of all programs of an object with their subprograms. Ours, see [`PROGRAM_INSNS`].
pub const OBJECT_INSNS: usize = 32_000_000;

/// Functions, calls and relocations of the loads of single programs, for all programs of an object.
///
/// Ours: each load has the relocations of all subprograms, and many programs may call many others. Real
/// objects have hundreds.
pub const LOAD_STEPS: usize = 1 << 18;

/// Parameters of a function of the kernel that replaces another one. Ours: errors list the parameters. The
/// kernel accepts 12.
pub const KFUNC_PARAMETERS: usize = 16;

/// Members of all struct_ops maps of an object. Ours: each member is looked up in the kernel's struct.
pub const STRUCT_OPS_MEMBERS: usize = 1 << 20;

/// Bytes of a data section. Ours: a `.bss` takes no space in the file and its full size in memory.
pub const DATA_BYTES: u64 = 256 * 1024 * 1024;

/// Steps of comparing symbol types while linking objects. Ours: a thousand externs may share one deeply
/// nested type.
pub const LINK_STEPS: u32 = 10_000_000;

/// Steps charged for a chain of modifiers and typedefs of any length.
pub const LINK_STEPS_STRIPPED: u32 = 32;

/// Bytes of a compared name that are charged as one step.
pub const LINK_STEP_BYTES: usize = 16;

/// Steps of deduplicating the types of linked objects: a few seconds. Ours, like
/// `core_relo::btf::limits::DEDUP_STEPS`. Real objects take less than a hundred steps a type.
pub const LINK_DEDUP_STEPS: u64 = 200_000_000;

/// Variables of one section of a linked object: BTF's `vlen` has 16 bits in libbpf up to 1.7.
pub const LINK_VARIABLES: usize = 0xffff;

/// Bytes of padding between concatenated sections. Ours: a section of one byte may have any alignment.
pub const LINK_PADDING: u64 = 16 * 1024 * 1024;

/// Bytes of all symbol names, and of a file's section names, as a multiple of the size of the linked files.
///
/// Ours: names may overlap in an input file, and do not overlap in the output.
pub const LINK_NAMES: usize = 2;

/// Bytes of a section of a linked object (libbpf counts bytes in an `int`).
pub const LINK_SECTION: u64 = 0x7fff_ffff;

/// The members of the declaration of an event type: `EVENT_TYPE` has two, `EVENT_KIND` four. A struct with
/// more is no declaration.
///
/// Many variables of a hostile object may share a struct.
pub const EVENT_MEMBERS: usize = 4;

/// The length of a name in the declaration of an event type, in bytes. The kernel accepts 511. Each event has
/// a copy of it.
pub const EVENT_NAME_BYTES: usize = 512;

/// Bytes of the data of a loader program, as in the kernel: a load refers to an offset of a map's value below
/// 512 MiB.
pub const LOADER_DATA_BYTES: usize = 512 * 1024 * 1024 - 8;

/// Bytes of the context of a loader program, which instructions address with a signed offset of 16 bits. The
/// kernel accepts twice as many.
pub const LOADER_CONTEXT_BYTES: usize = 0x7fff;

/// Bytes of the signature of a loader program. Ours: signatures with certificates take a few KiB.
pub const SIGNATURE_BYTES: usize = 64 * 1024;

/// Unpacked bytes of an archive of BTF. Ours: the full BTF of 150 kernels, or the minimal BTF of 100,000.
pub const ARCHIVE_BYTES: u64 = 1 << 30;

/// Members of an archive of BTF. Ours: BTFHub has some thousand kernels.
pub const ARCHIVE_MEMBERS: usize = 100_000;

/// Bytes of the BTF of one kernel in an archive. Ours: kernels with all features have a tenth of that.
pub const ARCHIVE_MEMBER_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of the index of an archive. Ours: 300 bytes for each of the members.
pub const ARCHIVE_INDEX_BYTES: u64 = 32 * 1024 * 1024;
