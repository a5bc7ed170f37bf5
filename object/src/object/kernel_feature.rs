//! The features that kernels offer, by name.

use super::kernel_enums::{AttachType, LinkType, MapType, ProgramType};
use crate::features::Feature;
use core_relo::insn::Helper;

/// A feature that a kernel may offer: a type, a helper, or what loads depend on.
///
/// ```
/// use core_relo_object::object::{KernelFeature, MapType};
///
/// let ringbuf = KernelFeature::all().find(|feature| feature.name() == "ringbuf");
/// assert_eq!(ringbuf, Some(KernelFeature::MapType(MapType::Ringbuf)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelFeature {
    /// A type of programs.
    ProgramType(ProgramType),
    /// A type of maps.
    MapType(MapType),
    /// A helper, for programs of some type.
    Helper(Helper),
    /// A type of attachments.
    AttachType(AttachType),
    /// A type of links.
    LinkType(LinkType),
    /// A feature that loads depend on, or that the verifier accepts.
    Feature(Feature),
}

impl KernelFeature {
    /// Returns all features, kind by kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let helpers = (1..).map(Helper).take_while(|helper| helper.name().is_some());
        ProgramType::offered()
            .map(Self::ProgramType)
            .chain(MapType::offered().map(Self::MapType))
            .chain(helpers.map(Self::Helper))
            .chain(AttachType::offered().map(Self::AttachType))
            .chain(LinkType::offered().map(Self::LinkType))
            .chain(Feature::ALL.iter().copied().map(Self::Feature))
    }

    /// Returns the name: `xdp`, `ringbuf`, `bpf_loop`, `btf_enum64`. A type of programs and a type of links
    /// may have the same name.
    pub fn name(self) -> String {
        match self {
            Self::ProgramType(ty) => ty.short_name(),
            Self::MapType(ty) => ty.short_name(),
            Self::Helper(helper) => match helper.name() {
                Some(name) => format!("bpf_{name}"),
                None => format!("helper {}", helper.0),
            },
            Self::AttachType(ty) => ty.short_name(),
            Self::LinkType(ty) => ty.short_name(),
            Self::Feature(feature) => feature.name().to_owned(),
        }
    }
}
