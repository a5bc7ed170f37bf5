//! Accesses to the context at places that the kernel does not permit.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Verdict},
};
use crate::{
    kernel::{AccessKind, Answer, Evidence, EvidenceSource},
    limits,
    mismatch::Prototype,
    reads::{ContextAccess, VariableAccess},
    requirements::{
        ContextKind, Hook, Need, ProgramNeeds, RAW_TRACEPOINT_BYTES, REGISTER_BYTES, SYSTEM_CALL_BYTES,
        TRACE_EVENT_BYTES, TRACE_EVENT_START, context_part, is_aligned,
    },
};
use core_relo::Name;
use core_relo_object::object::ProgramType;

/// The bytes of an argument in the context.
const WORD: i32 = 8;

/// Returns the accesses of a program that the kernel refuses if the verifier reaches them, with the reasons.
pub(super) fn refused_accesses(
    program: &ProgramNeeds,
    answers: &KernelAnswers<'_, '_>,
) -> Vec<(ContextAccess, Reason)> {
    if program.context_accesses.is_empty() {
        return Vec::new();
    }
    let limit = program.context.map_or(Limit::None, |context| Limit::new(context, program, answers));
    let accesses = program.context_accesses.iter().filter(|access| !is_undecided(program, **access));
    let refused = accesses.filter_map(|access| {
        let reason = atomic_reason(*access)
            .or_else(|| alignment_reason(program.context?, *access, answers))
            .or_else(|| limit.reason(*access))
            .or_else(|| limit.register_reason(program, *access))
            .or_else(|| moved_reason(program, *access, answers))
            .or_else(|| limit.pointer_reason(*access, answers))
            .or_else(|| forbidden_part(program, *access, answers))?;
        Some((*access, reason))
    });
    refused.take(limits::REFUSED_ACCESSES).collect()
}

/// Returns whether kernels differ about an access, and nothing tells them apart. Those before 6.17 permit
/// netfilter programs to read a word at any offset of a pointer (kernel: `nf_is_valid_access`).
fn is_undecided(program: &ProgramNeeds, access: ContextAccess) -> bool {
    program.context == Some(ContextKind::Struct(ProgramType::Netfilter))
        && access.kind == AccessKind::Read
        && i32::try_from(access.bytes) == Ok(WORD)
        && !is_aligned(access)
}

/// Returns the reason against an access at an offset that the verifier does not know (kernel:
/// `check_ctx_reg`, `__check_ptr_off_reg`).
pub(super) fn variable_offset_reason(access: VariableAccess) -> Reason {
    let (verb, bytes) = (verb(access.kind), access.bytes);
    let plural = if bytes == 1 { "" } else { "s" };
    refused_by_all(format!(
        "{verb} {bytes} byte{plural} of its context at an offset that is no constant for the verifier"
    ))
    .with_fix("a `switch` over the offsets, or a copy of the data on the stack that is indexed in place of the context")
}

const fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "reads",
        AccessKind::Write | AccessKind::WriteConstant => "writes",
        AccessKind::Atomic => "accesses",
    }
}

/// Returns an access as words: "reads 4 bytes at offset 8 of its context".
fn place(access: ContextAccess) -> String {
    let ContextAccess { offset, bytes, kind, .. } = access;
    let plural = if bytes == 1 { "" } else { "s" };
    let verb = verb(kind);
    format!("{verb} {bytes} byte{plural} at offset {offset} of its context")
}

/// Returns the reason against an atomic access. No part of any context takes one (kernel: `check_atomic`).
fn atomic_reason(access: ContextAccess) -> Option<Reason> {
    (access.kind == AccessKind::Atomic)
        .then(|| refused_by_all(format!("{}, with an atomic instruction", place(access))))
}

/// Returns the reason against an access at an offset that is no multiple of the width. For arguments,
/// [`Limit`] decides.
fn alignment_reason(
    context: ContextKind,
    access: ContextAccess,
    answers: &KernelAnswers<'_, '_>,
) -> Option<Reason> {
    if context == ContextKind::Arguments || is_aligned(access) {
        return None;
    }
    let text = || format!("{}: expected a multiple of {}", place(access), access.bytes);
    if context == ContextKind::SystemCall {
        return answered_reason(answers.facts.unaligned_system_call_context(), text);
    }
    Some(refused_by_all(text()))
}

