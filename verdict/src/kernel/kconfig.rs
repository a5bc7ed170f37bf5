//! The kernel's configuration, and the values that libbpf adds to it.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    changes::ATTACH_COOKIE,
    facts::KernelFacts,
    inputs::InputOrigins,
};
use core_relo::Name;
use std::collections::HashMap;

/// The answer to a question about a value of the kernel's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each answer")]
pub enum KconfigAnswer {
    /// The value, as the configuration writes it: `y`, `m`, `"text"`, `123`, `0x1f`.
    Value(String, Evidence),
    /// The configuration does not set the option. A weak extern is 0, a strong one is an error.
    NotSet(Evidence),
    /// No evidence answers the question. The text says why, or what to give.
    Unknown(String),
}

impl KernelFacts<'_> {
    /// Answers the value of an extern of `.kconfig`: `CONFIG_*`, `LINUX_KERNEL_VERSION`,
    /// `LINUX_HAS_BPF_COOKIE` or `LINUX_HAS_SYSCALL_WRAPPER` (libbpf: `bpf_object__resolve_externs`).
    pub fn kconfig(&self, name: &str) -> KconfigAnswer {
        match name {
            "LINUX_KERNEL_VERSION" => match self.version() {
                Some((version, evidence)) => KconfigAnswer::Value(version.code().to_string(), evidence),
                None => KconfigAnswer::Unknown("give the kernel's version (--kernel-version)".into()),
            },
            "LINUX_HAS_BPF_COOKIE" => {
                boolean_value(self.answer_change(ATTACH_COOKIE, "bpf_get_attach_cookie"))
            }
            "LINUX_HAS_SYSCALL_WRAPPER" => boolean_value(self.syscall_wrapper()),
            _ if name.starts_with("LINUX_") => KconfigAnswer::NotSet(Evidence {
                source: EvidenceSource::Object,
                text: format!("libbpf has no value {}", Name::new(name.as_bytes()).shortened()),
            }),
            _ => self.configured(name),
        }
    }

    /// Answers the value that a load on the kernel gives an extern of `.kconfig`. On a running kernel whose
    /// configuration cannot be read, the externs of options (`CONFIG_*`) have no value.
    pub(crate) fn loaded_kconfig(&self, name: &str) -> KconfigAnswer {
        match self.unreadable_option(name) {
            Some(error) => KconfigAnswer::NotSet(Evidence {
                source: EvidenceSource::System,
                text: format!("the configuration cannot be read: {error}"),
            }),
            None => self.kconfig(name),
        }
    }

    /// Returns why an option of the configuration cannot be read, of a running kernel whose configuration no
    /// file has.
    pub(crate) fn unreadable_option(&self, name: &str) -> Option<&str> {
        let error = self.inputs.kconfig_error.as_deref().filter(|_| self.inputs.kconfig.is_none())?;
        (name.starts_with("CONFIG_") && self.overridden(name).is_none()).then_some(error)
    }

    /// Returns the value that the caller gives an option.
    fn overridden(&self, name: &str) -> Option<&str> {
        let text = self.inputs.kconfig_overrides.as_deref()?;
        self.kconfig_overrides.get_or_init(|| index(text)).get(name).copied()
    }

    pub(super) fn configured(&self, name: &str) -> KconfigAnswer {
        let shown = Name::new(name.as_bytes()).shortened();
        if let Some(value) = self.overridden(name) {
            let text = format!("{shown}={}", Name::new(value.as_bytes()).shortened());
            let evidence = Evidence { source: EvidenceSource::Kconfig, text };
            return KconfigAnswer::Value(value.into(), evidence);
        }
        let Some(text) = self.inputs.kconfig.as_deref().filter(|text| !text.is_empty()) else {
            return KconfigAnswer::Unknown(match self.unreadable_option(name) {
                Some(error) => format!("the configuration cannot be read ({error}): give it (--kconfig)"),
                None => "give the kernel's configuration (--kconfig)".to_owned(),
            });
        };
        let origin = self.inputs.origins.kconfig.as_ref();
        let evidence = |text| Evidence {
            source: EvidenceSource::Kconfig,
            text: InputOrigins::evidence_text(origin, text),
        };
        match self.kconfig.get_or_init(|| index(text)).get(name) {
            Some(value) => KconfigAnswer::Value(
                (*value).into(),
                evidence(format!("{shown}={}", Name::new(value.as_bytes()).shortened())),
            ),
            None => KconfigAnswer::NotSet(evidence(format!("the configuration has no {shown}"))),
        }
    }

    /// Answers whether system calls have wrappers named after the architecture (libbpf:
    /// `probe_kern_syscall_wrapper`).
    ///
    /// A load attaches a kprobe to find out. It finds no wrapper in a kernel without kprobe events.
    fn syscall_wrapper(&self) -> Answer {
        let kprobe_events = self.kprobe_events();
        if matches!(kprobe_events, Answer::Absent(_)) {
            return kprobe_events;
        }
        let [wrappers @ .., _, _] = &self.vmlinux.query.syscalls;
        if let Some(wrapper) = wrappers.iter().find(|wrapper| self.vmlinux.find(&wrapper.function).is_some())
        {
            return Answer::present_in_btf(format!("FUNC {}", wrapper.function.shortened()));
        }
        let symbols = wrappers.iter().map(|wrapper| self.symbol(wrapper));
        let (mut absent, mut is_known) = (None, true);
        for answer in symbols {
            match answer {
                Answer::Present(_) => return answer,
                Answer::Absent(_) => absent = Some(answer),
                Answer::Unknown(_) => is_known = false,
            }
        }
        match absent.filter(|_| is_known) {
            Some(absent) => self.powerpc_syscall_wrapper().unwrap_or(absent),
            None => Answer::Unknown(
                "the function behind bpf(2) is not known: give the kernel's symbols (--kallsyms)".into(),
            ),
        }
    }

    /// Returns the evidence for a wrapper on PowerPC, where wrappers have no prefix and contain
    /// `__se_sys_bpf` (not in libbpf).
    fn powerpc_syscall_wrapper(&self) -> Option<Answer> {
        let [.., function, body] = &self.vmlinux.query.syscalls;
        let wrapper = self.symbol(function);
        let is_wrapper =
            matches!(wrapper, Answer::Present(_)) && matches!(self.symbol(body), Answer::Absent(_));
        is_wrapper.then_some(wrapper)
    }
}

