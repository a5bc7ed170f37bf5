//! Advice on unknown verdicts: the options that give the missing evidence.

use super::fix::{Fix, FixLanguage, FixPlace};
use crate::judge::{Reason, ReasonKind};

/// Returns the fixes of a question about the kernel that nothing answers.
pub(super) fn fixes(reason: &Reason) -> Vec<Fix> {
    let option =
        |text: &str, option: &str| Fix::new(FixLanguage::Shell, FixPlace::Command, text, option.to_owned());
    let fix = match reason.kind {
        ReasonKind::Kconfig => option("give the kernel's configuration", "--kconfig /boot/config-RELEASE"),
        ReasonKind::Ksym => option("give a copy of the kernel's /proc/kallsyms", "--kallsyms kallsyms.txt"),
        ReasonKind::Kfunc | ReasonKind::AttachTarget | ReasonKind::StructOps => {
            option("give the BTF of the module that may have it", "--module /lib/modules/RELEASE/kernel")
        }
        _ if reason.text.ends_with("(--kernel-version)") => {
            option("give the kernel's version", "--kernel-version X.Y.Z")
        }
        // The BTF has the context, and tells no rule.
        ReasonKind::Context | ReasonKind::Instruction | ReasonKind::Btf => Fix::without_code(
            "`core-relo vm` loads the program on a kernel image, `core-relo load` on the running kernel",
        ),
        // The definition can be changed.
        ReasonKind::MapSize if reason.fix.is_some() => {
            let kconfig = option("give the kernel's configuration", "--kconfig /boot/config-RELEASE");
            let wants_kconfig = reason.text.contains("--kconfig").then_some(kconfig);
            return wants_kconfig.into_iter().chain(reason.fix.clone().map(Fix::without_code)).collect();
        }
        // The version answers for most numbers.
        _ if reason.text.contains("BTF has no enum") => Fix::without_code(
            "give the kernel's complete BTF, such as its vmlinux or vmlinuz, or its version (--kernel-version); `core-relo vm` loads the program on a kernel image",
        ),
        _ => Fix::without_code(
            "give the kernel's complete BTF, such as its vmlinux or vmlinuz; `core-relo vm` loads the program on a kernel image",
        ),
    };
    vec![fix]
}