/// Returns the reason against an access that every kernel refuses.
fn refused_by_all(text: String) -> Reason {
    let evidence =
        Evidence { source: EvidenceSource::Object, text: "every kernel refuses such accesses".to_owned() };
    Reason::new(ReasonKind::Context, Verdict::Refused, text).with_evidence(evidence)
}

/// Returns the reason why the kernel does not permit an access to a part of the context that it has.
fn forbidden_part(
    program: &ProgramNeeds,
    access: ContextAccess,
    answers: &KernelAnswers<'_, '_>,
) -> Option<Reason> {
    let def = program.sec_def?;
    let part = context_part(def, access)?;
    answered_reason(answers.facts.context_part(part), || {
        let attach_type =
            def.attach_type.map_or_else(String::new, |attach_type| format!(" at {attach_type}"));
        let constant =
            if access.kind == AccessKind::WriteConstant { ", with a store of a constant" } else { "" };
        let place = place(access);
        format!("{place}{constant}, which programs of type {}{attach_type} may not", def.program_type)
    })
}

/// Returns the reason why the kernel refuses an access through a register that the program has changed.
fn moved_reason(
    program: &ProgramNeeds,
    access: ContextAccess,
    answers: &KernelAnswers<'_, '_>,
) -> Option<Reason> {
    let program_type = program.sec_def.filter(|_| access.is_moved)?.program_type;
    answered_reason(answers.facts.moved_context(program_type), || {
        format!("{}, through a register that points behind the start of the context", place(access))
    })
}

/// Returns the reason against an access that the kernel does not permit. Only a reason needs its text.
fn answered_reason(answer: Answer, text: impl FnOnce() -> String) -> Option<Reason> {
    match answer {
        Answer::Present(_) => None,
        Answer::Absent(evidence) => {
            Some(Reason::new(ReasonKind::Context, Verdict::Refused, text()).with_evidence(evidence))
        }
        Answer::Unknown(question) => {
            Some(Reason::new(ReasonKind::Context, Verdict::Unknown, format!("{}: {question}", text())))
        }
    }
}

/// Returns the word of the context that an access begins with. Returns `None` for an access within a word.
fn word_of(access: ContextAccess) -> Option<usize> {
    let word = usize::try_from(access.offset.checked_div(WORD)?).ok()?;
    (access.offset.checked_rem(WORD) == Some(0)).then_some(word)
}

/// The places that a kernel permits.
enum Limit<'k> {
    /// The arguments of a prototype.
    Arguments { prototype: Prototype<'k>, has_result: bool },
    /// The bytes between two offsets.
    Bytes { start: u32, end: u32, what: String, evidence: Evidence },
    /// Nothing tells. The kernel may refuse accesses for this reason.
    Unknown(String),
    /// Nothing tells, and no question is open.
    None,
}

impl<'k> Limit<'k> {
    fn new(context: ContextKind, program: &ProgramNeeds, answers: &KernelAnswers<'_, 'k>) -> Self {
        let bytes = |start, end, what: &str| {
            let evidence =
                Evidence { source: EvidenceSource::Object, text: "every kernel has the same limit".into() };
            Self::Bytes { start, end, what: what.to_owned(), evidence }
        };
        match context {
            ContextKind::Arguments => Self::arguments(program, answers).unwrap_or(Self::None),
            ContextKind::RawTracepoint => bytes(0, RAW_TRACEPOINT_BYTES, "the context of a raw tracepoint"),
            ContextKind::TraceEvent => {
                bytes(TRACE_EVENT_START, TRACE_EVENT_BYTES, "the record of a trace event")
            }
            ContextKind::SystemCall => bytes(0, SYSTEM_CALL_BYTES, "the context of a `syscall` program"),
            ContextKind::Struct(program_type) => match answers.facts.context_struct(program_type) {
                Some((name, end)) => {
                    let what = format!("struct {}", Name::shortened(name));
                    let evidence =
                        Evidence { source: EvidenceSource::Btf, text: format!("{what} has {end} bytes") };
                    Self::Bytes { start: 0, end, what, evidence }
                }
                None => {
                    Self::Unknown("the kernel's BTF has no struct bpf_ctx_convert with the context".into())
                }
            },
        }
    }

