//! The answers of one kernel to the requirements of all objects.

use super::model::{Reason, ReasonKind, Requirement, Verdict};
use crate::{
    kernel::{
        Answer, ContextArgument, Evidence, EvidenceSource, FieldCallee, FieldForm, FieldFunction,
        FieldHolder, FieldPlace, FunctionRule, HelperCall, InsnFeature, KconfigAnswer, KernelFacts,
        KernelInputs, KfuncCall, MapUse, VmlinuxNames, answer_helper_call, answer_kfunc_call,
        depends_on_attach_type, needs_device,
    },
    requirements::{LicenseUse, Need, NeedId, NeedTable, TargetKind, field_callee_text, helper_text},
};
use core_relo::insn::Helper;
use core_relo::{Name, Target, explain::text};
use core_relo_object::{features::Feature, helper_maps::map_argument};

/// The fix of an object whose license is not compatible with the GPL.
const LICENSE_FIX: &str = "char LICENSE[] SEC(\"license\") = \"GPL\"; or another GPL-compatible license";

/// The answers of one kernel to the requirements of all objects, in the order of a [`NeedTable`].
#[derive(Debug)]
pub struct KernelAnswers<'n, 'k> {
    /// The kernel's facts.
    pub facts: KernelFacts<'k>,
    pub(super) table: &'n NeedTable,
    answers: Vec<Answer>,
    /// Whether the kernel verifies no global function by itself.
    pub(super) are_functions_static: bool,
    /// Whether the kernel may verify functions that nothing calls.
    pub(super) verifies_uncalled_functions: bool,
}

/// The names of a [`NeedTable`], found in a kernel's vmlinux. The facts about the kernel come from the same
/// search, so that they have every name of the table.
#[derive(Clone, Debug)]
pub(crate) struct TableSearch<'k> {
    table: &'k NeedTable,
    pub(crate) names: VmlinuxNames<'k>,
}

impl<'k> TableSearch<'k> {
    /// Searches the vmlinux of a kernel.
    pub(crate) fn new(table: &'k NeedTable, target: &'k Target<'_>) -> Self {
        Self { table, names: VmlinuxNames::new(target, table.names()) }
    }

    /// Answers every requirement of the table. `target` has the vmlinux of the search, and the modules.
    pub(crate) fn answers(&self, target: &'k Target<'_>, inputs: &'k KernelInputs) -> KernelAnswers<'k, 'k> {
        let facts = KernelFacts::with_names(self.names.clone(), target, inputs);
        KernelAnswers::from_facts(self.table, facts)
    }
}

impl<'k> KernelAnswers<'k, 'k> {
    /// Answers every requirement of a table, by the facts about a kernel.
    pub fn new(table: &'k NeedTable, target: &'k Target<'_>, inputs: &'k KernelInputs) -> Self {
        TableSearch::new(table, target).answers(target, inputs)
    }
}

impl<'n, 'k> KernelAnswers<'n, 'k> {
    fn from_facts(table: &'n NeedTable, facts: KernelFacts<'k>) -> Self {
        let answers = table.iter().map(|need| answer(need, &facts)).collect();
        let is_absent = |answer| matches!(answer, Answer::Absent(_));
        // The loader sends no `func_info`, or BTF without global functions (libbpf: `bpf_object_load_prog`,
        // `bpf_object__sanitize_btf`).
        let are_functions_static =
            is_absent(facts.feature(Feature::BtfFunc)) || is_absent(facts.feature(Feature::BtfGlobalFunc));
        // If nothing tells, the kernel may verify them.
        let verifies_uncalled_functions = !is_absent(facts.verifies_uncalled_functions());
        Self { facts, table, answers, are_functions_static, verifies_uncalled_functions }
    }

    /// Returns a requirement. Returns `None` for the index of another table.
    pub fn need(&self, id: NeedId) -> Option<&Need> {
        self.table.get(id)
    }

    /// Returns the answer to a requirement. Returns `None` for the index of another table.
    pub fn get(&self, id: NeedId) -> Option<&Answer> {
        self.answers.get(id.index())
    }

    /// Returns the answers, with the indices of their requirements.
    pub fn iter(&self) -> impl Iterator<Item = (NeedId, &Answer)> {
        self.table.ids().zip(&self.answers)
    }

