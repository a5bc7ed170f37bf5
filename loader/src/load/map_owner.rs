//! The reason why the kernel refuses a program without a word: a map that the program uses belongs to another
//! kind of program (kernel: `__bpf_prog_map_compatible`). The table of the rules is [`OwnerRule`].

use super::{
    loaded::{Loaded, LoadedMap},
    verifier::RefusedProgram,
};
use crate::{kernel_handle::descriptor, target::running_kernel_btf};
use core_relo::{
    btf::{Btf, Type},
    insn::{Helper, INSN_BYTES, Insn},
};
use core_relo_object::{
    MapIndex,
    load_plan::{FixupTarget, ProgramPlan, SlotPlan, prog_flags},
    map_owner::{
        CgroupStorages, OwnerDifference, OwnerProperties, OwnerRule, StorageRelation, attach_prototype,
        compare_storages, has_attach_prototype, has_owner, member_prototype,
    },
    object::{MapType, ProgramType},
};
use std::{
    fs,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// The setting of the JIT compiler, 0 if the kernel interprets programs.
const JIT_ENABLE: &str = "/proc/sys/net/core/bpf_jit_enable";

/// Explains the refusal of a program that the verifier accepts, if one of its maps belongs to another kind of
/// program.
pub(super) fn explain_refusal(
    loaded: &Loaded,
    program: &ProgramPlan,
    refused: &RefusedProgram,
) -> Option<String> {
    // The kernel compares the programs of a map after the verifier has written its statistics.
    let is_verified = refused.log.contains("processed ") && refused.last_lines().is_empty();
    if refused.errno.0 != libc::EINVAL || refused.insn.is_some() || !is_verified {
        return None;
    }
    used_maps(program).find_map(|index| {
        let map = loaded.maps.get(index.0).filter(|map| map.plan.known_type().is_some_and(has_owner))?;
        if map.plan.known_type() == Some(MapType::ProgArray) && overrides_results(program) {
            let what = "a program that calls bpf_override_return may use no program array";
            return Some(format!("map `{}`: {what}", map.name()));
        }
        explain_misfit(loaded, index, map, program)
    })
}

/// Explains why a program does not fit the owner of a map.
pub(super) fn explain_misfit(
    loaded: &Loaded,
    index: MapIndex,
    map: &LoadedMap,
    program: &ProgramPlan,
) -> Option<String> {
    let users = loaded.programs.iter().map(|loaded| &loaded.plan);
    let first = users.clone().find(|plan| used_maps(plan).any(|used| used == index)).or_else(|| {
        // The first program in the map.
        map.plan.slots().values().find_map(|slot| match slot {
            SlotPlan::Program(function) => users.clone().find(|plan| plan.function() == *function),
            _ => None,
        })
    });
    let other_kind = |text: String| {
        let advice = "give each kind of program a map of its own";
        format!("map `{}`: {text}: {advice}", map.name())
    };
    if let Some(first) = first.filter(|first| first.function() != program.function())
        && let Some(difference) = (Comparison { loaded, map, first, other: program }).explain()
    {
        let first = first.name();
        return Some(other_kind(format!("it belongs to its first program, `{first}`: {difference}")));
    }
    // A map that exists already belongs to a program that this load does not know.
    let owner = if map.is_reused() { MapOwner::read(map) } else { None }?;
    let difference = owner.find_difference(compared_type(program), jit_is_enabled())?;
    Some(other_kind(format!("it exists already and belongs to other programs: {difference}")))
}

/// The comparison of a program with the first program of a map.
struct Comparison<'l> {
    loaded: &'l Loaded,
    map: &'l LoadedMap,
    first: &'l ProgramPlan,
    other: &'l ProgramPlan,
}

