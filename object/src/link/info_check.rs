//! The `func_info` and `line_info` of a linked program, by the kernel's rules.

use super::LinkedProgram;
use core_relo::{
    btf::{Btf, KernelBtfRules, Violations},
    ext::{ExtRecord as _, FuncInfo, InfoViolation, LineInfo, ProgramInfo, RecordForm, SentRecords},
};

/// The forms of a program's records in the object. libbpf sends the records in these forms; core-relo sends
/// the known words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InfoForms {
    /// The form of the `func_info`.
    pub func_info: RecordForm,
    /// The form of the `line_info`.
    pub line_info: RecordForm,
}

impl InfoForms {
    /// Creates the forms of records of these sizes. Records without a size are those that the kernel knows.
    pub(super) fn new(func_info_bytes: Option<u32>, line_info_bytes: Option<u32>) -> Self {
        Self {
            func_info: RecordForm::known(func_info_bytes.unwrap_or(FuncInfo::SIZE)),
            line_info: RecordForm::known(line_info_bytes.unwrap_or(LineInfo::SIZE)),
        }
    }
}

impl Default for InfoForms {
    fn default() -> Self {
        Self::new(None, None)
    }
}

/// The BTF that a loader sends with a program.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the caller has to give all of it")]
pub struct SentTypes<'t> {
    /// The object's BTF, whose functions are those of the sent one.
    pub btf: &'t Btf<'t>,
    /// The bytes of the strings that are sent.
    pub string_bytes: u32,
}

impl LinkedProgram {
    /// Returns the violations of the kernel's rules for `func_info` and `line_info`, if a loader sends the
    /// object's records as they are. Without BTF, it sends none.
    pub fn info_violations(
        &self,
        types: Option<SentTypes<'_>>,
        rules: &KernelBtfRules,
    ) -> Violations<InfoViolation> {
        self.violations_in(self.info_forms, types, rules)
    }

    /// Returns the violations, as [`info_violations`](Self::info_violations) does, if the loader sends the
    /// words that the kernel knows.
    pub(crate) fn known_info_violations(
        &self,
        types: SentTypes<'_>,
        rules: &KernelBtfRules,
    ) -> Violations<InfoViolation> {
        self.violations_in(InfoForms::default(), Some(types), rules)
    }

    /// Returns the first instruction of each function that the kernel finds. A kernel without exception
    /// callbacks does not find one that nothing calls.
    pub(crate) fn function_starts(&self, rules: &KernelBtfRules) -> Vec<u32> {
        let hidden = self.exception_callback.filter(|_| !rules.exception_callbacks());
        self.functions.iter().map(|copy| copy.start).filter(|start| Some(*start) != hidden).collect()
    }

    fn violations_in(
        &self,
        forms: InfoForms,
        types: Option<SentTypes<'_>>,
        rules: &KernelBtfRules,
    ) -> Violations<InfoViolation> {
        let functions = self.function_starts(rules);
        let is_sent = types.is_some();
        let info = ProgramInfo {
            types: types.map(|types| types.btf),
            insns: &self.insns,
            functions: &functions,
            func_info: SentRecords {
                records: if is_sent { &self.func_info } else { &[] },
                form: forms.func_info,
            },
            line_info: SentRecords {
                records: if is_sent { &self.line_info } else { &[] },
                form: forms.line_info,
            },
            string_bytes: types.map_or(0, |types| types.string_bytes),
        };
        info.kernel_violations(rules)
    }
}