    /// Returns what is wrong with a requirement that the kernel does not meet.
    fn refusal(&self, need: &Need) -> String {
        match need {
            Need::Helper { helper, .. } if self.facts.lockdown_of_helper(*helper).is_some() => {
                format!("lockdown closes {} to all programs", need.text())
            }
            Need::Helper { helper, program_type: Some(program_type), .. }
                if self.facts.helper(*helper).is_present() =>
            {
                format!("programs of type {program_type} may not call {}", need.text())
            }
            Need::KfuncCall { name, program_type: Some(program_type), attach_type }
                if self.facts.kfunc_in_jit(name, self.facts.kfunc(name)).is_present() =>
            {
                if needs_device(name) {
                    return format!("{} needs a program that is bound to a device", need.text());
                }
                let place = match (depends_on_attach_type(*program_type, name), attach_type) {
                    (true, Some(attach_type)) => format!(" at {attach_type}"),
                    (true, None) => " without an attach type".to_owned(),
                    (false, _) => String::new(),
                };
                format!("programs of type {program_type}{place} may not call {}", need.text())
            }
            Need::License(license_use) => {
                let subject = match license_use {
                    LicenseUse::Helper(helper) => helper_text(*helper),
                    LicenseUse::Kfunc(name) => format!("kfunc {}", text(Name::new(name).shortened())),
                    LicenseUse::ProgramType(program_type) => format!("program type {program_type}"),
                };
                format!("{subject} needs a GPL-compatible license")
            }
            Need::MapUse { map, map_use } => refused_map_use(map, *map_use),
            Need::InsnRule(rule) => rule.to_string(),
            Need::FunctionRule { rule, .. } => format!("{}: {rule}", need.text()),
            Need::ContextArgument(argument) => argument.to_string(),
            Need::MapField { place: FieldPlace::LocalStorage, field, .. } => {
                format!("local storage does not accept values with {}", field.field.name())
            }
            Need::MapField { place: FieldPlace::InnerMap, field, .. } => {
                format!("maps of maps hold no maps of values with {}", field.field.name())
            }
            Need::MapField { place: FieldPlace::MappedSection, field, .. } => {
                format!("the kernel maps no data with {} into memory", field.field.name())
            }
            Need::Kconfig(name) if self.facts.unreadable_option(name).is_some() => {
                format!("{} is unknown: the kernel's configuration cannot be read", need.text())
            }
            _ => format!("the kernel lacks {}", need.text()),
        }
    }

    /// Returns whether libbpf supplies a configuration value on every kernel: `LINUX_KERNEL_VERSION` and the
    /// like.
    pub(super) fn is_from_libbpf(&self, id: NeedId) -> bool {
        let Some(Need::Kconfig(name)) = self.need(id) else { return false };
        matches!(&**name, "LINUX_KERNEL_VERSION" | "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER")
    }

    /// Returns the reason why a requirement is not met. Returns `None` if the kernel meets the requirement.
    pub(super) fn reason(&self, id: NeedId) -> Option<Reason> {
        let (need, answer) = (self.table.get(id)?, self.get(id)?);
        let (verdict, text, evidence) = match answer {
            Answer::Present(_) => return None,
            Answer::Absent(evidence) => (Verdict::Refused, self.refusal(need), Some(evidence.clone())),
            Answer::Unknown(question) => {
                let text = match need {
                    Need::MapUse { .. } => format!("{} may be refused: {question}", need.text()),
                    Need::InsnRule(rule) => format!("{rule}: {question}"),
                    Need::FunctionRule { rule, .. } => format!("{}: {rule}: {question}", need.text()),
                    _ => format!("{} may be missing: {question}", need.text()),
                };
                (Verdict::Unknown, text, None)
            }
        };
        let requirement = Some(Requirement::Need(id));
        let fix = match need {
            Need::License(_) => Some(LICENSE_FIX.to_owned()),
            Need::FunctionRule { rule, .. } => Some(function_rule_fix(*rule).to_owned()),
            Need::MapUse { map, map_use } => Some(map_use_fix(map, *map_use)),
            Need::ContextArgument(argument) => Some(context_argument_fix(argument).to_owned()),
            _ => None,
        };
        Some(Reason { evidence, fix, requirement, ..Reason::new(kind(need), verdict, text) })
    }
}

/// Returns what to do about a global function whose prototype breaks a rule.
const fn function_rule_fix(rule: FunctionRule) -> &'static str {
    match rule {
        FunctionRule::UnsizedParameter(_) => {
            "declare the function as `static`, or the parameter as a pointer to a struct"
        }
        FunctionRule::PointerParameter(_) => "declare the function as `static`",
        FunctionRule::VoidResult | FunctionRule::Result => {
            "declare the function as `static`, or with `int` as its result"
        }
    }
}

