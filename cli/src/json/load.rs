//! The JSON lines of `load`, and of refused loads of `run`.

use crate::{
    budget::stats::ProgramStats,
    json::{verdict::ProgramJson as ProgramVerdictJson, verifier_log::LogExcerpt},
    plan_error::{LACKS_FACTS, lacks_only_facts, load_message},
    text::hex,
};
use core_relo_adaptive::StartupReport;
use core_relo_loader::{
    Errno, MapIndex, ProgramIndex,
    attach::{AttachError, Link},
    inventory::{MapInfo, ProgramInfo},
    load::{LoadError, Loaded, LoadedProgram, Poison, VerifierReport},
    load_plan::{FixupTarget, LoadPlan, LoadPlanError, MapPlan, ProgramPlan, Repair, SlotPlan},
};
use core_relo_verdict::judge::{ObjectVerdict, Verdict};
use serde::{Serialize, Serializer, ser::Error as _};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// The result of loading an object or, with `--each`, one of its programs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LoadOutcome<'l> {
    object: &'l str,
    program: Option<&'l str>,
    /// `loaded`, `planned`, `refused` or `unknown`.
    status: &'static str,
    error: Option<LoadErrorJson>,
    maps: Vec<MapJson<'l>>,
    programs: Vec<ProgramJson<'l>>,
    skipped: Vec<SkippedJson<'l>>,
    links: Vec<LinkJson<'l>>,
    not_attached: Vec<SkippedJson<'l>>,
    /// What the plan changed because the kernel would refuse it.
    repairs: Vec<RepairJson<'l>>,
    /// The reason why the object is loaded without BTF.
    btf_refusal: Option<&'l str>,
    /// The verdict of a dry run: `loads`, `refused`, `needs_input` or `unknown`.
    verdict: Option<Verdict>,
    verdicts: Vec<ProgramVerdictJson<'l>>,
    /// The verifier's statistics, with `--each --stats`.
    stats: Option<ProgramStats>,
    /// The start-up report, with `--adaptive`.
    adaptive: Option<StartupReport>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct LoadErrorJson {
    /// `plan`, `map`, `program`, `pin`, `attach`, `variants`.
    stage: &'static str,
    text: String,
    errno: Option<i32>,
    errno_name: Option<&'static str>,
    program: Option<String>,
    insn: Option<u32>,
    source: Option<String>,
    /// What the refused program uses and this kernel does not have: a match for a CO-RE record (`core_relo`),
    /// a map (`map`) or a kernel function (`kfunc`). Or what the plan of the load lacks: facts about the
    /// kernel that cannot be read (`facts`).
    lacks: Option<&'static str>,
    /// The verifier's explanation, on Linux 7.3 and later.
    report: Option<VerifierReport>,
    verifier_log: Option<String>,
    verifier_log_lines: Option<usize>,
    map: Option<String>,
}

impl LoadErrorJson {
    /// Creates an error of a stage that names no program and has no verifier log.
    fn new(stage: &'static str, text: String, errno: Option<Errno>) -> Self {
        Self {
            stage,
            text,
            errno: errno.map(|errno| errno.0),
            errno_name: errno.and_then(Errno::name),
            ..Self::default()
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct MapJson<'l> {
    name: &'l str,
    id: Option<u32>,
    map_type: &'static str,
    type_number: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    map_extra: u64,
    created: bool,
    reused: bool,
    pin: Option<String>,
    values: Vec<SlotJson<'l>>,
}

#[derive(Clone, Debug, Serialize)]
struct SlotJson<'l> {
    key: u32,
    name: ReferenceName<'l>,
}

/// The name of a map or program that a plan refers to by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ReferenceName<'l> {
    Known(&'l str),
    /// The program is not loaded. The JSON value is `null`.
    NotLoaded,
    /// The reference breaks an invariant of plans. The value cannot be written.
    Broken(BrokenReference),
}

/// An invariant of load plans that a reference breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
enum BrokenReference {
    #[error("internal error: a plan refers to map {0}, which the plan does not have")]
    Map(usize),
    #[error("internal error: the initial element of a map is neither a map nor a program")]
    SlotKind,
}

impl Serialize for ReferenceName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(name) => serializer.serialize_str(name),
            Self::NotLoaded => serializer.serialize_none(),
            Self::Broken(reference) => Err(S::Error::custom(reference)),
        }
    }
}

