//! Applies a setting to the settings of a load.

use super::{
    AttachTo, InnerMap, Setting, SettingValue, global_value,
    names::{NamedMap, ObjectNames, no_such},
};
use crate::{
    error::BadInput,
    kernel_objects::select::{select_one, selection_from_word},
};
use core_relo::explain::suggest_word;
use core_relo_loader::{
    inventory::ObjectKind,
    load_plan::{AttachTarget, Settings, inner_map_name},
    object::{MapDef, Program, ProgramType, SEC_DEFS, SecDef, TypeWordError, section_for_type},
};
use core_relo_verdict::{
    loaders::{LoaderKind, LoaderRule, Stance},
    requirements::{NeedTable, ObjectNeeds},
};
use std::sync::Arc;

impl ObjectNames<'_, '_> {
    /// Applies a setting whose name the object has. Returns the reason why the setting changes nothing, if it
    /// does not. `object` is the name of the object's file.
    pub(super) fn apply(
        &self,
        loader: LoaderKind,
        object: &str,
        setting: &Setting,
        settings: &mut Settings,
    ) -> Result<Option<String>, BadInput> {
        let name = &*setting.name;
        let no_such = || {
            let kind = setting.value.kind().names;
            no_such(object, kind, name, &self.all(kind))
        };
        match &setting.value {
            SettingValue::Global(value) => self.set_global(object, name, value, settings),
            SettingValue::ProgramType(word) => {
                let program = self.program(name).ok_or_else(no_such)?;
                set_type(program, word, setting, settings)
            }
            SettingValue::AttachTarget(target) => {
                let program = self.program(name).ok_or_else(no_such)?;
                set_target(program, target, setting, settings)
            }
            SettingValue::Autoload(is_loaded) => {
                let program = self.program(name).ok_or_else(no_such)?;
                settings.program_mut(name).autoload = Some(*is_loaded);
                let is_default = (program.autoload() || loader.loads_optional_programs()) == *is_loaded;
                let default = if *is_loaded { "loaded" } else { "not loaded" };
                Ok(is_default.then(|| format!("the program is {default} by default")))
            }
            SettingValue::WithoutMap => {
                let map = self.map(name).ok_or_else(no_such)?;
                if let Some(outer) = &map.outer {
                    let what = format!("`{name}` is the inner map of `{outer}`, which needs it");
                    return Err(BadInput::new(setting.to_string(), what));
                }
                settings.map_mut(name).autocreate = Some(false);
                Ok(None)
            }
            SettingValue::SymbolAddress(address) => {
                settings.ksyms.insert(name.to_owned(), address.clone());
                Ok(None)
            }
            SettingValue::BadInnerMap(problem) => Err(BadInput::new(setting.to_string(), problem)),
            SettingValue::InnerMap(inner) => {
                let map = self.map(name).ok_or_else(no_such)?;
                set_inner_map(map, inner, setting, settings)
            }
            SettingValue::MaxEntries(_) | SettingValue::KeySize(_) | SettingValue::ValueSize(_) => {
                let map = self.map(name).ok_or_else(no_such)?;
                set_number(map, setting, settings)
            }
        }
    }

    /// Returns the settings that leave out a program which a loader loads all the same, and the reason.
    pub(super) fn loaded_anyway<'s>(
        &self,
        loader: LoaderKind,
        own: &[&'s Setting],
        settings: &Settings,
    ) -> Vec<(&'s Setting, String)> {
        let mut left_out =
            own.iter().filter(|setting| setting.value == SettingValue::Autoload(false)).peekable();
        if left_out.peek().is_none() {
            return Vec::new();
        }
        let mut table = NeedTable::default();
        // An object with an error has it everywhere.
        let Ok(mut needs) = ObjectNeeds::collect_for(loader, self.object, None, &mut table) else {
            return Vec::new();
        };
        needs.apply_settings(settings, &mut table);
        let mut loaded: Vec<_> =
            needs.struct_ops_programs.iter().filter(|p| p.is_created).map(|p| p.program).collect();
        // libbpf does not load the programs that a program array holds, and its load fails.
        if matches!(LoaderRule::UnloadedValue.stance(loader), Stance::Accepts(_)) {
            let Ok(with_held) = needs.programs_of_load() else { return Vec::new() };
            loaded.extend(with_held);
        }
        let is_loaded = |setting: &&&Setting| {
            let mut programs = loaded.iter().filter_map(|index| self.object.programs().get(index.0));
            programs.any(|program| program.name() == setting.name.as_bytes())
        };
        let reason = "a program array or a struct_ops map of the load holds the program";
        left_out.filter(is_loaded).map(|setting| (*setting, reason.to_owned())).collect()
    }

    fn set_global(
        &self,
        object: &str,
        name: &str,
        value: &str,
        settings: &mut Settings,
    ) -> Result<Option<String>, BadInput> {
        let bad = |what: String| BadInput::new(object, what);
        let global = self.values.find(settings, name).map_err(|e| bad(e.to_string()))?;
        // For a variable that cannot be set, `set_bytes` fails with a better message than the parser.
        let bytes = match global.kind.is_settable_before_load() {
            true => global_value::parse(self.object, &global, value)
                .map_err(|e| bad(format!("global `{name}`: {e}")))?,
            false => vec![0; global.size],
        };
        let mut own = vec![0; bytes.len()];
        let is_own = self.values.read_bytes(settings, &global, &mut own).is_ok() && own == bytes;
        self.values.set_bytes(settings, &global, &bytes).map_err(|e| bad(e.to_string()))?;
        Ok(is_own.then(|| "the variable has this value".to_owned()))
    }
}

