//! Wrong program types: the kernel answers `EINVAL`, the error names the types that fit.

use super::error::AttachError;
use crate::sys;
use core_relo_object::object::{AttachType, ProgramType, SEC_DEFS};
use std::os::fd::BorrowedFd;

/// Replaces an `EINVAL` by [`AttachError::WrongProgramType`], if the program's type does not fit the attach
/// type.
pub(super) fn explain_einval(
    error: AttachError,
    prog: BorrowedFd<'_>,
    attach_type: AttachType,
) -> AttachError {
    explain_einval_by_types(error, prog, program_types(attach_type))
}

/// Replaces an `EINVAL` by [`AttachError::WrongProgramType`], if the program's type is none of the expected
/// ones.
pub(super) fn explain_einval_by_types(
    error: AttachError,
    prog: BorrowedFd<'_>,
    expected: Vec<ProgramType>,
) -> AttachError {
    let label = match &error {
        AttachError::Kernel { label, errno, .. } | AttachError::Netlink { label, errno, .. }
            if errno.0 == libc::EINVAL =>
        {
            label.clone()
        }
        _ => return error,
    };
    let found = sys::ProgramInfo::query(&prog).ok().and_then(|info| ProgramType::from_number(info.prog_type));
    match found {
        Some(found) if !expected.is_empty() && !expected.contains(&found) => {
            AttachError::WrongProgramType { label, found, expected }
        }
        _ => error,
    }
}

/// Returns the program types of an attach type, by libbpf's table of section names; empty if the table lacks
/// the attach type.
fn program_types(attach_type: AttachType) -> Vec<ProgramType> {
    let mut types: Vec<_> = SEC_DEFS
        .iter()
        .filter(|def| def.attach_type == Some(attach_type))
        .map(|def| def.program_type)
        .collect();
    types.sort();
    types.dedup();
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_the_program_types_of_attach_types() {
        assert_eq!(program_types(AttachType::Xdp), [ProgramType::Xdp]);
        assert_eq!(program_types(AttachType::CgroupDevice), [ProgramType::CgroupDevice]);
        assert_eq!(program_types(AttachType::TcxEgress), [ProgramType::SchedCls]);
        assert_eq!(program_types(AttachType::LsmCgroup), [ProgramType::Lsm]);
    }
}
