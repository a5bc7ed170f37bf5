//! What an old kernel's verifier says of an instruction that came later: it calls it malformed, and only who knows what came
//! when can tell.

use core_relo::insn::helper_name;

/// The verifier's words, and what they mean where the program was compiled as it should be.
const WORDS: [(&str, &str); 8] = [
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
    ("BPF_ALU uses reserved fields", VERSION_4),
    ("BPF_ALU64 uses reserved fields", VERSION_4),
    ("BPF_MOV uses reserved fields", VERSION_4),
    ("unknown opcode ", VERSION_4),
];

const VERSION_4: &str = "it is an instruction that is newer than this kernel: those of -mcpu=v4 came with Linux 6.6, compile with -mcpu=v3";

/// What the verifier's last words mean, if they are of this kind.
pub(super) fn meaning(last: &str) -> Option<String> {
    let last = last.trim();
    if let Some(helper) = last.strip_prefix("invalid func unknown#") {
        let number: u32 = helper.split_whitespace().next()?.parse().ok()?;
        let name = helper_name(number)?;
        return Some(format!(
            "this kernel has no helper bpf_{name}: test for it with bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_{name})"
        ));
    }
    WORDS.iter().find(|(words, _)| last.starts_with(words)).map(|(_, meaning)| (*meaning).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_old_kernels() {
        let said = |last| meaning(last).unwrap_or_default();
        assert!(said("BPF_STX uses reserved fields").contains("5.12"));
        assert!(said("unknown opcode d7").contains("-mcpu=v3"));
        assert!(said("invalid func unknown#181").contains("bpf_loop"));
        for other in ["invalid func unknown#2001000000", "R0 !read_ok", "", "invalid func unknown#"] {
            assert_eq!(meaning(other), None, "{other}");
        }
    }
}
