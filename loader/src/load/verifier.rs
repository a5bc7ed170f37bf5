//! A program the kernel refused: which instruction, which source line, and in what words.

use super::newer;
use crate::{
    attach::Hint,
    load_plan::{LoadPlan, POISON_KFUNC, POISON_MAP, ProgramPlan},
    sys::Errno,
};
use core::fmt;
use core_relo::{Escaped, EscapedLines, Name, StrOffset, btf::Btf, insn::POISON_IMM};
use core_relo_object::ExternIndex;

/// How many of the verifier's last lines are shown.
const SHOWN: usize = 12;

/// How many characters of each.
const SHOWN_CHARS: usize = 500;

/// A program that the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The program.
    pub program: String,
    /// Its section.
    pub section: String,
    /// The kernel's number.
    pub errno: Errno,
    /// Everything the verifier said; may be empty.
    pub log: String,
    /// The instruction the verifier stopped at, counted in the program with its subprograms.
    pub insn: Option<u32>,
    /// That instruction's source: `exec.bpf.c:41: return *p;`.
    pub source: Option<String>,
    /// What the refusal means, if it is one of ours: a trap that stands for something this kernel lacks.
    pub meaning: Option<Meaning>,
    /// What to do.
    pub hint: String,
}

/// What a trap stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// A CO-RE relocation that this kernel has nothing for: the reason, and [which](crate::load_plan::Poisoned::record).
    CoreRelo {
        /// Why, in a line or more.
        why: String,
        /// The relocation, by its place among the object's.
        record: usize,
    },
    /// A map that was not created.
    Map(String),
    /// A kernel function that this kernel does not have.
    Kfunc(String),
    /// A kernel function that this kernel has with other parameters than the object declares.
    KfuncUnlike(String),
}

impl Refused {
    /// Reads what the verifier said of a program.
    pub(super) fn new(plan: &LoadPlan, program: &ProgramPlan, errno: Errno, log: String) -> Self {
        // What the verifier said of a program that was refused for other reasons says nothing about them.
        let insn = last_insn(&log).filter(|_| !is_out_of_room(errno));
        let source = insn.and_then(|at| source_of(plan, program, at));
        let meaning = meaning(plan, program, &log, insn);
        let hint = hint(plan, program, errno, &log);
        let mut refused = Self {
            program: program.name.clone(),
            section: program.section.clone(),
            errno,
            log,
            insn,
            source,
            meaning,
            hint,
        };
        if refused.hint.is_empty()
            && refused.meaning.is_none()
            && let Some(hint) = refused.last_lines().last().and_then(|last| newer::meaning(last))
        {
            refused.hint = hint;
        }
        refused
    }

    /// The verifier's last lines that say something about the refusal.
    pub fn last_lines(&self) -> Vec<&str> {
        if is_out_of_room(self.errno) {
            return Vec::new();
        }
        let is_noise = |line: &&str| {
            let line = line.trim();
            line.is_empty()
                || (line.starts_with("processed ") && line.contains(" insns"))
                || line.starts_with("verification time")
                || line.starts_with("stack depth")
                || line.starts_with("max_states_per_insn")
        };
        let said: Vec<_> = self.log.lines().filter(|l| !is_noise(l)).collect();
        said.get(said.len().saturating_sub(SHOWN)..).unwrap_or_default().to_vec()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "program `{}` (section {}): refused by the kernel: {}",
            Escaped(&self.program),
            Escaped(&self.section),
            self.errno
        )?;
        if let Some(source) = &self.source {
            write!(f, "\n  --> {}", Escaped(shown(source)))?;
        }
        match &self.meaning {
            Some(Meaning::CoreRelo { why, .. }) => {
                write!(
                    f,
                    "\n  it reaches an access that this kernel's types do not have: {}",
                    EscapedLines(why)
                )?;
            }
            Some(Meaning::Map(name)) => {
                write!(f, "\n  it reaches a use of map `{}`, which was not created", Escaped(name))?;
            }
            Some(Meaning::Kfunc(name)) => {
                let name = Escaped(name);
                write!(
                    f,
                    "\n  it reaches a call of the kernel function `{name}`, which this kernel does not have: test it with bpf_ksym_exists()"
                )?;
            }
            Some(Meaning::KfuncUnlike(name)) => {
                let name = Escaped(name);
                write!(
                    f,
                    "\n  it reaches a call of the kernel function `{name}`, which this kernel has with other parameters than the object \
                     declares: declare it once more for this kernel, as `{name}___other`, and test both with bpf_ksym_exists()"
                )?;
            }
            None => {
                let lines = self.last_lines();
                if lines.is_empty() && self.source.is_none() && !self.hint.is_empty() {
                    return write!(f, " ({})", self.hint);
                }
                for line in lines {
                    write!(f, "\n   | {}", EscapedLines(shown(line)))?;
                }
            }
        }
        if !self.hint.is_empty() {
            write!(f, "\n  {}", Escaped(&self.hint))?;
        }
        Ok(())
    }
}

