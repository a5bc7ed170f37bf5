//! The requirements of a program.

use super::{
    group::group_by_key,
    model::{
        AccessUse, AttachPointListing, AttachTargetListing, ComparisonUse, ExternUse, HelperUse,
        InstructionSetUse, ProgramListing, Use,
    },
    names::{escaped, extern_kind, need_name},
};
use crate::{
    SourceLine,
    kernel::{InsnFeature, KernelVersion, helper_program_types},
    reads::ReadKind,
    requirements::{
        AttachNeed, AttachPoint, ExistenceChecks, Need, NeedId, NeedTable, ObjectNeeds, ProgramNeeds,
        is_existence_check,
    },
};
use alloc::collections::BTreeMap;
use core::{cell::OnceCell, hash::Hash};
use core_relo::{InsnIndex, Relocs, btf::Kind, explain, ext::RelocKind, spec::Spec};
use core_relo_object::{
    ExternIndex,
    link::{LinkedProgram, RefTarget},
    object::AttachType,
};
use std::collections::HashMap;

/// The parts that the programs of an object share.
pub(super) struct ProgramFacts<'a> {
    needs: &'a ObjectNeeds<'a, 'a>,
    table: &'a NeedTable,
    relocs: Option<&'a Relocs<'a>>,
    /// The access of each record, as C names it.
    accesses: Vec<OnceCell<String>>,
}

impl<'a> ProgramFacts<'a> {
    pub(super) fn new(
        needs: &'a ObjectNeeds<'a, 'a>,
        table: &'a NeedTable,
        relocs: Option<&'a Relocs<'a>>,
    ) -> Self {
        let record_count = relocs.map_or(0, |relocs| relocs.records().len());
        Self { needs, table, relocs, accesses: vec![OnceCell::new(); record_count] }
    }

    pub(super) fn program(&self, program: &ProgramNeeds) -> ProgramListing {
        let def = program.sec_def;
        let code = program.code.as_ref().ok();
        let (relocations, accesses, checks) = self.relocations(program);
        ProgramListing {
            name: program.name.clone(),
            section: escaped(program.section(self.needs.object)),
            autoload: program.autoload,
            program_type: def.map(|def| def.program_type.name()),
            attach_type: def.and_then(|def| def.attach_type).map(AttachType::name),
            attach_target: self.attach_target(&program.attach),
            attach_point: program.attach_point.as_ref().map(AttachPointListing::new),
            needs_input: match program.attach {
                AttachNeed::Needs(_) => None,
                AttachNeed::NoProgramType => Some("program_type"),
                AttachNeed::NoTarget(_) | AttachNeed::OtherProgram(_) => Some("attach_target"),
            },
            insns: code.map(|code| code.insns.len()),
            subprograms: code.map(|code| code.functions.len().saturating_sub(1)),
            callbacks: code.map(|_| program.callback_count()),
            stack_bytes: program.stack_bytes(),
            helpers: self.helpers(program),
            instruction_sets: self.instruction_sets(program),
            kfuncs: self.kfuncs(program),
            maps: self.maps(program),
            externs: self.externs(program),
            relocations,
            accesses,
            checks,
            error: program.code.as_ref().err().map(ToString::to_string),
        }
    }

    fn attach_target(&self, attach: &AttachNeed) -> Option<AttachTargetListing> {
        attach.needs().iter().find_map(|id| match self.table.get(*id)? {
            Need::AttachTarget { kind, module, declaration, .. } => Some(AttachTargetListing {
                kind: kind.noun(),
                module: module.as_deref().map(|module| escaped(module.as_bytes())),
                name: escaped(declaration),
            }),
            _ => None,
        })
    }

    /// Returns the distinct items that instructions use, in the order of their first use, with the key of
    /// each.
    fn uses<K: Copy + Eq + Hash>(
        &self,
        program: &ProgramNeeds,
        items: impl Iterator<Item = (u32, K)>,
        name: impl Fn(K) -> Option<String>,
    ) -> Vec<(K, Use)> {
        let groups = group_by_key(items.map(|(insn, key)| (key, insn))).into_iter();
        let listed = |(key, insns): (K, Vec<u32>)| {
            let (name, insn) = (name(key)?, *insns.first()?);
            Some((key, Use { name, count: insns.len(), insn, source: self.source(program, insn) }))
        };
        groups.filter_map(listed).collect()
    }

    /// Returns the distinct requirements of instructions that `name` returns a name for.
    fn site_uses(
        &self,
        program: &ProgramNeeds,
        name: impl Fn(&Need) -> Option<String>,
    ) -> Vec<(NeedId, Use)> {
        let sites = program.sites.iter().map(|site| (site.insn, site.need));
        self.uses(program, sites, |need| name(self.table.get(need)?))
    }

    fn helpers(&self, program: &ProgramNeeds) -> Vec<HelperUse> {
        let uses = self.site_uses(program, |need| match need {
            Need::Helper { .. } => Some(need_name(need)),
            _ => None,
        });
        let helper = |(need, uses)| {
            let Some(Need::Helper { helper, .. }) = self.table.get(need) else { return None };
            let program_types = helper_program_types(*helper).iter().map(|known| known.name()).collect();
            Some(HelperUse { uses, program_types })
        };
        uses.into_iter().filter_map(helper).collect()
    }

    fn kfuncs(&self, program: &ProgramNeeds) -> Vec<Use> {
        let uses = self.site_uses(program, |need| match need {
            Need::KfuncCall { .. } => Some(need_name(need)),
            _ => None,
        });
        uses.into_iter().map(|(_, uses)| uses).collect()
    }

