//! Attach types whose programs a policy of this machine refuses.

use super::{Prober, answer::ProbeError};
use crate::{privileges::has_all_privileges, sys::Errno};
use core_relo_object::{load_plan::RefusedAttachType, object::AttachType};
use std::sync::OnceLock;

/// The attach types of programs that trampolines of functions and LSM hooks run. Policies refuse them before
/// others.
const ATTACH_TYPES: [AttachType; 5] = [
    AttachType::TraceFentry,
    AttachType::TraceFexit,
    AttachType::ModifyReturn,
    AttachType::LsmMac,
    AttachType::LsmCgroup,
];

/// Returns the attach types whose programs the kernel refuses with `EPERM`, although this process has the
/// capabilities. The result is cached for the process. Without the capabilities, no probe can tell, and none
/// is made.
pub(crate) fn refused_attach_types() -> &'static [RefusedAttachType] {
    static REFUSED: OnceLock<Vec<RefusedAttachType>> = OnceLock::new();
    REFUSED.get_or_init(|| {
        if !has_all_privileges() {
            return Vec::new();
        }
        let refused = |attach_type: AttachType| match Prober::new().attach_type(attach_type) {
            Err(ProbeError::NotPermitted { request, errno: errno @ Errno(libc::EPERM), .. }) => {
                Some(RefusedAttachType { attach_type, answer: format!("{request}: {errno}") })
            }
            _ => None,
        };
        ATTACH_TYPES.into_iter().filter_map(refused).collect()
    })
}
