//! Helpers, map types and program types: the kernel's enums, and what the configuration leaves out.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    conditional::{
        ConditionalHelper, ConditionalMapType, HELPERS, MAP_TYPES, MODULE_BTF, PROGRAM_TYPES, TRAMPOLINES,
        USUAL_PROGRAM_TYPES,
    },
    facts::KernelFacts,
    fixed_names::Struct,
    kconfig::KconfigAnswer,
    kernel_number::KernelNumber,
};
use core_relo::Name;
use core_relo::insn::Helper;
use core_relo_object::object::{MapType, ProgramType};

/// The question about program types that only BTF of a whole kernel answers.
const COMPILED_TYPES_UNKNOWN: &str =
    "the kernel's BTF has no struct bpf_ctx_convert, which lists the compiled types";

impl KernelFacts<'_> {
    /// Answers whether the kernel has a helper and was compiled with it. A helper may still be closed to a
    /// program type.
    pub fn helper(&self, helper: Helper) -> Answer {
        let compiled = self.compiled_helper(helper);
        match self.lockdown_of_helper(helper).filter(|_| compiled.is_present()) {
            Some(closed) => Answer::Absent(closed),
            None => compiled,
        }
    }

    /// Returns the evidence that lockdown closes a helper to all programs on the machine.
    pub fn lockdown_of_helper(&self, helper: Helper) -> Option<Evidence> {
        self.inputs.lockdown.filter(|mode| mode.closes(helper)).map(Evidence::of_lockdown)
    }

    /// Answers whether the kernel was compiled with a helper.
    pub(super) fn compiled_helper(&self, helper: Helper) -> Answer {
        let in_enum = match helper.0 {
            0 => return Answer::absent_from_btf("helper 0 is none"),
            number => self.answer_number(KernelNumber::Helper(number)),
        };
        match HELPERS.iter().find(|row| row.helper == helper) {
            Some(row) if in_enum.is_present() => self.conditional_helper(row, in_enum),
            _ => in_enum,
        }
    }

    fn conditional_helper(&self, row: &ConditionalHelper, in_enum: Answer) -> Answer {
        let ConditionalHelper { helper, function, neighbours, option } = row;
        if let Some(function) = self.find_any(&[*function]) {
            return Answer::present_in_btf(format!("FUNC {function}"));
        }
        if self.has_all(neighbours) {
            let name = self.number_text(KernelNumber::Helper(helper.0));
            return Answer::absent_from_btf(format!("{name} is not compiled: no FUNC {function}"));
        }
        option.map_or(in_enum, |option| self.answer_option(option))
    }

    /// Answers whether the configuration sets an option.
    pub(super) fn answer_option(&self, option: &str) -> Answer {
        match self.kconfig(option) {
            KconfigAnswer::Value(_, evidence) => Answer::Present(evidence),
            KconfigAnswer::NotSet(evidence) => Answer::Absent(evidence),
            KconfigAnswer::Unknown(question) => {
                Answer::Unknown(format!("it depends on {option}: {question}"))
            }
        }
    }

    /// Answers whether the kernel has a map type and was compiled with it.
    pub fn map_type(&self, number: u32) -> Answer {
        let in_enum = self.answer_number(KernelNumber::MapType(number));
        let conditional = MAP_TYPES.iter().find(|row| row.map_type.number() == number);
        match (&in_enum, conditional) {
            (Answer::Present(_), Some(row)) if row.map_type == MapType::Arena => {
                self.arenas(self.conditional_map_type(row))
            }
            (Answer::Present(_), Some(row)) => self.conditional_map_type(row),
            _ => in_enum,
        }
    }

    fn conditional_map_type(&self, row: &ConditionalMapType) -> Answer {
        match self.compiled(row.functions) {
            Answer::Absent(evidence) => {
                let name = self.number_text(KernelNumber::MapType(row.map_type.number()));
                Answer::absent_from_btf(format!("{name} is not compiled: {}", evidence.text))
            }
            Answer::Unknown(_) => self.answer_option(row.option),
            present @ Answer::Present(_) => present,
        }
    }

    /// Answers whether the kernel has a program type and was compiled with it.
    pub fn program_type(&self, number: u32) -> Answer {
        let in_enum = self.answer_number(KernelNumber::ProgramType(number));
        if matches!(in_enum, Answer::Absent(_)) {
            return in_enum;
        }
        let known = ProgramType::from_number(number).map(ProgramType::name);
        let name = self.program_types.enumerator(number).or(known.map(|name| Name::new(name.as_bytes())));
        if let (Some(contexts), Some(name)) = (self.contexts, name) {
            let member = [name.as_bytes(), b"_prog"].concat();
            let is_compiled = contexts.members().any(|context| context.name.as_bytes() == member);
            let member = Name::new(&member).shortened();
            if is_compiled {
                return Answer::present_in_btf(format!("struct bpf_ctx_convert has {member}"));
            }
            return Answer::absent_from_btf(format!("struct bpf_ctx_convert has no {member}"));
        }
        let row = PROGRAM_TYPES.iter().find(|(other, _)| other.number() == number);
        match row.and_then(|(_, function)| self.find_any(&[*function])) {
            Some(function) => Answer::present_in_btf(format!("FUNC {function}")),
            None if in_enum.is_present()
                && self.inputs.version.is_some()
                && !self.describes_bpf_functions() =>
            {
                self.usual_program_type(number, in_enum)
            }
            None if in_enum.is_present() => Answer::Unknown(COMPILED_TYPES_UNKNOWN.into()),
            None => in_enum,
        }
    }

    /// Answers for a program type of a kernel whose version is known and whose BTF is reduced, so that
    /// nothing shows the compiled types.
    ///
    /// The options of usual types are set in practice, so only a configuration without the option speaks
    /// against them.
    fn usual_program_type(&self, number: u32, exists: Answer) -> Answer {
        let usual =
            USUAL_PROGRAM_TYPES.iter().find(|(_, types)| types.iter().any(|ty| ty.number() == number));
        match usual.map(|(option, _)| self.kconfig(option)) {
            Some(KconfigAnswer::Value(_, evidence)) => Answer::Present(evidence),
            Some(KconfigAnswer::NotSet(evidence)) => Answer::Absent(evidence),
            Some(KconfigAnswer::Unknown(_)) => exists,
            None => Answer::Unknown(COMPILED_TYPES_UNKNOWN.into()),
        }
    }

    /// Answers whether the kernel is compiled with the functions of trampolines that all architectures share.
    pub(super) fn compiled_trampolines(&self) -> Answer {
        match self.compiled(&TRAMPOLINES) {
            Answer::Unknown(_) => match self.kconfig("CONFIG_BPF_JIT") {
                KconfigAnswer::NotSet(evidence) => Answer::Absent(evidence),
                KconfigAnswer::Value(..) | KconfigAnswer::Unknown(_) => {
                    Answer::Unknown("the kernel's BTF has no functions, such as bpf_trampoline_get".into())
                }
            },
            known => known,
        }
    }

    /// Answers whether the kernel reads the BTF of its modules (5.11, `CONFIG_DEBUG_INFO_BTF_MODULES`).
    /// Without it, programs attach to no function of a module.
    pub fn module_btf(&self) -> Answer {
        const MODULE_BTF_STRUCT: Struct = Struct::btf_module;
        if self.vmlinux.find(MODULE_BTF_STRUCT).is_some() {
            return Answer::present_in_btf(format!("struct {MODULE_BTF_STRUCT}"));
        }
        let compiled = self.compiled(&MODULE_BTF);
        if compiled.is_present() {
            return compiled;
        }
        if self.target.module_count() != 0 || self.target.unread_module_count() != 0 {
            let text = String::from("modules with BTF are given");
            return Answer::Present(Evidence { source: EvidenceSource::Btf, text });
        }
        if let Answer::Absent(evidence) = compiled {
            return Answer::absent_from_btf(format!("no struct {MODULE_BTF_STRUCT}, {}", evidence.text));
        }
        Answer::Unknown("the kernel's BTF does not show whether CONFIG_DEBUG_INFO_BTF_MODULES is set".into())
    }
}
