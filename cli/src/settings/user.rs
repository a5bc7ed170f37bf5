//! The settings of a command, and those that apply to an object.

use super::{
    NameKind, Setting, SettingValue,
    names::{ObjectNames, no_such},
};
use crate::{error::BadInput, input::object::ObjectFile, settings::SettingsArgs};
use core_relo::explain::suggest_word;
use core_relo_loader::{
    load_plan::{Settings, inner_map_name},
    object::{Object, SecDef, SecMatch},
};
use core_relo_report::policy::Glob;
use core_relo_verdict::loaders::LoaderKind;
use std::{collections::HashMap, ffi::OsString, mem, path::PathBuf};

/// The settings of a command, for any number of objects. Later groups take precedence.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserSettings {
    /// The loader that loads the objects: loaders differ in the programs that are loaded without being asked
    /// for.
    loader: LoaderKind,
    groups: Vec<SettingGroup>,
}

/// Settings from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingGroup {
    /// The place in `core-relo.toml`. `None` for the options of the command.
    pub(crate) place: Option<String>,
    /// The objects that the settings are for. `None` for all.
    pub(crate) object: Option<Glob>,
    /// Whether some object has to have each name.
    pub(crate) demands_names: bool,
    pub(crate) settings: Vec<Setting>,
}

/// The settings that apply to an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppliedSettings {
    pub(crate) settings: Settings,
    /// The settings as options of `load`.
    pub(crate) options: Vec<OsString>,
    /// The settings that change nothing.
    pub(crate) warnings: Vec<String>,
}

impl UserSettings {
    /// Creates the settings of the options of a command that loads objects.
    pub(crate) fn new(args: &SettingsArgs) -> Result<Self, BadInput> {
        let mut user = Self::for_loader(LoaderKind::CoreRelo);
        user.add_options(args)?;
        Ok(user)
    }

    /// Creates no settings, for objects that a loader loads.
    pub(crate) fn for_loader(loader: LoaderKind) -> Self {
        Self { loader, groups: Vec::new() }
    }

    /// Checks that no setting names a loaded program of the running kernel, which guests do not have.
    pub(crate) fn check_for_guests(&self) -> Result<(), BadInput> {
        let names_program = |setting: &&Setting| match &setting.value {
            SettingValue::AttachTarget(target) => target.of_program.is_some(),
            _ => false,
        };
        match self.groups.iter().flat_map(|group| &group.settings).find(names_program) {
            None => Ok(()),
            Some(setting) => Err(setting.locate(BadInput::new(
                setting.to_string(),
                "names a program of the running kernel, which the guest does not have, expected PROG=FUNC",
            ))),
        }
    }

    /// Adds the settings of the options of a command, which take precedence.
    pub(crate) fn add_options(&mut self, args: &SettingsArgs) -> Result<(), BadInput> {
        let settings: Vec<_> = args.settings().cloned().collect();
        match settings.is_empty() {
            true => Ok(()),
            false => self.add(SettingGroup { place: None, object: None, demands_names: true, settings }),
        }
    }

    /// Adds settings that take precedence. Fails if two of them contradict each other.
    pub(crate) fn add(&mut self, group: SettingGroup) -> Result<(), BadInput> {
        for setting in &group.settings {
            if let SettingValue::BadInnerMap(problem) = &setting.value {
                return Err(BadInput::new(setting.to_string(), problem));
            }
        }
        group.check_contradictions()?;
        self.groups.push(group);
        Ok(())
    }

    /// Returns the settings for a command on one of the objects that `core-relo.toml` is for: the other
    /// objects may have the names.
    pub(crate) fn for_one_of_project(mut self) -> Self {
        let of_file = self.groups.iter_mut().filter(|group| group.place.is_some());
        of_file.for_each(|group| group.demands_names = false);
        self
    }

    /// Returns a note about the settings of `core-relo.toml` that an object gets. `None` if there are none.
    pub(crate) fn file_note(&self, file: &ObjectFile, object: &Object<'_>) -> Option<String> {
        if self.groups.iter().all(|group| group.place.is_none()) {
            return None;
        }
        let names = ObjectNames::new(object);
        let own = self.settings_of(&file.name, &names);
        let settings: Vec<_> = own.iter().filter(|s| s.place.is_some()).map(ToString::to_string).collect();
        let place = own.iter().find_map(|setting| setting.place.as_ref())?;
        Some(format!("{}: settings of {place}: {} (--no-config ignores them)", file.name, settings.join(" ")))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the settings as text, for a file of results that depend on them.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.groups.iter().flat_map(|group| {
            let object = group.object.as_ref().map_or_else(String::new, |object| format!("{object}: "));
            group.settings.iter().map(move |setting| format!("{object}{setting}"))
        })
    }

