//! `load` and `run` as JSON lines.

use super::verifier_log::LogPart;
use core_relo_loader::{
    attach::{AttachError, Link},
    load::{LoadError, Loaded, LoadedProgram, Poison},
    load_plan::{FixupTarget, LoadPlan, MapPlan, ProgramPlan, SlotPlan},
    sys,
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// What became of an object, or (with `--each`) of one of its programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome<'l> {
    object: &'l str,
    program: Option<&'l str>,
    /// `loaded`, `planned` or `refused`.
    status: &'static str,
    error: Option<ErrorText>,
    maps: Vec<Map<'l>>,
    programs: Vec<Program<'l>>,
    skipped: Vec<Skipped<'l>>,
    links: Vec<LinkText<'l>>,
    not_attached: Vec<Skipped<'l>>,
}

#[derive(Clone, Debug, Serialize)]
struct ErrorText {
    /// `plan`, `map`, `program`, `pin`, `attach`.
    stage: &'static str,
    text: String,
    errno: Option<i32>,
    errno_name: Option<&'static str>,
    program: Option<String>,
    insn: Option<u32>,
    source: Option<String>,
    /// `core_relo`, `map` or `kfunc`: what the program reaches that this kernel lacks.
    lacks: Option<&'static str>,
    verifier_log: Option<String>,
    verifier_log_lines: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
struct Map<'l> {
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
    values: Vec<Slot<'l>>,
}

#[derive(Clone, Debug, Serialize)]
struct Slot<'l> {
    key: u32,
    name: &'l str,
}

#[derive(Clone, Debug, Serialize)]
struct Program<'l> {
    name: &'l str,
    id: Option<u32>,
    section: &'l str,
    program_type: &'static str,
    attach_type: u32,
    flags: u32,
    attach_btf_id: u32,
    instructions: usize,
    translated_instructions: Option<u32>,
    subprograms: usize,
    maps: Vec<&'l str>,
    verifier_log: Option<&'l str>,
}

#[derive(Clone, Debug, Serialize)]
struct Skipped<'l> {
    name: &'l str,
    why: &'l str,
}

#[derive(Clone, Debug, Serialize)]
struct LinkText<'l> {
    what: &'l str,
    pin: Option<String>,
}

fn outcome<'l>(object: &'l str, status: &'static str) -> Outcome<'l> {
    let (maps, programs, skipped, links) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let not_attached = Vec::new();
    Outcome { object, program: None, status, error: None, maps, programs, skipped, links, not_attached }
}

pub(crate) fn planned<'l>(object: &'l str, plan: &'l LoadPlan) -> Outcome<'l> {
    let names: Vec<&str> = plan.maps.iter().map(|m| m.name.as_str()).collect();
    let by_function: HashMap<_, _> = plan.programs.iter().map(|p| (p.function, p.name.as_str())).collect();
    let program_name = |function: usize| by_function.get(&function).copied().unwrap_or_default();
    Outcome {
        maps: plan.maps.iter().map(|m| map(m, &names, &program_name)).collect(),
        programs: plan.programs.iter().map(|p| program(p, &names)).collect(),
        skipped: plan.skipped.iter().map(|(name, why)| Skipped { name, why }).collect(),
        ..outcome(object, "planned")
    }
}

pub(crate) fn loaded<'l>(
    object: &'l str,
    loaded: &'l Loaded,
    links: &'l [Link],
    left: &'l [(String, String)],
) -> Outcome<'l> {
    let names: Vec<&str> = loaded.maps().iter().map(|m| m.name()).collect();
    let programs = loaded.programs();
    let by_function: HashMap<_, _> = programs.iter().map(|p| (p.plan.function, p.name())).collect();
    let program_name = |function: usize| by_function.get(&function).copied().unwrap_or_default();
    let maps = loaded.maps().iter().map(|m| {
        let mut shown = map(&m.plan, &names, &program_name);
        shown.id = m.fd().and_then(|fd| sys::map_info(&fd).ok()).map(|i| i.id);
        shown.created = m.fd().is_some();
        shown.reused = m.is_reused();
        shown.pin = m.pin_path().map(|p| p.display().to_string());
        shown
    });
    let links = links
        .iter()
        .map(|l| LinkText { what: l.label(), pin: l.pin_path().map(|p| p.display().to_string()) });
    Outcome {
        maps: maps.collect(),
        programs: programs.iter().map(|p| loaded_program(p, &names)).collect(),
        links: links.collect(),
        not_attached: left.iter().map(|(name, why)| Skipped { name, why }).collect(),
        ..outcome(object, "loaded")
    }
}

pub(crate) fn each<'l>(object: &'l str, program: &'l LoadedProgram) -> Outcome<'l> {
    Outcome {
        program: Some(program.name()),
        programs: vec![loaded_program(program, &[])],
        ..outcome(object, "loaded")
    }
}

