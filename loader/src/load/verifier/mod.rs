//! Programs that the kernel refused, and what the verifier's log tells about the reason.

mod report;

pub use report::{ReportStep, VerifierReport};

use self::report::LogParts;
pub(super) use self::report::cut;
use super::{old_verifier, verifier_stats::VerifierStats};
use crate::{convert::before_nul, hint::Hint, lockdown, memory_limit::memory_shortage, sys::Errno};
use core::fmt;
use core_relo::{Escaped, EscapedLines, Name, StrOffset, btf::Btf, insn::POISON_IMM};
use core_relo_object::{
    ExternIndex,
    load_plan::{LoadPlan, POISON_KFUNC, POISON_MAP, ProgramPlan},
};

/// The number of last lines of the verifier's log in a message.
const SHOWN_LINES: usize = 12;

/// The number of characters of each line in a message.
const SHOWN_CHARS: usize = 500;

/// `ENOTSUPP` of the kernel, which user space has no name for.
pub(super) const ENOTSUPP: i32 = 524;

/// A program that the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedProgram {
    /// The program's name.
    pub program: String,
    /// The program's section.
    pub section: String,
    /// The kernel's error number.
    pub errno: Errno,
    /// The verifier's whole log; may be empty.
    pub log: String,
    /// The index of the instruction that the verifier stopped at, in the program with its subprograms.
    pub insn: Option<u32>,
    /// The source line of that instruction, or of the access that is poisoned there:
    /// `exec.bpf.c:41: return *p;`.
    pub source: Option<String>,
    /// The reason why that instruction is poisoned, if it is.
    pub poison: Option<Poison>,
    /// The verifier's own explanation, on Linux 7.3 and later.
    pub report: Option<VerifierReport>,
    /// The likely remedy; may be empty.
    pub hint: String,
}

/// The reason why an instruction is poisoned: something that the instruction needs is missing on this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Poison {
    /// A CO-RE relocation without a match in this kernel's types.
    CoreRelo {
        /// The reason, in one or more lines.
        reason: String,
        /// The index of the relocation in the object, see
        /// [`PoisonedReloc::record`](crate::load_plan::PoisonedReloc::record).
        record: usize,
    },
    /// A map that was not created.
    Map(String),
    /// A kernel function that this kernel does not have.
    Kfunc(String),
    /// A kernel function that has other parameters in this kernel than in the object.
    IncompatibleKfunc {
        /// The name in the object.
        name: String,
        /// The prototypes of the kernel and of the object.
        prototypes: Option<String>,
    },
}

impl RefusedProgram {
    /// Derives instruction, source line and likely reason from the verifier's log.
    pub(super) fn new(plan: &LoadPlan, program: &ProgramPlan, errno: Errno, log: String) -> Self {
        // A lack of descriptors is not the verifier's finding, so the last instruction in the log is not the
        // cause.
        let parts = LogParts::new(&log);
        let last_insn = last_insn(parts.steps).filter(|_| !is_out_of_descriptors(errno));
        let insn = last_insn.map(|last| last.index);
        let poison = find_poison(plan, program, parts.steps, last_insn);
        let source = match &poison {
            Some(Poison::CoreRelo { record, .. }) => access_line(plan, *record),
            _ => insn.and_then(|insn| source_line(plan, program, insn)),
        };
        let report = parts.report();
        let hint = match &poison {
            Some(Poison::Kfunc(name) | Poison::IncompatibleKfunc { name, .. }) => {
                replacement_hint(plan, name)
            }
            _ => find_hint(plan, program, errno, parts.steps),
        };
        let unexplained = Self::unexplained(program.name(), program.section(), errno, log);
        let mut refused = Self { insn, source, poison, report, hint, ..unexplained };
        if refused.hint.is_empty()
            && refused.poison.is_none()
            && let Some(hint) = refused.last_lines().last().and_then(|line| old_verifier::explain(line))
        {
            refused.hint = hint;
        }
        refused
    }