    /// Checks the names of the settings for several objects, of which those that cannot be read are reported
    /// elsewhere. Returns the settings with checked names.
    pub(crate) fn check_files(mut self, paths: &[PathBuf]) -> Result<Self, BadInput> {
        if self.is_empty() {
            return Ok(self);
        }
        let files: Vec<_> = paths.iter().filter_map(|path| ObjectFile::read(path).ok()).collect();
        let objects: Vec<_> =
            files.iter().filter_map(|file| Some((&*file.name, file.parse().ok()?))).collect();
        let names: Vec<_> = objects.iter().map(|(name, object)| (*name, ObjectNames::new(object))).collect();
        self.check_names(&names.iter().map(|(name, names)| (*name, names)).collect::<Vec<_>>())?;
        self.groups.iter_mut().for_each(|group| group.demands_names = false);
        Ok(self)
    }

    /// Checks the names of the settings, and applies those whose names the object has. For a command on one
    /// object.
    pub(crate) fn apply_to_object(
        &self,
        file: &ObjectFile,
        object: &Object<'_>,
        settings: &mut Settings,
    ) -> Result<Vec<String>, BadInput> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let names = ObjectNames::new(object);
        self.check_names(&[(&*file.name, &names)])?;
        self.apply(&file.name, &names, settings)
    }

    /// Applies the settings whose names an object has. Returns warnings about settings that change nothing.
    pub(crate) fn apply(
        &self,
        object: &str,
        names: &ObjectNames<'_, '_>,
        settings: &mut Settings,
    ) -> Result<Vec<String>, BadInput> {
        let own = self.settings_of(object, names);
        let mut ineffective = Vec::new();
        for setting in &own {
            let reason =
                names.apply(self.loader, object, setting, settings).map_err(|bad| setting.locate(bad))?;
            ineffective.extend(reason.map(|reason| (*setting, reason)));
        }
        for (setting, reason) in names.loaded_anyway(self.loader, &own, settings) {
            if ineffective.iter().all(|(known, _)| *known != setting) {
                ineffective.push((setting, reason));
            }
        }
        let warning = |(setting, reason): (&Setting, String)| setting.ineffective(object, &reason);
        Ok(ineffective.into_iter().map(warning).collect())
    }

    /// Returns the settings of an object, with the same settings as options of `load`.
    pub(crate) fn applied(
        &self,
        object: &str,
        names: &ObjectNames<'_, '_>,
    ) -> Result<AppliedSettings, BadInput> {
        let mut settings = Settings::default();
        let warnings = self.apply(object, names, &mut settings)?;
        let options = self.settings_of(object, names).into_iter();
        let options = options
            .flat_map(|setting| [setting.value.option().into(), OsString::from(&setting.argument)])
            .collect();
        Ok(AppliedSettings { settings, options, warnings })
    }

    /// Returns the settings of an object in the order of
    /// [`SettingKind::rank`](super::setting::SettingKind::rank), without those that later ones replace.
    fn settings_of(&self, object: &str, names: &ObjectNames<'_, '_>) -> Vec<&Setting> {
        let mut found: Vec<&Setting> = Vec::new();
        for group in self.groups.iter().filter(|group| group.is_for(object)) {
            for setting in group.settings.iter().filter(|setting| names.has(setting)) {
                found.retain(|earlier| !setting.replaces(earlier) || group.settings.contains(earlier));
                if !found.contains(&setting) {
                    found.push(setting);
                }
            }
        }
        found.sort_by_key(|setting| setting.value.kind().rank);
        found
    }

    /// Checks that each name is one of an object that the setting is for.
    pub(crate) fn check_names(&self, objects: &[(&str, &ObjectNames<'_, '_>)]) -> Result<(), BadInput> {
        for group in self.groups.iter().filter(|group| group.demands_names) {
            let objects: Vec<_> = objects.iter().filter(|(object, _)| group.is_for(object)).collect();
            // The names of an object that cannot be linked are not known.
            if objects.is_empty() || objects.iter().any(|(_, names)| !names.is_complete()) {
                continue;
            }
            let is_unknown = |setting: &&Setting| !objects.iter().any(|(_, names)| names.has(setting));
            let Some(unknown) = group.settings.iter().find(is_unknown) else { continue };
            let kind = unknown.value.kind().names;
            let known: Vec<_> = objects.iter().flat_map(|(_, names)| names.all(kind)).collect();
            return Err(match (&group.place, &*objects) {
                (None, [(object, _)]) => no_such(object, kind, &unknown.name, &known),
                (place, _) => {
                    let near = suggest_word(&unknown.name, known.iter().map(String::as_str));
                    let what = format!("no object has a {} `{}`{near}", kind.noun(), unknown.name);
                    match place {
                        None => BadInput::new(unknown.to_string(), what),
                        Some(place) => BadInput::new(place, what),
                    }
                }
            });
        }
        Ok(())
    }
}

impl SettingGroup {
    fn is_for(&self, object: &str) -> bool {
        self.object.as_ref().is_none_or(|glob| glob.matches_path(object))
    }