/// The names of an object's maps, by `MapIndex`.
struct MapNames<'l>(Vec<&'l str>);

impl<'l> MapNames<'l> {
    fn get(&self, index: MapIndex) -> ReferenceName<'l> {
        let name = self.0.get(index.0).copied();
        name.map_or(ReferenceName::Broken(BrokenReference::Map(index.0)), ReferenceName::Known)
    }
}

#[derive(Clone, Debug, Serialize)]
struct ProgramJson<'l> {
    name: &'l str,
    id: Option<u32>,
    /// The kernel's hash of the instructions.
    tag: Option<String>,
    section: &'l str,
    program_type: &'static str,
    attach_type: u32,
    flags: u32,
    attach_btf_id: u32,
    instructions: usize,
    translated_instructions: Option<u32>,
    subprograms: usize,
    maps: Vec<ReferenceName<'l>>,
    verifier_log: Option<&'l str>,
}

#[derive(Clone, Debug, Serialize)]
struct SkippedJson<'l> {
    name: &'l str,
    why: Cow<'l, str>,
}

#[derive(Clone, Debug, Serialize)]
struct RepairJson<'l> {
    kind: &'static str,
    place: &'l str,
    problem: &'l str,
    replacement: &'l str,
}

impl<'l> RepairJson<'l> {
    fn new(repair: &'l Repair) -> Self {
        Self {
            kind: repair.kind.name(),
            place: &repair.place,
            problem: &repair.problem,
            replacement: &repair.replacement,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct LinkJson<'l> {
    /// The link's name, as in the text output.
    what: &'l str,
    pin: Option<String>,
}

fn outcome<'l>(object: &'l str, status: &'static str) -> LoadOutcome<'l> {
    LoadOutcome { object, status, ..LoadOutcome::default() }
}

/// Creates the outcome of a dry run.
pub(crate) fn planned<'l>(
    object: &'l str,
    plan: &'l LoadPlan,
    verdict: Option<&'l ObjectVerdict>,
) -> LoadOutcome<'l> {
    let map_names = MapNames(plan.maps().iter().map(MapPlan::name).collect());
    let program_name = |function: ProgramIndex| plan.program(function).map(ProgramPlan::name);
    LoadOutcome {
        maps: plan.maps().iter().map(|m| map(m, &map_names, &program_name)).collect(),
        programs: plan.programs().iter().map(|p| program(p, Some(&map_names))).collect(),
        skipped: plan
            .skipped()
            .iter()
            .map(|s| SkippedJson { name: &s.program, why: s.reason.into() })
            .collect(),
        ..outcome(object, "planned").with_verdict(verdict).with_repairs(plan)
    }
}

impl<'l> LoadOutcome<'l> {
    /// Turns a refusal into the outcome of a dry run that lacks facts about the kernel.
    pub(crate) fn into_not_planned(self) -> Self {
        Self { status: "not_planned", ..self }
    }

    /// Adds the repairs of a plan.
    pub(crate) fn with_repairs(mut self, plan: &'l LoadPlan) -> Self {
        self.repairs = plan.repairs().iter().map(RepairJson::new).collect();
        self
    }

    /// Adds the reason why an object is loaded without BTF.
    pub(crate) fn with_btf_refusal(mut self, loaded: &'l Loaded) -> Self {
        self.btf_refusal = loaded.btf_refusal();
        self
    }

    /// Adds the verdict of a dry run.
    pub(crate) fn with_verdict(mut self, verdict: Option<&'l ObjectVerdict>) -> Self {
        self.verdict = verdict.map(|verdict| verdict.verdict);
        self.verdicts = verdict.iter().flat_map(|v| v.programs.iter().map(ProgramVerdictJson::new)).collect();
        self
    }

    /// Adds the start-up report of an adaptive load.
    pub(crate) fn with_report(mut self, report: &StartupReport) -> Self {
        self.verdict = report.verdict;
        for SkippedJson { name, why } in &mut self.skipped {
            if let Some(chosen) = report.why_not_loaded(name) {
                *why = chosen.into();
            }
        }
        self.adaptive = Some(report.clone());
        self
    }
}

