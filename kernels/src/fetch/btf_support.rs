//! The versions of Linux from which on the kernels of distributions have BTF (`CONFIG_DEBUG_INFO_BTF`).

use super::{available::AvailableKernel, kernel_version::compare_versions};

/// The distributions with kernels without BTF in their repositories, and the version before which no kernel
/// has BTF.
///
/// | distribution | source |
/// |---|---|
/// | `ubuntu` | BTFHub's archive, which is for kernels without BTF, has those of 5.4 of 20.04 |
const FIRST_VERSIONS: [(&str, &str); 1] = [("ubuntu", "5.6")];

impl AvailableKernel {
    /// Returns the version before which no kernel of the distribution has BTF, if the kernel is older.
    pub fn btf_missing_until(&self) -> Option<&'static str> {
        let (_, first) = FIRST_VERSIONS.iter().find(|(name, _)| *name == self.distribution)?;
        compare_versions(&self.linux_version(), first).is_lt().then_some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::available::{KernelLine, Protection};

    #[test]
    fn old_kernels_of_ubuntu_have_no_btf() {
        let kernel = |distribution: &str, version: &str| AvailableKernel {
            distribution: distribution.to_owned(),
            distribution_release: "20.04".to_owned(),
            release: format!("{version}-generic"),
            version: version.to_owned(),
            architecture: "x86_64".to_owned(),
            flavour: "generic".to_owned(),
            line: KernelLine::Default,
            packages: Vec::new(),
            protection: Protection::None,
        };
        assert_eq!(kernel("ubuntu", "5.4.0-216.236").btf_missing_until(), Some("5.6"));
        assert_eq!(kernel("ubuntu", "5.15.0-91.101~20.04.1").btf_missing_until(), None);
        assert_eq!(kernel("debian", "5.10.223-1").btf_missing_until(), None);
    }
}
