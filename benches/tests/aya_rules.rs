//! The column of aya in the table of rules in which loaders differ, beside aya: it loads exactly the objects
//! that the table says.
//!
//! Rules of the crate `aya-obj` are asked without a kernel. Rules of the crate `aya` are asked on the running
//! kernel, as root, because aya decides them after it has created maps.

use aya::{
    EbpfLoader,
    maps::{Array, ArrayOfMaps, MapData, MapError},
};
use aya_obj::{Object, ProgramSection, btf::Btf};
use core_relo_test_support::{Requirement, skip, skip_without};
use core_relo_verdict::{
    loaders::{LoaderKind, LoaderRule, Stance},
    test_support::{knows_aya_section, loader_object, section_words},
};
use std::{collections::HashSet, error::Error, fs, mem, os::unix::fs::MetadataExt as _};

/// The descriptor that stands for every map. Nothing uses it.
const MAP_FD: i32 = 3;

/// Returns a part of the error with which aya refuses what a rule is about. `None` if the table says that aya
/// accepts it.
fn refusal(rule: LoaderRule) -> Option<&'static str> {
    if !matches!(rule.stance(LoaderKind::Aya), Stance::Refuses(_) | Stance::Unreached(_)) {
        return None;
    }
    Some(match rule {
        LoaderRule::LegacyMapSize => "error parsing map `events`",
        LoaderRule::ProgramValues | LoaderRule::UnloadedValue | LoaderRule::MapExtraEnum => {
            "unexpected BTF type id"
        }
        LoaderRule::InnerMapMissing => "has no inner map definition",
        LoaderRule::MapType => "is unsupported; see `EbpfLoader::allow_unsupported_maps`",
        LoaderRule::SectionName => "invalid program section `tc`",
        LoaderRule::License => "invalid license",
        LoaderRule::FunctionAlias => "have the same address",
        LoaderRule::TextGap => "unknown symbol in section",
        LoaderRule::TypeMatches => "invalid BTF relocation kind `12`",
        LoaderRule::KconfigExtern | LoaderRule::WeakKconfig => "extern `CONFIG_HZ` not found",
        LoaderRule::ArenaVariable => "referenced by symbol `value`",
        LoaderRule::JumpTable => "referenced by symbol `table`",
        other => panic!("{other:?}: the test knows no error of aya"),
    })
}

/// Returns the difference between the table and the result of aya.
fn find_difference(rule: LoaderRule, result: Result<(), String>) -> Option<String> {
    let is_expected = match (&result, refusal(rule)) {
        (Ok(()), None) => true,
        (Err(error), Some(part)) => error.contains(part),
        _ => false,
    };
    (!is_expected).then(|| format!("{rule:?}: {result:?}"))
}

/// Returns whether the crate `aya` decides, after it has created maps.
fn needs_kernel(rule: LoaderRule) -> bool {
    rule.stance(LoaderKind::Aya).source().starts_with("aya/")
}

/// Does what `aya::EbpfLoader::load` does before it creates maps, and after that before it loads programs.
fn prepare(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let target = Btf::new();
    let mut object = Object::parse(bytes)?;
    object.fixup_and_sanitize_btf(|| Some(|_| true))?;
    object.relocate_btf(&target)?;
    object.resolve_externs(Some(&target))?;
    let maps = mem::take(&mut object.maps);
    let text_sections: HashSet<_> = object.functions.keys().map(|(section, _)| *section).collect();
    object.relocate_maps(maps.iter().map(|(name, map)| (name.as_str(), MAP_FD, map)), &text_sections)?;
    object.relocate_externs()?;
    object.relocate_calls(&text_sections)?;
    Ok(())
}

/// Returns an error with its causes.
fn causes(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[test]
fn aya_obj_opens_the_objects_that_the_table_says() {
    let rules = LoaderRule::ALL.iter().filter(|rule| !needs_kernel(**rule));
    let result = |rule| prepare(&loader_object(rule)).map_err(|error| causes(&*error));
    let wrong: Vec<_> = rules.filter_map(|rule| find_difference(*rule, result(*rule))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn aya_loads_the_maps_that_the_table_says() {
    if !is_root("aya_loads_the_maps_that_the_table_says") {
        return;
    }
    for rule in LoaderRule::ALL.iter().filter(|rule| needs_kernel(**rule)) {
        let result = EbpfLoader::new().load(&loader_object(*rule)).map(drop).map_err(|error| causes(&error));
        if let Err(error) = &result
            && error.contains("failed to create map")
        {
            skip("aya_loads_the_maps_that_the_table_says", &format!("{rule:?}: {error}"));
            continue;
        }
        assert_eq!(find_difference(*rule, result), None);
    }
}

#[test]
fn aya_leaves_maps_of_maps_empty() {
    if !is_root("aya_leaves_maps_of_maps_empty") {
        return;
    }
    let mut loaded = EbpfLoader::new().load(&loader_object(LoaderRule::MapValues)).expect("aya loads it");
    let map = loaded.take_map("events").expect("the map of maps");
    let map = ArrayOfMaps::<_, Array<MapData, u32>>::try_from(map).expect("an array of maps");
    assert!(matches!(map.get(&0, 0), Err(MapError::KeyNotFound)));
}

#[test]
fn aya_obj_knows_the_section_names_that_the_table_says() {
    for word in section_words() {
        for name in [word.clone(), format!("{word}/x"), format!("{word}/x/y"), format!("?{word}")] {
            let result: Result<ProgramSection, _> = name.parse();
            assert_eq!(result.is_ok(), knows_aya_section(&name), "{name}");
        }
    }
}

/// Returns whether the test runs as root. Reports that it is skipped otherwise.
fn is_root(test: &str) -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        skip_without(Requirement::Root, test, "needs root, because aya decides after it has created maps");
    }
    is_root
}
