//! Loads of objects in a guest, and the outcome of each program.

use crate::{budget::stats::ProgramStats, plan_error::LACKS_FACTS};
use core_relo_loader::{load::VerifierReport, object::Program};
use core_relo_report::LoadOutcome;
use core_relo_verdict::SourceLine;
use core_relo_vm::{Guest, KernelImage, VmError, guest::GuestEnd};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The guest's directory of objects. Each object is in a directory of its own, because its file name decides
/// on the names of its maps.
const OBJECTS: &str = "/vm/objects";

/// An object to load, and its programs.
#[derive(Clone, Debug)]
pub(crate) struct ObjectPrograms<'o> {
    /// The path as the user gave it.
    pub(crate) path: &'o str,
    pub(crate) bytes: &'o [u8],
    /// The programs, without subprograms. An object without programs is not loaded.
    pub(crate) programs: Vec<ObjectProgram>,
    /// Further options of `load`.
    pub(crate) options: Vec<OsString>,
    /// Further options of `load --each`.
    pub(crate) each_options: Vec<OsString>,
}

/// A program to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectProgram {
    pub(crate) name: String,
    /// Whether the default load of the object includes the program.
    pub(crate) autoload: bool,
}

/// The outcome of the loads in one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestLoad {
    /// The kernel's release, as `uname -r` prints it; `None` if the kernel did not boot.
    pub(crate) release: Option<String>,
    /// The outcomes of each object, in order.
    pub(crate) objects: Vec<ObjectReality>,
    /// The messages of the loads, and the end of the kernel's console after a crash.
    pub(crate) diagnostics: String,
}

/// The outcomes of loading an object on a real kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectReality {
    /// Every program of the object, in order, each loaded by itself.
    pub(crate) programs: Vec<ProgramReality>,
    /// The default load, which has all its programs together. `None` if it has one program or none: then the
    /// program's own load tells.
    pub(crate) default_load: Option<Reality>,
}

/// The outcome of loading a program on a real kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramReality {
    /// The program's name.
    pub(crate) program: String,
    /// Whether the default load of the object includes the program.
    pub(crate) autoload: bool,
    pub(crate) reality: Reality,
    /// The verifier's statistics, if the load asked for them.
    pub(crate) stats: Option<ProgramStats>,
}

/// The outcome of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reality {
    /// The kernel accepted the program.
    Loaded,
    /// The kernel refused the program or one of its maps, or the load plan failed.
    Refused(Box<Refusal>),
    /// The guest ended before the load. The value is the reason.
    Unknown(String),
}

/// The error of a load: "error of load" in docs/json.md.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Refusal {
    pub(crate) stage: String,
    pub(crate) text: String,
    errno: Option<i32>,
    errno_name: Option<String>,
    program: Option<String>,
    insn: Option<u32>,
    source: Option<String>,
    lacks: Option<String>,
    /// Older builds of the guest's executable do not print the key.
    #[serde(default)]
    report: Option<VerifierReport>,
    verifier_log: Option<String>,
    verifier_log_lines: Option<usize>,
}

/// A line of `load --format json`.
#[derive(Clone, Debug, Deserialize)]
struct LoadLine {
    object: String,
    /// The program that was loaded by itself, with `--each`. `None` for the default load.
    program: Option<String>,
    status: String,
    error: Option<Box<Refusal>>,
    /// Older builds of the guest's executable do not print the key.
    #[serde(default)]
    stats: Option<ProgramStats>,
}

impl Refusal {
    /// Returns the source line at which the verifier stopped.
    pub(crate) fn source_line(&self) -> Option<SourceLine> {
        self.source.as_deref().and_then(SourceLine::from_message)
    }
}

impl ObjectProgram {
    pub(crate) fn new(program: &Program<'_>) -> Self {
        Self { name: String::from_utf8_lossy(program.name()).into_owned(), autoload: program.autoload() }
    }

    /// Creates the outcome of loading the program.
    fn with_reality(&self, reality: Reality, stats: Option<ProgramStats>) -> ProgramReality {
        ProgramReality { program: self.name.clone(), autoload: self.autoload, reality, stats }
    }
}

impl Reality {
    pub(crate) const fn outcome(&self) -> LoadOutcome {
        match self {
            Self::Loaded => LoadOutcome::Loaded,
            Self::Refused(_) => LoadOutcome::Refused,
            Self::Unknown(_) => LoadOutcome::Unknown,
        }
    }

    /// Returns the word for JSON.
    pub(crate) const fn word(&self) -> &'static str {
        self.outcome().word()
    }

    /// Returns the reason of a refusal, or why the outcome is unknown.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Loaded => None,
            Self::Refused(refusal) => Some(&refusal.text),
            Self::Unknown(reason) => Some(reason),
        }
    }
}

impl ObjectPrograms<'_> {
    /// Returns the number of programs that are loaded, those of the default load twice.
    pub(crate) fn load_count(&self) -> usize {
        let together = self.programs.iter().filter(|program| program.autoload && self.has_default_load());
        self.programs.len().saturating_add(together.count())
    }

    /// Returns whether the default load differs from the loads of single programs.
    fn has_default_load(&self) -> bool {
        self.programs.iter().filter(|program| program.autoload).count() > 1
    }
}