fn set_type(
    program: &Program<'_>,
    word: &str,
    setting: &Setting,
    settings: &mut Settings,
) -> Result<Option<String>, BadInput> {
    let section = section_for_type(word, program).map_err(|error| {
        let near = match error {
            TypeWordError::Unknown => suggest_word(word, SEC_DEFS.iter().map(|def| def.name)),
            _ => String::new(),
        };
        BadInput::new(setting.to_string(), format!("{error}{near}"))
    })?;
    let is_own = section.as_bytes() == program.section_name();
    settings.program_mut(&setting.name).section = Some(section);
    Ok(is_own.then(|| "the program's section has this name".to_owned()))
}

fn set_target(
    program: &Program<'_>,
    target: &AttachTo,
    setting: &Setting,
    settings: &mut Settings,
) -> Result<Option<String>, BadInput> {
    let AttachTo { function, of_program } = target;
    let name = &*setting.name;
    let section = settings.program_mut(name).section.clone();
    let program = program.in_section(section.as_deref().map_or(program.section, str::as_bytes));
    // The kernel refuses a target of a program of another type (kernel: `bpf_prog_load_check_attach`).
    if let Some(def) = program.sec_def()
        && !matches!(
            def.program_type,
            ProgramType::Tracing | ProgramType::Lsm | ProgramType::Ext | ProgramType::StructOps
        )
    {
        let what = format!(
            "a program of type {} takes no attach target, expected one in a section such as `fentry`, `tp_btf`, `lsm` or `freplace`",
            def.program_type
        );
        return Err(BadInput::new(setting.to_string(), what));
    }
    let own = SecDef::target(program.section_name());
    let takes_target = program.sec_def().is_some_and(|def| def.flags.needs_attach_btf());
    let is_own = takes_target && of_program.is_none() && own == Some(function.as_bytes());
    let target = match of_program {
        None => AttachTarget::Kernel(function.clone()),
        Some(word) => {
            let (_, fd) = select_one(ObjectKind::Program, &selection_from_word(word))?;
            AttachTarget::Program { program: Arc::new(fd).into(), function: function.clone() }
        }
    };
    settings.program_mut(name).attach_to = Some(target);
    Ok(is_own.then(|| "the section's name has this target".to_owned()))
}

fn set_inner_map(
    map: &NamedMap<'_>,
    inner: &InnerMap,
    setting: &Setting,
    settings: &mut Settings,
) -> Result<Option<String>, BadInput> {
    let bad = |what: String| Err(BadInput::new(setting.to_string(), what));
    let name = &*map.name;
    if let Some(outer) = &map.outer {
        return bad(format!("`{name}` is the inner map of `{outer}`, which holds no maps"));
    }
    match map.def {
        Some(def) if def.is_map_of_maps() => {}
        Some(def) => {
            let found = def.known_type().map_or_else(|| def.map_type.to_string(), |ty| ty.to_string());
            return bad(format!(
                "map `{name}` holds no maps: {found}, expected BPF_MAP_TYPE_ARRAY_OF_MAPS or BPF_MAP_TYPE_HASH_OF_MAPS"
            ));
        }
        None => return bad(format!("map `{name}` holds no maps")),
    }
    let InnerMap { map_type, key_size, value_size, max_entries, flags } = *inner;
    let own = map.def.and_then(|def| def.inner.as_deref());
    let is_own = own.is_some_and(|own| {
        own.known_type() == Some(map_type)
            && [own.key_size, own.value_size, own.max_entries, own.map_flags]
                == [key_size, value_size, max_entries, flags]
    });
    let settings = settings.map_mut(&inner_map_name(name));
    settings.map_type = Some(map_type.number());
    settings.key_size = Some(key_size);
    settings.value_size = Some(value_size);
    settings.max_entries = Some(max_entries);
    settings.map_flags = Some(flags);
    Ok(is_own.then(|| "the object defines the inner map so".to_owned()))
}

fn set_number(
    map: &NamedMap<'_>,
    setting: &Setting,
    settings: &mut Settings,
) -> Result<Option<String>, BadInput> {
    let has_definition =
        map.def.is_some() || settings.maps.get(&map.name).is_some_and(|inner| inner.map_type.is_some());
    if let Some(outer) = map.outer.as_ref().filter(|_| !has_definition) {
        let what = format!("map `{outer}` has no definition of its inner maps");
        let help = format!("give --inner-map {outer}=TYPE:KEY:VALUE:ENTRIES");
        return Err(BadInput::new(setting.to_string(), what).help(help));
    }
    if !has_definition && !matches!(setting.value, SettingValue::ValueSize(_)) {
        let what = format!("map `{}` has no definition, so that only --value-size can be set", map.name);
        return Err(BadInput::new(setting.to_string(), what));
    }
    let own = settings.map_mut(&map.name);
    let (attribute, number, defined): (_, _, fn(&MapDef) -> u32) = match setting.value {
        SettingValue::MaxEntries(number) => (&mut own.max_entries, number, |def| def.max_entries),
        SettingValue::KeySize(number) => (&mut own.key_size, number, |def| def.key_size),
        SettingValue::ValueSize(number) => (&mut own.value_size, number, |def| def.value_size),
        _ => return Ok(None),
    };
    let is_own = attribute.is_none()
        && match (map.def, map.data_bytes) {
            (Some(def), _) => defined(def) == number,
            (None, Some(bytes)) => {
                matches!(setting.value, SettingValue::ValueSize(_)) && bytes == u64::from(number)
            }
            (None, None) => false,
        };
    *attribute = Some(number);
    if settings.map_mut(&map.name).autocreate == Some(false) {
        return Ok(Some("the map is not created".to_owned()));
    }
    Ok(is_own.then(|| "the map has this number".to_owned()))
}
