//! The line of `requires`: all that an object asks of a kernel.

use super::record::SourceLine;
use crate::describe;
use core_relo::{Relocs, explain, ext::RelocKind, insn::helper_name};
use core_relo_loader::object::{MapType, Program};
use core_relo_verdict::requirements::{
    AttachNeed, ExternNeed, MapInput, MapNeed, Need, NeedTable, ObjectNeeds, ProgramNeeds,
};
use serde::Serialize;
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
};

/// The requirements of an object.
#[derive(Debug, Serialize)]
pub(crate) struct RequirementsJson {
    pub(crate) object: String,
    pub(crate) maps: Vec<MapJson>,
    pub(crate) externs: Vec<ExternJson>,
    pub(crate) programs: Vec<ProgramJson>,
}

/// The requirements of a map.
#[derive(Debug, Serialize)]
pub(crate) struct MapJson {
    pub(crate) name: String,
    pub(crate) map_type: Option<String>,
    pub(crate) inner_map_type: Option<String>,
    pub(crate) struct_ops: Option<String>,
    /// The attributes that user space must set.
    pub(crate) needs_input: Vec<&'static str>,
}

/// An extern.
#[derive(Debug, Serialize)]
pub(crate) struct ExternJson {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) weak: bool,
}

/// The requirements of a program.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramJson {
    pub(crate) name: String,
    pub(crate) section: String,
    pub(crate) autoload: bool,
    pub(crate) program_type: Option<&'static str>,
    pub(crate) attach_type: Option<&'static str>,
    pub(crate) attach_target: Option<AttachTargetJson>,
    /// The attribute that user space must set.
    pub(crate) needs_input: Option<&'static str>,
    /// The number of instructions after linking. This and the next two keys are `null` if linking fails.
    pub(crate) insns: Option<usize>,
    pub(crate) subprograms: Option<usize>,
    pub(crate) callbacks: Option<usize>,
    pub(crate) helpers: Vec<UseJson>,
    pub(crate) instruction_sets: Vec<UseJson>,
    pub(crate) kfuncs: Vec<UseJson>,
    /// The number of CO-RE records of each kind.
    pub(crate) relocations: BTreeMap<String, usize>,
    pub(crate) accesses: Vec<AccessJson>,
    /// The accesses that a program checks for existence.
    pub(crate) checks: Vec<AccessJson>,
    /// The reason why linking fails.
    pub(crate) error: Option<String>,
}

/// An attach target that the kernel resolves at load.
#[derive(Debug, Serialize)]
pub(crate) struct AttachTargetJson {
    pub(crate) kind: &'static str,
    pub(crate) module: Option<String>,
    pub(crate) name: String,
}

/// A helper, a kfunc or an instruction set that a program uses.
#[derive(Debug, Serialize)]
pub(crate) struct UseJson {
    pub(crate) name: String,
    /// The number of instructions that use it.
    pub(crate) count: usize,
    /// The first of them.
    pub(crate) insn: u32,
    pub(crate) source: Option<SourceLine>,
}

/// A distinct CO-RE access of a program.
#[derive(Debug, Serialize)]
pub(crate) struct AccessJson {
    pub(crate) kind: String,
    pub(crate) access: String,
    /// The number of records.
    pub(crate) count: usize,
    /// The instruction of the first record.
    pub(crate) insn: u32,
    pub(crate) source: Option<SourceLine>,
}

/// The parts that the programs of an object share.
struct ProgramFacts<'a> {
    needs: &'a ObjectNeeds<'a, 'a>,
    table: &'a NeedTable,
    relocs: Option<&'a Relocs<'a>>,
    /// The access of each record, as C names it.
    accesses: Vec<OnceCell<String>>,
}

impl RequirementsJson {
    pub(crate) fn new(
        object: &str,
        needs: &ObjectNeeds<'_, '_>,
        table: &NeedTable,
        relocs: Option<&Relocs<'_>>,
    ) -> Self {
        let record_count = relocs.map_or(0, |relocs| relocs.records().len());
        let accesses = vec![OnceCell::new(); record_count];
        let facts = ProgramFacts { needs, table, relocs, accesses };
        Self {
            object: object.to_owned(),
            maps: needs.maps.iter().map(|map| MapJson::new(map, table)).collect(),
            externs: needs.externs.iter().filter_map(|needed| ExternJson::new(needed, table)).collect(),
            programs: needs.programs.iter().map(|program| facts.program(program)).collect(),
        }
    }
}

impl MapJson {
    fn new(map: &MapNeed, table: &NeedTable) -> Self {
        let needs = || map.needs.iter().filter_map(|id| table.get(*id));
        let type_name = |need: &Need| match need {
            Need::MapType(number) => Some(match MapType::from_number(*number) {
                Some(known) => known.name().to_owned(),
                None => format!("unknown({number})"),
            }),
            _ => None,
        };
        let mut types = needs().filter_map(type_name);
        Self {
            name: map.name.clone(),
            map_type: types.next(),
            inner_map_type: types.next(),
            struct_ops: needs().find(|need| matches!(need, Need::StructOps(_))).map(need_name),
            needs_input: map.inputs.iter().map(|input| attribute(*input)).collect(),
        }
    }
}

/// Returns the word for an attribute of a map.
const fn attribute(input: MapInput) -> &'static str {
    match input {
        MapInput::InnerMap => "inner_map",
        _ => input.name(),
    }
}

impl ExternJson {
    fn new(needed: &ExternNeed, table: &NeedTable) -> Option<Self> {
        let need = table.get(needed.id)?;
        let kind = match need {
            Need::Kfunc(_) => "kfunc",
            Need::Variable(_) => "variable",
            Need::Kconfig(_) => "kconfig",
            _ => "symbol",
        };
        Some(Self { name: need_name(need), kind, weak: needed.is_weak })
    }
}

