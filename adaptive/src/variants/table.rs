//! The table of an object's variants.

use super::{
    entry_lines::{EntryLines, EntryName},
    error::VariantError,
    kernel_value::KernelValue,
    part::{Part, PartKind},
};
use crate::limits;
use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use core_relo_object::shown_name;

/// The variants of an object: groups of alternatives, optional programs and maps, and the constants that a
/// load sets.
///
/// ```
/// use core_relo_adaptive::variants::VariantTable;
///
/// # fn main() -> Result<(), core_relo_adaptive::variants::VariantError> {
/// let table = VariantTable::new()
///     .group("unlink", ["unlink_fentry", "unlink_kprobe", "unlink_tp"])?
///     .group("open", [["open_fentry", "open_fexit"], ["open_kprobe", "open_kretprobe"]])?
///     .optional("rarely_wanted")
///     .loaded("has_ringbuf", "events")?
///     .offset_of("tgid_offset", "task_struct.tgid")?;
/// assert_eq!(table.groups().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct VariantTable {
    groups: Vec<VariantGroup>,
    optional: Vec<Part>,
    indicators: Vec<Indicator>,
    constants: Vec<KernelConstant>,
    names: Names,
    pub(super) lines: EntryLines,
}

/// Tables are equal if their entries are, wherever they were written.
impl PartialEq for VariantTable {
    fn eq(&self, other: &Self) -> bool {
        self.groups == other.groups
            && self.optional == other.optional
            && self.indicators == other.indicators
            && self.constants == other.constants
    }
}

impl Eq for VariantTable {}

/// The names in a table, so that building a table takes time in proportion to its size.
#[derive(Clone, Debug, Default)]
struct Names {
    groups: BTreeSet<String>,
    /// The group of each program.
    programs: BTreeMap<String, String>,
    globals: BTreeSet<String>,
    optional: BTreeSet<Part>,
}

/// A task of an object, and the alternatives that can do it, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariantGroup {
    /// The name.
    pub name: String,
    /// The alternatives. A load tries them in this order.
    pub alternatives: Vec<Alternative>,
}

/// The programs of an alternative, which are loaded together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an alternative is a list of programs")]
pub struct Alternative(pub Vec<String>);

impl From<&str> for Alternative {
    fn from(program: &str) -> Self {
        Self(vec![program.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for Alternative {
    fn from(programs: [&str; N]) -> Self {
        Self(programs.map(str::to_owned).to_vec())
    }
}

/// The alternative as text: its programs, joined by `+`.
impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" + "))
    }
}

/// A constant that becomes 1 if a group, program or map is part of the load, else 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indicator {
    /// The variable in `.rodata`.
    pub global: String,
    /// The group, program or map.
    pub part: Part,
}

/// A constant with a value from the kernel's types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelConstant {
    /// The variable in `.rodata`.
    pub global: String,
    /// The value.
    pub value: KernelValue,
}

/// Building a table in Rust.
impl VariantTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group with its alternatives, best first. An alternative is a program, or an array of programs
    /// that are loaded together.
    pub fn group<A: Into<Alternative>>(
        mut self,
        name: &str,
        alternatives: impl IntoIterator<Item = A>,
    ) -> Result<Self, VariantError> {
        let alternatives = alternatives.into_iter().map(Into::into).collect();
        self.add_group(VariantGroup { name: name.to_owned(), alternatives })?;
        Ok(self)
    }

    /// Makes a group, program or map optional. A load leaves it out if it does not work, instead of failing.
    ///
    /// An optional constant from the kernel's types keeps its initial value if the kernel's types do not have
    /// the name.
    ///
    /// `group:`, `program:`, `map:` and `constant:` in front of a name choose the kind. A name alone that
    /// parts of two kinds have is an error.
    #[must_use]
    pub fn optional(mut self, part: impl Into<Part>) -> Self {
        let _is_new = self.add_optional(part.into());
        self
    }

    /// Lets a load set the constant `global` to 1 if `part` is loaded or created, else to 0.
    pub fn loaded(mut self, global: &str, part: impl Into<Part>) -> Result<Self, VariantError> {
        self.add_indicator(global, part.into())?;
        Ok(self)
    }

    /// Lets a load set the constant `global` to the offset of a field in bytes: `task_struct.tgid`.
    pub fn offset_of(self, global: &str, path: &str) -> Result<Self, VariantError> {
        self.kernel_value(global, KernelValue::OffsetOf(path.to_owned()))
    }

    /// Lets a load set the constant `global` to the size in bytes of a type or field: `task_struct`,
    /// `task_struct.comm`.
    pub fn size_of(self, global: &str, path: &str) -> Result<Self, VariantError> {
        self.kernel_value(global, KernelValue::SizeOf(path.to_owned()))
    }

    /// Lets a load set the constant `global` to the value of an enumerator: `BPF_FUNC_loop`,
    /// `enum bpf_func_id.BPF_FUNC_loop`.
    pub fn enum_value(self, global: &str, name: &str) -> Result<Self, VariantError> {
        self.kernel_value(global, KernelValue::EnumValue(name.to_owned()))
    }

    /// Lets a load set the constant `global` to 1 if the kernel has a field, else to 0.
    pub fn has_field(self, global: &str, path: &str) -> Result<Self, VariantError> {
        self.kernel_value(global, KernelValue::HasField(path.to_owned()))
    }

    /// Lets a load set the constant `global` to a value from the kernel's types.
    pub fn kernel_value(mut self, global: &str, value: KernelValue) -> Result<Self, VariantError> {
        self.add_constant(global, value)?;
        Ok(self)
    }

    /// Names the table for errors, such as by its file. Errors of entries from a [text](Self::parse) begin
    /// with the name and the line.
    #[must_use]
    pub fn named(mut self, source: &str) -> Self {
        self.lines.set_source(&shown_name(source.as_bytes()));
        self
    }

    /// Adds the entries of another table, such as those of a file to those of the object's declaration tags.
    pub fn merge(mut self, other: Self) -> Result<Self, VariantError> {
        let lines = &other.lines;
        for group in other.groups {
            let entry = EntryName::Group(group.name.clone());
            self.add_group(group).map_err(|cause| lines.locate(&entry, cause))?;
        }
        for part in other.optional {
            let _is_new = self.add_optional(part);
        }
        for Indicator { global, part } in other.indicators {
            let added = self.add_indicator(&global, part);
            added.map_err(|cause| lines.locate(&EntryName::Global(global), cause))?;
        }
        for KernelConstant { global, value } in other.constants {
            let added = self.add_constant(&global, value);
            added.map_err(|cause| lines.locate(&EntryName::Global(global), cause))?;
        }
        self.lines.extend(other.lines);
        Ok(self)
    }
}