    fn check_contradictions(&self) -> Result<(), BadInput> {
        let mut known: HashMap<_, &Setting> = HashMap::new();
        for setting in &self.settings {
            for (attribute, value) in setting.attributes() {
                let earlier = known.insert(attribute.clone(), setting);
                let Some(earlier) =
                    earlier.filter(|earlier| !earlier.attributes().contains(&(attribute, value)))
                else {
                    continue;
                };
                let place = self.place.clone().unwrap_or_else(|| setting.value.option().to_owned());
                let what = format!("`{setting}` and `{earlier}` contradict each other");
                return Err(BadInput::new(place, what).help("leave out one of them"));
            }
        }
        Ok(())
    }
}

/// Returns the function in a word for a program type: `vfs_read` of `fentry/vfs_read`.
fn section_function(word: &str) -> Option<&str> {
    let def = SecDef::find(word.as_bytes())
        .filter(|def| def.matching == SecMatch::WithTarget && def.flags.needs_attach_btf())?;
    word.get(def.name.len()..)?.strip_prefix('/').filter(|target| !target.is_empty())
}

/// Returns a function of the kernel itself without the name of its BTF: `vfs_read` of `vmlinux:vfs_read`.
fn plain_function(function: &str) -> String {
    function.strip_prefix("vmlinux:").unwrap_or(function).to_owned()
}

/// The attribute that both a program type and an attach target decide. A target in a loaded program,
/// `FUNC@PROGRAM`, completes a section with the same function, such as `freplace/FUNC`.
const FUNCTION: &str = "function";

/// An attribute that a setting decides: the option or [`FUNCTION`], and the name.
type Attribute = (&'static str, String);

impl Setting {
    /// Returns the attributes that the setting decides, with their values.
    fn attributes(&self) -> Vec<(Attribute, String)> {
        let name = |option: &'static str| (option, self.name.clone());
        match &self.value {
            SettingValue::InnerMap(inner) => {
                let inner_name = inner_map_name(&self.name);
                let number = |value: SettingValue, number: u32| {
                    ((value.option(), inner_name.clone()), number.to_string())
                };
                vec![
                    (name("--inner-map"), format!("{} {:#x}", inner.map_type, inner.flags)),
                    number(SettingValue::KeySize(0), inner.key_size),
                    number(SettingValue::ValueSize(0), inner.value_size),
                    number(SettingValue::MaxEntries(0), inner.max_entries),
                ]
            }
            SettingValue::MaxEntries(n) | SettingValue::KeySize(n) | SettingValue::ValueSize(n) => {
                vec![(name(self.value.option()), n.to_string())]
            }
            SettingValue::ProgramType(word) => {
                let function =
                    section_function(word).map(|function| (name(FUNCTION), plain_function(function)));
                [(name(self.value.option()), word.clone())].into_iter().chain(function).collect()
            }
            SettingValue::AttachTarget(target) => vec![
                (name(self.value.option()), format!("{target:?}")),
                (name(FUNCTION), plain_function(&target.function)),
            ],
            value => vec![(name(value.option()), format!("{value:?}"))],
        }
    }

    /// Returns whether the setting decides all that an earlier one does.
    fn replaces(&self, earlier: &Self) -> bool {
        let is_same = mem::discriminant(&self.value) == mem::discriminant(&earlier.value);
        let has_inner = matches!(self.value, SettingValue::InnerMap(_))
            && earlier.value.kind().names == NameKind::Map
            && earlier.name == inner_map_name(&self.name);
        is_same && self.name == earlier.name || has_inner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(settings: [Setting; 2]) -> SettingGroup {
        SettingGroup { place: None, object: None, demands_names: true, settings: settings.into() }
    }

    /// A target completes the section that is loaded with it: `freplace/FUNC` needs the program of the
    /// function.
    #[test]
    fn a_target_contradicts_a_section_only_with_another_function() {
        for (section, target, is_consistent) in [
            ("freplace/pass", "pass@/sys/fs/bpf/x/pass", true),
            ("fentry/pass", "pass@12", true),
            ("fentry/pass", "drop@12", false),
            ("fentry/vmlinux:vfs_read", "vfs_read", true),
            ("fentry.s/vfs_read", "vmlinux:vfs_read", true),
            ("fentry/vmlinux:vfs_read", "vfs_write", false),
            ("fentry/nf_tables:nft_init", "nft_init", false),
            ("fentry", "vfs_read", true),
        ] {
            let section = Setting::parse_program_type(&format!("hook={section}")).unwrap();
            let target = Setting::parse_attach_target(&format!("hook={target}")).unwrap();
            for settings in [[section.clone(), target.clone()], [target, section]] {
                let checked = group(settings.clone()).check_contradictions();
                assert_eq!(checked.is_ok(), is_consistent, "{settings:?}");
            }
        }
        let targets = ["hook=pass@1", "hook=pass@2"].map(|text| Setting::parse_attach_target(text).unwrap());
        assert!(group(targets).check_contradictions().is_err());
    }
}
