//! What programs and maps of some kinds need besides their types.

use super::{
    answer::Answer,
    facts::KernelFacts,
    mark::{Change, Mark},
};

/// A property of programs or maps that the kernel checks at load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProgramFeature {
    /// XDP programs for packets in several buffers, `BPF_F_XDP_HAS_FRAGS` (5.18).
    XdpFrags,
    /// struct_ops maps that a link attaches, `BPF_F_LINK` (6.4).
    StructOpsLink,
    /// Uprobe programs that may sleep (6.0).
    SleepableUprobe,
}

impl ProgramFeature {
    /// Returns a noun phrase for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XdpFrags => "XDP programs for packets in several buffers",
            Self::StructOpsLink => "struct_ops maps with a link",
            Self::SleepableUprobe => "uprobe programs that may sleep",
        }
    }

    const fn change(self) -> Change {
        match self {
            Self::XdpFrags => Change::new(5, 18, &[Mark::Member("bpf_prog_aux", "xdp_has_frags")]),
            Self::StructOpsLink => {
                Change::new(6, 4, &[Mark::Enumerator("bpf_prog_type", "BPF_PROG_TYPE_NETFILTER")])
            }
            Self::SleepableUprobe => {
                Change::new(6, 0, &[Mark::Enumerator("bpf_attach_type", "BPF_LSM_CGROUP")])
            }
        }
    }
}

/// A function of kernels with `CONFIG_FUNCTION_ERROR_INJECTION`.
pub(super) const ERROR_INJECTION: &str = "within_error_injection_list";

/// A function of kernels that have further lists of functions for fmod_ret programs and programs that may sleep (6.2).
pub(super) const FMOD_RET_SETS: &str = "register_btf_fmodret_id_set";

/// A function of kernels with LSM programs that may sleep (5.11).
pub(super) const SLEEPABLE_LSM: &str = "bpf_lsm_is_sleepable_hook";

impl KernelFacts<'_> {
    /// Answers whether the kernel supports a property of programs or maps.
    pub fn program_feature(&self, feature: ProgramFeature) -> Answer {
        self.answer_change(feature.change(), feature.name())
    }

    /// Answers whether LSM programs may sleep. Some hooks never may.
    pub fn sleepable_lsm(&self) -> Answer {
        match self.find_any(&[SLEEPABLE_LSM]) {
            Some(function) => Answer::from_btf(true, format!("FUNC {function}")),
            None if self.describes_bpf_functions() => {
                Answer::from_btf(false, format!("no FUNC {SLEEPABLE_LSM}"))
            }
            None => Answer::Unknown("the complete BTF of the kernel".into()),
        }
    }

    /// Answers whether a function is in the kernel's error injection list, so that fentry and fexit programs may sleep there, and
    /// fmod_ret programs may replace its result (kernel: `check_attach_btf_id`).
    ///
    /// The list has every system call. BTF does not tell which other functions are in it.
    pub fn error_injection(&self, function: &str) -> Answer {
        match self.find_any(&[ERROR_INJECTION]) {
            Some(_) if function.starts_with("__") && function.contains("_sys_") => {
                Answer::from_btf(true, format!("FUNC {ERROR_INJECTION}, and {function} is a system call"))
            }
            Some(_) => Answer::Unknown(format!("whether {function} is in the kernel's error injection list")),
            None if self.find_any(&[FMOD_RET_SETS]).is_some() => Answer::Unknown(format!(
                "whether {function} is among the kernel's targets of fmod_ret and of programs that sleep"
            )),
            None if self.describes_bpf_functions() => {
                let text = format!("no FUNC {ERROR_INJECTION}: CONFIG_FUNCTION_ERROR_INJECTION is not set");
                Answer::from_btf(false, text)
            }
            None => Answer::Unknown("the complete BTF of the kernel".into()),
        }
    }
}

/// Returns the marks of all features.
pub(super) fn all_marks() -> impl Iterator<Item = Mark> {
    let features = [ProgramFeature::XdpFrags, ProgramFeature::StructOpsLink, ProgramFeature::SleepableUprobe];
    features.into_iter().flat_map(|feature| feature.change().marks.iter().copied())
}
