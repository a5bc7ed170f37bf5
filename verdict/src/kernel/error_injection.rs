//! The kernel's lists of functions where programs may sleep, and whose result programs may replace.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    conditional::{ERROR_INJECTION, FMOD_RET_SETS},
    facts::KernelFacts,
};

/// Functions that every kernel with the lists has in them, if the function exists (kernel:
/// `bpf_test_modify_return_ids`, `hid_bpf_fmodret_ids`).
const FMOD_RET_TARGETS: [&str; 7] = [
    "bpf_modify_return_test",
    "bpf_modify_return_test2",
    "bpf_modify_return_test_tp",
    "bpf_fentry_test1",
    "hid_bpf_device_event",
    "hid_bpf_rdesc_fixup",
    "__hid_bpf_tail_call",
];

/// The prefixes of the entries of system calls (kernel: the `SYSCALL_DEFINEx` of each architecture, with
/// `ALLOW_ERROR_INJECTION`).
const SYSCALL_PREFIXES: [&str; 9] = [
    "__x64_sys_",
    "__ia32_sys_",
    "__ia32_compat_sys_",
    "__x64_compat_sys_",
    "__arm64_sys_",
    "__arm64_compat_sys_",
    "__s390x_sys_",
    "__s390_compat_sys_",
    "__riscv_sys_",
];

/// The attach type after the last of 6.12, and the last of 7.2, by which a kernel is found to be newer.
const FIRST_ATTACH_TYPE_SINCE_6_13: u32 = 57;
const LAST_ATTACH_TYPE_OF_7_2: u32 = 61;

impl KernelFacts<'_> {
    /// Answers whether a function is in the kernel's error injection list, so that fentry and fexit programs
    /// may sleep there, and fmod_ret programs may replace its result (kernel: `check_attach_btf_id`).
    ///
    /// The list has every system call. BTF does not tell which other functions are in it.
    pub fn error_injection(&self, function: &str) -> Answer {
        if function.starts_with("security_") {
            let text = format!("{function} calls LSM hooks: no such function is in the list");
            return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
        }
        match self.find_any(&[ERROR_INJECTION]) {
            Some(_) if is_system_call(function) => {
                Answer::present_in_btf(format!("FUNC {ERROR_INJECTION}, and {function} is a system call"))
            }
            _ if FMOD_RET_TARGETS.contains(&function) && self.find_any(&[FMOD_RET_SETS]).is_some() => {
                Answer::present_in_btf(format!("FUNC {FMOD_RET_SETS}, and {function} is among the targets"))
            }
            Some(_) => Answer::Unknown(format!(
                "it is not known whether {function} is in the kernel's error injection list"
            )),
            None if is_system_call(function) && self.find_any(&[FMOD_RET_SETS]).is_some() => {
                self.lists_system_calls(function)
            }
            None if self.find_any(&[FMOD_RET_SETS]).is_some() => Answer::Unknown(format!(
                "it is not known whether {function} is among the kernel's targets of fmod_ret and of programs that sleep"
            )),
            None if self.describes_bpf_functions() => {
                let text = format!("no FUNC {ERROR_INJECTION}: CONFIG_FUNCTION_ERROR_INJECTION is not set");
                Answer::absent_from_btf(text)
            }
            None => Answer::Unknown("the kernel's BTF is incomplete and has no functions of BPF".into()),
        }
    }

    /// Answers whether a kernel without an error injection list lets programs sleep at system calls. 7.2
    /// does, 6.12 does not.
    fn lists_system_calls(&self, function: &str) -> Answer {
        let by_version = |text: &str| Evidence { source: EvidenceSource::Version, text: text.to_owned() };
        let first_since = self.attach_type(FIRST_ATTACH_TYPE_SINCE_6_13);
        match (self.attach_type(LAST_ATTACH_TYPE_OF_7_2), first_since) {
            (Answer::Present(_), _) => Answer::Present(by_version("kernels since 7.2 list system calls")),
            (_, Answer::Absent(_)) => Answer::Absent(by_version(
                "kernels up to 6.12 without CONFIG_FUNCTION_ERROR_INJECTION do not list system calls",
            )),
            _ => Answer::Unknown(format!(
                "it is not known whether {function} is among the kernel's targets of fmod_ret and of programs that sleep"
            )),
        }
    }
}

/// Returns whether a function is the entry of a system call, such as `__x64_sys_openat`. The functions that
/// an entry calls, such as `__sys_connect` and `__do_sys_bpf`, are in no list.
fn is_system_call(function: &str) -> bool {
    SYSCALL_PREFIXES.iter().any(|prefix| function.starts_with(prefix))
}
