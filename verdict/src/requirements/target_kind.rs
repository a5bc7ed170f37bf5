//! The kinds of attach targets that are resolved at load.

/// The kind of an attach target that is resolved at load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the kernel has these four")]
pub enum TargetKind {
    /// A function, of fentry, fexit, fmod_ret and the like.
    Function,
    /// A raw tracepoint with BTF (`tp_btf`).
    Tracepoint,
    /// An LSM hook.
    Lsm,
    /// An iterator.
    Iterator,
}

impl TargetKind {
    /// Returns the name of a target in the kernel's BTF (libbpf: `btf_get_kernel_prefix_kind`).
    pub fn kernel_name(self, name: &str) -> String {
        let prefix = match self {
            Self::Function => "",
            Self::Tracepoint => "btf_trace_",
            Self::Lsm => "bpf_lsm_",
            Self::Iterator => "bpf_iter_",
        };
        format!("{prefix}{name}")
    }

    /// Returns a noun for messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Tracepoint => "tracepoint",
            Self::Lsm => "LSM hook",
            Self::Iterator => "iterator",
        }
    }
}
