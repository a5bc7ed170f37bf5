//! The limits of the analysis, with the source or reason of each.

/// The calls that are active at once, with the program itself (the kernel: `MAX_CALL_FRAMES`).
pub const CALL_FRAMES: usize = 8;

/// The bytes of a function's stack (the kernel: `MAX_BPF_STACK`).
pub const STACK_BYTES: i32 = 512;

/// The states that are told apart at an instruction with the same callers. Further states are joined.
///
/// Real programs with guards need two or three. Twelve take twice the time on 475 programs, and decide one
/// instruction in 400 more.
pub const STATES_PER_INSN: usize = 4;

/// The joins at an instruction that keep ranges. Later joins drop every range that grows.
pub const JOINS_WITH_RANGES: u32 = 2;

/// The steps of an analysis that every program may take.
pub const REACH_STEPS_BASE: usize = 50_000;

/// The further steps for each instruction of a program. Real programs take fewer than ten.
pub const REACH_STEPS_PER_INSN: usize = 64;

/// The steps of the largest program (the verifier: `BPF_COMPLEXITY_LIMIT_INSNS`, a million instructions).
pub const REACH_STEPS: usize = 4_000_000;

/// The steps that are charged for a stored state, whose comparison and copy cost as much as some tens of
/// instructions.
pub const STEPS_PER_STATE: usize = 16;

/// The registers and stack slots in all stored states of a program: at most 64 MiB.
pub const STORED_VALUES: usize = 1 << 20;

/// The entries for the states of the program and of its calls: one for each call chain and each of its join
/// points.
pub const STATE_ENTRIES: usize = 1 << 20;

/// The passes of the search for live registers. Nested loops take one pass for each level.
pub const LIVENESS_PASSES: u32 = 8;

/// The passes of the search for postdominators. Reducible code takes two or three.
pub const POSTDOMINATOR_PASSES: u32 = 16;

/// The reasons that concern every program of an object, such as a missing map type, in the verdicts on all
/// its programs together.
pub const REPEATED_REASONS: usize = 1 << 13;

/// The members that anonymous structs and unions may add to the comparisons of two BTFs. Kernels have some
/// ten thousand.
pub const NESTED_MEMBERS: usize = 1 << 18;

/// The levels of anonymous structs in a struct, and of modifiers or dimensions of a type, that a comparison
/// follows.
pub const NESTED_STRUCTS: usize = 32;

/// The instructions of a program whose reads are traced. The largest real programs have some ten thousand.
pub const TRACED_INSNS: usize = 1 << 17;

/// The states at targets of jumps that a trace of reads keeps at once. Further targets have unknown values.
pub const TRACED_STATES: usize = 4096;

/// The numbers between two join points of a path that are computed when an analysis looks at them.
pub const DEFERRED_NUMBERS: usize = 1024;

/// The dependences on configuration values of an analysis that is kept for further kernels. Real programs
/// have one or two.
pub const CONFIG_USES: usize = 32;

/// The analyses of an object's programs that are kept for further kernels.
pub const KEPT_ANALYSES: usize = 1024;

/// The instructions of a program whose analyses are kept for further kernels.
pub const KEPT_ANALYSIS_INSNS: usize = 4096;

/// The unknown configuration values of an object whose analyses are kept for further kernels. A search for a
/// kept analysis compares them with the values that the analysis depends on.
pub const KEPT_ANALYSIS_CONFIG: usize = 4096;

/// The different values that a program returns, of those that the analysis keeps.
pub const RETURNED_VALUES: usize = 64;

/// The accesses of a program to its context that are judged, of those that the kernel may refuse. One of them
/// is enough.
pub const REFUSED_ACCESSES: usize = 64;

/// The instructions of a program that break a rule of their encoding. The verifier stops at the first.
pub const BROKEN_RULES: usize = 1024;

/// The accesses of an object whose source lines are searched for on a kernel. Others have the line of their
/// instruction.
pub const SEARCHED_ACCESSES: usize = 256;

/// The accesses of an object whose source lines are kept for further kernels.
pub const KEPT_LINES: usize = 1024;

/// The mismatches of an object on a kernel that are reported.
pub const MISMATCHES: usize = 256;

/// The members of a tracepoint's context that are compared. Real contexts have fewer than fifty.
pub const CONTEXT_MEMBERS: usize = 1024;

/// The instructions before an access among which advice searches for the address's origin. Compilers set an
/// address near its use.
pub const OWN_MEMORY_INSNS: usize = 256;

/// The instructions after a field's offset among which advice searches for the addition to an address.
/// Usually it is the next.
pub const OFFSET_USE_INSNS: usize = 8;

/// The parameters of a global function that are judged. The kernel refuses functions of more.
pub const FUNCTION_PARAMETERS: usize = 16;

/// The members of the structs in a map's values that are searched for a field that the kernel manages. Real
/// values have some tens.
pub const VALUE_MEMBERS: usize = 1 << 12;

/// The longest field in the description of a distribution's kernel, in bytes.
pub const MAX_PACKAGE_FIELD_BYTES: usize = 64;