    fn arguments(program: &ProgramNeeds, answers: &KernelAnswers<'_, 'k>) -> Option<Self> {
        let declaration = program.declaration.as_ref()?;
        let needs = program.attach.needs().iter().filter_map(|need| answers.need(*need));
        let module = needs.filter_map(|need| match need {
            Need::AttachTarget { module, .. } => Some(module.as_deref()),
            _ => None,
        });
        let module = match program.hook {
            Hook::StructOpsMember { .. } => None,
            _ => module.last()?,
        };
        let ty = answers.facts.find_type_in(declaration, module)?;
        let count = Prototype::argument_count(&program.hook, ty)?;
        // Most programs read arguments that exist, each of which takes a word or more.
        let is_argument = |access: &ContextAccess| {
            access.bytes.cast_signed() == WORD && word_of(*access).is_some_and(|word| word < count)
        };
        if program.context_accesses.iter().all(is_argument) {
            return None;
        }
        let prototype = Prototype::new(&program.hook, ty)?;
        let has_result = matches!(program.hook, Hook::Function { has_result: true, .. });
        (!has_result || !prototype.has_large_result()).then_some(Self::Arguments { prototype, has_result })
    }

    /// Returns the reason why the kernel refuses a read of a part of a register in the context of a program
    /// of perf events (kernel: `pe_prog_is_valid_access`).
    fn register_reason(&self, program: &ProgramNeeds, access: ContextAccess) -> Option<Reason> {
        /// The bytes of the members behind the registers: `sample_period` and `addr`.
        const OTHER_BYTES: u32 = 16;
        let Self::Bytes { end, .. } = self else { return None };
        let is_register = u32::try_from(access.offset).ok()?.checked_add(OTHER_BYTES)? < *end;
        let is_perf_event = program.sec_def?.program_type == ProgramType::PerfEvent;
        let is_part = access.bytes != REGISTER_BYTES && access.kind == AccessKind::Read;
        (is_perf_event && is_register && is_part).then(|| {
            let text = format!("{}: a register has {REGISTER_BYTES} bytes", place(access));
            refused_by_all(text)
        })
    }

    /// Returns the reason why the kernel refuses a read of a part of an argument.
    fn pointer_reason(&self, access: ContextAccess, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
        let Self::Arguments { prototype, .. } = self else { return None };
        let is_part = access.bytes.cast_signed() != WORD && access.kind == AccessKind::Read;
        let index = word_of(access).filter(|index| is_part && prototype.is_pointer(*index))?;
        let number = index.checked_add(1)?;
        answered_reason(answers.facts.parts_of_pointers(), || {
            format!("{}: argument {number} is a pointer, of {WORD} bytes", place(access))
        })
    }

    /// Returns the reason why the kernel refuses an access. Returns `None` if the kernel permits its place.
    fn reason(&self, access: ContextAccess) -> Option<Reason> {
        let ContextAccess { offset, bytes, .. } = access;
        let place = || place(access);
        let refused = |text: String, evidence: Evidence| {
            Some(Reason::new(ReasonKind::Context, Verdict::Refused, text).with_evidence(evidence))
        };
        match self {
            Self::None => None,
            Self::Arguments { prototype, has_result } => {
                let text = match word_of(access) {
                    Some(index) => prototype.missing_argument(index, *has_result)?,
                    None => format!("{}: expected a multiple of {WORD}, the start of an argument", place()),
                };
                let evidence = Evidence { source: EvidenceSource::Btf, text: prototype.text() };
                let fix = "read only the arguments that the kernel's declaration has. If kernels differ, write a program for each \
                           declaration, in a section that begins with `?`";
                refused(text, evidence).map(|reason| reason.with_fix(fix))
            }
            Self::Bytes { start, end, what, evidence } => {
                let offset = u32::try_from(offset).ok();
                let is_inside = offset.is_some_and(|offset| offset >= *start)
                    && offset.and_then(|offset| offset.checked_add(bytes)).is_some_and(|last| last <= *end);
                if is_inside {
                    return None;
                }
                let text = match start {
                    0 => format!("{}: {what} has {end} bytes", place()),
                    _ => format!("{}: programs read {what} from offset {start} to {end}", place()),
                };
                refused(text, evidence.clone())
            }
            Self::Unknown(question) => {
                let text = format!("{}, which older kernels do not have: {question}", place());
                Some(Reason::new(ReasonKind::Context, Verdict::Unknown, text))
            }
        }
    }
}