/// Returns what to do about an argument that is the context, or is not.
const fn context_argument_fix(argument: &ContextArgument) -> &'static str {
    match argument {
        ContextArgument::Expected(..) => "pass the context, as the program receives it",
        ContextArgument::ExpectedByFunction(_) => {
            "pass the context, as the program receives it, or declare the function as `static`"
        }
        ContextArgument::Unexpected => {
            "declare the function as `static`, or its parameter as a pointer to the context"
        }
    }
}

/// Returns what is wrong with a use of a map that the kernel refuses.
fn refused_map_use(map: &str, map_use: MapUse) -> String {
    let problem = match map_use {
        MapUse::Helper { helper, map_type } => format!(
            "its type does not fit {}: {map_type}, expected {}",
            helper_text(helper),
            accepted_types(helper)
        ),
        MapUse::Sleepable(map_type) => format!("programs that may sleep cannot use {map_type}"),
        MapUse::SleepableAllocation => {
            "programs that may sleep cannot use maps with BPF_F_NO_PREALLOC".to_owned()
        }
        MapUse::PerfEventAllocation => {
            "programs of perf events cannot use maps with BPF_F_NO_PREALLOC".to_owned()
        }
        MapUse::Field { field, program_type: Some(program_type), .. } => {
            format!("programs of type {program_type} cannot use maps with {}", field.field.name())
        }
        MapUse::Field { field, program_type: None, .. } => {
            format!("programs that may sleep cannot use maps with {}", field.field.name())
        }
        MapUse::MissingField { function: FieldFunction { callee, field }, holder } => format!(
            "{} takes a value with {}, which the kernel does not find {}",
            field_callee_text(callee),
            field.name(),
            match holder {
                FieldHolder::Value | FieldHolder::WriteOnlyValue => "in the types of the map",
                FieldHolder::Variable => "in the types of the variables",
            }
        ),
        MapUse::FormedField { function: FieldFunction { callee, field }, form } => format!(
            "{} takes a value with {}, which the kernel does not find {}",
            field_callee_text(callee),
            field.name(),
            match form {
                FieldForm::Nested => "in a struct or an array within the value".to_owned(),
                FieldForm::Variable => "among variables".to_owned(),
                FieldForm::ReloadedVariable => "behind an address that is loaded again".to_owned(),
                FieldForm::KptrTag => "by the tag kptr".to_owned(),
                FieldForm::KptrRefTag => "by the tag kptr_ref".to_owned(),
                FieldForm::BesideRefused { other, .. } => format!("beside {}", other.name()),
            }
        ),
        MapUse::SecondStorage(map_type) => {
            format!("the program uses another map of {map_type}, expected at most one")
        }
        MapUse::FunctionArgument { is_read_only } => format!(
            "the program passes the address of a value to a global function, which may {}",
            if is_read_only {
                "write to it, and programs only read the map"
            } else {
                "read it, and programs only write to the map"
            }
        ),
        MapUse::KfuncArgument { is_read_only } => format!(
            "the program passes the address of a value to a kfunc, which may {}",
            if is_read_only {
                "write to it, and programs only read the map"
            } else {
                "read it, and programs only write to the map"
            }
        ),
        MapUse::ContextArgument => {
            "the program passes the address of a value to a global function, which takes the context"
                .to_owned()
        }
        MapUse::OutsideAddress { offset, value_bytes } => {
            format!("the program uses data at offset {offset}, and the size that is set is {value_bytes}")
        }
        MapUse::OutsideAccess { end, value_bytes } => {
            format!("the program uses data up to offset {end}, and the size that is set is {value_bytes}")
        }
        MapUse::Read => "the program reads a value of the map, which programs only write to".to_owned(),
        MapUse::Write => "the program writes to the map, which programs only read".to_owned(),
        MapUse::Sockets { helper, program_type } => format!(
            "programs of type {program_type} may not change maps of sockets, as {} does",
            helper_text(helper)
        ),
    };
    format!("map {map}: {problem}")
}

