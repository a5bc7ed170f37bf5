//! Limits on tables of variants. They are ours: libbpf and the kernel know no variants.

/// Alternatives of a group of variants. Each alternative may take another verdict on the whole object, and
/// another load.
pub const ALTERNATIVES: usize = 64;

/// Constants of a table of variants with values from the kernel's types. Each takes a pass over the types of
/// the kernel.
pub const KERNEL_CONSTANTS: usize = 1024;
