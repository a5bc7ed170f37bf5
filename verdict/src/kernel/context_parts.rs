//! The parts of contexts that programs may read and write, observed on real kernels.
//!
//! A program of each type and attach type accessed each aligned offset with each width on the kernels of
//! `OBSERVED_KERNELS` and on 6.18 (kernel: `is_valid_access` of each program type). The kernels agree, but
//! for members that came later and for [`row`]. Accesses behind the end of a kernel's struct are judged by
//! the size in its BTF.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    context_rules::{ContextRule, RULES, Run},
    facts::KernelFacts,
    observed::Observations,
    observed_kernels::OBSERVED_KERNELS,
};
use core_relo::insn::{Class, Insn, atomic, mode};
use core_relo_object::object::{AttachType as A, ProgramType as P};

/// An access to the context of a program, aligned to its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextPart {
    /// The type of the program.
    pub(crate) program_type: P,
    /// The expected attach type.
    pub(crate) attach_type: Option<A>,
    /// The first byte.
    pub(crate) offset: u32,
    /// The width in bytes.
    pub(crate) bytes: u32,
    /// The kind of access.
    pub(crate) kind: AccessKind,
}

/// A kind of access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store of a register.
    Write,
    /// A store of a constant (`BPF_ST`).
    WriteConstant,
    /// An atomic instruction, which reads and writes.
    Atomic,
}

impl AccessKind {
    /// Returns what an instruction does with memory, and the register that has the address.
    pub(crate) fn of(insn: Insn) -> Option<(Self, u8)> {
        Some(match (insn.class(), insn.mode()) {
            (Class::Ldx, _) => (Self::Read, insn.src),
            (Class::St, mode::MEM) => (Self::WriteConstant, insn.dst),
            (Class::Stx, mode::MEM) => (Self::Write, insn.dst),
            (Class::Stx, mode::ATOMIC) if insn.imm == atomic::LOAD_ACQUIRE => (Self::Atomic, insn.src),
            (Class::Stx, mode::ATOMIC) => (Self::Atomic, insn.dst),
            _ => return None,
        })
    }
}

/// Returns the rule for programs of a type. Returns `None` if no program of the type was observed.
fn find_rule(program_type: P, attach_type: Option<A>) -> Option<&'static ContextRule> {
    let is_attached = |rule: &&ContextRule| {
        rule.attach_types.is_empty() || attach_type.is_some_and(|of| rule.attach_types.contains(&of))
    };
    RULES.iter().filter(|rule| rule.program_types.contains(&program_type)).find(is_attached)
}

/// Returns whether an access is one of those in a list.
fn permits(runs: &[Run], part: ContextPart) -> bool {
    let (word, first) = (part.offset / 4, part.offset % 4);
    let bit = match part.bytes {
        1 => Some(first),
        2 => (first / 2).checked_add(4),
        4 => Some(6),
        _ => Some(7),
    };
    let mut end = 0u32;
    let found = runs.iter().find(|run| {
        end = end.saturating_add(run.words.into());
        word < end
    });
    found.zip(bit).is_some_and(|(run, bit)| u32::from(run.accesses).wrapping_shr(bit) & 1 != 0)
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// What each observed kernel does.
type Row = [Option<bool>; OBSERVED_KERNELS.len()];

/// Returns what the observed kernels do with an access. Returns `None` if no program of the type was
/// observed.
fn row(part: ContextPart) -> Option<Row> {
    let is_write = part.kind != AccessKind::Read;
    match part.program_type {
        // The registers differ by architecture.
        P::Kprobe | P::PerfEvent if !is_write => return None,
        P::Kprobe => return Some([NO, NO, NO, YES]),
        P::PerfEvent | P::Tracepoint | P::RawTracepoint | P::Tracing | P::Lsm | P::StructOps if is_write => {
            return Some([NO; 4]);
        }
        P::RawTracepointWritable => {
            // The first word points to the buffer.
            let is_broken = is_write || (part.offset == 0 && part.bytes != 8);
            return is_broken.then_some([NO; 4]);
        }
        _ => {}
    }
    let rule = find_rule(part.program_type, part.attach_type)?;
    let runs = if is_write { rule.writes } else { rule.reads };
    Some(if !permits(runs, part) {
        [NO; 4]
    } else if part.kind == AccessKind::WriteConstant {
        // Kernels before 6.3 let programs write registers only.
        [NO, NO, YES, YES]
    } else if matches!(part.program_type, P::SchedCls | P::SchedAct)
        && part.offset == TSTAMP_TYPE
        && part.bytes == 1
    {
        [NO, YES, YES, YES]
    } else {
        [YES; 4]
    })
}

/// The offset of `tstamp_type` in `struct __sk_buff`, which came without a change of the struct's size
/// (5.18).
const TSTAMP_TYPE: u32 = 180;

impl ContextPart {
    /// Returns whether all observed kernels permit the access, or none was observed.
    pub(crate) fn is_always_permitted(self) -> bool {
        row(self).is_none_or(|row| row == [YES; 4])
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel permits accesses through a register that points behind the start of the
    /// context (kernel: `check_ptr_off_reg`). 7.2 permits them where it does not convert the accesses.
    pub(crate) fn moved_context(&self, program_type: P) -> Answer {
        let has_rule = RULES.iter().any(|rule| rule.program_types.contains(&program_type));
        let is_converted = program_type == P::PerfEvent || (has_rule && program_type != P::CgroupDevice);
        let row = self.without_later([NO, NO, NO, Some(!is_converted)]);
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let text = "kernels like this one permit it".to_owned();
        let permitted = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        self.answer_observed(observations, "permit it", permitted)
    }

    /// Answers whether the kernel permits accesses to the context of a `syscall` program at offsets that are
    /// no multiple of the width (kernel: `syscall_prog_is_valid_access`). 7.2 permits them.
    pub(crate) fn unaligned_system_call_context(&self) -> Answer {
        let row = self.without_later([NO, NO, NO, YES]);
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let text = "kernels like this one permit it".to_owned();
        let permitted = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        self.answer_observed(observations, "permit it", permitted)
    }

    /// Answers whether the kernel permits reads of a part of an argument that is a pointer (kernel:
    /// `btf_ctx_access`).
    pub(crate) fn parts_of_pointers(&self) -> Answer {
        // Updates of 6.12 refuse them.
        let observations = Observations::new(|kernel| [YES, YES, None, NO].get(kernel).copied().flatten());
        let observations = observations.with_late(NO);
        let text = "older kernels permit it".to_owned();
        let permitted = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        self.answer_observed(observations, "permit it", permitted)
    }

    /// Answers whether the kernel permits an access to the context. Kernels before 5.10 lack some of the
    /// members.
    pub(crate) fn context_part(&self, part: ContextPart) -> Answer {
        let permitted = Answer::Present(Evidence {
            source: EvidenceSource::Object,
            text: "no known kernel refuses it".to_owned(),
        });
        match row(part) {
            Some(row) => {
                let row = self.without_later(row);
                let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
                self.answer_observed(observations, "permit it", permitted)
            }
            None => permitted,
        }
    }
}