    /// Derives the last instruction from the verifier's log of a program of which only the name is known.
    #[cfg(feature = "loader-program")]
    pub(super) fn from_log(program: &str, section: &str, errno: Errno, log: String) -> Self {
        let parts = LogParts::new(&log);
        let insn = last_insn(parts.steps).filter(|_| !is_out_of_descriptors(errno)).map(|last| last.index);
        let report = parts.report();
        // A log tells the reason, unless the program was verified and the kernel lacks something else.
        let is_refused_by_verifier = !log.trim().is_empty() && !errno.is_shortage();
        let hint = if is_refused_by_verifier { String::new() } else { general_remedy(errno) };
        Self { insn, report, hint, ..Self::unexplained(program, section, errno, log) }
    }

    /// Creates the refusal of a program for a reason that is not known.
    pub fn unexplained(program: &str, section: &str, errno: Errno, log: String) -> Self {
        let (program, section) = (program.to_owned(), section.to_owned());
        let (insn, source, poison, report, hint) = (None, None, None, None, String::new());
        Self { program, section, errno, log, insn, source, poison, report, hint }
    }

    /// Returns the verifier's statistics up to the refusal.
    pub fn verifier_stats(&self) -> VerifierStats {
        VerifierStats::from_log(&self.log)
    }

    /// Returns the refusal with only the [last lines](Self::last_lines) of the log, which may have many
    /// megabytes.
    pub(super) fn into_last_lines(mut self) -> Self {
        self.log = self.last_lines().join("\n");
        self.report = None;
        self
    }

    /// Returns the last lines of the verifier's log: the last instructions and the message, without the
    /// explanation and the statistics. With an explanation, only the last instruction and the message.
    pub fn last_lines(&self) -> Vec<&str> {
        if is_out_of_descriptors(self.errno) {
            return Vec::new();
        }
        let parts = LogParts::new(&self.log);
        let is_statistics = |line: &&str| {
            let line = line.trim();
            line.is_empty()
                || (line.starts_with("processed ") && line.contains(" insns"))
                || line.starts_with("verification time")
                || line.starts_with("stack depth")
                || line.starts_with("max_states_per_insn")
        };
        let last_lines = parts.rest.lines().rev().chain(parts.steps.lines().rev());
        let mut lines = Vec::new();
        for line in last_lines.filter(|line| !is_statistics(line)).take(SHOWN_LINES) {
            lines.push(line);
            if self.report.is_some() && logged_insn(line).is_some() {
                break;
            }
        }
        lines.reverse();
        lines
    }
}

impl fmt::Display for RefusedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "program `{}` (section {}): refused by the kernel: {}",
            Escaped(&self.program),
            Escaped(&self.section),
            self.errno
        )?;
        if let Some(source) = &self.source {
            write!(f, "\n  --> {}", Escaped(shortened(source)))?;
        }
        if self.poison.is_none()
            && let Some(report) = &self.report
        {
            write!(f, "\n  {report}")?;
        }
        match &self.poison {
            Some(Poison::CoreRelo { reason, .. }) => {
                write!(
                    f,
                    "\n  the program reaches an access that this kernel's types do not have: {}",
                    EscapedLines(reason)
                )?;
            }
            Some(Poison::Map(name)) => {
                write!(f, "\n  the program reaches a use of map `{}`, which was not created", Escaped(name))?;
            }
            Some(Poison::Kfunc(name)) => {
                let name = Escaped(name);
                write!(
                    f,
                    "\n  the program reaches a call of the kernel function `{name}`, which this kernel does not have: test it with \
                     bpf_ksym_exists()"
                )?;
            }
            Some(Poison::IncompatibleKfunc { name, prototypes }) => {
                let name = Escaped(name);
                write!(
                    f,
                    "\n  the program reaches a call of the kernel function `{name}`, which this kernel has with other parameters than \
                     the object declares"
                )?;
                if let Some(prototypes) = prototypes {
                    write!(f, ": {}", Escaped(prototypes))?;
                }
                // A hint names the function that replaces it.
                if self.hint.is_empty() {
                    write!(
                        f,
                        "; declare it once more for this kernel, as `{name}___other`, and test both with bpf_ksym_exists()"
                    )?;
                }
            }
            None => {
                let lines = self.last_lines();
                if lines.is_empty() && self.source.is_none() && !self.hint.is_empty() {
                    return write!(f, " ({})", self.hint);
                }
                for line in lines {
                    write!(f, "\n   | {}", EscapedLines(shortened(line)))?;
                }
            }
        }
        if !self.hint.is_empty() {
            write!(f, "\n  {}", Escaped(&self.hint))?;
        }
        Ok(())
    }
}