/// Reading a table.
impl VariantTable {
    /// Returns the groups.
    pub fn groups(&self) -> &[VariantGroup] {
        &self.groups
    }

    /// Returns the optional groups, programs, maps and constants.
    pub fn optional_parts(&self) -> &[Part] {
        &self.optional
    }

    /// Returns the constants that tell whether a part is loaded.
    pub fn indicators(&self) -> &[Indicator] {
        &self.indicators
    }

    /// Returns the constants with values from the kernel's types.
    pub fn constants(&self) -> &[KernelConstant] {
        &self.constants
    }

    /// Returns whether the table has no entry.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Adding entries, with the checks that need no object.
impl VariantTable {
    pub(super) fn add_group(&mut self, group: VariantGroup) -> Result<(), VariantError> {
        let name = || group.name.as_str().into();
        if self.names.groups.contains(&group.name) {
            return Err(VariantError::GroupTwice { group: name() });
        }
        if group.alternatives.is_empty() || group.alternatives.iter().any(|a| a.0.is_empty()) {
            return Err(VariantError::EmptyGroup { group: name() });
        }
        if group.alternatives.len() > limits::ALTERNATIVES {
            return Err(VariantError::TooManyAlternatives { group: name(), count: group.alternatives.len() });
        }
        let mut own: BTreeSet<&str> = BTreeSet::new();
        let mut previous = "";
        for program in group.alternatives.iter().flat_map(|alternative| &alternative.0) {
            if let Some(other) = self.names.programs.get(program) {
                let groups = [other.as_str().into(), name()];
                return Err(VariantError::TwoGroups { program: program.as_str().into(), groups });
            }
            if !own.insert(program) {
                return Err(VariantError::Cycle {
                    group: name(),
                    program: program.as_str().into(),
                    previous: previous.into(),
                });
            }
            previous = program;
        }
        let programs = own.into_iter().map(|program| (program.to_owned(), group.name.clone()));
        self.names.programs.extend(programs);
        self.names.groups.insert(group.name.clone());
        self.groups.push(group);
        Ok(())
    }

    /// Adds an optional part. Returns whether the table did not have it.
    pub(super) fn add_optional(&mut self, part: Part) -> bool {
        let is_new = self.names.optional.insert(part.clone());
        if is_new {
            self.optional.push(part);
        }
        is_new
    }

    /// Returns whether the table names an optional part with a kind that `part` names without one, or the
    /// other way round. As a name alone is that of exactly one part, both are the same part on every object
    /// that the table fits.
    pub(super) fn has_other_spelling(&self, part: &Part) -> bool {
        let has = |kind| self.names.optional.contains(&Part { kind, name: part.name.clone() });
        match part.kind {
            Some(_) => has(None),
            None => PartKind::ALL.into_iter().any(|kind| has(Some(kind))),
        }
    }

    pub(super) fn add_indicator(&mut self, global: &str, part: Part) -> Result<(), VariantError> {
        self.take_global(global)?;
        self.indicators.push(Indicator { global: global.to_owned(), part });
        Ok(())
    }

    pub(super) fn add_constant(&mut self, global: &str, value: KernelValue) -> Result<(), VariantError> {
        value.check_syntax().map_err(|cause| VariantError::Value { global: global.into(), cause })?;
        if self.constants.len() >= limits::KERNEL_CONSTANTS {
            return Err(VariantError::TooManyConstants { global: global.into() });
        }
        self.take_global(global)?;
        self.constants.push(KernelConstant { global: global.to_owned(), value });
        Ok(())
    }

    /// Notes that an entry sets a constant. Only one entry may.
    fn take_global(&mut self, global: &str) -> Result<(), VariantError> {
        if self.names.globals.insert(global.to_owned()) {
            Ok(())
        } else {
            Err(VariantError::GlobalTwice { global: global.into() })
        }
    }
}