    fn instruction_sets(&self, program: &ProgramNeeds) -> Vec<InstructionSetUse> {
        let newer = program.sites.iter().filter_map(|site| match self.table.get(site.need)? {
            Need::Instruction(feature) => Some((site.insn, *feature)),
            _ => None,
        });
        let mut all: Vec<_> = newer.chain(program.old_instructions()).collect();
        all.sort_by_key(|(insn, _)| *insn);
        let uses = self.uses(program, all.into_iter(), |feature| Some(feature.name().to_owned()));
        let set = |(feature, uses): (InsnFeature, Use)| InstructionSetUse {
            uses,
            since: feature.release().map(|release| release.to_string()),
        };
        uses.into_iter().map(set).collect()
    }

    fn maps(&self, program: &ProgramNeeds) -> Vec<Use> {
        let refs = program.code.iter().flat_map(|code| &code.refs);
        let maps = refs.filter_map(|(insn, target)| match target {
            RefTarget::Map(map) | RefTarget::Data { map, .. } => Some((*insn, *map)),
            _ => None,
        });
        let entries = self.needs.linker.maps();
        let uses = self.uses(program, maps, |map| Some(escaped(entries.get(map.0)?.name)));
        uses.into_iter().map(|(_, uses)| uses).collect()
    }

    fn externs(&self, program: &ProgramNeeds) -> Vec<ExternUse> {
        let code = program.code.as_ref().ok();
        let refs = code.into_iter().flat_map(|code| code.refs.iter().map(move |found| (code, found)));
        let externs = refs.filter_map(|(code, (insn, target))| match target {
            // Calls of kfuncs are uses of kfuncs.
            RefTarget::Extern(index) if is_address(code, *insn) => Some((*insn, *index)),
            _ => None,
        });
        let find = |index: ExternIndex| {
            let needed = self.needs.externs.get(index.0)?;
            Some((needed, self.table.get(needed.id)?))
        };
        let uses = self.uses(program, externs, |index| Some(need_name(find(index)?.1)));
        let mut comparisons = self.comparisons(program);
        let found = |(index, uses): (ExternIndex, Use)| {
            let (needed, need) = find(index)?;
            // A value without an entry is not compared.
            let comparisons = comparisons.remove(&index).into_iter().flatten().collect();
            Some(ExternUse { uses, kind: extern_kind(need), weak: needed.is_weak, comparisons })
        };
        uses.into_iter().filter_map(found).collect()
    }

    /// Returns the comparisons of configuration values with constants, by extern.
    fn comparisons(&self, program: &ProgramNeeds) -> HashMap<ExternIndex, Vec<ComparisonUse>> {
        let mut comparisons = HashMap::<_, Vec<_>>::new();
        for read in &program.reads {
            let ReadKind::KconfigComparison { index, comparison } = read.kind else { continue };
            let entry = self.needs.linker.externs().get(index.0);
            let is_version = entry.is_some_and(|entry| entry.name == b"LINUX_KERNEL_VERSION");
            let value = comparison.constant();
            let version = u32::try_from(value).ok().filter(|_| is_version);
            comparisons.entry(index).or_default().push(ComparisonUse {
                operator: comparison.operator(),
                value,
                version: version.and_then(KernelVersion::from_code).map(|version| version.to_string()),
                insn: read.insn,
                source: self.source(program, read.insn),
            });
        }
        comparisons
    }

    /// Returns the number of records of each kind, the distinct accesses, and the distinct checks for
    /// existence.
    fn relocations(
        &self,
        program: &ProgramNeeds,
    ) -> (BTreeMap<String, usize>, Vec<AccessUse>, Vec<AccessUse>) {
        let existence_checks = self.relocs.map(|relocs| ExistenceChecks::collect(program, relocs));
        let records = program.records.iter().filter_map(|place| Some((self.access(place.1)?, place)));
        let counts = group_by_key(records.clone().map(|((kind, _), _)| (kind, ()))).into_iter();
        let counts = counts.map(|(kind, records)| (kind.to_string(), records.len())).collect();
        let (mut accesses, mut checks) = (Vec::new(), Vec::new());
        for ((kind, access), places) in group_by_key(records) {
            let Some((insn, record)) = places.first() else { continue };
            let list = if is_existence_check(kind) { &mut checks } else { &mut accesses };
            list.push(AccessUse {
                kind: kind.to_string(),
                access: access.to_owned(),
                count: places.len(),
                check: existence_checks
                    .as_ref()
                    .and_then(|checks| Some(checks.find(self.spec(*record)?)?.to_string())),
                insn: *insn,
                source: self
                    .relocs
                    .and_then(|relocs| relocs.source_line(relocs.records().get(*record)?))
                    .map(SourceLine::from),
            });
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

    fn spec(&self, record: usize) -> Option<&Spec> {
        self.relocs?.records().get(record)?.spec.as_ref().ok()
    }

    fn source(&self, program: &ProgramNeeds, insn: u32) -> Option<SourceLine> {
        program.source_line(self.needs.object.btf()?, insn)
    }
}

/// Returns whether an instruction loads an address, as opposed to a call.
fn is_address(code: &LinkedProgram, insn: u32) -> bool {
    code.insns.get(InsnIndex(insn).index()).is_some_and(|insn| insn.is_ld_imm64())
}

impl AttachPointListing {
    fn new(point: &AttachPoint) -> Self {
        let declaration = |(kind, name): &(Kind, String)| format!("{} {name}", kind.name());
        Self {
            kind: point.kind.noun(),
            name: escaped(point.name.as_bytes()),
            binary: point.binary.as_ref().map(|binary| escaped(binary.as_bytes())),
            declarations: point.declarations.iter().map(declaration).collect(),
        }
    }
}
