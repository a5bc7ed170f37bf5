//! The kernel's rules for the `func_info` and `line_info` of a program that is loaded into it.
//!
//! The kernel checks the records when it loads the program (`BPF_PROG_LOAD`), and refuses the program at the
//! first violation. [`ProgramInfo::kernel_violations`] applies the same rules and finds all violations, in
//! the kernel's order. It checks what a loader sends: the records of one program, after linking.
//!
//! | file | rules |
//! |---|---|
//! | `func_info` | the types of the functions, and what functions may do |
//! | `line_info` | the source lines |

mod func_info;
mod line_info;
mod rule;
#[cfg(test)]
mod tests;
mod violation;

pub use rule::InfoRule;
pub use violation::{InfoPlace, InfoViolation};

use crate::{
    btf::{Btf, KernelBtfRules, Violations},
    insn::Insn,
};

/// The `func_info` and `line_info` of a program, as a loader sends them.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the caller has to give everything that is sent")]
pub struct ProgramInfo<'p> {
    /// The BTF that the loader sends, or that of the object, whose functions are the same. The BTF itself
    /// violates no rule: the kernel has loaded it before. Without BTF, a loader sends no records.
    pub types: Option<&'p Btf<'p>>,
    /// The instructions.
    pub insns: &'p [Insn],
    /// The first instruction of each function that the kernel finds, in order: 0, the targets of calls and of
    /// loads of addresses, and the exception callback, if [the kernel has
    /// them](KernelBtfRules::exception_callbacks).
    pub functions: &'p [u32],
    /// The `func_info`: instruction, type.
    pub func_info: SentRecords<'p, 2>,
    /// The `line_info`: instruction, file, text, position.
    pub line_info: SentRecords<'p, 4>,
    /// The bytes of the strings in the BTF that the loader sends.
    pub string_bytes: u32,
}

/// The records of one kind.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the caller has to give everything that is sent")]
pub struct SentRecords<'p, const WORDS: usize> {
    /// The known words of each record.
    pub records: &'p [[u32; WORDS]],
    /// The form in which the records are sent.
    pub form: RecordForm,
}

/// The form in which a loader sends records: libbpf sends them as the object has them, core-relo without
/// words that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the format of the kernel has no more")]
pub struct RecordForm {
    /// The bytes of each record.
    pub record_bytes: u32,
    /// The index of the first record with a value after the known words.
    pub nonzero_tail: Option<u32>,
}

impl RecordForm {
    /// Returns the form of records without unknown words.
    pub const fn known(record_bytes: u32) -> Self {
        Self { record_bytes, nonzero_tail: None }
    }
}

/// The size of the largest record that the kernel accepts (`MAX_FUNCINFO_REC_SIZE`).
const LARGEST_RECORD: u32 = 252;

impl ProgramInfo<'_> {
    /// Returns the violations of the kernel's rules.
    ///
    /// A kernel without addresses of functions (before 5.13) refuses the instructions that load them.
    pub fn kernel_violations(&self, rules: &KernelBtfRules) -> Violations<InfoViolation> {
        let mut violations = Violations::default();
        let mut checker = Checker { info: self, rules, violations: &mut violations };
        checker.check_func_info();
        checker.check_line_info();
        violations
    }
}

/// The state of a check.
struct Checker<'c> {
    info: &'c ProgramInfo<'c>,
    rules: &'c KernelBtfRules,
    violations: &'c mut Violations<InfoViolation>,
}

impl Checker<'_> {
    /// Adds a violation.
    fn report(&mut self, place: InfoPlace, rule: InfoRule) {
        self.violations.push(|| InfoViolation { place, rule });
    }

    /// Adds the results that are errors.
    fn report_all<const N: usize>(&mut self, place: &InfoPlace, results: [Result<(), InfoRule>; N]) {
        for rule in results.into_iter().filter_map(Result::err) {
            self.report(place.clone(), rule);
        }
    }
}

impl<const WORDS: usize> SentRecords<'_, WORDS> {
    /// Checks the size of the records. The known words have `at_least` bytes.
    fn check_size(&self, at_least: u32) -> Result<(), InfoRule> {
        let found = self.form.record_bytes;
        if found < at_least || found > LARGEST_RECORD || !found.is_multiple_of(4) {
            return Err(InfoRule::RecordSize { found, at_least });
        }
        Ok(())
    }

    /// Checks that nothing follows the known words of a record.
    fn check_tail(&self, index: u32) -> Result<(), InfoRule> {
        if self.form.nonzero_tail == Some(index) { Err(InfoRule::RecordTail) } else { Ok(()) }
    }
}
