//! The kernel's rules for a BTF that is loaded into it.
//!
//! The kernel checks every type of the BTF that a loader sends (`BPF_BTF_LOAD`), and refuses the whole BTF at
//! the first violation. [`Btf::kernel_violations`] applies the same rules and finds all violations, in the
//! kernel's order.
//!
//! | file | rules |
//! |---|---|
//! | `header` | the header, the sections, the strings |
//! | `meta` | each record by itself: names, sizes, offsets, flags |
//! | `resolve` | types together: loops, sizes, members within their structs, parameters |
//! | `type_tags` | the number of modifiers that follow each other, the order of type tags |
//! | `managed`, `structs` | structs with fields that the kernel manages |
//! | `name` | identifiers and names of sections |
//! | `rules` | the rules that differ between kernels |

mod checker;
mod header;
mod kernel_message;
mod managed;
mod meta;
mod name;
mod records;
mod release;
mod resolve;
mod rule;
mod rules;
mod structs;
#[cfg(test)]
mod tests;
mod type_tags;
mod violation;

pub use managed::{ManagedError, ManagedField};
pub use name::{NameError, NameUse};
pub use rule::{BtfRule, TypeIdError};
pub use rules::KernelBtfRules;
pub use violation::{BtfPlace, BtfViolation, BtfViolations, Element, ViolatingType, Violations};

use super::parse::Btf;
use checker::Checker;
use records::Records;

impl Btf<'_> {
    /// Returns the violations of the kernel's rules, as far as this BTF has no base. The kernel loads no
    /// split BTF of a BPF object.
    ///
    /// ```
    /// use core_relo_btf::{Btf, BtfRule, Builder, Endian, KernelBtfRules, NameError};
    ///
    /// let mut b = Builder::new(Endian::Little);
    /// b.structure("Option<u32>", 0, &[]);
    /// let btf = Btf::parse(b.finish()).unwrap();
    /// let violations = btf.kernel_violations(&KernelBtfRules::newest());
    /// let first = violations.first().unwrap();
    /// assert_eq!(first.rule, BtfRule::Name(NameError::Character { found: b'<', offset: 6 }));
    /// assert_eq!(first.kernel_message(), Some("Invalid name"));
    /// ```
    pub fn kernel_violations(&self, rules: &KernelBtfRules) -> BtfViolations {
        kernel_violations(self.as_bytes(), rules)
    }
}

/// Returns the violations of the kernel's rules by any bytes, which need not be a BTF that [`Btf::parse`]
/// accepts.
pub fn kernel_violations(data: &[u8], rules: &KernelBtfRules) -> BtfViolations {
    let sections = match header::find_sections(data, rules) {
        Ok(sections) => sections,
        Err(rule) => return BtfViolations::of_header(rule),
    };
    let mut checker = Checker {
        records: Records::new(&sections),
        rules: *rules,
        violations: BtfViolations::default(),
        is_structural: false,
        has_structural: false,
    };
    let has_violation = checker.check_records();
    checker.check_references(&has_violation);
    if rules.checks_modifier_chains {
        checker.check_type_tags();
    }
    if !checker.has_structural {
        checker.check_managed_fields();
    }
    checker.violations
}
