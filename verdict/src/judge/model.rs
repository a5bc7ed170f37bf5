//! The verdict on an object, its programs, and the reasons.

use crate::{
    kernel::Evidence,
    loaders::{LoaderKind, LoaderRule},
    mismatch::Mismatch,
    requirements::{MapInput, NeedId},
    source_line::SourceLine,
};
use core::fmt;
#[cfg(feature = "serde")]
use serde::ser::SerializeStruct as _;

/// The verdict on a program or an object. A later variant is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each verdict")]
pub enum Verdict {
    /// The kernel has all that the program needs. The verifier may still refuse the program for other
    /// reasons, such as its complexity.
    #[default]
    Loads,
    /// No evidence answers at least one question about the kernel.
    Unknown,
    /// User space must set something before the load, such as the size of a map.
    NeedsInput,
    /// The kernel refuses the program.
    Refused,
}

impl Verdict {
    /// All verdicts, best first.
    pub const ALL: &'static [Self] = &[Self::Loads, Self::Unknown, Self::NeedsInput, Self::Refused];

    /// Returns the verdict with a [word](Self::word).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verdict| verdict.word() == word)
    }

    /// Returns the word for JSON and text: `loads`, `unknown`, `needs_input`, `refused`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loads => "loads",
            Self::Unknown => "unknown",
            Self::NeedsInput => "needs_input",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The verdict on an object and on each of its programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct ObjectVerdict {
    /// The loader whose rules decide on the object.
    pub loader: LoaderKind,
    /// The verdict on the default load: the worst of the programs that are loaded by default.
    pub verdict: Verdict,
    /// The reasons that concern the whole object: its maps and its externs, worst first. Its programs repeat
    /// them, except for those of [`own_reasons`](Self::own_reasons). They alone decide on an object without
    /// programs.
    pub reasons: Vec<Reason>,
    /// The verdict on every program of the object, each as if it were loaded alone. The programs of a load
    /// with [known settings](crate::requirements::ObjectNeeds::apply_settings) are judged as loaded together.
    pub programs: Vec<ProgramVerdict>,
    /// The silent mismatches, and the programs of the load that cannot be attached. They do not change the
    /// verdict.
    pub warnings: Vec<Mismatch>,
}

/// The verdict on a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct ProgramVerdict {
    /// The program's name.
    pub name: String,
    /// Whether the default load of the object includes the program.
    pub autoload: bool,
    /// The verdict: the worst of the reasons, or [`Verdict::Loads`] without reasons.
    pub verdict: Verdict,
    /// The reasons, worst first. Empty if the program loads.
    pub reasons: Vec<Reason>,
    /// The requirements that the kernel does not meet at instructions in dead code. A guard skips the
    /// instructions, so these are no reasons of the verdict.
    pub guarded: Vec<Reason>,
    /// The requirements that the kernel does not meet at instructions behind those of `reasons`, where the
    /// verifier stops. They become reasons once the program is changed, and do not change the verdict.
    pub later: Vec<Reason>,
}

/// A reason why a program does not load, or why the verdict is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Reason {
    /// The kind of requirement that the kernel does not meet.
    pub kind: ReasonKind,
    /// The verdict that follows from this reason alone: not [`Verdict::Loads`].
    pub verdict: Verdict,
    /// The problem in one sentence, such as "helper bpf_loop is missing".
    pub text: String,
    /// The source line of the first reachable instruction with the requirement.
    pub source: Option<SourceLine>,
    /// The first reachable instruction with the requirement, in the linked program.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub insn: Option<u32>,
    /// The evidence in the kernel. `None` if the reason does not depend on the kernel.
    pub evidence: Option<Evidence>,
    /// The fix: an option such as `--max-entries stackmap=N`, or what to write in the program.
    pub fix: Option<String>,
    /// The requirement that is not met. `None` if the reason is an error of the object.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub requirement: Option<Requirement>,
    /// The map whose creation fails, if the reason is one of a map.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub map: Option<String>,
    /// The rule of the loader, if the loader refuses the object, and not the kernel.
    pub loader: Option<LoaderRefusal>,
    /// Whether core-relo repairs the object, so that its load is not refused for this reason.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub is_repaired: bool,
}

/// The rule by which a loader refuses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LoaderRefusal {
    /// The loader.
    pub loader: LoaderKind,
    /// The rule. [`LoaderRule::accepting`] names the loaders without it.
    pub rule: LoaderRule,
}

