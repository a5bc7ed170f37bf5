//! The rules of maps that belong to the kind of their first program ([`OwnerRule`]), answered for a kernel: the struct of the owner shows
//! which properties it compares.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    mark::{
        Change,
        Mark::{self, InnerMember, Member},
    },
};
use core_relo_object::{map_owner::OwnerRule, object::MapType};

/// The rules of maps of devices and CPUs, which have owners since this release.
const OWNER: Change = Change::new(5, 18, &[Member("bpf_map", "owner")]);

/// Returns the change that a property came with. `None` for a property that program arrays always had.
fn change(rule: OwnerRule) -> Option<Change> {
    const fn mark(rule: OwnerRule) -> Mark {
        InnerMember("bpf_map", "owner", rule.owner_member())
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

impl KernelFacts<'_> {
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

/// Returns the marks of the rules.
pub(super) fn all_marks() -> impl Iterator<Item = Mark> {
    let changes = OwnerRule::ALL.iter().copied().filter_map(change).chain([OWNER]);
    changes.flat_map(|change| change.marks.iter().copied())
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