impl ProgramFacts<'_> {
    fn program(&self, program: &ProgramNeeds) -> ProgramJson {
        let function = self.needs.object.programs().get(program.index.0);
        let def = function.and_then(Program::sec_def);
        let code = program.code.as_ref().ok();
        let (relocations, accesses, checks) = self.relocations(program);
        let uses = |select: fn(&Need) -> bool| self.uses(program, select);
        ProgramJson {
            name: program.name.clone(),
            section: function.map(|function| describe::name(function.section)).unwrap_or_default(),
            autoload: program.autoload,
            program_type: def.map(|def| def.program_type.name()),
            attach_type: def.and_then(|def| def.attach_type).map(|attach_type| attach_type.name()),
            attach_target: self.attach_target(&program.attach),
            needs_input: match program.attach {
                AttachNeed::Needs(_) => None,
                AttachNeed::NoProgramType => Some("program_type"),
                AttachNeed::NoTarget(_) | AttachNeed::OtherProgram(_) => Some("attach_target"),
            },
            insns: code.map(|code| code.insns.len()),
            subprograms: code.map(|code| code.functions.len().saturating_sub(1)),
            callbacks: code.map(|_| program.callback_count()),
            helpers: uses(|need| matches!(need, Need::Helper { .. })),
            instruction_sets: uses(|need| matches!(need, Need::Instruction(_))),
            kfuncs: uses(|need| matches!(need, Need::KfuncCall { .. })),
            relocations,
            accesses,
            checks,
            error: program.code.as_ref().err().map(ToString::to_string),
        }
    }

    fn attach_target(&self, attach: &AttachNeed) -> Option<AttachTargetJson> {
        attach.needs().iter().find_map(|id| match self.table.get(*id)? {
            Need::AttachTarget { kind, module, name } => Some(AttachTargetJson {
                kind: kind.noun(),
                module: module.as_deref().map(|module| describe::name(module.as_bytes())),
                name: describe::name(kind.kernel_name(name).as_bytes()),
            }),
            _ => None,
        })
    }

    /// Returns the distinct requirements of instructions that `select` returns true for, in the order of their first use.
    fn uses(&self, program: &ProgramNeeds, select: fn(&Need) -> bool) -> Vec<UseJson> {
        let (mut uses, mut positions) = (Vec::<UseJson>::new(), HashMap::new());
        for site in &program.sites {
            let Some(need) = self.table.get(site.need).filter(|need| select(need)) else { continue };
            let position = *positions.entry(site.need).or_insert(uses.len());
            match uses.get_mut(position) {
                Some(known) => known.count += 1,
                None => uses.push(UseJson {
                    name: need_name(need),
                    count: 1,
                    insn: site.insn,
                    source: self.source(program, site.insn),
                }),
            }
        }
        uses
    }

    /// Returns the number of records of each kind, the distinct accesses, and the distinct checks for existence.
    fn relocations(
        &self,
        program: &ProgramNeeds,
    ) -> (BTreeMap<String, usize>, Vec<AccessJson>, Vec<AccessJson>) {
        let (mut counts, mut positions) = (BTreeMap::new(), HashMap::new());
        let (mut accesses, mut checks) = (Vec::<AccessJson>::new(), Vec::new());
        for (insn, record) in &program.records {
            let Some((kind, access)) = self.access(*record) else { continue };
            *counts.entry(kind.to_string()).or_insert(0) += 1;
            let list = if is_check(kind) { &mut checks } else { &mut accesses };
            let position = *positions.entry((kind, access)).or_insert(list.len());
            match list.get_mut(position) {
                Some(known) => known.count += 1,
                None => list.push(AccessJson {
                    kind: kind.to_string(),
                    access: access.to_owned(),
                    count: 1,
                    insn: *insn,
                    source: self.source(program, *insn),
                }),
            }
        }
        (counts, accesses, checks)
    }

    /// Returns the kind and the access of a record.
    fn access(&self, record: usize) -> Option<(RelocKind, &str)> {
        let relocs = self.relocs?;
        let (found, text) = (relocs.records().get(record)?, self.accesses.get(record)?);
        let text = text.get_or_init(|| match &found.spec {
            Ok(spec) => explain::text(spec.access_text(relocs.btf())),
            Err(_) => format!("type [{}]", found.relo.root),
        });
        Some((found.relo.kind, text))
    }

    fn source(&self, program: &ProgramNeeds, insn: u32) -> Option<SourceLine> {
        program.source_line(self.needs.object.btf()?, insn).map(SourceLine::from)
    }
}

/// Returns whether a relocation's value tells a program if the kernel has a field, type or enumerator.
const fn is_check(kind: RelocKind) -> bool {
    use RelocKind as K;
    matches!(kind, K::FieldExists | K::TypeExists | K::TypeMatches | K::EnumvalExists)
}

/// Returns the name in a requirement.
fn need_name(need: &Need) -> String {
    let name = |bytes: &[u8]| explain::text(core_relo::Name::new(bytes).shortened());
    match need {
        Need::Helper { number, .. } => match helper_name(*number) {
            Some(name) => format!("bpf_{name}"),
            None => format!("unknown({number})"),
        },
        Need::Kfunc(bytes)
        | Need::KfuncCall { name: bytes, .. }
        | Need::Symbol(bytes)
        | Need::Variable(bytes)
        | Need::StructOps(bytes) => name(bytes),
        Need::Kconfig(option) => name(option.as_bytes()),
        _ => need.text(),
    }
}
