//! Loading the object's BTF (libbpf: `bpf_object__sanitize_and_load_btf`).

use super::{error::LoadError, kernel::Kernel, loading::Loading, verifier::log_text};
use crate::{
    sys::{BtfLoad, Errno},
    token_scope::TokenRequest,
};
use core_relo::btf::BtfViolation;
use core_relo_object::load_plan::LoadPlan;
use std::os::fd::OwnedFd;

/// Bytes of the log in which the kernel explains why it refuses BTF. Before Linux 6.4, a log that is too
/// short lacks its end. The largest log is one that every kernel accepts.
const LOG_BYTES: [usize; 3] = [64 * 1024, 1024 * 1024, 8 * 1024 * 1024];

impl<K: Kernel> Loading<'_, K> {
    /// Loads the object's BTF. The load goes on without BTF if the kernel refuses the BTF and no struct_ops
    /// map needs it.
    pub(super) fn load_btf(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        let Some(btf) = plan.btf() else {
            return if plan.btf_is_mandatory() {
                Err(self.error("BTF, which struct_ops needs".into(), Errno(libc::EOPNOTSUPP)))
            } else {
                Ok(())
            };
        };
        let load = BtfLoad { btf, token: self.loaded.token() };
        let errno = match self.kernel.btf_load(&load, &mut []) {
            Ok(fd) => {
                self.loaded.btf = Some(fd);
                return Ok(());
            }
            Err(errno) => errno,
        };
        let log = match self.load_btf_with_log(&load) {
            Ok(fd) => {
                self.loaded.btf = Some(fd);
                return Ok(());
            }
            Err(log) => log,
        };
        let reason = match self.token_refusal(TokenRequest::Btf, errno) {
            Some(reason) => reason,
            None => refusal_reason(&log, plan.btf_violation()),
        };
        if plan.btf_is_mandatory() {
            return Err(self.error(format!("BTF, which struct_ops needs ({reason})"), errno));
        }
        // A lack of resources is no problem of the BTF.
        if matches!(errno.0, libc::EMFILE | libc::ENFILE | libc::ENOMEM) {
            return Err(self.error("BTF".into(), errno));
        }
        let refusal = format!("the kernel refused the object's BTF: {errno}: {reason}");
        log::warn!("{}: loaded without BTF: {refusal}", plan.name());
        self.loaded.btf_refusal = Some(refusal);
        Ok(())
    }

    /// Loads BTF once more, and returns the kernel's log if the kernel refuses the BTF again.
    fn load_btf_with_log(&self, load: &BtfLoad<'_>) -> Result<OwnedFd, String> {
        let mut text = String::new();
        for bytes in LOG_BYTES {
            let mut log = vec![0; bytes];
            let result = self.kernel.btf_load(load, &mut log);
            text = log_text(&log);
            match result {
                Ok(fd) => return Ok(fd),
                Err(Errno(libc::ENOSPC)) => {}
                Err(_) => break,
            }
        }
        Err(text)
    }
}

/// Returns the reason why the kernel refuses BTF, from its log. The kernel has no words for some rules: its
/// log ends with the last type, which is not the cause.
fn refusal_reason(log: &str, violation: Option<BtfViolation>) -> String {
    match violation.filter(|violation| violation.kernel_message().is_none()) {
        Some(violation) => violation.to_string(),
        None => refused_type(log).unwrap_or_else(|| "the kernel does not say why".to_owned()),
    }
}

/// Returns the end of the kernel's log: the line of the type that the kernel refuses. A member has a line of
/// its own, after that of its struct.
fn refused_type(log: &str) -> Option<String> {
    let mut lines = log.lines().filter(|line| !line.trim().is_empty()).rev();
    let last = lines.next()?;
    if !last.starts_with(['\t', ' ']) {
        return Some(last.to_owned());
    }
    let member = last.trim();
    Some(match lines.find(|line| line.starts_with('[')) {
        Some(ty) => format!("{}: {member}", ty.trim_end()),
        None => member.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian,
        btf::{Builder, KernelBtfRules, kernel_violations},
    };

    #[test]
    fn a_rule_without_words_is_named_in_place_of_the_last_type() {
        let mut b = Builder::new(Endian::native());
        b.int("int", 4, Builder::SIGNED);
        let lock = b.structure("bpf_spin_lock", 4, &[]);
        b.structure("value", 8, &[("first", lock, 0), ("second", lock, 32)]);
        let violations = kernel_violations(&b.finish(), &KernelBtfRules::newest());
        let log = "[1] INT int size=4\n[3] STRUCT value size=8 vlen=2\n[9] DATASEC license size=4\n";
        let reason = refusal_reason(log, violations.first().cloned());
        assert!(reason.starts_with("type [3] STRUCT `value`, member 1 `second`"), "{reason}");
        assert_eq!(refusal_reason(log, None), "[9] DATASEC license size=4");
    }

    #[test]
    fn the_last_line_of_the_log_is_about_the_refused_type() {
        let log = "magic: 0xeb9f\n[1] INT int size=4\n[2] STRUCT a$b size=4 vlen=1 Invalid name\n\n";
        assert_eq!(refused_type(log).as_deref(), Some("[2] STRUCT a$b size=4 vlen=1 Invalid name"));
        let log = "[1] INT int size=4\n[2] STRUCT s size=5 vlen=2\n\tc type_id=3 bits_offset=0\n\tf type_id=4 bits_offset=8 Member is not properly aligned\n";
        let expected = "[2] STRUCT s size=5 vlen=2: f type_id=4 bits_offset=8 Member is not properly aligned";
        assert_eq!(refused_type(log).as_deref(), Some(expected));
        assert_eq!(refused_type("\n"), None);
    }
}