#[cfg(feature = "serde")]
impl serde::Serialize for LoaderRefusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("LoaderRefusal", 3)?;
        keys.serialize_field("name", &self.loader)?;
        keys.serialize_field("rule", &self.rule)?;
        keys.serialize_field("accepted_by", &self.rule.accepting().collect::<Vec<_>>())?;
        keys.end()
    }
}

/// Reads the loader and the rule. The loaders without the rule follow from it.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for LoaderRefusal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Keys {
            name: LoaderKind,
            rule: LoaderRule,
        }
        let Keys { name, rule } = Keys::deserialize(deserializer)?;
        Ok(Self { loader: name, rule })
    }
}

/// A requirement that a kernel does not meet, or that user space must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Requirement {
    /// A requirement of a program or of an extern.
    Need(NeedId),
    /// A CO-RE relocation, by the index of its record.
    Relocation(usize),
    /// A requirement of a map. `map` is the index in
    /// [`ObjectNeeds::maps`](crate::requirements::ObjectNeeds::maps).
    MapNeed {
        /// The map.
        map: usize,
        /// The requirement.
        need: NeedId,
    },
    /// A member of a struct_ops map that the kernel's struct does not have.
    StructOpsMember {
        /// The map. The index is that of [`ObjectNeeds::maps`](crate::requirements::ObjectNeeds::maps).
        map: usize,
        /// The requirement of the kernel's struct.
        need: NeedId,
        /// The index of the member in the object's struct.
        member: u32,
    },
    /// An attribute of a map that user space must set.
    MapInput {
        /// The map.
        map: usize,
        /// The attribute.
        input: MapInput,
    },
    /// A program type or an attach target that user space must set.
    AttachInput,
}

/// The kind of requirement that a kernel does not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ReasonKind {
    /// A rule of the loader, which refuses the object before it asks the kernel.
    Loader,
    /// The architecture: the object reads the registers of another one.
    Architecture,
    /// A CO-RE relocation at a reachable instruction, if it does not resolve, or moves an access out of the
    /// program's stack.
    Relocation,
    /// A helper.
    Helper,
    /// A kernel function that is called.
    Kfunc,
    /// A kernel symbol whose address is taken.
    Ksym,
    /// A map type.
    MapType,
    /// A map's size or another attribute.
    MapSize,
    /// A map's flag.
    MapFlag,
    /// A program type.
    ProgramType,
    /// An expected attach type.
    AttachType,
    /// An attach target that is resolved at load: of fentry, fexit, fmod_ret, LSM, tp_btf, iter, freplace.
    AttachTarget,
    /// A type that a struct_ops map needs.
    StructOps,
    /// An access to the context at a place that the kernel does not permit.
    Context,
    /// A value that the program returns, and that the kernel does not permit.
    ReturnValue,
    /// A value of the kernel's configuration.
    Kconfig,
    /// An instruction that only newer kernels know.
    Instruction,
    /// The object's BTF, which the kernel refuses.
    Btf,
    /// The object: linking fails.
    Object,
    /// The analysis stopped at its budget.
    Budget,
}

impl ReasonKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Loader,
        Self::Architecture,
        Self::Relocation,
        Self::Helper,
        Self::Kfunc,
        Self::Ksym,
        Self::MapType,
        Self::MapSize,
        Self::MapFlag,
        Self::ProgramType,
        Self::AttachType,
        Self::AttachTarget,
        Self::StructOps,
        Self::Context,
        Self::ReturnValue,
        Self::Kconfig,
        Self::Instruction,
        Self::Btf,
        Self::Object,
        Self::Budget,
    ];

    /// Returns the kind with a [word](Self::word).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// Returns the word for JSON, such as `attach_target`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loader => "loader",
            Self::Architecture => "architecture",
            Self::Relocation => "relocation",
            Self::Helper => "helper",
            Self::Kfunc => "kfunc",
            Self::Ksym => "ksym",
            Self::MapType => "map_type",
            Self::MapSize => "map_size",
            Self::MapFlag => "map_flag",
            Self::ProgramType => "program_type",
            Self::AttachType => "attach_type",
            Self::AttachTarget => "attach_target",
            Self::StructOps => "struct_ops",
            Self::Context => "context",
            Self::ReturnValue => "return_value",
            Self::Kconfig => "kconfig",
            Self::Instruction => "instruction",
            Self::Btf => "btf",
            Self::Object => "object",
            Self::Budget => "budget",
        }
    }
}
