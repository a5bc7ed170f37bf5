//! The cause of a real refusal, from the stage of the load, the error number and the verifier log.

use std::fmt;

/// A refusal of a program: "error of load" in docs/json.md. Missing values are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    pub stage: String,
    pub text: String,
    pub errno_name: String,
    pub lacks: String,
    pub verifier_log: String,
}

/// The cause of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Relocation,
    Helper,
    Kfunc,
    /// A kernel symbol, or a value of the kernel's configuration.
    Extern,
    Map,
    StructOps,
    ProgramType,
    AttachTarget,
    Instruction,
    /// The object itself: no kernel loads the program.
    Object,
    /// The machine: missing privileges or memory.
    Machine,
    /// Any other reason of the verifier.
    Verifier,
}

impl Cause {
    pub const ALL: [Self; 12] = [
        Self::Relocation,
        Self::Helper,
        Self::Kfunc,
        Self::Extern,
        Self::Map,
        Self::StructOps,
        Self::ProgramType,
        Self::AttachTarget,
        Self::Instruction,
        Self::Object,
        Self::Machine,
        Self::Verifier,
    ];

    /// Returns whether a verdict must foresee refusals of this cause.
    pub fn is_foreseeable(self) -> bool {
        !matches!(self, Self::Machine | Self::Verifier)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Relocation => "relocation",
            Self::Helper => "helper",
            Self::Kfunc => "kfunc",
            Self::Extern => "extern",
            Self::Map => "map",
            Self::StructOps => "struct_ops",
            Self::ProgramType => "program_type",
            Self::AttachTarget => "attach_target",
            Self::Instruction => "instruction",
            Self::Object => "object",
            Self::Machine => "machine",
            Self::Verifier => "verifier",
        })
    }
}

/// Parts of messages of a plan that fails, and their causes. Earlier entries come first.
const PLAN_MESSAGES: [(&str, Cause); 7] = [
    ("struct_ops", Cause::StructOps),
    ("CO-RE relocation", Cause::Relocation),
    ("attach target", Cause::AttachTarget),
    ("(kfunc)", Cause::Kfunc),
    ("unresolved extern", Cause::Extern),
    ("the kernel's types are needed", Cause::AttachTarget),
    ("map `", Cause::Map),
];

/// Parts of lines of the verifier log, and their causes. Earlier entries come first.
const LOG_MESSAGES: [(&str, Cause); 35] = [
    // An argument of a kfunc that the kernel has.
    ("expected pointer to", Cause::Verifier),
    // libbpf poisons instructions with calls of helpers that do not exist.
    ("invalid func unknown#195896080", Cause::Relocation),
    ("invalid func unknown#2001", Cause::Map),
    ("invalid func unknown#2002", Cause::Kfunc),
    ("kernel btf_id", Cause::Kfunc),
    ("calling kernel function", Cause::Kfunc),
    ("kernel function", Cause::Kfunc),
    ("invalid func ", Cause::Helper),
    ("unknown func ", Cause::Helper),
    ("cannot use helper", Cause::Helper),
    ("cannot pass map_type", Cause::Helper),
    ("is not modifiable", Cause::AttachTarget),
    ("is not sleepable", Cause::AttachTarget),
    ("attach_btf_id", Cause::AttachTarget),
    ("Cannot attach", Cause::AttachTarget),
    ("Tracing programs must provide btf_id", Cause::AttachTarget),
    ("Unknown iter", Cause::AttachTarget),
    ("uses reserved fields", Cause::Instruction),
    ("unknown opcode", Cause::Instruction),
    ("unknown insn class", Cause::Instruction),
    ("invalid atomic", Cause::Instruction),
    ("unrecognized bpf_ld_imm64 insn", Cause::Instruction),
    ("bad jump off", Cause::Instruction),
    ("jump out of range", Cause::Instruction),
    ("jump into the middle of ldimm64", Cause::Instruction),
    ("last insn is not an exit or jmp", Cause::Instruction),
    ("unreachable insn", Cause::Instruction),
    ("invalid bpf_ld_imm64 insn", Cause::Instruction),
    ("invalid shift", Cause::Instruction),
    ("div by zero", Cause::Instruction),
    ("frame pointer is read only", Cause::Instruction),
    ("instructions not allowed for this program type", Cause::Instruction),
    // Without a JIT compiler.
    ("callbacks are not allowed in non-JITed programs", Cause::Instruction),
    ("mixing of tail_calls and bpf-to-bpf calls", Cause::Instruction),
    // A kernel that does not know the address of a function as a constant counts too few functions.
    ("number of funcs in func_info", Cause::Instruction),
];

/// Lines of statistics at the end of verifier logs.
const STATISTICS: [&str; 4] = ["processed ", "verification time", "stack depth", "mark_precise"];

impl Refusal {
    /// Returns the cause.
    pub fn cause(&self) -> Cause {
        match self.stage.as_str() {
            "plan" => find_cause(&self.text, &PLAN_MESSAGES).unwrap_or(Cause::Object),
            "program" => self.program_cause(),
            _ if self.is_of_machine() => Cause::Machine,
            _ => Cause::Map,
        }
    }

    /// Returns the last line of the verifier log without statistics, or the beginning of the message.
    pub fn message(&self) -> String {
        let text = match self.last_log_line() {
            Some(line) => line.to_owned(),
            None => first_line(&self.text),
        };
        if self.errno_name.is_empty() { text } else { format!("{}: {text}", self.errno_name) }
    }