/// Returns what to do about a use of a map that the kernel refuses.
fn map_use_fix(map: &str, map_use: MapUse) -> String {
    match map_use {
        MapUse::Helper { helper, .. } => {
            format!("call {} with a map of type {}", helper_text(helper), accepted_types(helper))
        }
        MapUse::Sleepable(_) => format!("use {map} in programs that do not sleep, or use a hash or an array"),
        MapUse::SleepableAllocation | MapUse::PerfEventAllocation => {
            "remove BPF_F_NO_PREALLOC from map_flags".to_owned()
        }
        MapUse::Field { field, .. } => {
            format!("use {map} in programs of other types, or a map without {}", field.field.name())
        }
        MapUse::FormedField { form, .. } => match form {
            FieldForm::Nested => "make the field a member of the struct of the values".to_owned(),
            FieldForm::Variable | FieldForm::ReloadedVariable => {
                "a map with the lock in its values, for kernels before 6.2".to_owned()
            }
            FieldForm::KptrTag => {
                "the tag kptr_ref, which kernels before 6.4 have in place of kptr".to_owned()
            }
            FieldForm::KptrRefTag => {
                "the tag kptr, which kernels since 6.4 have in place of kptr_ref".to_owned()
            }
            FieldForm::BesideRefused { other, is_repeated: true, .. } => {
                format!("one {} in the values", other.name())
            }
            FieldForm::BesideRefused { other, is_repeated: false, .. } => {
                format!("values without {}, or a hash or an array", other.name())
            }
        },
        MapUse::MissingField { function: FieldFunction { field, .. }, holder: FieldHolder::Variable } => {
            format!(
                "one {} in each data section, such as SEC(\".data.NAME\"), as a variable without a typedef, a qualifier, a union or an array",
                field.name()
            )
        }
        MapUse::MissingField { function: FieldFunction { field, .. }, .. } => format!(
            "define the map with __type(key, …) and __type(value, …), where the value is a struct with {}, and do not set other sizes; the \
             kernel ignores the types of an array whose keys are no int or __u32, and of a map with BPF_F_RDONLY_PROG",
            field.name()
        ),
        MapUse::SecondStorage(_) => "one map, with a struct of both values".to_owned(),
        MapUse::FunctionArgument { .. } => {
            "pass a copy of the value on the stack, or declare the function as `static`".to_owned()
        }
        MapUse::KfuncArgument { .. } => "pass a copy of the value on the stack".to_owned(),
        MapUse::ContextArgument => "pass the context, or declare the function as `static`".to_owned(),
        MapUse::OutsideAddress { .. } | MapUse::OutsideAccess { .. } => {
            format!("--value-size {map}=N, or bpf_map__set_value_size(), with a size that has all variables")
        }
        MapUse::Read => "remove BPF_F_WRONLY_PROG from map_flags".to_owned(),
        MapUse::Write => "remove `const` from the variable, or BPF_F_RDONLY_PROG from map_flags".to_owned(),
        MapUse::Sockets { .. } => {
            "change the map in user space; or in a program at tc, XDP, sk_lookup or iter/sockmap; or by \
             bpf_sock_map_update() in sockops"
                .to_owned()
        }
    }
}

