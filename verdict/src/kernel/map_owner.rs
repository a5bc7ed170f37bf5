//! Maps that belong to the kind of their first program: program arrays, and maps of devices and CPUs.
//!
//! The first program that refers to such a map, or that is put into the map, owns it. The kernel refuses each later program that differs
//! from the owner (kernel: `__bpf_prog_map_compatible`). The properties that it compares came with several releases, and stable kernels
//! have most of them. The struct of the owner shows which ones a kernel compares.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    mark::{
        Change,
        Mark::{self, InnerMember, Member},
    },
};
use core_relo_object::object::MapType;

/// A property that all programs of a map have in common with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerRule {
    /// The program type.
    ProgramType,
    /// Whether an XDP program takes packets in several buffers, `BPF_F_XDP_HAS_FRAGS`.
    XdpFrags,
    /// The prototype of the function, hook or tracepoint that a program of the types TRACING, LSM and `struct_ops` is attached to.
    AttachPrototype,
    /// The maps of cgroup storage.
    CgroupStorage,
    /// The expected attach type.
    AttachType,
    /// Whether the program may sleep, `BPF_F_SLEEPABLE`.
    Sleepable,
}

/// The rules of maps of devices and CPUs, which have owners since this release.
const OWNER: Change = Change::new(5, 18, &[Member("bpf_map", "owner")]);

impl OwnerRule {
    /// The properties in the order in which messages name them.
    pub(crate) const ALL: [Self; 6] = [
        Self::ProgramType,
        Self::XdpFrags,
        Self::AttachType,
        Self::AttachPrototype,
        Self::Sleepable,
        Self::CgroupStorage,
    ];

    /// Returns the change that the property came with. `None` for the property that program arrays always had.
    const fn change(self) -> Option<Change> {
        let (major, minor, marks): (_, _, &[Mark]) = match self {
            Self::ProgramType => return None,
            Self::XdpFrags => (5, 18, &[InnerMember("bpf_map", "owner", "xdp_has_frags")]),
            Self::AttachPrototype => (6, 12, &[InnerMember("bpf_map", "owner", "attach_func_proto")]),
            Self::CgroupStorage => (6, 17, &[InnerMember("bpf_map", "owner", "storage_cookie")]),
            Self::AttachType => (6, 18, &[InnerMember("bpf_map", "owner", "expected_attach_type")]),
            Self::Sleepable => (7, 2, &[InnerMember("bpf_map", "owner", "sleepable")]),
        };
        Some(Change::new(major, minor, marks))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ProgramType => "the comparison of program types",
            Self::XdpFrags => "the comparison of BPF_F_XDP_HAS_FRAGS",
            Self::AttachPrototype => "the comparison of prototypes",
            Self::CgroupStorage => "the comparison of cgroup storage",
            Self::AttachType => "the comparison of attach types",
            Self::Sleepable => "the comparison of BPF_F_SLEEPABLE",
        }
    }
}

/// Returns whether maps of a type have owners on some kernel (kernel: `map_type_contains_progs`).
pub(crate) const fn has_owner(map_type: MapType) -> bool {
    matches!(map_type, MapType::ProgArray | MapType::Devmap | MapType::Cpumap)
}

impl KernelFacts<'_> {
    /// Answers whether the kernel compares a property of the programs of a map.
    pub(crate) fn owner_rule(&self, rule: OwnerRule, map_type: MapType) -> Answer {
        let is_program_array = map_type == MapType::ProgArray;
        if rule == OwnerRule::AttachType && !is_program_array {
            return Answer::Absent(every_kernel("only program arrays have one attach type"));
        }
        match rule.change() {
            Some(change) => self.answer_change(change, rule.name()),
            None if is_program_array => Answer::Present(every_kernel("every kernel has the rule")),
            None => self.answer_change(OWNER, "the owners of such maps"),
        }
    }
}

fn every_kernel(text: &str) -> Evidence {
    Evidence { source: EvidenceSource::Object, text: text.to_owned() }
}

/// Returns the marks of the rules.
pub(super) fn all_marks() -> impl Iterator<Item = Mark> {
    let changes = OwnerRule::ALL.into_iter().filter_map(OwnerRule::change).chain([OWNER]);
    changes.flat_map(|change| change.marks.iter().copied())
}