impl Comparison<'_> {
    /// Returns the properties in which the program differs, and which the kernel compares by its BTF. Without
    /// the kernel's BTF, the text says since which release.
    fn explain(&self) -> Option<String> {
        let map_type = self.map.plan.known_type()?;
        let kernel = running_kernel_btf();
        let kernel = kernel.vmlinux().ok();
        let mut is_certain = true;
        let mut differences = Vec::new();
        for rule in OwnerRule::ALL.iter().filter(|rule| rule.applies_to(map_type)) {
            let Some(mut text) = self.find_difference(*rule, kernel.map(|btf| &**btf)) else { continue };
            match (kernel.and_then(|btf| rule.is_compared_by(btf)), rule.since()) {
                (Some(false), _) => continue,
                (None, Some(release)) => {
                    is_certain = false;
                    text = format!("{text} (since Linux {release})");
                }
                _ => {}
            }
            differences.push(text);
            // The other properties depend on the type.
            if *rule == OwnerRule::ProgramType {
                break;
            }
        }
        match &*differences {
            [] => None,
            [difference] => Some(difference.clone()),
            _ if is_certain => Some(differences.join("; ")),
            _ => Some(format!("the kernel compares one of these: {}", differences.join("; "))),
        }
    }

    fn find_difference(&self, rule: OwnerRule, kernel: Option<&Btf<'_>>) -> Option<String> {
        let (first, other) = (self.first, self.other);
        match rule {
            OwnerRule::CgroupStorage => self.storage_difference(),
            OwnerRule::AttachPrototype => self.target_difference(kernel),
            _ => {
                let difference = rule.find_difference(properties(first)?, properties(other)?);
                difference.map(|difference| describe(&difference, other))
            }
        }
    }

    fn storage_difference(&self) -> Option<String> {
        let StorageRelation::Differs { found, expected } =
            compare_storages(self.storages(self.first), self.storages(self.other))
        else {
            return None;
        };
        let name = |map: MapIndex| self.loaded.maps.get(map.0).map(|map| format!("`{}`", map.name()));
        let expected = expected.map_or_else(|| Some("none".to_owned()), name)?;
        Some(describe(&OwnerDifference { noun: "cgroup storage", found: name(found)?, expected }, self.other))
    }

    /// Returns the maps of cgroup storage that a program uses.
    fn storages(&self, program: &ProgramPlan) -> CgroupStorages {
        let find = |map_type| {
            let has_type = |map: &LoadedMap| map.plan.known_type() == Some(map_type);
            used_maps(program).find(|index| self.loaded.maps.get(index.0).is_some_and(has_type))
        };
        CgroupStorages { shared: find(MapType::CgroupStorage), per_cpu: find(MapType::PercpuCgroupStorage) }
    }

    /// Returns the difference between the attach targets, unless the kernel's BTF shows that they have one
    /// prototype.
    fn target_difference(&self, kernel: Option<&Btf<'_>>) -> Option<String> {
        let (first, other) = (self.first, self.other);
        if !has_attach_prototype(other.program_type()) {
            return None;
        }
        let target =
            |plan: &ProgramPlan| (plan.attach().type_id(), plan.attach().module(), plan.attach_type());
        let is_struct_ops = other.program_type() == ProgramType::StructOps;
        let (first_target, other_target) = (target(first), target(other));
        let is_same = (first_target.0, first_target.1) == (other_target.0, other_target.1)
            && (!is_struct_ops || first_target.2 == other_target.2);
        let prototype = |plan: &ProgramPlan| {
            let ty = kernel?.ty(plan.attach().type_id().filter(|_| plan.attach().module().is_none())?)?;
            let prototype =
                if is_struct_ops { member_prototype(ty, plan.attach_type()) } else { attach_prototype(ty) };
            prototype.map(Type::id)
        };
        let has_one_prototype = prototype(first).is_some_and(|id| prototype(other) == Some(id));
        let differs = !is_same && !has_one_prototype;
        differs.then(|| format!("the attach target of `{}` has another prototype", other.name()))
    }
}

fn properties(plan: &ProgramPlan) -> Option<OwnerProperties> {
    Some(OwnerProperties {
        program_type: compared_type(plan)?,
        has_xdp_frags: plan.flags() & prog_flags::XDP_HAS_FRAGS != 0,
        is_sleepable: plan.flags() & prog_flags::SLEEPABLE != 0,
        attach_type: plan.attach_type(),
    })
}

/// Returns the program type that the kernel compares: that of the program, or of the program that it
/// replaces. `None` if the kernel does not tell the type of the replaced program.
fn compared_type(plan: &ProgramPlan) -> Option<ProgramType> {
    if plan.program_type() != ProgramType::Ext {
        return Some(plan.program_type());
    }
    ProgramType::from_number(find_number(
        &read_fdinfo(descriptor(plan.attach().program()?).ok()?)?,
        "prog_type",
    )?)
}

