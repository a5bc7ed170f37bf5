//! Errors of plans, found before any request to the kernel.

use crate::{
    elf::text, globals::GlobalError, known_names::KnownNames, link::LinkError, object::ObjectError,
    target::TypesError,
};
use core::fmt;
use core_relo::{Text, btf::BtfError};
use thiserror::Error;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadPlanError {
    /// The object contradicts itself, or holds what cannot be loaded.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The object's relocations cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object is of the other byte order than this machine.
    #[error("it is compiled for {}-endian machines, this one is not", if *is_big { "big" } else { "little" })]
    Endian {
        /// Whether the object is big-endian.
        is_big: bool,
    },
    /// The kernel's types are needed and cannot be had.
    #[error("the kernel's types are needed for {what}: {cause}")]
    Types {
        /// The part of the plan that needs the types.
        what: &'static str,
        /// Why there are none.
        #[source]
        cause: TypesError,
    },
    /// CO-RE relocations that cannot be decided.
    #[error("{} of its CO-RE relocations cannot be made:{}", .0.len(), Lines(.0))]
    CoreRelo(Vec<Refusal>),
    /// Externs that are not weak and that the kernel does not have.
    #[error("{} not to be had from this kernel:{}", if .0.len() == 1 { "an extern is" } else { "externs are" }, Lines(.0))]
    Externs(Vec<Refusal>),
    /// A program that cannot be loaded, whatever the kernel.
    #[error("program `{program}`: {what}")]
    Program {
        /// The program.
        program: Text,
        /// The problem, and what to do.
        what: Text,
    },
    /// A map that cannot be created as it is set up.
    #[error("map `{map}`: {what}")]
    Map {
        /// The map.
        map: Text,
        /// The problem, and what to do.
        what: Text,
    },
    /// The object has nothing of that name.
    #[error("it has no {kind} `{}`{}", text(.name.as_bytes()), KnownNames(name, .known))]
    NoSuch {
        /// `program` or `map`.
        kind: &'static str,
        /// The requested name.
        name: Text,
        /// The names that the object has.
        known: Vec<Text>,
    },
    /// A variable cannot be set as was asked.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// The BTF made for the kernel is not one: an error of ours.
    #[error("the BTF made for the kernel is damaged: {0}")]
    MadeBtf(#[source] BtfError),
    /// The programs call kfuncs of more modules than instructions can name.
    #[error("its programs call kfuncs of more than {limit} modules")]
    TooManyModules {
        /// The most there may be.
        limit: i16,
    },
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] crate::InternalError),
    /// Programs that together are too large.
    #[error("its programs with their subprograms have more than {limit} instructions")]
    TooLong {
        /// The most there may be.
        limit: usize,
    },
}

/// One thing that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The refused relocation or extern.
    pub name: Text,
    /// The reason, and what to do.
    pub why: Text,
}

impl Refusal {
    pub(crate) fn new(name: impl Into<Text>, why: impl Into<Text>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}

struct Lines<'l>(&'l [Refusal]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0 {
            return write!(f, " {}: {}", one.name, one.why);
        }
        self.0.iter().try_for_each(|r| write!(f, "\n  {}: {}", r.name, r.why))
    }
}
