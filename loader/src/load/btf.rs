//! Loading the object's BTF (libbpf: `bpf_object__sanitize_and_load_btf`).

use super::{error::LoadError, kernel::Kernel, loading::Loading, verifier::log_text};
use crate::sys::{BtfLoad, Errno};
use core_relo_object::load_plan::LoadPlan;

/// Bytes of the log in which the kernel explains why it refuses BTF.
const LOG_BYTES: usize = 64 * 1024;

impl<K: Kernel> Loading<'_, K> {
    /// Loads the object's BTF. The load goes on without BTF if the kernel refuses the BTF and no struct_ops map needs it.
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
        // The second attempt has a log.
        let mut log = vec![0; LOG_BYTES];
        if let Ok(fd) = self.kernel.btf_load(&load, &mut log) {
            self.loaded.btf = Some(fd);
            return Ok(());
        }
        let log = log_text(&log);
        let last_line =
            log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("the kernel does not say why");
        if plan.btf_is_mandatory() {
            return Err(self.error(format!("BTF, which struct_ops needs ({last_line})"), errno));
        }
        // A lack of resources is no problem of the BTF.
        if matches!(errno.0, libc::EMFILE | libc::ENFILE | libc::ENOMEM) {
            return Err(self.error("BTF".into(), errno));
        }
        log::info!("{}: loaded without BTF: {errno} ({last_line})", plan.name());
        self.btf_refusal = Some(format!("the kernel refused the object's BTF: {errno}: {last_line}"));
        Ok(())
    }
}
