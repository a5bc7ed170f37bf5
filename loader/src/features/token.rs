//! The BPF token of probes.

use std::os::fd::BorrowedFd;

/// The BPF token to probe with.
pub(super) type Token<'fd> = Option<BorrowedFd<'fd>>;