/// Returns the names of the map types that a helper accepts.
fn accepted_types(helper: Helper) -> String {
    let types = map_argument(helper).map_or(&[][..], |argument| argument.map_types);
    let names: Vec<_> = types.iter().map(|map_type| map_type.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the answer of a kernel to a requirement.
fn answer(need: &Need, facts: &KernelFacts<'_>) -> Answer {
    match need {
        Need::Helper { helper, program_type, attach_type, sleepable } => {
            let (helper, program_type, attach_type) = (*helper, *program_type, *attach_type);
            answer_helper_call(facts, HelperCall { helper, program_type, attach_type, sleepable: *sleepable })
        }
        Need::KfuncCall { name, program_type, attach_type } => {
            let (exists, program_type, attach_type) = (&facts.kfunc(name), *program_type, *attach_type);
            answer_kfunc_call(facts, KfuncCall { name, exists, program_type, attach_type })
        }
        // libbpf resolves the extern to any function. The kernel refuses the call of a function that is no
        // kfunc.
        Need::Kfunc(name) | Need::Variable(name) => facts.declaration(name, None),
        Need::Symbol(name) => facts.symbol(name),
        Need::VariableAddress(name) => facts.variable_address(name),
        Need::MapType(number) => facts.map_type(*number),
        Need::ProgramType(program_type) => facts.program_type(program_type.number()),
        Need::AttachType(attach_type) => facts.attach_type(attach_type.number()),
        Need::AttachTarget { kind: TargetKind::Lsm, declaration, .. } => facts.lsm_hook(declaration),
        Need::AttachTarget { module, declaration, .. } => facts.declaration(declaration, module.as_deref()),
        Need::Tracepoint(name) => facts.tracepoint(name),
        Need::ProbedFunction(name) => facts.probed_function(name),
        Need::Module(module) => facts.module(module),
        Need::Feature(feature) => facts.program_feature(*feature),
        Need::SleepableLsm(hook) => facts.sleepable_lsm(hook),
        Need::Trampolines => facts.trampolines(),
        Need::ErrorInjection(function) => facts.error_injection(function),
        Need::StructOps(name) => facts.struct_ops(name),
        Need::License(license_use) => answer_license(license_use, facts),
        Need::MapUse { map_use, .. } => facts.map_use(*map_use),
        Need::Instruction(feature) => facts.instruction_set(*feature),
        Need::InsnRule(rule) => facts.insn_rule(*rule),
        Need::FunctionRule { rule, .. } => facts.function_rule(*rule),
        Need::ContextArgument(_) => ContextArgument::answer(),
        Need::MapField { place, field } => facts.map_field(*place, *field),
        Need::Kconfig(name) => match facts.loaded_kconfig(name) {
            KconfigAnswer::Value(_, evidence) => Answer::Present(evidence),
            KconfigAnswer::NotSet(evidence) => Answer::Absent(evidence),
            KconfigAnswer::Unknown(question) => Answer::Unknown(question),
        },
    }
}

/// Answers whether a kernel accepts the part of a program that needs a GPL-compatible license, in an object
/// with another license.
fn answer_license(license_use: &LicenseUse, facts: &KernelFacts<'_>) -> Answer {
    let from_object = |text: &str| Evidence { source: EvidenceSource::Object, text: text.to_owned() };
    let refused = || Answer::Absent(from_object("the license of the object"));
    match license_use {
        LicenseUse::Helper(_) | LicenseUse::ProgramType(_) => refused(),
        LicenseUse::Kfunc(name) => {
            // The kernel checks the license of a call that it knows. libbpf replaces the call of a missing
            // weak kfunc.
            match (facts.declaration(name, None), facts.instruction_set(InsnFeature::KfuncCall)) {
                (Answer::Absent(_), _) | (_, Answer::Absent(_)) => {
                    Answer::Present(from_object("no call of the kfunc"))
                }
                (Answer::Unknown(question), _) | (_, Answer::Unknown(question)) => Answer::Unknown(question),
                (Answer::Present(_), Answer::Present(_)) => refused(),
            }
        }
    }
}

/// Returns the kind of reason for a requirement that is not met.
pub(super) const fn kind(need: &Need) -> ReasonKind {
    match need {
        Need::Kfunc(_)
        | Need::KfuncCall { .. }
        | Need::License(LicenseUse::Kfunc(_))
        | Need::MapUse {
            map_use:
                MapUse::MissingField { function: FieldFunction { callee: FieldCallee::Kfunc(_), .. }, .. }
                | MapUse::FormedField { function: FieldFunction { callee: FieldCallee::Kfunc(_), .. }, .. },
            ..
        } => ReasonKind::Kfunc,
        Need::Helper { .. }
        | Need::License(LicenseUse::Helper(_))
        | Need::MapUse {
            map_use:
                MapUse::Helper { .. }
                | MapUse::MissingField { .. }
                | MapUse::FormedField { .. }
                | MapUse::Sockets { .. },
            ..
        } => ReasonKind::Helper,
        Need::Symbol(_) | Need::Variable(_) | Need::VariableAddress(_) => ReasonKind::Ksym,
        Need::MapUse {
            map_use: MapUse::Sleepable(_) | MapUse::Field { .. } | MapUse::SecondStorage(_),
            ..
        }
        | Need::MapType(_)
        | Need::MapField { .. } => ReasonKind::MapType,
        Need::MapUse { .. } => ReasonKind::MapFlag,
        Need::ProgramType(_)
        | Need::Feature(_)
        | Need::Trampolines
        | Need::License(LicenseUse::ProgramType(_)) => ReasonKind::ProgramType,
        Need::AttachType(_) => ReasonKind::AttachType,
        Need::AttachTarget { .. }
        | Need::Tracepoint(_)
        | Need::ProbedFunction(_)
        | Need::Module(_)
        | Need::SleepableLsm(_)
        | Need::ErrorInjection(_) => ReasonKind::AttachTarget,
        Need::StructOps(_) => ReasonKind::StructOps,
        Need::Instruction(_) | Need::InsnRule(_) => ReasonKind::Instruction,
        Need::FunctionRule { .. } => ReasonKind::Btf,
        Need::ContextArgument(_) => ReasonKind::Context,
        Need::Kconfig(_) => ReasonKind::Kconfig,
    }
}