/// Cuts a line to the length that messages show.
fn shortened(line: &str) -> String {
    cut(line, SHOWN_CHARS)
}

/// Returns the text of a log that the kernel wrote, up to the NUL.
pub(super) fn log_text(log: &[u8]) -> String {
    String::from_utf8_lossy(before_nul(log)).into_owned()
}

/// An instruction in the log: `17: (85) call unknown#195896080`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoggedInsn<'l> {
    index: u32,
    /// The instruction as text, with the state of registers.
    text: &'l str,
}

/// Returns the instruction of a line of the log, if the line has one.
fn logged_insn(line: &str) -> Option<LoggedInsn<'_>> {
    let (number, rest) = line.split_once(": (")?;
    let [high, low, b')', ..] = rest.as_bytes() else { return None };
    (high.is_ascii_hexdigit() && low.is_ascii_hexdigit()).then_some(())?;
    Some(LoggedInsn { index: number.parse().ok()?, text: rest.get(3..)?.trim_start() })
}

/// Returns the last instruction in the log.
fn last_insn(log: &str) -> Option<LoggedInsn<'_>> {
    log.lines().rev().find_map(logged_insn)
}

/// Returns the number of the unknown helper that an instruction calls, as the kernel prints it.
fn unknown_helper(insn: LoggedInsn<'_>) -> Option<i32> {
    leading_number(insn.text.strip_prefix("call unknown#")?)
}

/// Returns the number at the beginning of a text.
fn leading_number(text: &str) -> Option<i32> {
    text.split_whitespace().next()?.parse().ok()
}

/// Replaces each run of whitespace by one space. Lines of macros are padded with tabs.
fn normalize_whitespace(text: &[u8]) -> Vec<u8> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

/// Returns the source line of the access of a poisoned relocation.
fn access_line(plan: &LoadPlan, record: usize) -> Option<String> {
    plan.poisoned().iter().find(|poisoned| poisoned.record() == record)?.source().map(str::to_owned)
}

/// Finds the source line of an instruction in the program's `struct bpf_line_info`.
fn source_line(plan: &LoadPlan, program: &ProgramPlan, insn: u32) -> Option<String> {
    let btf = Btf::parse(plan.btf()?).ok()?;
    let e = core_relo::Endian::native();
    let starts_before = |record: &&[u8]| e.u32(record, 0).is_some_and(|start| start <= insn);
    let record = program.line_info().chunks_exact(16).rfind(starts_before)?;
    let name = |at| btf.name(StrOffset(e.u32(record, at)?));
    let (file, text, position) = (name(4)?, name(8)?, e.u32(record, 12)?);
    Some(format!("{file}:{}: {}", position >> 10, Name::new(&normalize_whitespace(text.as_bytes()))))
}

