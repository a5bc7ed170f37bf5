//! Loads of objects in a guest, and the outcome of each program.

use core_relo_vm::{Guest, KernelImage, VmError, guest::GuestEnd};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The guest's directory of objects. Each object is in a directory of its own, because its file name decides on the names of its maps.
const OBJECTS: &str = "/vm/objects";

/// An object to load, and its programs.
#[derive(Clone, Debug)]
pub(crate) struct ObjectPrograms {
    /// The path as the user gave it.
    pub(crate) path: PathBuf,
    /// The names of the programs, without subprograms.
    pub(crate) programs: Vec<String>,
}

/// The outcome of the loads in one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestLoad {
    /// The kernel's release, as `uname -r` prints it.
    pub(crate) release: String,
    /// Every program of every object, in order.
    pub(crate) programs: Vec<ProgramReality>,
    /// The messages of the loads, and the end of the kernel's console after a crash.
    pub(crate) diagnostics: String,
}

/// The outcome of loading a program on a real kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramReality {
    /// The object's path as the user gave it.
    pub(crate) object: PathBuf,
    /// The program's name.
    pub(crate) program: String,
    pub(crate) reality: Reality,
}

/// The outcome of loading a program by itself.
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
    verifier_log: Option<String>,
    verifier_log_lines: Option<usize>,
}

/// A line of `load --each --format json`.
#[derive(Clone, Debug, Deserialize)]
struct LoadLine {
    object: String,
    program: Option<String>,
    status: String,
    error: Option<Box<Refusal>>,
}

impl Reality {
    /// Returns the word for JSON.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
        }
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

/// Boots the kernel, and loads every program of the objects by itself.
pub(crate) fn load_in_guest(
    mut guest: Guest,
    kernel: &KernelImage,
    objects: &[ObjectPrograms],
) -> Result<GuestLoad, VmError> {
    for (index, object) in objects.iter().enumerate() {
        let guest_path = guest_path(index, &object.path);
        guest.add_path(&object.path, &guest_path)?;
        // One command for each object: after a crash of the loader, the next object still loads.
        let words = ["load", "--each", "--format", "json"].map(OsString::from);
        guest.add_own_command(&[&words[..], &[guest_path.into()]].concat());
    }
    let output = guest.boot(kernel, &mut |_| {})?;
    let lines: Vec<_> = output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut diagnostics = output.stderr;
    if output.end != GuestEnd::Complete {
        diagnostics.push_str(&output.end.to_string());
    }
    Ok(GuestLoad { release: output.release, programs: outcomes(objects, lines, &output.end), diagnostics })
}

fn guest_path(index: usize, path: &Path) -> PathBuf {
    Path::new(OBJECTS).join(index.to_string()).join(path.file_name().unwrap_or_default())
}

/// Returns the index of the object in a line's path.
fn object_index(path: &str) -> Option<usize> {
    path.strip_prefix(OBJECTS)?.strip_prefix('/')?.split('/').next()?.parse().ok()
}

/// Returns the outcome of every program of every object.
fn outcomes(objects: &[ObjectPrograms], lines: Vec<LoadLine>, end: &GuestEnd) -> Vec<ProgramReality> {
    let mut realities = HashMap::new();
    for line in lines {
        let Some(index) = object_index(&line.object) else { continue };
        let reality = match (line.status.as_str(), line.error) {
            ("loaded", _) => Reality::Loaded,
            (_, Some(refusal)) => Reality::Refused(refusal),
            (status, None) => Reality::Unknown(format!("the status of the load is `{status}`")),
        };
        realities.insert((index, line.program), reality);
    }
    let missing = match end {
        GuestEnd::Complete => "the load printed no result".to_owned(),
        GuestEnd::Crashed(_) => "the kernel crashed before the load ended".to_owned(),
        end => format!("not loaded: {end}"),
    };
    let mut outcomes = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        // A refusal without a program concerns all programs of the object.
        let of_object = realities.remove(&(index, None));
        for name in &object.programs {
            let reality = realities.remove(&(index, Some(name.clone()))).or_else(|| of_object.clone());
            outcomes.push(ProgramReality {
                object: object.path.clone(),
                program: name.clone(),
                reality: reality.unwrap_or_else(|| Reality::Unknown(missing.clone())),
            });
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn object(path: &str, programs: &[&str]) -> ObjectPrograms {
        let programs = programs.iter().map(|name| (*name).to_owned()).collect();
        ObjectPrograms { path: path.into(), programs }
    }

    fn lines(text: &str) -> Vec<LoadLine> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_program_gets_its_line() {
        let objects = [object("a.o", &["one", "two"]), object("dir/b.o", &["one", "two"])];
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"loaded","error":null,"maps":[]}
{"object":"/vm/objects/0/a.o","program":"two","status":"refused","error":{"stage":"program","text":"two: no\nmore","errno":22}}
{"object":"/vm/objects/1/b.o","program":null,"status":"refused","error":{"stage":"plan","text":"no plan"}}"#;
        let outcomes = outcomes(&objects, lines(text), &GuestEnd::Complete);
        let words: Vec<_> = outcomes.iter().map(|o| (o.program.as_str(), o.reality.word())).collect();
        assert_eq!(words, [("one", "loaded"), ("two", "refused"), ("one", "refused"), ("two", "refused")]);
        assert_eq!(outcomes[1].reality.reason(), Some("two: no\nmore"));
        assert_eq!(outcomes[3].reality.reason(), Some("no plan"));
    }

    #[test]
    fn programs_after_a_crash_are_unknown() {
        let objects = [object("a.o", &["one", "two"])];
        let text = r#"{"object":"/vm/objects/0/a.o","program":"one","status":"loaded","error":null}"#;
        let outcomes = outcomes(&objects, lines(text), &GuestEnd::Crashed("BUG".to_owned()));
        assert_eq!(outcomes[0].reality, Reality::Loaded);
        let reason = "the kernel crashed before the load ended".to_owned();
        assert_eq!(outcomes[1].reality, Reality::Unknown(reason));
    }

    #[test]
    fn lines_of_other_paths_belong_to_no_object() {
        assert_eq!(object_index("/vm/objects/12/a.o"), Some(12));
        assert_eq!(object_index("/vm/objects/x/a.o"), None);
        assert_eq!(object_index("/tmp/a.o"), None);
    }
}
