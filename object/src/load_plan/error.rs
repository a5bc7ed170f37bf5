//! Errors of planning a load, found before the first request to the kernel.

use crate::{
    elf::text, globals::GlobalError, known_names::KnownNames, link::LinkError, object::ObjectError,
    target::KernelBtfError,
};
use core::fmt;
use core_relo::{Text, btf::BtfError, plan::RelocError};
use thiserror::Error;

/// A part of an object that settings and arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedPart {
    /// A program.
    Program,
    /// A program of the load plan.
    PlannedProgram,
    /// A map.
    Map,
    /// A kernel symbol without a type.
    Symbol,
}

impl fmt::Display for NamedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "program",
            Self::PlannedProgram => "program to be loaded",
            Self::Map => "map",
            Self::Symbol => "kernel symbol without a type",
        })
    }
}

/// A reason why a load cannot be planned.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadPlanError {
    /// The object is inconsistent or not supported.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The object's relocations cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object's byte order is not that of this machine.
    #[error("the object has the wrong byte order: {}-endian, expected {}-endian, as this machine", if *is_big { "big" } else { "little" }, if *is_big { "little" } else { "big" })]
    Endian {
        /// Whether the object is big-endian.
        is_big: bool,
    },
    /// The kernel's types are needed but not available. A kernel without types is an error of the program or
    /// map that needs them, if the need is not that of the whole object.
    #[error("the kernel's types are needed for {what}: {cause}")]
    Types {
        /// The part of the plan that needs the types.
        what: &'static str,
        /// The reason why the types are not available.
        #[source]
        cause: KernelBtfError,
    },
    /// CO-RE relocations that fail.
    #[error("{} CO-RE relocation{} failed:{}", .0.len(), if .0.len() == 1 { "" } else { "s" }, Lines(.0))]
    CoreRelo(Vec<Refusal>),
    /// Strong externs that the kernel does not have, and externs with an invalid value.
    #[error("unresolved extern{}:{}", if .0.len() == 1 { "" } else { "s" }, Lines(.0))]
    Externs(Vec<Refusal>),
    /// A program that cannot be loaded on this kernel or with these settings.
    #[error("program `{program}`: {what}")]
    Program {
        /// The program.
        program: Text,
        /// The problem, and what to do.
        what: Text,
    },
    /// A map that cannot be created with these settings.
    #[error("map `{map}`: {what}")]
    Map {
        /// The map.
        map: Text,
        /// The problem, and what to do.
        what: Text,
    },
    /// A member of a struct_ops map is not 0, and the kernel's struct has no such member.
    #[error(
        "map `{map}`: member `{member}`: it is not 0, and the kernel's struct {kernel_struct} has no such member"
    )]
    MissingStructOpsMember {
        /// The map.
        map: Text,
        /// The member.
        member: Text,
        /// The kernel's struct.
        kernel_struct: Text,
    },
    /// The object has nothing of that name.
    #[error("it has no {kind} `{}`{}", text(.name.as_bytes()), KnownNames(name, .known))]
    NoSuch {
        /// What has the name.
        kind: NamedPart,
        /// The requested name.
        name: Text,
        /// The names that the object has.
        known: Vec<Text>,
    },
    /// A variable cannot be set to the given value.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// The BTF generated for the kernel is invalid, which is a bug of this crate.
    #[error("the BTF generated for the kernel is invalid: {0}")]
    GeneratedBtf(#[source] BtfError),
    /// The programs call kfuncs of more modules than an instruction can index.
    #[error("the programs call kfuncs of too many modules: expected at most {limit}")]
    TooManyModules {
        /// The limit.
        limit: i16,
    },
    /// The plan leaves names or relocations to the kernel that executes a loader program.
    #[error("the plan is for a loader program: the kernel resolves its names during the load")]
    LateBinding,
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] crate::InternalError),
    /// The programs have too many instructions, together with their subprograms.
    #[error("the programs with their subprograms are too long: expected at most {limit} instructions")]
    TooLong {
        /// The limit.
        limit: usize,
    },
}