/// Finds the poison behind the instruction that the verifier stopped at (libbpf: `fixup_verifier_log`).
///
/// libbpf searches the last ten lines for the message. Here, the last instruction in the log counts: more
/// than ten lines may follow it, and the message may have other words. The message counts where no
/// instruction is logged.
fn find_poison(
    plan: &LoadPlan,
    program: &ProgramPlan,
    log: &str,
    last_insn: Option<LoggedInsn<'_>>,
) -> Option<Poison> {
    let in_message =
        || log.lines().rev().find_map(|line| leading_number(line.strip_prefix("invalid func unknown#")?));
    let helper = last_insn.and_then(unknown_helper).or_else(in_message)?;
    let insn = last_insn.map(|last| last.index);
    if helper == POISON_IMM {
        let insn = insn?;
        let copy = program.functions().iter().rfind(|copy| copy.start <= insn)?;
        let insn_in_function = insn.checked_sub(copy.start)?;
        let mut poisoned = plan.poisoned().iter();
        let poisoned = poisoned.find(|p| p.function() == copy.function && p.insn() == insn_in_function)?;
        return Some(Poison::CoreRelo { reason: poisoned.reason().to_owned(), record: poisoned.record() });
    }
    // The numbers of poisoned kfuncs and maps begin at their base.
    let index = |base: i32| {
        let index = usize::try_from(helper.checked_sub(base)?).ok()?;
        (index < 1_000_000).then_some(index)
    };
    if let Some(index) = index(POISON_KFUNC) {
        let name = plan.externs().get(index)?.clone();
        let incompatible = plan.incompatible_kfuncs().iter().find(|kfunc| kfunc.index == ExternIndex(index));
        return Some(match incompatible {
            Some(kfunc) => Poison::IncompatibleKfunc { name, prototypes: kfunc.prototypes.clone() },
            None => Poison::Kfunc(name),
        });
    }
    let map = plan.maps().get(index(POISON_MAP)?)?;
    Some(Poison::Map(map.name().to_owned()))
}

/// Returns the kernel's function that does the job of a missing one.
fn replacement_hint(plan: &LoadPlan, kfunc: &str) -> String {
    let index = plan.externs().iter().position(|name| name == kfunc);
    let replacement = index.and_then(|index| plan.kfunc_replacement(ExternIndex(index)));
    replacement.map_or(String::new(), ToString::to_string)
}

/// Returns whether a load failed because of the limits on open files, not because of the program.
fn is_out_of_descriptors(errno: Errno) -> bool {
    matches!(errno.0, libc::EMFILE | libc::ENFILE)
}

/// Returns the remedy for an error number, whatever the program.
fn general_remedy(errno: Errno) -> String {
    if errno.0 == libc::ENOMEM { memory_shortage() } else { Hint::for_errno(errno).0.to_owned() }
}

/// Returns whether the kernel refused a program because its interpreter cannot run it.
fn needs_jit(log: &str) -> bool {
    const MESSAGES: [&str; 5] = [
        "JIT is required for calling kernel function",
        "calling kernel functions are not allowed in non-JITed programs",
        "callbacks are not allowed in non-JITed programs",
        "program requires BPF JIT compiler but it is not available",
        "Extension programs should be JITed",
    ];
    MESSAGES.iter().any(|message| log.contains(message))
}