/// An object or program that is refused, with the whole of the verifier's log or the last lines.
pub(crate) fn refused<'l>(
    object: &'l str,
    program: Option<&'l str>,
    e: &LoadError,
    wants_log: bool,
) -> Outcome<'l> {
    let log = e.verifier_log().map(if wants_log { LogPart::whole } else { LogPart::last_lines });
    let mut error = ErrorText {
        stage: "plan",
        text: e.to_string(),
        errno: e.errno().map(|e| e.0),
        errno_name: e.errno().and_then(sys::Errno::name),
        program: None,
        insn: None,
        source: None,
        lacks: None,
        verifier_log_lines: log.as_ref().map(|log| log.line_count),
        verifier_log: log.map(|log| log.text.into_owned()),
    };
    error.stage = match e {
        LoadError::Program { refused, .. } => {
            error.program = Some(refused.program.clone());
            error.insn = refused.insn;
            error.source.clone_from(&refused.source);
            error.lacks = refused.poison.as_ref().map(|m| match m {
                Poison::CoreRelo { .. } => "core_relo",
                Poison::Map(_) => "map",
                _ => "kfunc",
            });
            "program"
        }
        LoadError::Pin { .. } | LoadError::PinMismatch { .. } | LoadError::PinTaken { .. } => "pin",
        LoadError::Kernel { .. } => "map",
        _ => "plan",
    };
    Outcome { program, error: Some(error), ..outcome(object, "refused") }
}

/// Something after loading went wrong.
pub(crate) fn failed<'l>(object: &'l str, name: &str, stage: &'static str, e: &AttachError) -> Outcome<'l> {
    let error = ErrorText {
        stage,
        text: format!("{name}: {e}"),
        errno: e.errno().map(|e| e.0),
        errno_name: e.errno().and_then(sys::Errno::name),
        program: match e {
            AttachError::Program { program, .. } => Some(program.as_str().to_owned()),
            _ => None,
        },
        insn: None,
        source: None,
        lacks: None,
        verifier_log: None,
        verifier_log_lines: None,
    };
    Outcome { error: Some(error), ..outcome(object, "refused") }
}

fn map<'l>(plan: &'l MapPlan, names: &[&'l str], program: &dyn Fn(usize) -> &'l str) -> Map<'l> {
    let slot = |(key, slot): (&u32, &SlotPlan)| {
        let name = match slot {
            SlotPlan::Map(at) => names.get(*at).copied().unwrap_or_default(),
            SlotPlan::Program(at) => program(*at),
            _ => "",
        };
        Slot { key: *key, name }
    };
    Map {
        name: &plan.name,
        id: None,
        map_type: plan.known_type().map_or("?", |t| t.name()),
        type_number: plan.map_type,
        key_size: plan.key_size,
        value_size: plan.value_size,
        max_entries: plan.max_entries,
        flags: plan.map_flags,
        map_extra: plan.map_extra,
        created: plan.autocreate,
        reused: plan.reuse.is_some(),
        pin: plan.pin.as_ref().map(|p| p.display().to_string()),
        values: plan.slots.iter().map(slot).collect(),
    }
}

fn program<'l>(plan: &'l ProgramPlan, names: &[&'l str]) -> Program<'l> {
    let (mut maps, mut seen): (Vec<&str>, _) = (Vec::new(), HashSet::new());
    for fixup in &plan.fixups {
        if let FixupTarget::Map(at) = fixup.of
            && let Some(name) = names.get(at)
            && seen.insert(*name)
        {
            maps.push(name);
        }
    }
    Program {
        name: &plan.name,
        id: None,
        section: &plan.section,
        program_type: plan.program_type.name(),
        attach_type: plan.attach_type,
        flags: plan.flags,
        attach_btf_id: plan.attach.btf_id,
        instructions: plan.insns.len() / 8,
        translated_instructions: None,
        subprograms: plan.pieces.len().saturating_sub(1),
        maps,
        verifier_log: None,
    }
}

fn loaded_program<'l>(loaded: &'l LoadedProgram, names: &[&'l str]) -> Program<'l> {
    let info = sys::prog_info(loaded).ok();
    Program {
        id: info.map(|i| i.id),
        translated_instructions: info.map(|i| i.xlated_prog_len / 8),
        verifier_log: Some(loaded.log.as_str()).filter(|l| !l.is_empty()),
        ..program(&loaded.plan, names)
    }
}

/// What a test run came to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ran<'l> {
    pub(crate) object: &'l str,
    pub(crate) program: &'l str,
    pub(crate) status: &'static str,
    pub(crate) retval: u32,
    pub(crate) duration_ns: u64,
    pub(crate) repeat: u32,
    pub(crate) data_len: u32,
    pub(crate) ctx_len: u32,
    pub(crate) truncated: bool,
}
