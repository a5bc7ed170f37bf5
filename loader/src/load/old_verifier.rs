//! Explanations of verifier messages about instructions that are newer than the kernel. Old verifiers report
//! such instructions as malformed.

use core_relo::insn::Helper;

/// Beginnings of verifier messages, with their meaning for a program from a working compiler.
const MESSAGES: [(&str, &str); 8] = [
    (
        "BPF_STX uses reserved fields",
        "atomic operations other than addition, and those that return the old value, came with Linux 5.12: compile with -mcpu=v2, \
         or do without",
    ),
    (
        "BPF_ATOMIC uses invalid atomic opcode",
        "it is an atomic operation that is newer than this kernel: load-acquire and store-release came with Linux 6.15",
    ),
    (
        "number of funcs in func_info doesn't match number of subprogs",
        "functions that are passed as callbacks (to bpf_for_each_map_elem, bpf_loop, bpf_timer_set_callback) came with Linux 5.13",
    ),
    ("BPF_CALL uses reserved fields", "calls of kernel functions (kfuncs) came with Linux 5.13"),
    ("BPF_ALU uses reserved fields", CPU_V4),
    ("BPF_ALU64 uses reserved fields", CPU_V4),
    ("BPF_MOV uses reserved fields", CPU_V4),
    ("unknown opcode ", CPU_V4),
];

const CPU_V4: &str = "it is an instruction that is newer than this kernel: those of -mcpu=v4 came with Linux 6.6, compile with -mcpu=v3";

/// Explains the last line of the verifier's log, if the line is about an instruction or helper that is newer
/// than the kernel.
pub(super) fn explain(last_line: &str) -> Option<String> {
    let last_line = last_line.trim();
    if let Some(helper) = last_line.strip_prefix("invalid func unknown#") {
        let number: u32 = helper.split_whitespace().next()?.parse().ok()?;
        let name = Helper(number).name()?;
        return Some(format!(
            "this kernel has no helper bpf_{name}: test for it with bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_{name})"
        ));
    }
    let known = MESSAGES.iter().find(|(message, _)| last_line.starts_with(message));
    known.map(|(_, explanation)| (*explanation).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_old_verifiers_are_explained() {
        let explanation = |last_line| explain(last_line).unwrap();
        assert!(explanation("BPF_STX uses reserved fields").contains("5.12"));
        assert!(explanation("unknown opcode d7").contains("-mcpu=v3"));
        assert!(explanation("invalid func unknown#181").contains("bpf_loop"));
        for other in ["invalid func unknown#2001000000", "R0 !read_ok", "", "invalid func unknown#"] {
            assert_eq!(explain(other), None, "{other}");
        }
    }
}
