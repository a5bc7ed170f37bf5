//! The BTF of loaded programs.

use crate::sys::{self, Errno};
use std::os::fd::BorrowedFd;

/// Reads the BTF of a loaded program. Returns `None` if the program was loaded without BTF.
pub(crate) fn program_btf(program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno> {
    match sys::ProgramInfo::query(&program)?.btf_id {
        0 => Ok(None),
        id => Ok(Some(sys::btf_bytes(&sys::ObjectKind::Btf.open(id)?)?)),
    }
}