/// Creates the outcome for an object of which no alternative of a group works.
pub(crate) fn exhausted<'l>(object: &'l str, text: &str) -> LoadOutcome<'l> {
    let error = LoadErrorJson::new("variants", text.to_owned(), None);
    LoadOutcome { error: Some(error), ..outcome(object, "refused") }
}

/// Creates the outcome for a loaded object. `unattached` contains pairs of a program and the reason why it is
/// not attached.
pub(crate) fn loaded<'l>(
    object: &'l str,
    loaded: &'l Loaded,
    links: &'l [Link],
    unattached: &'l [(String, String)],
) -> LoadOutcome<'l> {
    let map_names = MapNames(loaded.maps().iter().map(|m| m.name()).collect());
    let programs = loaded.programs();
    let by_function: HashMap<_, _> = programs.iter().map(|p| (p.plan.function(), p.name())).collect();
    let program_name = |function: ProgramIndex| by_function.get(&function).copied();
    let maps = loaded.maps().iter().map(|m| {
        let mut json = map(&m.plan, &map_names, &program_name);
        json.id = m.fd().and_then(|fd| MapInfo::query(&fd).ok()).map(|i| i.id);
        json.created = m.fd().is_some();
        json.reused = m.is_reused();
        json.pin = m.pin_path().map(|p| p.display().to_string());
        json
    });
    let links = links
        .iter()
        .map(|l| LinkJson { what: l.label(), pin: l.pin_path().map(|p| p.display().to_string()) });
    LoadOutcome {
        maps: maps.collect(),
        programs: programs.iter().map(|p| loaded_program(p, Some(&map_names))).collect(),
        links: links.collect(),
        not_attached: unattached.iter().map(|(name, why)| SkippedJson { name, why: why.into() }).collect(),
        ..outcome(object, "loaded").with_btf_refusal(loaded)
    }
}

/// Creates the outcome for one program that was loaded by itself (`--each`).
pub(crate) fn accepted<'l>(
    object: &'l str,
    program: &'l LoadedProgram,
    stats: Option<ProgramStats>,
    wants_log: bool,
) -> LoadOutcome<'l> {
    let json = loaded_program(program, None);
    let verifier_log = json.verifier_log.filter(|_| wants_log);
    LoadOutcome {
        program: Some(program.name()),
        programs: vec![ProgramJson { verifier_log, ..json }],
        stats,
        ..outcome(object, "loaded")
    }
}

/// Creates the outcome for an object or program that the kernel refused, with the verifier log or the end of
/// it.
pub(crate) fn refused<'l>(
    object: &'l str,
    program: Option<&'l str>,
    e: &LoadError,
    wants_log: bool,
    stats: Option<ProgramStats>,
) -> LoadOutcome<'l> {
    let log = e.verifier_log().map(if wants_log { LogExcerpt::whole } else { LogExcerpt::last_lines });
    let mut error = LoadErrorJson::new("plan", load_message(e), e.errno());
    error.verifier_log_lines = log.as_ref().map(|log| log.line_count);
    error.verifier_log = log.map(|log| log.text.into_owned());
    error.stage = match e {
        LoadError::Program { refused, .. } => {
            error.program = Some(refused.program.clone());
            error.insn = refused.insn;
            error.source.clone_from(&refused.source);
            error.report = refused.report.clone();
            error.lacks = refused.poison.as_ref().map(|m| match m {
                Poison::CoreRelo { .. } => "core_relo",
                Poison::Map(_) => "map",
                _ => "kfunc",
            });
            "program"
        }
        LoadError::Pin { map, .. } | LoadError::PinMismatch { map, .. } | LoadError::PinTaken { map, .. } => {
            error.map = Some(map.to_string());
            "pin"
        }
        LoadError::Kernel { map, .. } => {
            error.map = map.as_ref().map(ToString::to_string);
            "map"
        }
        LoadError::ReusedMap { map, .. } => {
            error.map = Some(map.to_string());
            "map"
        }
        LoadError::Signature { .. } | LoadError::Unsigned { .. } => "signature",
        LoadError::Plan { cause, .. } => {
            match cause {
                LoadPlanError::Program { program, .. } => error.program = Some(program.to_string()),
                LoadPlanError::Map { map, .. } | LoadPlanError::MissingStructOpsMember { map, .. } => {
                    error.map = Some(map.to_string());
                }
                _ => {}
            }
            error.lacks = lacks_only_facts(e).then_some(LACKS_FACTS);
            "plan"
        }
        _ => "plan",
    };
    LoadOutcome { program, error: Some(error), stats, ..outcome(object, "refused") }
}

