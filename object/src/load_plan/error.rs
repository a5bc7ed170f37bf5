//! Why an object cannot be planned for a kernel: found before anything is asked of it.

use crate::{elf::text, globals::GlobalError, link::LinkError, object::ObjectError, target::TypesError};
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
        /// What needs them.
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
        /// What is wrong, and what to do.
        what: Text,
    },
    /// A map that cannot be created as it is set up.
    #[error("map `{map}`: {what}")]
    Map {
        /// The map.
        map: Text,
        /// What is wrong, and what to do.
        what: Text,
    },
    /// The object has nothing of that name.
    #[error("it has no {kind} `{}`{}", text(.name.as_bytes()), Near(name, .near))]
    NoSuch {
        /// `program` or `map`.
        kind: &'static str,
        /// What was asked for.
        name: Text,
        /// What it has.
        near: Vec<Text>,
    },
    /// A variable cannot be set as was asked.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// The BTF made for the kernel is not one: an error of ours.
    #[error("the BTF made for the kernel is damaged: {0}")]
    MadeBtf(#[source] BtfError),
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
    /// What.
    pub name: Text,
    /// Why, and what to do.
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

/// How many names an error shows.
const SHOWN: usize = 8;

/// What there is instead, most alike first.
pub(crate) struct Near<'n>(pub(crate) &'n str, pub(crate) &'n [Text]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(wanted, names) = self;
        if names.is_empty() {
            return f.write_str("; it has none");
        }
        let alike = |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
        let mut shown: Vec<&str> = names.iter().map(|n| &**n).collect();
        shown.sort_by_key(|name| core::cmp::Reverse(alike(name)));
        shown.truncate(SHOWN);
        let shown: Vec<_> = shown.into_iter().map(|name| text(name.as_bytes()).to_string()).collect();
        write!(f, "; it has {}", shown.join(", "))?;
        match names.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
