//! Maps that several programs of a load use, although the kernel binds the map to the kind of its first program.

use super::{
    answers::KernelAnswers,
    model::{Reason, Verdict},
};
use crate::{
    kernel::{Answer, OwnerRule},
    requirements::{Need, ObjectNeeds, OwnedMap, ProgramNeeds, TargetKind},
};
use core_relo::{
    Name,
    btf::{Kind, Type},
    explain::text,
};
use core_relo_object::{
    MapIndex, ProgramIndex,
    object::{AttachType, ProgramType, SecDef},
};

/// A program that a load cannot have beside the first program of a map.
pub(super) struct MisfitProgram {
    pub(super) program: ProgramIndex,
    pub(super) map: MapIndex,
    pub(super) reason: Reason,
}

/// Returns the programs that the kernel refuses because they share a map with another kind of program. `is_loaded` tells which programs
/// a load has.
pub(super) fn misfit_programs(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    is_loaded: impl Fn(&ProgramNeeds) -> bool,
) -> Vec<MisfitProgram> {
    let mut misfits = Vec::new();
    let created = needs.owned_maps.maps.iter().filter(|map| !needs.left_out_maps.contains(&map.index));
    for map in created {
        let elements = needs.array_programs.iter().filter(|element| element.map_index == map.index);
        let indices = map.users.iter().copied().chain(elements.map(|element| element.program));
        let programs = indices.filter_map(|index| needs.program(index));
        let mut programs = programs.filter(|program| is_loaded(program));
        let Some(first) = programs.next() else { continue };
        let comparison = Comparison { needs, answers, map, first };
        for other in programs.filter(|other| other.index != first.index) {
            if let Some(reason) = comparison.reason(other) {
                misfits.push(MisfitProgram { program: other.index, map: map.index, reason });
            }
        }
    }
    misfits
}

/// Returns the reason why two programs cannot share a map.
pub(super) fn misfit_reason(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    map: &OwnedMap,
    program: ProgramIndex,
    other: ProgramIndex,
) -> Option<Reason> {
    // The first of those that refer to the map owns it, before those that it holds.
    let rank = |program| (!map.users.contains(&program), program);
    let (first, other) = if rank(program) < rank(other) { (program, other) } else { (other, program) };
    Comparison { needs, answers, map, first: needs.program(first)? }.reason(needs.program(other)?)
}

/// The comparison of programs with the first program of a map.
struct Comparison<'c, 'k> {
    needs: &'c ObjectNeeds<'c, 'c>,
    answers: &'c KernelAnswers<'c, 'k>,
    map: &'c OwnedMap,
    first: &'c ProgramNeeds,
}

/// A program that uses the map, with the definition of its section.
#[derive(Clone, Copy)]
struct MapUser<'p> {
    program: &'p ProgramNeeds,
    def: &'p SecDef,
}

/// The relation between a property of two programs.
enum Relation {
    Same,
    /// The property of the other program, and that of the first program.
    Differs {
        noun: &'static str,
        found: String,
        expected: String,
    },
    /// Nothing tells. The value is the question.
    Undecided(String),
}

impl Comparison<'_, '_> {
    /// Returns the worst reason why another program may not use the map.
    fn reason(&self, other: &ProgramNeeds) -> Option<Reason> {
        // User space sets the type of a program without one, and the verdict on the program says so.
        let first = MapUser { program: self.first, def: self.first.sec_def? };
        let user = MapUser { program: other, def: other.sec_def? };
        let mut unknown = None;
        for rule in OwnerRule::ALL {
            let relation = self.relation(rule, first, user);
            if matches!(relation, Relation::Same) {
                continue;
            }
            let answer = self.answers.facts.owner_rule(rule, self.map.map_type);
            let question = match (relation, answer) {
                (_, Answer::Absent(_)) | (Relation::Same, _) => continue,
                (Relation::Differs { noun, found, expected }, Answer::Present(evidence)) => {
                    let what = format!("{noun} of {}: {found}, expected {expected}", other.name);
                    let text = format!("{} cannot share it: {what}", self.subject(other));
                    return Some(
                        with_fix(Reason::from_object(Verdict::Refused, text)).with_evidence(evidence),
                    );
                }
                (Relation::Differs { noun, .. }, Answer::Unknown(question)) => {
                    format!("{noun} of {} differs: {question}", other.name)
                }
                (Relation::Undecided(question), _) => question,
            };
            let text = format!("{} may not be able to share it: {question}", self.subject(other));
            let reason = Reason { evidence: None, ..Reason::from_object(Verdict::Unknown, text) };
            unknown = unknown.or_else(|| Some(with_fix(reason)));
            // The other properties depend on the type.
            if rule == OwnerRule::ProgramType {
                break;
            }
        }
        unknown
    }

    fn subject(&self, other: &ProgramNeeds) -> String {
        format!("map {}: programs {} and {}", self.map.name, self.first.name, other.name)
    }

