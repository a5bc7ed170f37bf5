//! The uses of rules of loaders.

use crate::{kernel::ValueField, loaders::LoaderRule, requirements::mapped_sections::MappedSection};
use core_relo::{Name, explain::text};

/// A part of an object to which a rule applies that some loaders have and others do not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleUse {
    /// The rule.
    pub rule: LoaderRule,
    /// The first part of the object to which the rule applies, such as ``map events: defined in section
    /// `maps` ``.
    pub what: String,
    /// The number of all such parts.
    pub count: usize,
    /// The first variable of each kind that the kernel manages. The kinds decide which kernels refuse what
    /// the loader does.
    pub variables: Vec<ManagedVariable>,
}

/// A variable that the kernel manages, in a data section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManagedVariable {
    /// The name of the section's map.
    pub map: String,
    /// The variable, or the member of the variable.
    pub field: ValueField,
}

impl ManagedVariable {
    /// Returns the section with the variable as text.
    pub(crate) fn section_text(&self) -> String {
        format!("map {}: has a {}, and a variable that user space sees", self.map, self.field.field.name())
    }
}

/// The uses of rules, one for each rule.
#[derive(Debug, Default)]
pub(super) struct RuleUses(pub(super) Vec<RuleUse>);

impl RuleUses {
    /// Adds the use of a rule that depends on the variables of a section.
    pub(super) fn add_section(&mut self, rule: LoaderRule, section: &MappedSection<'_>) {
        let variable = |field: &ValueField| ManagedVariable { map: name(section.map), field: *field };
        let mut variables = section.fields.iter().map(variable).peekable();
        self.add(rule, || variables.peek().map_or_else(String::new, ManagedVariable::section_text));
        let Some(known) = self.0.iter_mut().find(|known| known.rule == rule) else { return };
        for variable in variables {
            if known.variables.iter().all(|other| other.field != variable.field) {
                known.variables.push(variable);
            }
        }
    }

    /// Adds a use. Only the first one of a rule needs its text.
    #[expect(clippy::arithmetic_side_effects, reason = "counts parts of the object")]
    pub(super) fn add(&mut self, rule: LoaderRule, what: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|known| known.rule == rule) {
            Some(known) => known.count += 1,
            None => self.0.push(RuleUse { rule, what: what(), count: 1, variables: Vec::new() }),
        }
    }
}

/// Returns a name as rules have it.
pub(super) fn name(bytes: &[u8]) -> String {
    text(Name::new(bytes).shortened())
}