/// Returns the value 1 or 0 of an answer.
fn boolean_value(answer: Answer) -> KconfigAnswer {
    match answer {
        Answer::Present(evidence) => KconfigAnswer::Value("1".into(), evidence),
        Answer::Absent(evidence) => KconfigAnswer::Value("0".into(), evidence),
        Answer::Unknown(question) => KconfigAnswer::Unknown(question),
    }
}

/// Returns the options of a configuration. As in libbpf, the first of several assignments of an option
/// counts, and comments such as `# CONFIG_X is not set` do not count.
fn index(text: &str) -> HashMap<&str, &str> {
    let mut options = HashMap::new();
    let assignments = text.lines().filter(|line| line.starts_with("CONFIG_"));
    for (name, value) in assignments.filter_map(|line| line.split_once('=')) {
        options.entry(name).or_insert(value);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelInputs, NameQuery};
    use alloc::sync::Arc;
    use core_relo::{
        Endian, Target,
        btf::{Btf, Builder},
    };

    #[test]
    fn lines_that_take_precedence_are_no_complete_configuration() {
        let mut b = Builder::new(Endian::native());
        b.int("int", 4, Builder::SIGNED);
        let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
        let query = NameQuery::default();
        let check = |kconfig: Option<&str>, expected: [&str; 3]| {
            let inputs = KernelInputs {
                kconfig: kconfig.map(Into::into),
                kconfig_overrides: Some("CONFIG_HZ=250\n".into()),
                ..KernelInputs::default()
            };
            let facts = KernelFacts::new(&target, &query, &inputs);
            let found = ["CONFIG_HZ", "CONFIG_NET", "CONFIG_A"].map(|name| match facts.kconfig(name) {
                KconfigAnswer::Value(value, _) => value,
                KconfigAnswer::NotSet(_) => "not set".to_owned(),
                KconfigAnswer::Unknown(_) => "unknown".to_owned(),
            });
            assert_eq!(found, expected);
        };
        check(None, ["250", "unknown", "unknown"]);
        check(Some("CONFIG_HZ=100\nCONFIG_NET=y\n"), ["250", "y", "not set"]);
    }
}
