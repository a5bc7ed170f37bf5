//! Every limit, and whose it is.

/// Bytes of a symbol's or section's name.
///
/// Ours: many symbols that share one long name would cost the square of the file's size. The kernel takes 512.
pub const NAME_BYTES: usize = 4 * 1024;

/// Bytes of a name that an error repeats. Ours: thousands of errors may quote one long name.
pub const SHOWN_BYTES: usize = 256;

/// Bytes looked at while searching a kernel image for BTF, as a multiple of the image's own size.
///
/// Ours: an image made of BTF headers would have each of them parsed to its end.
pub const IMAGE_PASSES: usize = 8;

/// Levels of maps in maps (libbpf: one).
pub const MAP_LEVELS: u32 = 1;

/// Bytes of a file. Ours: a device may have no end. Kernel images with all their debug information have less than a quarter.
pub const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Instructions of a program with its subprograms. Ours: many programs that share all subprograms would take the product of
/// their sizes. The kernel's verifier takes a million.
pub const PROGRAM_INSNS: u32 = 1_000_000;

/// Instructions of all programs of an object with their subprograms. Ours, see [`PROGRAM_INSNS`].
pub const OBJECT_INSNS: usize = 32_000_000;
/// Members of all struct_ops tables of an object. Ours: each is looked for in the kernel's struct.
pub const STRUCT_OPS_MEMBERS: usize = 1 << 20;
/// Bytes of a data section. Ours: a `.bss` takes no room in the file, and all of its size in memory.
pub const DATA_BYTES: u64 = 256 * 1024 * 1024;
/// Steps of comparing the types of symbols while objects are linked. Ours: a thousand externs may share one entangled type.
pub const LINK_STEPS: u32 = 10_000_000;
/// Steps that a chain of modifiers and typedefs counts for, of whatever length.
pub const LINK_STEPS_STRIPPED: usize = 32;
/// Bytes of a compared name that count for a step.
pub const LINK_STEP_BYTES: usize = 16;
/// Steps of deduplicating the types of linked objects: some seconds. Ours, as `core_relo::limits::DEDUP_STEPS`. Real objects take
/// less than a hundred for each of their types.
pub const LINK_DEDUP_STEPS: u64 = 200_000_000;
/// Variables of one section of linked objects: `vlen` had 16 bits, and still has for libbpf up to 1.7.
pub const LINK_VARIABLES: usize = 0xffff;
/// Bytes of padding between the sections that linking puts together. Ours: sections of one byte may ask for any alignment.
pub const LINK_PADDING: u64 = 16 * 1024 * 1024;
/// How many times longer than the linked files the names of symbols may be together, and those of a file's sections.
///
/// Ours: names may overlap in a file, and are written out apart.
pub const LINK_NAMES: usize = 2;
/// Bytes of a section of a linked object (libbpf counts them in an `int`).
pub const LINK_SECTION: u64 = 0x7fff_ffff;
