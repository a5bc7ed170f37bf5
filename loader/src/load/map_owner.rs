//! The reason why the kernel refuses a program without a word: a map that the program uses belongs to another kind of program (kernel:
//! `__bpf_prog_map_compatible`).

use super::{
    loaded::{Loaded, LoadedMap},
    verifier::RefusedProgram,
};
use core_relo::insn::{INSN_BYTES, Insn};
use core_relo_object::{
    MapIndex,
    load_plan::{FixupTarget, ProgramPlan, SlotPlan},
    object::{AttachType, MapType, ProgramType},
};
use std::{fs, os::fd::AsRawFd as _};

/// `BPF_F_SLEEPABLE` and `BPF_F_XDP_HAS_FRAGS`, with their names.
const FLAGS: [(u32, &str); 2] = [(1 << 4, "BPF_F_SLEEPABLE"), (1 << 5, "BPF_F_XDP_HAS_FRAGS")];

/// The number of the helper `bpf_override_return`.
const OVERRIDE_RETURN: i32 = 58;

/// The opcode of a call.
const CALL: u8 = 0x85;

/// Explains the refusal of a program that the verifier accepts, if one of its maps belongs to another kind of program.
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
        let map = loaded.maps.get(index.0).filter(|map| has_owner(map))?;
        if map.plan.known_type() == Some(MapType::ProgArray) && overrides_results(program) {
            let what = "a program that calls bpf_override_return may use no program array";
            return Some(format!("map `{}`: {what}", map.name()));
        }
        explain_owner(loaded, index, map, program)
    })
}

/// Explains why a program does not fit the first program of a map.
pub(super) fn explain_owner(
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
        && let Some(difference) = find_difference(map, first, program)
    {
        let first = first.name();
        return Some(other_kind(format!("it belongs to its first program, `{first}`: {difference}")));
    }
    // A map that exists already belongs to a program that this load does not know.
    let owner = if map.is_reused() { owner_type(map) } else { None };
    let owner = owner.filter(|owner| *owner != program.program_type().number())?;
    let found = program.program_type();
    let expected = ProgramType::from_number(owner).map_or_else(|| owner.to_string(), |ty| ty.to_string());
    Some(other_kind(format!(
        "it exists already and belongs to other programs: program type {found}, expected {expected}"
    )))
}

/// Returns the properties in which a program differs from the first program of a map. Every kernel compares the program types; which of the
/// other properties it compares depends on the kernel.
fn find_difference(map: &LoadedMap, first: &ProgramPlan, other: &ProgramPlan) -> Option<String> {
    let differs = |noun: &str, found: String, expected: String| {
        (found != expected).then(|| format!("{noun} of `{}`: {found}, expected {expected}", other.name()))
    };
    let by_type = || {
        let name = |plan: &ProgramPlan| plan.program_type().to_string();
        differs("program type", name(other), name(first))
    };
    let by_flag = |(flag, noun): &(u32, &str)| {
        let word = |plan: &ProgramPlan| if plan.flags() & flag == 0 { "not set" } else { "set" }.to_owned();
        differs(noun, word(other), word(first))
    };
    let by_attach_type = || {
        let name = |plan: &ProgramPlan| match plan.attach_type() {
            0 => "none".to_owned(),
            number => AttachType::from_number(number).map_or_else(|| number.to_string(), |ty| ty.to_string()),
        };
        differs("attach type", name(other), name(first))
    };
    let by_target = || {
        let target = |plan: &ProgramPlan| (plan.attach().type_id(), plan.attach().module());
        let is_same = target(first) == target(other);
        (!is_same).then(|| format!("the attach target of `{}` is another one", other.name()))
    };
    if let Some(difference) = by_type() {
        return Some(difference);
    }
    // Maps of devices and CPUs hold programs of one attach type, whatever that of their users (kernel: `__bpf_prog_map_compatible`).
    let holds_all_users = map.plan.known_type() == Some(MapType::ProgArray);
    let by_attach_type = holds_all_users.then(by_attach_type).flatten();
    let differences: Vec<_> =
        FLAGS.iter().filter_map(by_flag).chain(by_attach_type).chain(by_target()).collect();
    match &*differences {
        [] => None,
        [difference] => Some(difference.clone()),
        _ => Some(format!("the kernel compares one of these: {}", differences.join("; "))),
    }
}

/// Returns the maps that a program refers to.
fn used_maps(program: &ProgramPlan) -> impl Iterator<Item = MapIndex> {
    program.fixups().iter().filter_map(|fixup| match fixup.target() {
        FixupTarget::Map(index) => Some(index),
        FixupTarget::Module(_) => None,
    })
}

/// Returns whether the map belongs to the kind of its first program (kernel: `map_type_contains_progs`).
fn has_owner(map: &LoadedMap) -> bool {
    matches!(map.plan.known_type(), Some(MapType::ProgArray | MapType::Devmap | MapType::Cpumap))
}

/// Returns whether a program calls `bpf_override_return`.
fn overrides_results(program: &ProgramPlan) -> bool {
    let (insns, _) = program.insns().as_chunks::<INSN_BYTES>();
    let mut insns = insns.iter().map(|bytes| Insn::decode(core_relo::Endian::native(), *bytes));
    insns.any(|insn| insn.code == CALL && insn.src == 0 && insn.imm == OVERRIDE_RETURN)
}

/// Returns the number of the program type that a map belongs to.
fn owner_type(map: &LoadedMap) -> Option<u32> {
    let fd = map.fd()?;
    let text = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("owner_prog_type:"))?;
    value.trim().parse().ok()
}