core_relo::debug_as_message!(LoadPlanError);

impl LoadPlanError {
    /// Creates the error of a program that needs the kernel's types. The error names the program if the
    /// kernel has no types.
    pub(super) fn types_of_program(program: &[u8], need: &'static str, cause: KernelBtfError) -> Self {
        if !cause.is_absence() {
            return Self::Types { what: need, cause };
        }
        let what = format!("the kernel's types are needed for {need}: {cause}");
        Self::Program { program: text(program), what: what.into() }
    }

    /// Creates the error of a map that needs the kernel's types. The error names the map if the kernel has no
    /// types.
    pub(super) fn types_of_map(map: &[u8], need: &'static str, cause: KernelBtfError) -> Self {
        if !cause.is_absence() {
            return Self::Types { what: need, cause };
        }
        let what = format!("the kernel's types are needed for {need}: {cause}");
        Self::Map { map: text(map), what: what.into() }
    }

    /// Returns whether the load could be planned if more were known about the kernel: every refusal names a
    /// missing fact.
    pub fn lacks_only_facts(&self) -> bool {
        match self {
            Self::Externs(refused) => refused.iter().all(|refusal| refusal.missing.is_some()),
            _ => false,
        }
    }
}

/// A refused relocation or extern, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The refused relocation or extern.
    pub name: Text,
    /// The reason, and what to do. Without the remedy if a fact is missing.
    pub reason: Text,
    /// The fact about the kernel that is missing, if that is the reason.
    pub missing: Option<KernelFact>,
    /// Whether several symbols of the kernel have the name, so that the caller must choose one.
    pub is_ambiguous: bool,
    /// The error of a refused relocation.
    pub relocation: Option<RelocError>,
}

impl Refusal {
    pub(crate) fn new(name: impl Into<Text>, reason: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            reason: reason.into(),
            missing: None,
            is_ambiguous: false,
            relocation: None,
        }
    }

    /// Creates the refusal of an extern whose value depends on an unknown fact.
    pub(crate) fn for_missing(name: impl Into<Text>, reason: impl Into<Text>, fact: KernelFact) -> Self {
        Self { missing: Some(fact), ..Self::new(name, reason) }
    }

    /// Creates the refusal of an extern whose name several symbols have.
    pub(crate) fn for_ambiguous(name: impl Into<Text>, reason: impl Into<Text>) -> Self {
        Self { is_ambiguous: true, ..Self::new(name, reason) }
    }

    /// Creates the refusal of a relocation.
    pub(crate) fn for_relocation(name: impl Into<Text>, error: RelocError) -> Self {
        Self { relocation: Some(error), ..Self::new(name, error.to_string()) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)?;
        f.write_str(if self.is_ambiguous { ": choose an address in `Settings::ksyms`" } else { "" })?;
        self.missing.iter().try_for_each(|fact| write!(f, ": {}", fact.remedy()))
    }
}

/// A fact about a kernel on which the values of externs depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelFact {
    /// The version.
    Version,
    /// The configuration.
    Kconfig,
    /// The addresses of symbols.
    Symbols,
}

impl KernelFact {
    /// Returns how a caller of this crate provides the fact.
    const fn remedy(self) -> &'static str {
        match self {
            Self::Version => "set `TargetKernel::kernel_version`",
            Self::Kconfig => "set `Settings::kconfig` to its lines (a /boot/config-… file)",
            Self::Symbols => "set `TargetKernel::kallsyms`, or plan the load on that kernel",
        }
    }
}

/// Refusals as text: a single refusal in the same line, several in a line each.
struct Lines<'l>(&'l [Refusal]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [refusal] = self.0 {
            return write!(f, " {refusal}");
        }
        self.0.iter().try_for_each(|refusal| write!(f, "\n  {refusal}"))
    }
}
