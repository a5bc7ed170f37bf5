//! Maps that several programs of a load use, although the kernel binds the map to the kind of its first
//! program.

use super::{
    answers::KernelAnswers,
    model::{Reason, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, KernelName},
    requirements::{Hook, Need, ObjectNeeds, OwnedMap, ProgramNeeds, TargetKind},
};
use core_relo::{Name, btf::Type, explain::text};
use core_relo_object::{
    MapIndex, ProgramIndex,
    map_owner::{
        OwnerDifference, OwnerProperties, OwnerRule, StorageRelation, attach_prototype, compare_storages,
        has_attach_prototype, member_prototype,
    },
    object::{AttachType, ProgramType, SecDef},
};
use hashbrown::HashMap;

/// A program that a load cannot have beside the first program of a map.
pub(super) struct MisfitProgram {
    pub(super) program: ProgramIndex,
    pub(super) map: MapIndex,
    pub(super) reason: Reason,
}

/// Returns the programs that the kernel refuses because they share a map with another kind of program.
/// `is_loaded` tells which programs a load has.
pub(super) fn misfit_programs(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    is_loaded: impl Fn(&ProgramNeeds) -> bool,
) -> Vec<MisfitProgram> {
    let mut misfits = Vec::new();
    let mut held = HashMap::<_, Vec<_>>::new();
    for element in &needs.array_programs {
        held.entry(element.map_index).or_default().push(element.program);
    }
    let created = needs.owned_maps.maps.iter().filter(|map| !needs.left_out_maps.contains(&map.index));
    for map in created {
        let indices = map.users.iter().chain(held.get(&map.index).into_iter().flatten()).copied();
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
    // The users are in the order of their indices.
    let rank = |program| (map.users.binary_search(&program).is_err(), program);
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

impl MapUser<'_> {
    /// Returns whether the program replaces a function of another program (freplace).
    fn is_replacement(self) -> bool {
        self.def.program_type == ProgramType::Ext
    }
}

/// The relation between a property of two programs.
enum Relation {
    Same,
    Differs(OwnerDifference),
    /// The properties differ, and this evidence shows that the kernel compares them.
    DiffersWith(OwnerDifference, Evidence),
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
        for rule in OwnerRule::ALL.iter().copied() {
            let relation = self.relation(rule, first, user);
            if matches!(relation, Relation::Same) {
                continue;
            }
            let answer = self.answers.facts.owner_rule(rule, self.map.map_type);
            let (relation, answer) = match (relation, answer) {
                (Relation::DiffersWith(difference, evidence), Answer::Present(_)) => {
                    (Relation::Differs(difference), Answer::Present(evidence))
                }
                (Relation::DiffersWith(difference, _), answer) => (Relation::Differs(difference), answer),
                other => other,
            };
            let question = match (relation, answer) {
                (_, Answer::Absent(_)) | (Relation::Same | Relation::DiffersWith(..), _) => continue,
                (Relation::Differs(OwnerDifference { noun, found, expected }), Answer::Present(evidence)) => {
                    let what = format!("{noun} of {}: {found}, expected {expected}", other.name);
                    let text = format!("{} cannot share it: {what}", self.subject(other));
                    let reason = Reason::from_object(Verdict::Refused, text);
                    return Some(reason.with_fix(fix(first, user)).with_evidence(evidence));
                }
                (Relation::Differs(OwnerDifference { noun, .. }), Answer::Unknown(question)) => {
                    format!("{noun} of {} differs: {question}", other.name)
                }
                (Relation::Undecided(question), _) => question,
            };
            let text = format!("{} may not be able to share it: {question}", self.subject(other));
            let reason = Reason { evidence: None, ..Reason::from_object(Verdict::Unknown, text) };
            unknown = unknown.or_else(|| Some(reason.with_fix(fix(first, user))));
            // The other properties depend on the type, except for those of a program that replaces another
            // one.
            if rule == OwnerRule::ProgramType && ![first, user].iter().any(|user| user.is_replacement()) {
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
        let is_struct_ops = first.def.program_type == ProgramType::StructOps;
        match rule {
            // The type of the program that it replaces counts, which user space chooses. Kernels without that
            // rule compare the type EXT.
            OwnerRule::ProgramType if first.is_replacement() || other.is_replacement() => {
                Relation::Undecided("whether the programs that they replace have one type".to_owned())
            }
            OwnerRule::AttachType if is_struct_ops => self.member_relation(first.program, other.program),
            OwnerRule::CgroupStorage => self.storage_relation(first.program, other.program),
            OwnerRule::AttachPrototype if is_struct_ops => {
                let member = |user: MapUser<'_>| self.struct_ops_member(user.program);
                let prototype = |user| member(user).and_then(StructOpsMember::prototype);
                compare_prototypes(prototype(first), prototype(other), || {
                    (member_name(other.program), member_name(first.program))
                })
            }
            OwnerRule::AttachPrototype => {
                self.prototype_relation(first.def.program_type, first.program, other.program)
            }
            _ => match rule.find_difference(properties(first.def), properties(other.def)) {
                Some(difference) => Relation::Differs(difference),
                None => Relation::Same,
            },
        }
    }

    /// Compares the cgroup storage of two programs. Newer kernels also refuse a program without storage that
    /// does tail calls. All kernels let a program without tail calls follow.
    fn storage_relation(&self, first: &ProgramNeeds, other: &ProgramNeeds) -> Relation {
        let storages = |program: &ProgramNeeds| self.needs.owned_maps.storages(program.index);
        let name = |map: MapIndex| {
            let entry = self.needs.linker.maps().get(map.0);
            entry.map_or_else(|| "none".to_owned(), |entry| text(Name::new(entry.name).shortened()))
        };
        match compare_storages(storages(first), storages(other)) {
            StorageRelation::Same => Relation::Same,
            StorageRelation::Differs { found, expected } => Relation::Differs(OwnerDifference {
                noun: "cgroup storage",
                found: name(found),
                expected: expected.map_or_else(|| "none".to_owned(), name),
            }),
            StorageRelation::Missing { .. } if !other.has_tail_calls() => Relation::Same,
            StorageRelation::Missing { expected } => match self.answers.facts.accepts_missing_storage() {
                Answer::Present(_) => Relation::Same,
                Answer::Absent(evidence) => {
                    let difference = OwnerDifference {
                        noun: "cgroup storage",
                        found: "none, although the program does tail calls".to_owned(),
                        expected: name(expected),
                    };
                    Relation::DiffersWith(difference, evidence)
                }
                Answer::Unknown(question) => Relation::Undecided(question),
            },
        }
    }

    /// Compares the members of two struct_ops programs. The kernel compares the indices, so that members of
    /// two structs may be equal.
    fn member_relation(&self, first: &ProgramNeeds, other: &ProgramNeeds) -> Relation {
        let index = |program| self.struct_ops_member(program).map(|member| member.index);
        match (index(first), index(other)) {
            (Some(expected), Some(found)) if expected == found => Relation::Same,
            (Some(_), Some(_)) => Relation::Differs(OwnerDifference {
                noun: "struct_ops member",
                found: member_name(other),
                expected: member_name(first),
            }),
            _ => Relation::Undecided("whether they are programs of one struct_ops member".to_owned()),
        }
    }

    /// Returns the member of the kernel's struct that a struct_ops program is for. `None` if the object names
    /// several, or the kernel's BTF lacks it.
    fn struct_ops_member(&self, program: &ProgramNeeds) -> Option<StructOpsMember<'_>> {
        let Hook::StructOpsMember { member, .. } = &program.hook else { return None };
        let (_, structure) = self.answers.facts.struct_ops_structs(program.struct_ops.as_ref()?)?;
        let structure = structure?;
        let index = structure.members().position(|found| found.name.as_bytes() == member.as_bytes())?;
        Some(StructOpsMember { structure, index: u32::try_from(index).ok()? })
    }

    /// Compares the prototypes of the functions, hooks or tracepoints that two programs of one type are
    /// attached to.
    fn prototype_relation(
        &self,
        program_type: ProgramType,
        first: &ProgramNeeds,
        other: &ProgramNeeds,
    ) -> Relation {
        let undecided = || Relation::Undecided("whether their attach targets have one prototype".to_owned());
        if !has_attach_prototype(program_type) {
            return Relation::Same;
        }
        let (Some(expected), Some(found)) = (self.target(first), self.target(other)) else {
            return undecided();
        };
        if (expected.kind, expected.name) == (found.kind, found.name) {
            return Relation::Same;
        }
        let relation = compare_prototypes(self.prototype(&expected), self.prototype(&found), || {
            (found.name.to_owned(), expected.name.to_owned())
        });
        match relation {
            // Since 6.11, the kernel compares the templates of tracepoints, which have names of arguments,
            // too.
            Relation::Same if expected.kind == TargetKind::Tracepoint => undecided(),
            other => other,
        }
    }

    fn target(&self, program: &ProgramNeeds) -> Option<Target<'_>> {
        program.attach.needs().iter().find_map(|need| match self.answers.need(*need)? {
            Need::AttachTarget { kind, name, declaration, .. } => {
                Some(Target { kind: *kind, name, declaration })
            }
            _ => None,
        })
    }

    /// Returns the prototype of an attach target.
    fn prototype(&self, target: &Target<'_>) -> Option<Type<'_>> {
        attach_prototype(self.answers.facts.find_type(target.declaration)?)
    }
}

/// A member of a struct of the kernel that struct_ops programs implement.
#[derive(Clone, Copy)]
struct StructOpsMember<'k> {
    structure: Type<'k>,
    index: u32,
}

