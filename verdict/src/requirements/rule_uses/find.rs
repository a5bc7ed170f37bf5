//! The parts of an object to which rules of loaders apply.

use super::{
    map_fields,
    model::{RuleUse, RuleUses, name},
};
use crate::{
    loaders::{LoaderRule, aya},
    requirements::{array_program::ArrayProgram, mapped_sections::MappedSection, program::ProgramNeeds},
};
use core_relo::{Relocs, ext::RelocKind, insn::INSN_BYTES};
use core_relo_object::{
    MapIndex,
    link::{ExternBinding, MapEntry, MapSource, ProgramLinker, RefTarget},
    object::{DataKind, Linkage, Map, MapDef, MapType, Object, Program},
};
use hashbrown::HashSet;

/// The section whose functions are all subprograms.
const TEXT: &[u8] = b".text";

/// The section of legacy map definitions.
const MAPS: &[u8] = b"maps";

/// The bytes of a legacy definition: type, key size, value size, maximum number of entries, flags.
const LEGACY_BYTES: u64 = 20;

/// Returns the uses of all rules, in the order of the table.
pub(crate) fn find_rule_uses(
    linker: &ProgramLinker<'_, '_>,
    relocs: Option<&Relocs<'_>>,
    programs: &[ProgramNeeds],
    mapped_sections: &[MappedSection<'_>],
) -> Vec<RuleUse> {
    let (object, mut uses) = (linker.object(), RuleUses::default());
    let used_maps = used_maps(programs);
    for (index, entry) in (0..).map(MapIndex).zip(linker.maps()) {
        if let MapSource::Defined(map) = entry.source {
            add_map_uses(object, map, used_maps.contains(&index), &mut uses);
        }
    }
    for section in mapped_sections {
        uses.add_section(LoaderRule::MappedField, section);
    }
    if let Some(btf) = object.btf().filter(|_| object.maps().iter().any(|map| !map.is_legacy)) {
        map_fields::find(btf, &mut uses);
    }
    add_section_uses(object, &mut uses);
    add_function_uses(object, &mut uses);
    add_text_uses(object, &mut uses);
    for program in programs {
        add_program_uses(linker, program, &mut uses);
    }
    let is_match = |kind| kind == RelocKind::TypeMatches;
    if relocs.is_some_and(|relocs| relocs.records().iter().any(|record| is_match(record.relo.kind))) {
        uses.add(LoaderRule::TypeMatches, || "a relocation of the kind TYPE_MATCHES".to_owned());
    }
    let RuleUses(mut uses) = uses;
    uses.sort_by_key(|found| found.rule);
    uses
}

/// Returns the use of the rule about programs that program arrays hold, and that the load leaves out.
pub(crate) fn find_unloaded_values(
    linker: &ProgramLinker<'_, '_>,
    elements: &[ArrayProgram],
    programs: &[ProgramNeeds],
) -> Option<RuleUse> {
    let mut uses = RuleUses::default();
    for element in elements {
        let program = programs.iter().find(|program| program.index == element.program && !program.autoload);
        if let (Some(program), Some(map)) = (program, linker.maps().get(element.map_index.0)) {
            uses.add(LoaderRule::UnloadedValue, || {
                format!("map {}: holds program {}, which is not loaded", name(map.name), program.name)
            });
        }
    }
    let RuleUses(uses) = uses;
    uses.into_iter().next()
}

/// Returns the maps that programs refer to.
fn used_maps(programs: &[ProgramNeeds]) -> HashSet<MapIndex> {
    let refs = programs.iter().filter_map(|program| program.code.as_ref().ok()).flat_map(|code| &code.refs);
    let map = |target: &RefTarget| match target {
        RefTarget::Map(map) => Some(*map),
        _ => None,
    };
    refs.filter_map(|(_, target)| map(target)).collect()
}

fn add_map_uses(object: &Object<'_>, map: &Map<'_>, is_used: bool, uses: &mut RuleUses) {
    let Ok(def) = &map.def else { return };
    let section = object.sections().iter().find(|section| section.index == map.section_index);
    let section_name = section.map_or(MAPS, |section| section.name);
    let place = || format!("map {}: defined in section `{}`", name(map.name), name(section_name));
    if map.is_legacy {
        if section_name == MAPS {
            uses.add(LoaderRule::LegacyMaps, place);
        } else if is_used {
            uses.add(LoaderRule::LegacyMapSubsection, place);
        }
        if map.size < LEGACY_BYTES {
            let what = || {
                format!("map {}: its symbol has {} bytes, expected {LEGACY_BYTES}", name(map.name), map.size)
            };
            uses.add(LoaderRule::LegacyMapSize, what);
        }
        if section.is_some_and(|section| has_tail(section.data, map)) {
            let what =
                || format!("map {}: values after the five words of `struct bpf_map_def`", name(map.name));
            uses.add(LoaderRule::LegacyMapTail, what);
        }
        if let Some(id) = def.legacy_id {
            let what =
                || format!("map {}: the sixth word of its definition is {id}, expected 0", name(map.name));
            uses.add(LoaderRule::LegacyMapId, what);
        }
    }
    if let Some(value) = def.other_pinning {
        let what = || format!("map {}: pinning is {value}, expected 0 (none) or 1 (by name)", name(map.name));
        uses.add(LoaderRule::OtherPinning, what);
    }
    add_inner_map_uses(object, map, def, uses);
    if let Some(map_type) = def.known_type().filter(|known| !aya::knows_map_type(*known)) {
        uses.add(LoaderRule::MapType, || format!("map {}: of type {map_type}", name(map.name)));
    }
}

/// Adds the uses of rules about maps of maps and program arrays.
fn add_inner_map_uses(object: &Object<'_>, map: &Map<'_>, def: &MapDef, uses: &mut RuleUses) {
    let is_program_array = match def.known_type() {
        Some(MapType::ProgArray) => true,
        Some(MapType::ArrayOfMaps | MapType::HashOfMaps) => false,
        _ => return,
    };
    if is_program_array {
        if def.has_values {
            let what = || format!("map {}: a program array with `values`", name(map.name));
            uses.add(LoaderRule::ProgramValues, what);
        }
        return;
    }
    if def.inner.is_none() {
        let what = || format!("map {}: a map of maps without an inner map", name(map.name));
        uses.add(LoaderRule::InnerMapMissing, what);
    }
    let in_map = |offset: u64| offset.checked_sub(map.offset).is_some_and(|offset| offset < map.size);
    if object.elf_relocs_of(map.section_index).flatten().any(|reloc| in_map(reloc.offset)) {
        uses.add(LoaderRule::MapValues, || format!("map {}: has maps in `values`", name(map.name)));
    }
}

/// Returns whether a legacy definition has values other than 0 after its five words.
fn has_tail(data: &[u8], map: &Map<'_>) -> bool {
    let position = |bytes: u64| map.offset.checked_add(bytes).and_then(|end| usize::try_from(end).ok());
    let range = position(LEGACY_BYTES).zip(position(map.size)).map(|(start, end)| start..end);
    range.and_then(|range| data.get(range)).is_some_and(|tail| tail.iter().any(|byte| *byte != 0))
}

fn add_section_uses(object: &Object<'_>, uses: &mut RuleUses) {
    let is_register = |kind| matches!(kind, DataKind::StructOps { link: false, optional: false, .. });
    if object.data_sections().iter().any(|section| is_register(section.kind)) {
        uses.add(LoaderRule::StructOps, || "section `.struct_ops`: without `.link`".to_owned());
    }
    if let Some(license) = aya::license_data(object).filter(|license| !aya::is_license(license)) {
        let what = || format!("section `license`: {} bytes, expected one string with its end", license.len());
        uses.add(LoaderRule::License, what);
    }
    for section in object.code_sections() {
        if !core::str::from_utf8(section.name).is_ok_and(aya::knows_section) {
            uses.add(LoaderRule::SectionName, || {
                format!("section `{}`: no section name of aya", name(section.name))
            });
        }
    }
}

fn add_function_uses(object: &Object<'_>, uses: &mut RuleUses) {
    let mut names = HashSet::new();
    for function in object.programs() {
        let is_static = function.linkage == Linkage::Static && function.section != TEXT;
        if is_static {
            let what = || {
                let section = name(function.section);
                format!("function {}: static, in section `{section}`", name(function.name()))
            };
            uses.add(LoaderRule::StaticFunction, what);
        }
        if !names.insert(function.name()) {
            let what = || format!("function {}: another function has the same name", name(function.name()));
            uses.add(LoaderRule::DuplicateFunction, what);
        }
    }
}

/// Adds the uses of rules about the functions of the sections `.text` and `.text…`.
fn add_text_uses(object: &Object<'_>, uses: &mut RuleUses) {
    // Functions are sorted by section and offset.
    let sections = object.programs().chunk_by(|a, b| a.section_index == b.section_index);
    for functions in sections {
        let Some(first) = functions.first().filter(|first| first.section.starts_with(TEXT)) else { continue };
        let mut end = 0;
        let mut gap = None;
        for (index, function) in functions.iter().enumerate() {
            let previous = index.checked_sub(1).and_then(|previous| functions.get(previous));
            if let Some(alias) = previous.filter(|previous| previous.start() == function.start()) {
                uses.add(LoaderRule::FunctionAlias, || {
                    let (function, alias) = (name(function.name()), name(alias.name()));
                    format!("functions {alias} and {function}: one is an alias of the other")
                });
            }
            gap = gap.or_else(|| (function.start().0 > end).then_some(end));
            end = end.max(function.start().0.saturating_add(function.insn_count()));
        }
        let section = object.sections().iter().find(|section| section.index == first.section_index);
        let insn_count = section.map_or(0, |section| section.data.len() / INSN_BYTES);
        if let Some(insn) =
            gap.or_else(|| (usize::try_from(end).is_ok_and(|end| end < insn_count)).then_some(end))
        {
            let what =
                || format!("section `{}`: instruction {insn} belongs to no function", name(first.section));
            uses.add(LoaderRule::TextGap, what);
        }
    }
}

/// Adds the uses in the code of a program and of the functions that it calls.
fn add_program_uses(linker: &ProgramLinker<'_, '_>, program: &ProgramNeeds, uses: &mut RuleUses) {
    let Ok(code) = &program.code else { return };
    let functions =
        code.functions.iter().skip(1).filter_map(|copy| linker.object().programs().get(copy.function.0));
    for function in functions.filter(|function: &&Program<'_>| function.section != TEXT) {
        let what = || {
            let (function, section) = (name(function.name()), name(function.section));
            format!("program {}: calls {function} in section `{section}`, expected .text", program.name)
        };
        uses.add(LoaderRule::CallOutsideText, what);
    }
    for (_, target) in &code.refs {
        match target {
            RefTarget::Extern(index) => {
                let Some(entry) = linker.externs().get(index.0) else { continue };
                if let ExternBinding::Config(_) = entry.binding {
                    uses.add(LoaderRule::KconfigExtern, || extern_use(program, entry.name, "extern"));
                    if entry.is_weak {
                        uses.add(LoaderRule::WeakKconfig, || extern_use(program, entry.name, "weak extern"));
                    }
                }
            }
            RefTarget::Data { map, .. } => {
                if let Some(entry) = linker.maps().get(map.0) {
                    add_data_use(program, entry, uses);
                }
            }
            RefTarget::JumpTable { .. } => {
                uses.add(LoaderRule::JumpTable, || format!("program {}: uses a jump table", program.name));
            }
            _ => {}
        }
    }
}

fn extern_use(program: &ProgramNeeds, extern_name: &[u8], noun: &str) -> String {
    format!("program {}: uses the {noun} {} of .kconfig", program.name, name(extern_name))
}

fn add_data_use(program: &ProgramNeeds, entry: &MapEntry<'_, '_>, uses: &mut RuleUses) {
    match entry.source {
        MapSource::Defined(map) => {
            let is_arena = map.def.as_ref().is_ok_and(|def| def.known_type() == Some(MapType::Arena));
            if is_arena {
                let what =
                    || format!("program {}: uses a variable of arena {}", program.name, name(map.name));
                uses.add(LoaderRule::ArenaVariable, what);
            }
        }
        MapSource::Data(section) if section.name.starts_with(b".bss.") => {
            let what =
                || format!("program {}: uses a variable of section `{}`", program.name, name(section.name));
            uses.add(LoaderRule::BssSubsection, what);
        }
        _ => {}
    }
}
