//! Loading BTF.

use super::call::{Cmd, address, address_mut, attr, call_fd, count, opt_fd};
use core_relo_object::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

/// `BPF_F_TOKEN_FD` of `btf_flags`.
const TOKEN: u32 = 1 << 16;

attr! {
    struct LoadAttr {
        btf: u64, log_buf: u64, size: u32, log_size: u32, log_level: u32, log_true_size: u32, flags: u32, token_fd: u32,
    }
}

/// The BTF of a `BPF_BTF_LOAD` request.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct BtfLoad<'a> {
    /// The BTF, in the machine's byte order.
    pub btf: &'a [u8],
    /// A BPF token.
    pub token: Option<BorrowedFd<'a>>,
}

/// Loads BTF. If the kernel refuses the BTF, `log` contains the reason. An empty `log` requests no reason.
pub(crate) fn btf_load(load: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let (flags, token_fd) = (if load.token.is_some() { TOKEN } else { 0 }, opt_fd(load.token));
    let mut attr = LoadAttr {
        btf: address(load.btf),
        size: count(load.btf)?,
        log_size: count(log)?,
        log_level: u32::from(!log.is_empty()),
        log_buf: address_mut(log),
        log_true_size: 0,
        flags,
        token_fd,
    };
    call_fd(Cmd::BtfLoad, &mut attr)
}