fn find_hint(plan: &LoadPlan, program: &ProgramPlan, errno: Errno, log: &str) -> String {
    if let Some(reason) = lockdown::explain_log(log) {
        return reason;
    }
    let has = |text: &str| log.contains(text);
    match errno.0 {
        libc::EPERM if plan.raises_memlock_limit() && log.trim().is_empty() => {
            format!("{}; or the limit on locked memory is too low: `ulimit -l unlimited`", Hint::for_errno(errno).0)
        }
        libc::EPERM | libc::EACCES if log.trim().is_empty() => Hint::for_errno(errno).0.to_owned(),
        _ if has("the call stack of ") || has("recursive call") => {
            "calls are nested deeper than 8 functions, or a function calls itself: BPF has no recursion".into()
        }
        _ if (errno.0 == libc::E2BIG && has("processed")) || has("jumps is too complex") => {
            "the verifier gave up: the program is too complex: bound its loops, or split it with tail calls or global functions".into()
        }
        libc::EINVAL if log.trim().is_empty() => format!(
            "the verifier's log is empty: this kernel probably does not know programs of type {}{}",
            program.program_type(),
            if program.attach_type() == 0 { "" } else { " with this attach type, or these flags" }
        ),
        libc::EACCES | libc::EINVAL if has("cannot call GPL-restricted function") || has("GPL compatible") => {
            "the helper needs a license that is compatible with the GPL: char LICENSE[] SEC(\"license\") = \"GPL\"".into()
        }
        _ if errno.is_shortage() => general_remedy(errno),
        _ if needs_jit(log) => {
            "the program needs the JIT compiler: turn it on with `sysctl net.core.bpf_jit_enable=1`; a kernel without this setting \
             has none (CONFIG_BPF_JIT)"
                .into()
        }
        ENOTSUPP => "this kernel does not support the program on this machine, or was built without that support".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_line_has_no_tabs() {
        assert_eq!(normalize_whitespace(b"\tasm volatile (\"\t\t\\ "), b"asm volatile (\" \\");
        assert_eq!(normalize_whitespace(b"  return  0;"), b"return 0;");
    }

    #[test]
    fn a_verified_program_without_descriptors_or_memory_has_the_remedy_although_there_is_a_log() {
        let log = "func#0 @0\n0: (95) exit\nprocessed 1 insns (limit 1000000)\n";
        let refused =
            |errno| RefusedProgram::from_log("main", "tc", Errno(errno), log.to_owned()).to_string();
        assert!(refused(libc::EMFILE).contains("ulimit -n"), "{}", refused(libc::EMFILE));
        assert!(refused(libc::ENFILE).contains("fs.file-max"), "{}", refused(libc::ENFILE));
        assert!(refused(libc::ENOMEM).contains("memory"), "{}", refused(libc::ENOMEM));
        let by_verifier = RefusedProgram::from_log("main", "tc", Errno(libc::EPERM), log.to_owned());
        assert_eq!(by_verifier.hint, "");
    }

    #[test]
    fn programs_that_need_the_jit_compiler_are_known_by_the_log() {
        // On riscv64 with the JIT compiler off, and on s390x without one.
        assert!(needs_jit("program requires BPF JIT compiler but it is not available\nprocessed 65 insns"));
        assert!(needs_jit("3: (85) call\ncallbacks are not allowed in non-JITed programs\n"));
        assert!(!needs_jit("R1 type=scalar expected=ctx"));
    }

    #[test]
    fn the_last_instruction_of_a_log_is_found() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n0: (b7) r0 = 0\n12: (85) call unknown#195896080\ninvalid func unknown#195896080\nprocessed 3 insns";
        let last = last_insn(log).unwrap();
        assert_eq!((last.index, unknown_helper(last)), (12, Some(POISON_IMM)));
        assert_eq!(last_insn("no instruction"), None);
        assert_eq!(last_insn("1: (é) x"), None);
        assert_eq!(last_insn("1: (85)"), Some(LoggedInsn { index: 1, text: "" }));
    }

    #[test]
    fn the_poisoned_instruction_of_real_logs_is_found() {
        for log in [
            include_str!("logs/5.10-poisoned_access.txt"),
            include_str!("logs/6.12-poisoned_access.txt"),
            include_str!("logs/6.18-poisoned_access.txt"),
            include_str!("logs/7.3-poisoned_access.txt"),
        ] {
            let last = last_insn(log).unwrap();
            assert_eq!(unknown_helper(last), Some(POISON_IMM), "{last:?}");
        }
        let kfunc = last_insn(include_str!("logs/7.3-missing_kfunc.txt")).unwrap();
        assert_eq!((kfunc.index, unknown_helper(kfunc)), (0, Some(POISON_KFUNC)));
    }
}
