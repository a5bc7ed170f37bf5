//! The rules of maps that belong to the kind of their first program ([`OwnerRule`]), answered for a kernel:
//! the struct of the owner shows which properties it compares.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    fixed_names::Struct,
    mark::{
        Change,
        Mark::{self, InnerMember, Member},
    },
};
use core_relo_object::{KernelVersion, map_owner::OwnerRule, object::MapType};

/// The rules of maps of devices and CPUs, which have owners since this release.
const OWNER: Change = Change::new(5, 18, &[Member(Struct::bpf_map, "owner")]);

/// Returns the change that a property came with. `None` for a property that program arrays always had.
fn change(rule: OwnerRule) -> Option<Change> {
    const fn mark(rule: OwnerRule) -> Mark {
        InnerMember(Struct::bpf_map, "owner", rule.owner_member())
    }
    let marks: &[Mark] = match rule {
        OwnerRule::XdpFrags => const { &[mark(OwnerRule::XdpFrags)] },
        OwnerRule::Sleepable => const { &[mark(OwnerRule::Sleepable)] },
        OwnerRule::AttachType => const { &[mark(OwnerRule::AttachType)] },
        OwnerRule::CgroupStorage => const { &[mark(OwnerRule::CgroupStorage)] },
        OwnerRule::AttachPrototype => const { &[mark(OwnerRule::AttachPrototype)] },
        // Every kernel compares the others.
        _ => return None,
    };
    rule.since().map(|release| Change::new(release.major, release.minor, marks))
}

/// The releases that were observed to refuse a program without cgroup storage that does tail calls after one
/// with it. Later releases of their series refuse it, too, and so do later series than the last.
const REFUSE_MISSING_STORAGE: [KernelVersion; 3] = [
    KernelVersion { major: 6, minor: 12, patch: 117 },
    KernelVersion { major: 6, minor: 18, patch: 44 },
    KernelVersion { major: 7, minor: 2, patch: 13 },
];

/// The release that was observed to accept it. Earlier releases of its series accept it, too.
const ACCEPTS_MISSING_STORAGE: KernelVersion = KernelVersion { major: 6, minor: 1, patch: 176 };

impl KernelFacts<'_> {
    /// Answers whether the kernel lets a program without cgroup storage that does tail calls use a program
    /// array of one with it. The mark of [`OwnerRule::CgroupStorage`] does not tell, because point releases
    /// changed the rule.
    pub(crate) fn accepts_missing_storage(&self) -> Answer {
        let question = "whether the kernel lets a program without cgroup storage follow one with it";
        let Some((version, evidence)) = self.version() else { return Answer::Unknown(question.to_owned()) };
        let is_of_series =
            |other: &KernelVersion| (other.major, other.minor) == (version.major, version.minor);
        let is_later = |other: &KernelVersion| version.patch >= other.patch;
        let [.., last] = REFUSE_MISSING_STORAGE;
        let mut refusing = REFUSE_MISSING_STORAGE.iter();
        if version >= last || refusing.any(|other| is_of_series(other) && is_later(other)) {
            return Answer::Absent(evidence);
        }
        if is_of_series(&ACCEPTS_MISSING_STORAGE) && version <= ACCEPTS_MISSING_STORAGE {
            return Answer::Present(evidence);
        }
        Answer::Unknown(question.to_owned())
    }

    /// Answers whether the kernel compares a property of the programs of a map.
    pub(crate) fn owner_rule(&self, rule: OwnerRule, map_type: MapType) -> Answer {
        if !rule.applies_to(map_type) {
            return Answer::Absent(every_kernel("only program arrays have one attach type"));
        }
        match change(rule) {
            Some(change) => self.answer_change(change, &format!("the comparison of {}", rule.property())),
            None if map_type == MapType::ProgArray => {
                Answer::Present(every_kernel("every kernel has the rule"))
            }
            None => self.answer_change(OWNER, "the owners of such maps"),
        }
    }
}

fn every_kernel(text: &str) -> Evidence {
    Evidence { source: EvidenceSource::Object, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_that_some_kernels_lack_has_a_mark() {
        for rule in OwnerRule::ALL {
            assert_eq!(change(*rule).is_some(), rule.since().is_some(), "{rule:?}");
        }
    }
}