/// Boots the kernel, and loads the objects: every program by itself, and the programs of a default load
/// together.
pub(crate) fn load_in_guest(
    mut guest: Guest,
    kernel: &KernelImage,
    objects: &[ObjectPrograms<'_>],
) -> Result<GuestLoad, VmError> {
    for (index, object) in objects.iter().enumerate().filter(|(_, object)| !object.programs.is_empty()) {
        let guest_path = guest_path(index, Path::new(object.path));
        guest.add_file(&guest_path, object.bytes);
        // One command for each object: after a crash of the loader, the next object still loads.
        let words = ["load", "--each", "--format", "json"].map(OsString::from);
        let rest = [&object.options[..], &[guest_path.into()]].concat();
        guest.add_own_command(&[&words[..], &object.each_options, &rest].concat());
        if object.has_default_load() {
            let words = ["load", "--format", "json"].map(OsString::from);
            guest.add_own_command(&[&words[..], &rest].concat());
        }
    }
    let output = guest.boot(kernel, &mut |_| {})?;
    let lines: Vec<_> = output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut diagnostics = with_host_paths(output.stderr, objects);
    if output.end != GuestEnd::Complete {
        diagnostics.push_str(&output.end.to_string());
    }
    let objects = outcomes(objects, lines, &output.end);
    Ok(GuestLoad { release: Some(output.release), objects, diagnostics })
}

impl GuestLoad {
    /// Creates the outcome for a kernel that did not boot.
    pub(crate) fn not_booted(objects: &[ObjectPrograms<'_>], reason: &str) -> Self {
        let unknown =
            |program: &ObjectProgram| program.with_reality(Reality::Unknown(reason.to_owned()), None);
        let of_object = |object: &ObjectPrograms<'_>| ObjectReality {
            programs: object.programs.iter().map(unknown).collect(),
            default_load: object.has_default_load().then(|| Reality::Unknown(reason.to_owned())),
        };
        let objects = objects.iter().map(of_object).collect();
        Self { release: None, objects, diagnostics: String::new() }
    }
}

fn guest_path(index: usize, path: &Path) -> PathBuf {
    Path::new(OBJECTS).join(index.to_string()).join(path.file_name().unwrap_or(OsStr::new("object")))
}

/// Replaces the guest's paths of objects by the paths that the user gave.
fn with_host_paths(text: String, objects: &[ObjectPrograms<'_>]) -> String {
    if !text.contains(OBJECTS) {
        return text;
    }
    (0..).zip(objects).fold(text, |text, (index, object)| {
        let guest_path = guest_path(index, Path::new(object.path));
        text.replace(&*guest_path.to_string_lossy(), object.path)
    })
}

/// Returns the index of the object in a line's path.
fn object_index(path: &str) -> Option<usize> {
    path.strip_prefix(OBJECTS)?.strip_prefix('/')?.split('/').next()?.parse().ok()
}

/// Returns the outcomes of each object.
fn outcomes(objects: &[ObjectPrograms<'_>], lines: Vec<LoadLine>, end: &GuestEnd) -> Vec<ObjectReality> {
    let mut realities = HashMap::new();
    for line in lines {
        let Some(index) = object_index(&line.object) else { continue };
        let reality = match (line.status.as_str(), line.error) {
            ("loaded", _) => Reality::Loaded,
            // Not the kernel refused the object: the guest has no configuration of it.
            (_, Some(refusal)) if refusal.lacks.as_deref() == Some(LACKS_FACTS) => Reality::Unknown(format!(
                "{}: the guest has the configuration that is beside the image, such as config-6.1 beside vmlinuz-6.1",
                with_host_paths(refusal.text, objects)
            )),
            (_, Some(mut refusal)) => {
                refusal.text = with_host_paths(refusal.text, objects);
                Reality::Refused(refusal)
            }
            (status, None) => Reality::Unknown(format!("the status of the load is `{status}`")),
        };
        realities.insert((index, line.program), (reality, line.stats));
    }
    let missing = match end {
        GuestEnd::Complete => "the load printed no result".to_owned(),
        GuestEnd::Crashed(_) => "the kernel crashed before the load ended".to_owned(),
        GuestEnd::TimedOut(_) => {
            format!("not loaded: {end}; give the kernel more time with --timeout SECONDS")
        }
        end => format!("not loaded: {end}"),
    };
    let unknown = || (Reality::Unknown(missing.clone()), None);
    let object_outcomes = |(index, object): (usize, &ObjectPrograms<'_>)| {
        let default_load = realities.remove(&(index, None));
        let default_load = object.has_default_load().then(|| default_load.unwrap_or_else(unknown).0);
        let outcome = |program: &ObjectProgram| {
            let outcome = realities.remove(&(index, Some(program.name.clone())));
            let (reality, stats) = outcome.unwrap_or_else(unknown);
            program.with_reality(reality, stats)
        };
        ObjectReality { programs: object.programs.iter().map(outcome).collect(), default_load }
    };
    objects.iter().enumerate().map(object_outcomes).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn object<'o>(path: &'o str, programs: &[&str]) -> ObjectPrograms<'o> {
        let program = |name: &&str| ObjectProgram { name: (*name).to_owned(), autoload: true };
        let programs = programs.iter().map(program).collect();
        ObjectPrograms { path, bytes: b"", programs, options: Vec::new(), each_options: Vec::new() }
    }

    fn lines(text: &str) -> Vec<LoadLine> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_program_gets_its_line() {
        let objects = [object("a.o", &["one", "two"]), object("dir/b.o", &["one", "two"])];
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"loaded","error":null,"maps":[],"stats":{"verified_insns":7,"log_bytes":90}}
{"object":"/vm/objects/0/a.o","program":"two","status":"refused","error":{"stage":"program","text":"two: no\nmore","errno":22}}
{"object":"/vm/objects/0/a.o","program":null,"status":"refused","error":{"stage":"program","text":"two: no","errno":22}}
{"object":"/vm/objects/1/b.o","program":"one","status":"loaded","error":null}
{"object":"/vm/objects/1/b.o","program":"two","status":"loaded","error":null}
{"object":"/vm/objects/1/b.o","program":null,"status":"refused","error":{"stage":"program","text":"together: no"}}"#;
        let outcomes = outcomes(&objects, lines(text), &GuestEnd::Complete);
        let programs = outcomes.iter().flat_map(|object| &object.programs);
        let words: Vec<_> = programs.map(|o| (o.program.as_str(), o.reality.word())).collect();
        assert_eq!(words, [("one", "loaded"), ("two", "refused"), ("one", "loaded"), ("two", "loaded")]);
        assert_eq!(outcomes[0].programs[0].stats.unwrap().verified_insns, Some(7));
        assert_eq!(outcomes[0].programs[1].reality.reason(), Some("two: no\nmore"));
        let together = outcomes.iter().map(|object| object.default_load.as_ref().and_then(Reality::reason));
        assert_eq!(together.collect::<Vec<_>>(), [Some("two: no"), Some("together: no")]);
    }

    /// Protects `vm` from counting a verdict as wrong because the user keeps the kernel's configuration
    /// elsewhere.
    #[test]
    fn a_guest_without_the_configuration_decides_nothing() {
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"refused","error":{"stage":"plan","text":"CONFIG_HZ: unknown","lacks":"facts"}}"#;
        let outcomes = outcomes(&[object("a.o", &["one"])], lines(text), &GuestEnd::Complete);
        let reality = &outcomes[0].programs[0].reality;
        assert_eq!(reality.word(), "unknown");
        assert!(
            reality.reason().unwrap().starts_with("CONFIG_HZ: unknown: the guest has the configuration that")
        );
    }

    #[test]
    fn programs_after_a_crash_are_unknown() {
        let objects = [object("a.o", &["one", "two"])];
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"loaded","error":null}"#;
        let outcomes = outcomes(&objects, lines(text), &GuestEnd::Crashed("BUG".to_owned()));
        assert_eq!(outcomes[0].programs[0].reality, Reality::Loaded);
        let unknown = Reality::Unknown("the kernel crashed before the load ended".to_owned());
        assert_eq!(outcomes[0].programs[1].reality, unknown);
        assert_eq!(outcomes[0].default_load, Some(unknown));
    }

    #[test]
    fn one_program_is_loaded_once() {
        let objects = [object("a.o", &["one"])];
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"loaded","error":null}"#;
        assert_eq!(outcomes(&objects, lines(text), &GuestEnd::Complete)[0].default_load, None);
    }

    #[test]
    fn lines_of_other_paths_belong_to_no_object() {
        assert_eq!(object_index("/vm/objects/12/a.o"), Some(12));
        assert_eq!(object_index("/vm/objects/x/a.o"), None);
        assert_eq!(object_index("/tmp/a.o"), None);
    }

    #[test]
    fn messages_have_the_paths_of_the_host() {
        let objects = [object("a.o", &["one"]), object("dir/b.o", &["one"])];
        let text = "core-relo: /vm/objects/1/b.o: bad; /vm/objects/0/a.o: bad".to_owned();
        assert_eq!(with_host_paths(text, &objects), "core-relo: dir/b.o: bad; a.o: bad");
    }

    #[test]
    fn the_source_of_a_refusal_has_its_parts() {
        let source = |text: &str| {
            let mut refusal: Refusal = serde_json::from_str(r#"{"stage":"program","text":"no"}"#).unwrap();
            refusal.source = Some(text.to_owned());
            refusal.source_line().map(|source| (source.file, source.line, source.text, source.is_near))
        };
        let parts = |is_near| Some(("/a: b/c.c".to_owned(), 141, "x ? y: 3: z".to_owned(), is_near));
        assert_eq!(source("/a: b/c.c:141: x ? y: 3: z"), parts(false));
        assert_eq!(source("near /a: b/c.c:141: x ? y: 3: z"), parts(true));
        assert_eq!(source("c.c: no line"), None);
    }
}