impl<'k> StructOpsMember<'k> {
    fn prototype(self) -> Option<Type<'k>> {
        member_prototype(self.structure, self.index)
    }
}

/// An attach target in the kernel.
struct Target<'n> {
    kind: TargetKind,
    name: &'n str,
    declaration: &'n KernelName,
}

/// Returns the properties of a program, from its section. Members of struct_ops are compared by themselves.
fn properties(def: &SecDef) -> OwnerProperties {
    // Every kernel that compares attach types has links of several uprobes.
    let attach_type = if def.flags.is_usdt() { Some(AttachType::TraceUprobeMulti) } else { def.attach_type };
    OwnerProperties {
        program_type: def.program_type,
        has_xdp_frags: def.flags.has_xdp_frags(),
        is_sleepable: def.flags.is_sleepable(),
        attach_type: attach_type.map_or(0, AttachType::number),
    }
}

/// Compares two prototypes. The kernel compares their records, so both have to be of one BTF.
fn compare_prototypes(
    expected: Option<Type<'_>>,
    found: Option<Type<'_>>,
    names: impl FnOnce() -> (String, String),
) -> Relation {
    let types = expected.zip(found).filter(|(expected, found)| core::ptr::eq(expected.btf(), found.btf()));
    let Some((expected, found)) = types else {
        return Relation::Undecided("whether their attach targets have one prototype".to_owned());
    };
    if expected.id() == found.id() {
        return Relation::Same;
    }
    let (found, expected) = names();
    let expected = format!("one with the prototype of {expected}");
    Relation::Differs(OwnerDifference { noun: "attach target", found, expected })
}

/// Returns the struct_ops member of a program, as `tcp_congestion_ops.init`.
fn member_name(program: &ProgramNeeds) -> String {
    match &program.hook {
        Hook::StructOpsMember { table, member } => format!("{table}.{member}"),
        _ => "unknown".to_owned(),
    }
}

fn fix(first: MapUser<'_>, other: MapUser<'_>) -> String {
    let is_struct_ops = |user: MapUser<'_>| user.def.program_type == ProgramType::StructOps;
    let fix = if is_struct_ops(first) && is_struct_ops(other) {
        // A load of any program loads both.
        "a map of its own for each member"
    } else {
        "a map of its own for each kind of program, or loads with only one of the programs"
    };
    fix.to_owned()
}