/// A line as far as it is shown.
fn shown(line: &str) -> String {
    let mut chars = line.chars();
    let mut head: String = chars.by_ref().take(SHOWN_CHARS).collect();
    if chars.next().is_some() {
        head.push('…');
    }
    head
}

/// The number of the last instruction in the log: `17: (85) call …`.
fn last_insn(log: &str) -> Option<u32> {
    let number = |line: &str| {
        let (number, rest) = line.split_once(": (")?;
        let [high, low, b')', ..] = rest.as_bytes() else { return None };
        (high.is_ascii_hexdigit() && low.is_ascii_hexdigit()).then_some(())?;
        number.parse().ok()
    };
    log.lines().rev().find_map(number)
}

/// Without indentation, and without the tabs that macros of many lines end theirs with.
fn in_one_line(text: &[u8]) -> Vec<u8> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

fn source_of(plan: &LoadPlan, program: &ProgramPlan, insn: u32) -> Option<String> {
    let btf = Btf::parse(plan.btf.as_deref()?).ok()?;
    let e = core_relo::Endian::native();
    let word = |record: &[u8], at| e.u32(record, at).unwrap_or_default();
    let record = program.line_info.chunks_exact(16).rfind(|r| word(r, 0) <= insn)?;
    let name = |at| btf.name(StrOffset(word(record, at)));
    let (file, text, position) = (name(4)?, name(8)?, word(record, 12));
    Some(format!("{file}:{}: {}", position >> 10, Name::new(&in_one_line(text.as_bytes()))))
}

/// Whether the verifier stopped at a trap of ours (libbpf: `fixup_verifier_log`).
fn meaning(plan: &LoadPlan, program: &ProgramPlan, log: &str, insn: Option<u32>) -> Option<Meaning> {
    let called = log.lines().rev().take(10).find_map(|line| {
        let number = line.strip_prefix("invalid func unknown#")?;
        number.split_whitespace().next()?.parse::<i32>().ok()
    })?;
    if called == POISON_IMM {
        let at = insn?;
        let piece = program.functions.iter().rfind(|piece| piece.start <= at)?;
        let within = at.checked_sub(piece.start)?;
        let found = plan.poisoned.iter().find(|p| p.function == piece.function && p.insn == within)?;
        return Some(Meaning::CoreRelo { why: found.why.clone(), record: found.record });
    }
    let nth =
        |base: i32| called.checked_sub(base).and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 1_000_000);
    if let Some(n) = nth(POISON_KFUNC) {
        let name = plan.externs.get(n).cloned();
        return name.map(if plan.incompatible_kfuncs.contains(&ExternIndex(n)) {
            Meaning::KfuncUnlike
        } else {
            Meaning::Kfunc
        });
    }
    nth(POISON_MAP).and_then(|n| plan.maps.get(n)).map(|m| Meaning::Map(m.name.clone()))
}

/// Whether a refusal is not about the program, but about what this process may have.
fn is_out_of_room(errno: Errno) -> bool {
    matches!(errno.0, libc::EMFILE | libc::ENFILE)
}

fn hint(plan: &LoadPlan, program: &ProgramPlan, errno: Errno, log: &str) -> String {
    let said = |text: &str| log.contains(text);
    match errno.0 {
        libc::EPERM if plan.raise_memlock_limit && log.trim().is_empty() => {
            format!("{}; or the limit on locked memory is too low: `ulimit -l unlimited`", Hint::for_errno(errno).0)
        }
        libc::EPERM | libc::EACCES if log.trim().is_empty() => Hint::for_errno(errno).0.to_owned(),
        _ if said("the call stack of ") || said("recursive call") => {
            "its functions call each other too deep (8 are the most), or a function calls itself: BPF has no recursion".into()
        }
        _ if (errno.0 == libc::E2BIG && said("processed")) || said("jumps is too complex") => {
            "the verifier gave up: the program is too complex; bound its loops, or split it by tail calls or global functions".into()
        }
        libc::EINVAL if log.trim().is_empty() => format!(
            "without a word from the verifier: this kernel probably does not know programs of type {}{}",
            program.program_type,
            if program.attach_type == 0 { "" } else { " with this attach type, or these flags" }
        ),
        libc::EACCES | libc::EINVAL if said("cannot call GPL-restricted function") || said("GPL compatible") => {
            "the helper needs a license that is compatible with the GPL: char LICENSE[] SEC(\"license\") = \"GPL\"".into()
        }
        libc::ENOMEM | libc::EMFILE | libc::ENFILE => Hint::for_errno(errno).0.to_owned(),
        524 => "this kernel cannot do that on this machine, or was built without it".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_line_has_no_tabs() {
        assert_eq!(in_one_line(b"\tasm volatile (\"\t\t\\ "), b"asm volatile (\" \\");
        assert_eq!(in_one_line(b"  return  0;"), b"return 0;");
    }

    #[test]
    fn the_last_instruction_of_a_log() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n0: (b7) r0 = 0\n12: (85) call unknown#195896080\ninvalid func unknown#195896080\nprocessed 3 insns";
        assert_eq!(last_insn(log), Some(12));
        assert_eq!(last_insn("no instruction"), None);
        assert_eq!(last_insn("1: (é) x"), None);
    }
}