/// Creates the outcome for an object that was loaded and could not be attached or pinned.
pub(crate) fn attach_failed<'l>(object: &'l str, stage: &'static str, e: &AttachError) -> LoadOutcome<'l> {
    let mut error = LoadErrorJson::new(stage, e.to_string(), e.errno());
    if let AttachError::Program { program, .. } = e {
        error.program = Some(program.as_str().to_owned());
    }
    LoadOutcome { error: Some(error), ..outcome(object, "refused") }
}

/// Creates the JSON of a map. `program_name` returns `None` for a program that is not loaded.
fn map<'l>(
    plan: &'l MapPlan,
    map_names: &MapNames<'l>,
    program_name: &dyn Fn(ProgramIndex) -> Option<&'l str>,
) -> MapJson<'l> {
    let slot = |(key, slot): (&u32, &SlotPlan)| {
        let name = match slot {
            SlotPlan::Map(index) => map_names.get(*index),
            SlotPlan::Program(index) => {
                program_name(*index).map_or(ReferenceName::NotLoaded, ReferenceName::Known)
            }
            _ => ReferenceName::Broken(BrokenReference::SlotKind),
        };
        SlotJson { key: *key, name }
    };
    MapJson {
        name: plan.name(),
        id: None,
        map_type: plan.known_type().map_or("?", |t| t.name()),
        type_number: plan.map_type(),
        key_size: plan.key_size(),
        value_size: plan.value_size(),
        max_entries: plan.max_entries(),
        flags: plan.map_flags(),
        map_extra: plan.map_extra(),
        created: plan.autocreate(),
        reused: plan.reuse().is_some(),
        pin: plan.pin().map(|p| p.display().to_string()),
        values: plan.slots().iter().map(slot).collect(),
    }
}

/// Creates the JSON of a program. Without `map_names`, the JSON names no maps.
fn program<'l>(plan: &'l ProgramPlan, map_names: Option<&MapNames<'l>>) -> ProgramJson<'l> {
    let (mut maps, mut seen) = (Vec::new(), HashSet::new());
    for fixup in plan.fixups() {
        if let FixupTarget::Map(index) = fixup.target()
            && let Some(map_names) = map_names
        {
            let name = map_names.get(index);
            if seen.insert(name) {
                maps.push(name);
            }
        }
    }
    ProgramJson {
        name: plan.name(),
        id: None,
        tag: None,
        section: plan.section(),
        program_type: plan.program_type().name(),
        attach_type: plan.attach_type(),
        flags: plan.flags(),
        attach_btf_id: plan.attach().type_id().map_or(0, |ty| ty.0),
        instructions: plan.insns().len() / 8,
        translated_instructions: None,
        subprograms: plan.subprograms().len(),
        maps,
        verifier_log: None,
    }
}

fn loaded_program<'l>(loaded: &'l LoadedProgram, map_names: Option<&MapNames<'l>>) -> ProgramJson<'l> {
    let info = ProgramInfo::query(loaded).ok();
    ProgramJson {
        id: info.map(|i| i.id),
        tag: info.map(|i| hex::digits(&i.tag)),
        translated_instructions: info.map(|i| i.xlated_prog_len / 8),
        verifier_log: Some(loaded.log.as_str()).filter(|l| !l.is_empty()),
        ..program(&loaded.plan, map_names)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_broken_reference_is_an_error_and_a_missing_program_is_null() {
        let names = MapNames(vec!["events"]);
        let json = |name: ReferenceName<'_>| serde_json::to_string(&name).map_err(|e| e.to_string());
        assert_eq!(json(names.get(MapIndex(0))), Ok("\"events\"".to_owned()));
        assert_eq!(json(ReferenceName::NotLoaded), Ok("null".to_owned()));
        assert_eq!(json(names.get(MapIndex(1))).unwrap_err(), BrokenReference::Map(1).to_string());
    }
}
