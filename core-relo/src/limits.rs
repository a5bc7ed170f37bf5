//! The limits of the engine, with the source or reason of each. Those of BTF are in
//! [`core_relo_btf::limits`].

/// The parts of an access string, and the depth of a target spec (libbpf: `BPF_CORE_SPEC_MAX_LEN`).
pub const SPEC_PARTS: usize = 64;

/// The types that are followed on one level of a comparison (libbpf: `depth` in
/// `__bpf_core_types_are_compat`).
pub const COMPARE_HOPS: u32 = 32;

/// The levels of nested comparisons (libbpf: the `level` that `bpf_core_types_are_compat` starts with).
pub const COMPARE_LEVELS: u32 = 32;

/// The steps of one record: candidates, members and types that are compared.
///
/// libbpf has no such limit. Nested anonymous unions, or functions that take functions, cost libbpf time that
/// is exponential in their depth. Real records need thousands of steps.
pub const RECORD_STEPS: u32 = 1_000_000;

/// The steps of all records of a plan. Real objects need less than a fifth.
pub const PLAN_STEPS: u32 = 50_000_000;

/// The names of the target that are compared with the missing types, members and enumerators of a plan.
///
/// A missing type is compared with all types of its kind, and a missing member with all members of its type.
/// Records with the same access share the comparison. Real objects need a hundredth.
pub const NEAR_STEPS: u32 = 50_000_000;

/// The members of one composite, those of its members' types included, that are compared with a missing
/// member.
pub const NEAR_MEMBERS: usize = 200_000;

/// The cached results of searches for similar names.
pub const NEAR_ANSWERS: usize = 4096;

/// The candidates that are always listed for an explained record.
pub const LISTED_CANDIDATES: usize = 8;

/// The further candidates that are listed for all records of a plan. Real plans have hundreds.
pub const MORE_LISTED_CANDIDATES: usize = 1 << 16;

/// The bytes of one text of an explanation.
pub const TEXT_BYTES: usize = 1024;

/// The bytes of a C declaration in a message.
pub const DECLARATION_BYTES: usize = 512;

/// The dimensions of an array in a C declaration.
pub const DECLARED_DIMENSIONS: usize = 32;

/// The bytes of the key of an access that plans share. Most of them are the names of its members.
pub const SHARED_ACCESS: usize = 128;

/// The dimensions of an array that the key of an access covers.
pub const SHARED_DIMENSIONS: u32 = 4;

/// The matches that are cached for plans of several objects. A hundred objects need some hundreds.
pub const SHARED_MATCHES: usize = 1 << 14;
