//! Every limit, and whose it is.

/// Parts of an access string, and depth of a target spec (libbpf: `BPF_CORE_SPEC_MAX_LEN`).
pub const SPEC_PARTS: usize = 64;

/// Modifiers and typedefs passed through before a chain counts as a cycle.
///
/// libbpf's `skip_mods_and_typedefs` has no limit and hangs on a cycle; no compiler comes near this.
pub const MODIFIER_HOPS: u32 = 256;

/// Types passed through to find a size (libbpf: `MAX_RESOLVE_DEPTH`).
pub const SIZE_HOPS: u32 = 32;

/// Types passed through on one level of a comparison (libbpf: `depth` in `__bpf_core_types_are_compat`).
pub const COMPARE_HOPS: u32 = 32;

/// Levels of nested comparisons (libbpf: the `level` that `bpf_core_types_are_compat` starts with).
pub const COMPARE_LEVELS: u32 = 32;

/// Comparisons of types one `TYPE_MATCHES` or `TYPE_EXISTS` may make.
///
/// libbpf has no such bound and takes time exponential in the depth on types made for it; real ones need thousands.
pub const COMPARE_STEPS: u32 = 4_000_000;

/// Members looked at to find one field in a target.
///
/// libbpf has no such bound: unions nested in themselves through anonymous members take it forever.
pub const MEMBER_STEPS: u32 = 4_000_000;

/// Depth of base BTFs under a split BTF.
pub const SPLIT_LEVELS: u32 = 8;

/// Bytes of a BTF (libbpf and the kernel address it with 32 bits).
pub const BTF_BYTES: usize = 0x7fff_ffff;
