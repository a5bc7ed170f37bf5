//! The ages of kernels, relative to the observed ones.

/// The age of a kernel, relative to the observed ones. Numbers are indices in
/// [`OBSERVED_KERNELS`](super::observed_kernels::OBSERVED_KERNELS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelAge {
    /// Like this observed kernel. A kernel older than all counts as the oldest.
    At(usize),
    /// Newer than this observed kernel, and older than the next.
    After(usize),
    /// The same, and by its version older than [`LATE_RELEASE`](super::observed::LATE_RELEASE).
    BeforeLate(usize),
    /// The same, and by its version [`LATE_RELEASE`](super::observed::LATE_RELEASE).
    AtLate(usize),
    /// The kernel's BTF and version do not tell.
    Unknown,
}