/// Returns what the kernel reports about a descriptor.
fn read_fdinfo(fd: BorrowedFd<'_>) -> Option<String> {
    fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", fd.as_raw_fd())).ok()
}

/// Returns a number of such a report.
fn find_number(fdinfo: &str, key: &str) -> Option<u32> {
    let line = fdinfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line?.trim().parse().ok()
}

fn describe(OwnerDifference { noun, found, expected }: &OwnerDifference, program: &ProgramPlan) -> String {
    format!("{noun} of `{}`: {found}, expected {expected}", program.name())
}

/// Returns the maps that a program refers to, with and without an owner.
fn used_maps(program: &ProgramPlan) -> impl Iterator<Item = MapIndex> {
    program.fixups().iter().filter_map(|fixup| match fixup.target() {
        FixupTarget::Map(index) => Some(index),
        FixupTarget::Module(_) => None,
    })
}

/// Returns whether a program calls `bpf_override_return`.
fn overrides_results(program: &ProgramPlan) -> bool {
    let (insns, _) = program.insns().as_chunks::<INSN_BYTES>();
    let mut insns = insns.iter().map(|bytes| Insn::decode(core_relo::Endian::native(), *bytes));
    insns.any(|insn| insn.is_helper_call() && Helper::of_call(insn.imm) == Helper::OVERRIDE_RETURN)
}

/// The owner of a map, as the kernel reports it. The kernel reports no other property.
#[derive(Debug, PartialEq, Eq)]
struct MapOwner {
    /// The number of the program type.
    program_type: u32,
    is_jited: Option<bool>,
}

impl MapOwner {
    fn read(map: &LoadedMap) -> Option<Self> {
        Self::parse(&read_fdinfo(map.fd()?)?)
    }

    fn parse(fdinfo: &str) -> Option<Self> {
        let is_jited = find_number(fdinfo, "owner_jited").map(|jited| jited != 0);
        Some(Self { program_type: find_number(fdinfo, "owner_prog_type")?, is_jited })
    }

    /// Returns the property in which a program of a type differs. `is_jit_enabled` is the kernel's setting
    /// for new programs.
    fn find_difference(
        &self,
        program_type: Option<ProgramType>,
        is_jit_enabled: Option<bool>,
    ) -> Option<String> {
        if let Some(program_type) = program_type.filter(|ty| ty.number() != self.program_type) {
            let expected = ProgramType::from_number(self.program_type);
            let expected = expected.map_or_else(|| self.program_type.to_string(), |ty| ty.to_string());
            return Some(format!("program type {program_type}, expected {expected}"));
        }
        match (self.is_jited, is_jit_enabled) {
            (Some(false), Some(true)) => {
                Some("they are interpreted, and new programs are compiled by the JIT compiler".to_owned())
            }
            (Some(true), Some(false)) => {
                Some("they are compiled by the JIT compiler, and new programs are interpreted".to_owned())
            }
            _ => None,
        }
    }
}

/// Returns whether the JIT compiler compiles new programs. `None` if the kernel does not tell.
fn jit_is_enabled() -> Option<bool> {
    let text = fs::read_to_string(JIT_ENABLE).ok()?;
    text.trim().parse::<u32>().ok().map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_exists_tells_the_type_of_its_owner_and_whether_it_is_compiled() {
        let fdinfo = "pos:\t0\nmap_type:\t3\nowner_prog_type:\t6\nowner_jited:\t0\n";
        let owner = MapOwner::parse(fdinfo).unwrap();
        assert_eq!(owner, MapOwner { program_type: 6, is_jited: Some(false) });
        let text = |program_type, jit| owner.find_difference(Some(program_type), jit);
        let other_type = "program type BPF_PROG_TYPE_SCHED_CLS, expected BPF_PROG_TYPE_XDP";
        assert_eq!(text(ProgramType::SchedCls, Some(true)).as_deref(), Some(other_type));
        let interpreted = "they are interpreted, and new programs are compiled by the JIT compiler";
        assert_eq!(text(ProgramType::Xdp, Some(true)).as_deref(), Some(interpreted));
        assert_eq!(text(ProgramType::Xdp, Some(false)), None);
        assert_eq!(text(ProgramType::Xdp, None), None);
        // The type of the program that it replaces is not known.
        assert_eq!(owner.find_difference(None, Some(false)), None);
        assert_eq!(MapOwner::parse("map_type:\t3\n"), None);
    }
}