    /// Compares one property of the first and another program of the map.
    fn relation(&self, rule: OwnerRule, first: MapUser<'_>, other: MapUser<'_>) -> Relation {
        let compare = |noun, property: fn(&SecDef) -> String| {
            let (found, expected) = (property(other.def), property(first.def));
            if found == expected { Relation::Same } else { Relation::Differs { noun, found, expected } }
        };
        match rule {
            // The kernel compares the type of the program that it replaces (since 6.2).
            OwnerRule::ProgramType
                if [first, other].iter().any(|user| user.def.program_type == ProgramType::Ext) =>
            {
                Relation::Undecided("whether the programs that they replace have one type".to_owned())
            }
            OwnerRule::ProgramType => compare("program type", |def| def.program_type.to_string()),
            OwnerRule::XdpFrags => {
                let (found, expected) = (other.def.flags.has_xdp_frags(), first.def.flags.has_xdp_frags());
                flags_relation("BPF_F_XDP_HAS_FRAGS", found, expected)
            }
            OwnerRule::Sleepable => {
                let (found, expected) = (other.def.flags.is_sleepable(), first.def.flags.is_sleepable());
                flags_relation("BPF_F_SLEEPABLE", found, expected)
            }
            OwnerRule::AttachType if first.def.program_type == ProgramType::StructOps => Relation::Same,
            OwnerRule::AttachType => compare("attach type", |def| match attach_type(def) {
                Some(attach_type) => attach_type.to_string(),
                None => "none".to_owned(),
            }),
            OwnerRule::AttachPrototype => {
                self.prototype_relation(first.def.program_type, first.program, other.program)
            }
            OwnerRule::CgroupStorage => self.storage_relation(first.program, other.program),
        }
    }

    /// Compares the cgroup storage of two programs. Newer kernels also refuse a program without storage that does tail calls, which no type
    /// shows.
    fn storage_relation(&self, first: &ProgramNeeds, other: &ProgramNeeds) -> Relation {
        let storages = |program: &ProgramNeeds| self.needs.owned_maps.storages(program.index);
        let name = |map: Option<MapIndex>| {
            let entry = map.and_then(|map| self.needs.linker.maps().get(map.0));
            entry.map_or_else(|| "none".to_owned(), |entry| text(Name::new(entry.name).shortened()))
        };
        let pairs = storages(first).into_iter().zip(storages(other));
        let mut relation = Relation::Same;
        for (expected, found) in pairs.filter(|(expected, found)| expected != found) {
            if found.is_some() {
                let (found, expected) = (name(found), name(expected));
                return Relation::Differs { noun: "cgroup storage", found, expected };
            }
            let question = "whether the kernel lets a program without cgroup storage follow one with it";
            relation = Relation::Undecided(question.to_owned());
        }
        relation
    }

    /// Compares the prototypes of the functions, hooks or tracepoints that two programs of one type are attached to.
    fn prototype_relation(
        &self,
        program_type: ProgramType,
        first: &ProgramNeeds,
        other: &ProgramNeeds,
    ) -> Relation {
        let undecided = || Relation::Undecided("whether their attach targets have one prototype".to_owned());
        match program_type {
            ProgramType::Tracing | ProgramType::Lsm => {}
            ProgramType::StructOps => return undecided(),
            _ => return Relation::Same,
        }
        let (Some(expected), Some(found)) = (self.target(first), self.target(other)) else {
            return undecided();
        };
        if (expected.kind, expected.name) == (found.kind, found.name) {
            return Relation::Same;
        }
        let (Some(first), Some(second)) = (self.prototype(&expected), self.prototype(&found)) else {
            return undecided();
        };
        if !core::ptr::eq(first.btf(), second.btf()) {
            return undecided();
        }
        match first.id() == second.id() {
            // Since 6.11, the kernel compares the templates of tracepoints, which have names of arguments, too.
            true if expected.kind == TargetKind::Tracepoint => undecided(),
            true => Relation::Same,
            false => Relation::Differs {
                noun: "attach target",
                found: found.name.to_owned(),
                expected: format!("one with the prototype of {}", expected.name),
            },
        }
    }

    fn target(&self, program: &ProgramNeeds) -> Option<Target<'_>> {
        program.attach.needs().iter().find_map(|need| match self.answers.need(*need)? {
            Need::AttachTarget { kind, name, .. } => Some(Target { kind: *kind, name }),
            _ => None,
        })
    }

    /// Returns the prototype of an attach target.
    fn prototype(&self, target: &Target<'_>) -> Option<Type<'_>> {
        let full = target.kind.kernel_name(target.name);
        let is_tracepoint = target.kind == TargetKind::Tracepoint;
        let kind = if is_tracepoint { Kind::Typedef } else { Kind::Func };
        let mut ty = self.answers.facts.find_type(full.as_bytes(), kind)?;
        // A tracepoint is a typedef of a pointer to a function.
        for _ in 0..if is_tracepoint { 2 } else { 1 } {
            ty = ty.btf().ty(ty.target()?)?;
        }
        (ty.kind() == Kind::FuncProto).then_some(ty)
    }
}

/// An attach target in the kernel.
struct Target<'n> {
    kind: TargetKind,
    name: &'n str,
}

fn flags_relation(noun: &'static str, found: bool, expected: bool) -> Relation {
    let word = |is_set: bool| if is_set { "set" } else { "not set" }.to_owned();
    if found == expected {
        Relation::Same
    } else {
        Relation::Differs { noun, found: word(found), expected: word(expected) }
    }
}

/// Returns the attach type that a program is loaded with. The number 0 stands for none, too.
fn attach_type(def: &SecDef) -> Option<AttachType> {
    // Every kernel that compares attach types has links of several uprobes.
    let attach_type = if def.flags.is_usdt() { Some(AttachType::TraceUprobeMulti) } else { def.attach_type };
    attach_type.filter(|attach_type| attach_type.number() != 0)
}

fn with_fix(reason: Reason) -> Reason {
    reason.with_fix(
        "a map of its own for each kind of program, or loads with only one of the programs".to_owned(),
    )
}
