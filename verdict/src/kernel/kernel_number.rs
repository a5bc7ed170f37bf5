//! The numbers of the kernel's enums, and the oldest observed kernel that has each.

use super::{KernelVersion, observed_kernels::OBSERVED_KERNELS};
use core_relo_object::object::KernelFeature;

/// A number of an enum of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelNumber {
    /// Of `enum bpf_func_id`.
    Helper(u32),
    /// Of `enum bpf_prog_type`.
    ProgramType(u32),
    /// Of `enum bpf_map_type`.
    MapType(u32),
    /// Of `enum bpf_attach_type`.
    AttachType(u32),
    /// Of `enum bpf_link_type`.
    LinkType(u32),
}

/// The highest numbers of the observed kernels, in their order. New enumerators come last.
const HELPERS: [u32; OBSERVED_KERNELS.len()] = [155, 209, 211, 211];
const PROGRAM_TYPES: [u32; OBSERVED_KERNELS.len()] = [30, 31, 32, 32];
const MAP_TYPES: [u32; OBSERVED_KERNELS.len()] = [28, 31, 33, 35];
const ATTACH_TYPES: [u32; OBSERVED_KERNELS.len()] = [37, 43, 56, 61];
const LINK_TYPES: [u32; OBSERVED_KERNELS.len()] = [6, 9, 14, 15];

/// Returns the oldest observed kernel that has a type or a helper. Kernels between the observed ones may have
/// it, too.
pub fn first_observed(feature: KernelFeature) -> Option<KernelVersion> {
    let number = match feature {
        KernelFeature::ProgramType(ty) => KernelNumber::ProgramType(ty.number()),
        KernelFeature::MapType(ty) => KernelNumber::MapType(ty.number()),
        KernelFeature::Helper(helper) => KernelNumber::Helper(helper.0),
        KernelFeature::AttachType(ty) => KernelNumber::AttachType(ty.number()),
        KernelFeature::LinkType(ty) => KernelNumber::LinkType(ty.number()),
        _ => return None,
    };
    number.first_observed()
}

impl KernelNumber {
    /// Returns the oldest observed kernel whose enum has the number.
    pub(super) fn first_observed(self) -> Option<KernelVersion> {
        let (highest, number) = match self {
            Self::Helper(number) => (HELPERS, number),
            Self::ProgramType(number) => (PROGRAM_TYPES, number),
            Self::MapType(number) => (MAP_TYPES, number),
            Self::AttachType(number) => (ATTACH_TYPES, number),
            Self::LinkType(number) => (LINK_TYPES, number),
        };
        let mut observed = OBSERVED_KERNELS.iter().zip(highest);
        observed.find(|(_, highest)| number <= *highest).map(|(kernel, _)| kernel.release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn numbers_were_first_observed_in_the_kernel_that_added_them() {
        let first = |number: KernelNumber| number.first_observed().map(|version| version.to_string());
        assert_eq!(first(KernelNumber::Helper(130)).as_deref(), Some("5.10"));
        assert_eq!(first(KernelNumber::Helper(181)).as_deref(), Some("6.1"));
        assert_eq!(first(KernelNumber::MapType(33)).as_deref(), Some("6.12"));
        assert_eq!(first(KernelNumber::ProgramType(32)).as_deref(), Some("6.12"));
        assert_eq!(first(KernelNumber::AttachType(58)).as_deref(), Some("7.2"));
        assert_eq!(first(KernelNumber::LinkType(99)), None);
    }
}
