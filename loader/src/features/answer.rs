//! The answers of probes.

use crate::{privileges::missing_privilege, sys::Errno};
use core_relo::Text;
use core_relo_object::object::ProgramType;
use std::io;

/// What a probe of the running kernel found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probed {
    /// Whether the kernel has the feature.
    pub is_supported: bool,
    /// The kernel's answer, such as "BPF_MAP_CREATE: EINVAL: Invalid argument", or a line of the verifier's
    /// log.
    pub evidence: String,
}

impl Probed {
    pub(super) fn yes(evidence: impl Into<String>) -> Self {
        Self { is_supported: true, evidence: evidence.into() }
    }

    pub(super) fn no(evidence: impl Into<String>) -> Self {
        Self { is_supported: false, evidence: evidence.into() }
    }
}

/// A probe that does not show whether the kernel has a feature.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The kernel refuses the request for lack of privileges.
    #[error("{request}: {errno}: {reason}")]
    NotPermitted {
        /// The request.
        request: &'static str,
        /// The kernel's error.
        errno: Errno,
        /// The missing capability, what the BPF token does not delegate, or another likely reason.
        reason: Text,
    },
    /// The request failed for another reason than the feature, such as a lack of memory.
    #[error("{request}: {errno}")]
    Failed {
        /// The request.
        request: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// The verifier refused the program of the probe with an unexpected message.
    #[error("BPF_PROG_LOAD: unexpected message of the verifier: {0}")]
    UnexpectedMessage(String),
    /// No request shows whether programs of this type have the feature, without a target that depends on the
    /// system.
    #[error("no probe: programs of type {0} need a target")]
    NeedsTarget(ProgramType),
    /// A file of the system cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file.
        path: &'static str,
        /// The error of the file system.
        reason: Text,
    },
    /// No request of bpf(2) shows whether the kernel has the feature.
    #[error("no probe: {0}")]
    NoProbe(&'static str),
}

core_relo::debug_as_message!(ProbeError);

impl ProbeError {
    pub(super) fn unreadable(path: &'static str, error: &io::Error) -> Self {
        Self::Unreadable { path, reason: error.to_string().into() }
    }
}

/// The result of a probe.
pub type ProbeResult = Result<Probed, ProbeError>;

/// The names of requests, for answers.
pub(super) const PROG_LOAD: &str = "BPF_PROG_LOAD";
pub(super) const MAP_CREATE: &str = "BPF_MAP_CREATE";
pub(super) const INNER_MAP_CREATE: &str = "BPF_MAP_CREATE of the inner map";
pub(super) const BTF_LOAD: &str = "BPF_BTF_LOAD";
pub(super) const LINK_CREATE: &str = "BPF_LINK_CREATE";

/// Returns whether an error of the kernel shows nothing about a feature: a lack of privileges or resources.
pub(super) const fn is_undecided(errno: Errno) -> bool {
    matches!(
        errno,
        Errno(libc::EPERM | libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN | libc::EINTR)
    )
}

/// Returns the error for a request that failed for another reason than the feature.
pub(super) fn undecided(request: &'static str, errno: Errno) -> ProbeError {
    match errno {
        Errno(libc::EPERM) => ProbeError::NotPermitted { request, errno, reason: missing_privilege().into() },
        _ => ProbeError::Failed { request, errno },
    }
}

/// Returns the answer of a request that succeeds if the kernel has the feature.
pub(super) fn answer<T>(request: &'static str, result: Result<T, Errno>) -> ProbeResult {
    match result.map(drop) {
        Ok(()) => Ok(Probed::yes(format!("{request} succeeds"))),
        Err(errno) if is_undecided(errno) => Err(undecided(request, errno)),
        Err(errno) => Ok(Probed::no(format!("{request}: {errno}"))),
    }
}

/// Returns the answer of a request that fails with one of the `expected` errors if the kernel has the
/// feature: the kernel gets as far as looking up a target that does not exist.
pub(super) fn answer_refusal<T>(
    request: &'static str,
    result: Result<T, Errno>,
    expected: &[i32],
) -> ProbeResult {
    match result {
        Err(errno) if expected.contains(&errno.0) => {
            Ok(Probed::yes(format!("{request}: {errno}, for a target that does not exist")))
        }
        result => answer(request, result),
    }
}