    fn program_cause(&self) -> Cause {
        match self.lacks.as_str() {
            "core_relo" => return Cause::Relocation,
            "map" => return Cause::Map,
            "kfunc" => return Cause::Kfunc,
            _ => {}
        }
        match self.last_log_line() {
            Some(line) => find_cause(line, &LOG_MESSAGES).unwrap_or(Cause::Verifier),
            None if self.is_of_machine() => Cause::Machine,
            // The kernel checks the program type, its attach type and the attach target before the verifier
            // runs.
            None => Cause::ProgramType,
        }
    }

    fn is_of_machine(&self) -> bool {
        matches!(self.errno_name.as_str(), "EPERM" | "EACCES" | "ENOMEM")
    }

    fn last_log_line(&self) -> Option<&str> {
        let mut lines = self.verifier_log.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty() && !STATISTICS.iter().any(|start| line.starts_with(start)))
    }
}

/// Returns the first line of a message. A heading of a list is followed by the first entry.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    match (lines.next(), lines.next()) {
        (Some(heading), Some(entry)) if heading.ends_with(':') => format!("{heading} {entry}"),
        (line, _) => line.unwrap_or_default().to_owned(),
    }
}

fn find_cause(text: &str, messages: &[(&str, Cause)]) -> Option<Cause> {
    messages.iter().find(|(part, _)| text.contains(part)).map(|(_, cause)| *cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(errno: &str, log: &str) -> Cause {
        let (stage, errno_name, verifier_log) = ("program".to_owned(), errno.to_owned(), log.to_owned());
        Refusal { stage, errno_name, verifier_log, ..Refusal::default() }.cause()
    }

    fn plan(text: &str) -> Cause {
        Refusal { stage: "plan".to_owned(), text: text.to_owned(), ..Refusal::default() }.cause()
    }

    #[test]
    fn the_verifier_log_tells_the_cause() {
        for (log, cause) in [
            ("0: (85) call unknown\ninvalid func unknown#195896080\nprocessed 3 insns", Cause::Relocation),
            ("invalid func unknown#2002000000\n", Cause::Kfunc),
            ("invalid func unknown#173", Cause::Helper),
            ("unknown func bpf_get_socket_cookie#46\nprocessed 1 insns", Cause::Helper),
            ("program of this type cannot use helper bpf_get_socket_cookie#46", Cause::Helper),
            ("bpf_modify_return_test() is not modifiable", Cause::AttachTarget),
            ("bpf_lsm_file_open is not sleepable", Cause::AttachTarget),
            ("BPF_STX uses reserved fields\n", Cause::Instruction),
            ("number of funcs in func_info doesn't match number of subprogs", Cause::Instruction),
            ("JIT is required for calling kernel function", Cause::Kfunc),
            ("callbacks are not allowed in non-JITed programs", Cause::Instruction),
            ("mixing of tail_calls and bpf-to-bpf calls is not supported", Cause::Instruction),
            (
                "kernel function bpf_cpumask_set_cpu R2 expected pointer to STRUCT bpf_cpumask but R2 has a pointer to STRUCT cpumask",
                Cause::Verifier,
            ),
            ("R4 unbounded memory access, make sure to bounds check any such access", Cause::Verifier),
        ] {
            assert_eq!(program("EINVAL", log), cause, "{log}");
        }
    }

    #[test]
    fn an_empty_log_means_a_check_before_the_verifier() {
        assert_eq!(program("EINVAL", ""), Cause::ProgramType);
        assert_eq!(program("EINVAL", "processed 0 insns"), Cause::ProgramType);
        assert_eq!(program("EPERM", ""), Cause::Machine);
        assert_eq!(program("EACCES", "invalid bpf_context access off=172 size=4"), Cause::Verifier);
    }

    #[test]
    fn a_plan_names_what_is_missing() {
        for (text, cause) in [
            ("a: program `p`: attach target `x` not found: no function `x` in the BTF", Cause::AttachTarget),
            ("a: unresolved externs:\n  bpf_x: no kernel function (kfunc) of this name", Cause::Kfunc),
            ("a: unresolved extern: CONFIG_HZ: not in the configuration", Cause::Extern),
            ("a: map `ops`: struct_ops `hid_bpf_ops` not found", Cause::StructOps),
            ("a: 2 CO-RE relocations failed:\n", Cause::Relocation),
            ("a: program `p`: section `filter` names no program type", Cause::Object),
        ] {
            assert_eq!(plan(text), cause, "{text}");
        }
    }

    #[test]
    fn a_missing_part_is_the_cause_whatever_the_log_says() {
        let lacks = |lacks: &str| {
            let (stage, lacks) = ("program".to_owned(), lacks.to_owned());
            Refusal { stage, lacks, ..Refusal::default() }.cause()
        };
        assert_eq!(lacks("core_relo"), Cause::Relocation);
        assert_eq!(lacks("map"), Cause::Map);
        assert_eq!(lacks("kfunc"), Cause::Kfunc);
    }

    #[test]
    fn messages_leave_out_statistics() {
        let refusal = Refusal {
            stage: "program".to_owned(),
            text: "a: program `p`".to_owned(),
            errno_name: "EINVAL".to_owned(),
            verifier_log: "x\nunknown func a#1\nprocessed 1 insns\n".to_owned(),
            ..Refusal::default()
        };
        assert_eq!(refusal.message(), "EINVAL: unknown func a#1");
        let message = |text: &str| Refusal { text: text.to_owned(), ..Refusal::default() }.message();
        assert_eq!(message("a: one\ntwo"), "a: one");
        assert_eq!(message("a: unresolved externs:\n  x: no\n  y: no"), "a: unresolved externs: x: no");
    }
}
