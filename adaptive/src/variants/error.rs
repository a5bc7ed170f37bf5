//! Errors of variant tables.

use core::fmt;
use core_relo::{Text, btf::FieldPathError};
use core_relo_object::{link::LinkError, load_plan::LoadPlanError, target::KernelBtfError};
use thiserror::Error;

/// An error in a variant table, or between a table and its object.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VariantError {
    /// A line of a text table is no entry.
    #[error("line {line}: {problem}: `{found}`, expected {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
        /// The text that was found.
        found: Text,
        /// The expected text at this place.
        expected: &'static str,
    },
    /// An entry of a text table does not fit the other entries, or the object.
    #[error("{}line {line}: {cause}", Prefix(source_name.as_deref()))]
    Entry {
        /// The [name](crate::variants::VariantTable::named) of the table, such as its file.
        source_name: Option<Text>,
        /// The line, from 1.
        line: usize,
        /// The problem.
        #[source]
        cause: Box<Self>,
    },
    /// A declaration tag of the object is no entry of a table.
    #[error("declaration tag `{tag}` of `{name}`: {problem}, expected {expected}")]
    Tag {
        /// The tag.
        tag: Text,
        /// The name of the function or variable.
        name: Text,
        /// The problem.
        problem: &'static str,
        /// The expected text.
        expected: &'static str,
    },
    /// Two groups have the same name.
    #[error("group `{group}`: defined twice")]
    GroupTwice {
        /// The group.
        group: Text,
    },
    /// A group has no alternative, or an alternative has no program.
    #[error("group `{group}`: no program, expected at least one for each alternative")]
    EmptyGroup {
        /// The group.
        group: Text,
    },
    /// A group has too many alternatives.
    #[error("group `{group}`: {count} alternatives, expected at most {}", crate::limits::ALTERNATIVES)]
    TooManyAlternatives {
        /// The group.
        group: Text,
        /// The number of alternatives.
        count: usize,
    },
    /// A program is named twice in a group, so its alternatives would be tried in a circle.
    #[error("group `{group}`: cycle: `{program}` is named again after `{previous}`")]
    Cycle {
        /// The group.
        group: Text,
        /// The program.
        program: Text,
        /// The program before the second time.
        previous: Text,
    },
    /// A program belongs to two groups.
    #[error("program `{program}`: in two groups: `{}` and `{}`, expected one", .groups[0], .groups[1])]
    TwoGroups {
        /// The program.
        program: Text,
        /// The groups.
        groups: [Text; 2],
    },
    /// A text table names an optional part twice.
    #[error("optional `{part}`: named twice")]
    OptionalTwice {
        /// The part.
        part: Text,
    },
    /// Two entries set the same constant.
    #[error("global `{global}`: set by two entries, expected one")]
    GlobalTwice {
        /// The variable.
        global: Text,
    },
    /// A table has more constants from the kernel's types than the limit.
    #[error("global `{global}`: too many constants, expected at most {}", crate::limits::KERNEL_CONSTANTS)]
    TooManyConstants {
        /// The first variable above the limit.
        global: Text,
    },
    /// A name that the object does not have.
    #[error("{entry}: the object has no {kind} `{name}`{}", Near(.near))]
    Unknown {
        /// The entry of the table.
        entry: Text,
        /// The kind of part that is missing, such as `program`.
        kind: &'static str,
        /// The name.
        name: Text,
        /// Similar names of the object.
        near: Vec<Text>,
    },
    /// A name that two kinds of parts have.
    #[error(
        "{entry}: `{name}` is the name of a {} and of a {}: write `{}:{name}` or `{}:{name}`", .kinds[0], .kinds[1], .kinds[0], .kinds[1]
    )]
    Ambiguous {
        /// The entry of the table.
        entry: Text,
        /// The name.
        name: Text,
        /// The kinds.
        kinds: [&'static str; 2],
    },
    /// A map contains an alternative initially, and the alternatives of its group have different numbers of
    /// programs.
    #[error(
        "map `{map}`: {position} contains `{program}` of group `{group}`: no program of `{other}` stands for it, expected alternatives \
         with the same number of programs"
    )]
    InitialProgram {
        /// The map.
        map: Text,
        /// The key or member: `element 3`.
        position: Text,
        /// The program that the map contains.
        program: Text,
        /// The group of the program.
        group: Text,
        /// The alternative with another number of programs.
        other: Text,
    },
    /// A variable that cannot take the value.
    #[error(
        "global `{global}`: {found}, expected an integer of 1, 2, 4 or 8 bytes in .rodata (`const volatile`)"
    )]
    Global {
        /// The variable.
        global: Text,
        /// The type or section of the variable.
        found: Text,
    },
    /// A value that cannot be found in the kernel's types, or does not fit its variable.
    #[error("global `{global}`: {cause}")]
    Value {
        /// The variable.
        global: Text,
        /// The problem.
        #[source]
        cause: KernelValueError,
    },
    /// The value of a variable cannot be set, or the initial contents of a map have an error.
    #[error(transparent)]
    Set(#[from] LoadPlanError),
    /// The object cannot be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
}

core_relo::debug_as_message!(VariantError);

/// The reason why a kernel's types have no value for a name.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelValueError {
    /// The kernel's types have no such type, member or enumerator.
    #[error("the kernel's types have no {what} `{name}`{}{}", InType(.place), Near(.near))]
    Missing {
        /// `type`, `member` or `enumerator`.
        what: &'static str,
        /// The name that is missing.
        name: Text,
        /// The type that lacks the member or enumerator; empty for a type.
        place: Text,
        /// Similar names. Those of all types are in errors that end a search, not in the reason why an
        /// optional constant keeps its value.
        near: Vec<Text>,
    },
    /// The field is a bitfield, which has no offset in bytes.
    #[error(
        "`{path}` is a bitfield ({bits} bits from bit {bit_offset}), which has no offset or size in bytes"
    )]
    Bitfield {
        /// The path.
        path: Text,
        /// The first bit.
        bit_offset: u32,
        /// The number of bits.
        bits: u64,
    },
    /// The path follows a pointer, so that no single offset leads to the field.
    #[error(
        "`{path}` follows the pointer `{pointer}`: one offset reaches `{pointer}`, another the rest from the type that it points to"
    )]
    Pointer {
        /// The path.
        path: Text,
        /// The part of the path that ends in a pointer.
        pointer: Text,
    },
    /// Several enums have an enumerator of this name, with different values.
    #[error("enumerator `{name}` has the values {} and {}: name its enum, as `enum bpf_func_id.{name}`", .values[0], .values[1])]
    AmbiguousEnumerator {
        /// The name.
        name: Text,
        /// Two of the values.
        values: [i128; 2],
    },
    /// Several types of the kernel have the name, so the layout is not certain.
    #[error("the kernel's types have {count} different types `{name}`")]
    AmbiguousType {
        /// The name.
        name: Text,
        /// The number of types.
        count: usize,
    },
    /// The value does not fit the variable.
    #[error("the value {value} does not fit a {bytes}-byte variable")]
    TooLarge {
        /// The value.
        value: i128,
        /// The size of the variable in bytes.
        bytes: usize,
    },
    /// The variable is a `bool`, and the value is neither 0 nor 1.
    #[error("the value {value} does not fit a `bool`, expected 0 or 1")]
    NotBool {
        /// The value.
        value: i128,
    },
    /// The name is empty or malformed.
    #[error("`{name}`: expected {expected}")]
    Syntax {
        /// The name.
        name: Text,
        /// The expected text.
        expected: &'static str,
    },
    /// The path cannot be followed.
    #[error(transparent)]
    Path(FieldPathError),
    /// The kernel's types cannot be read.
    #[error("the kernel's types are needed: {0}")]
    Kernel(#[from] KernelBtfError),
}

core_relo::debug_as_message!(KernelValueError);

impl KernelValueError {
    /// Returns whether an optional constant keeps its initial value: the kernel has no such name, or no value
    /// in bytes for it.
    pub const fn is_absence(&self) -> bool {
        match self {
            Self::Bitfield { .. } => true,
            Self::Kernel(cause) => cause.is_absence(),
            _ => self.is_missing_name(),
        }
    }

    /// Returns whether the kernel's types lack the name. A kernel whose field is a number, or a shorter
    /// array, lacks the members and elements of the path, as in libbpf's `bpf_core_field_exists`.
    pub(super) const fn is_missing_name(&self) -> bool {
        matches!(
            self,
            Self::Missing { .. }
                | Self::Path(FieldPathError::NoComposite { .. } | FieldPathError::NoElement { .. })
        )
    }
}

/// A name before a colon; nothing without a name.
struct Prefix<'n>(Option<&'n str>);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, "{name}: "))
    }
}

/// Similar names in parentheses; nothing without names.
struct Near<'n>(&'n [Text]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = self.0.iter().map(|name| format!("`{name}`")).collect();
        write!(f, " (near: {})", names.join(", "))
    }
}

/// The type that lacks a name; nothing without a type.
struct InType<'n>(&'n str);

impl fmt::Display for InType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " in `{}`", self.0) }
    }
}
