//! The values of arguments.

use super::line::Line;
use crate::{
    args::prog_profile::Metric,
    input::object::ObjectFile,
    settings::{NameKind, ObjectNames},
    text::hex,
};
use clap::ValueEnum as _;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use core_relo_loader::{
    attach::network_interfaces,
    attach_point::attach_point_kinds,
    inventory::{self, LinkInfo, MapInfo, ObjectKind, ProgramInfo, object_name},
    object::{LinkType, MapType, ProgramType, SEC_DEFS},
};
use std::{ffi::OsStr, fs, os::fd::OwnedFd, path::Path, sync::Arc};

/// The values of an argument. Objects are those of the kind that the command is about, unless a kind is
/// named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Ids,
    Names,
    Tags,
    /// Ids and names.
    Objects,
    /// An id, and the words after it.
    ObjectAndWords,
    /// The id or name of a map.
    Map,
    /// `MAP=`, and the id or name of a map.
    ReusedMap,
    AttachPoint,
    /// `PROG=`, and an attach point.
    AttachRequest,
    Interface,
    Feature,
    ProgramType,
    /// A name of this kind in the objects of the line.
    Setting(NameKind),
    /// `PROG=`, and a section name.
    SetType,
    /// `MAP=`, and a map type.
    InnerMap,
    /// A specification of kernels.
    #[cfg(feature = "fetch")]
    KernelSpec,
}

/// The completion of an argument in a line.
pub(super) struct Completer {
    values: Values,
    line: Arc<Line>,
    /// Returns the names of features.
    feature_names: fn() -> Vec<String>,
}

impl Completer {
    pub(super) fn new(values: Values, line: &Arc<Line>, feature_names: fn() -> Vec<String>) -> Self {
        Self { values, line: Arc::clone(line), feature_names }
    }
}

impl ValueCompleter for Completer {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        current.to_str().map_or_else(Vec::new, |current| self.complete_word(self.values, current))
    }
}

/// The candidates for a word.
struct Candidates<'w> {
    current: &'w str,
    found: Vec<CompletionCandidate>,
}

impl Candidates<'_> {
    /// Adds a value, unless it does not begin with the word, or is no word of a shell's line.
    fn add(&mut self, value: &str, help: &str) {
        let is_word = value.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-/+".contains(c));
        let is_new = !self.found.iter().any(|candidate| candidate.get_value() == value);
        if is_word && is_new && !value.is_empty() && value.starts_with(self.current) {
            let help = (!help.is_empty()).then(|| help.to_owned().into());
            self.found.push(CompletionCandidate::new(value).help(help));
        }
    }

    /// Adds ids, names and tags of the objects that a command is about. Adds nothing for a user who may not
    /// list them: a completion reports no errors.
    fn add_objects(&mut self, command: &str, properties: &[Values]) {
        let kind = match command {
            "prog" => ObjectKind::Program,
            "map" | "struct_ops" => ObjectKind::Map,
            "link" | "iter" => ObjectKind::Link,
            "btf" => ObjectKind::Btf,
            _ => return,
        };
        for object in inventory::list(kind).into_iter().flatten() {
            let id = object.id().to_string();
            let Ok(Some(fd)) = object.open() else { continue };
            if !is_of_command(command, &fd) {
                continue;
            }
            let label = object_name(kind, &fd);
            for property in properties {
                match property {
                    Values::Ids => self.add(&id, &label),
                    Values::Tags => {
                        if let Ok(info) = ProgramInfo::query(&fd) {
                            self.add(&hex::digits(&info.tag), &label);
                        }
                    }
                    _ => self.add(&label, &format!("id {id}")),
                }
            }
        }
    }

    /// Adds the place of an attach point of a kind.
    fn add_places(&mut self, kind: &str) {
        let paths = match kind {
            "dev" => return add_interfaces(self),
            "map" => return self.add_objects("map", &[Values::Ids, Values::Names]),
            "cpu" => return self.add("all", ""),
            "netns" if !self.current.contains('/') => {
                let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
                return entries.for_each(|entry| self.add(&entry.file_name().to_string_lossy(), ""));
            }
            "cgroup" => PathCompleter::dir(),
            "lirc" | "netns" => PathCompleter::any(),
            _ => return,
        };
        self.found = paths.complete(OsStr::new(self.current));
    }
}

fn add_interfaces(candidates: &mut Candidates<'_>) {
    for interface in network_interfaces().into_iter().flatten() {
        candidates.add(&interface.name, "");
    }
}

/// Returns whether a command is about an object: `struct_ops` about some maps, `iter` about some links.
fn is_of_command(command: &str, fd: &OwnedFd) -> bool {
    match command {
        "struct_ops" => MapInfo::query(fd).is_ok_and(|info| info.map_type == MapType::StructOps.number()),
        "iter" => LinkInfo::query(fd).is_ok_and(|info| info.link_type == LinkType::Iter.number()),
        _ => true,
    }
}

impl Completer {
    /// Returns the values that begin with a word.
    fn complete_word(&self, values: Values, current: &str) -> Vec<CompletionCandidate> {
        use Values as V;
        let line = &*self.line;
        let (command, subcommand) = match &*line.path {
            [command, subcommand, ..] => (&**command, &**subcommand),
            [command] => (&**command, ""),
            [] => return Vec::new(),
        };
        let mut candidates = Candidates { current, found: Vec::new() };
        let words_after_object = match line.is_selected {
            true => Some(line.operands.len()),
            false => line.operands.len().checked_sub(1),
        };
        match values {
            V::Ids | V::Names | V::Tags => candidates.add_objects(command, &[values]),
            V::Objects => candidates.add_objects(command, &[V::Ids, V::Names]),
            V::Map => candidates.add_objects("map", &[V::Ids, V::Names]),
            V::ObjectAndWords => match (words_after_object, subcommand) {
                (None, _) => candidates.add_objects(command, &[V::Ids]),
                (Some(_), "profile") => {
                    let names = Metric::value_variants().iter().filter_map(Metric::to_possible_value);
                    let names =
                        names.filter(|name| !line.operands.iter().any(|given| given == name.get_name()));
                    names.for_each(|name| candidates.add(name.get_name(), ""));
                }
                (Some(0), "pin") => return PathCompleter::any().complete(OsStr::new(current)),
                // Keys and values.
                (Some(_), _) => {}
            },
            V::Interface => match &*line.operands {
                [] => add_interfaces(&mut candidates),
                [word] if word == "dev" => add_interfaces(&mut candidates),
                _ => {}
            },
            V::Feature => (self.feature_names)().iter().for_each(|name| candidates.add(name, "")),
            V::ProgramType => {
                ProgramType::offered().for_each(|ty| candidates.add(&ty.short_name(), ""));
            }
            V::Setting(kind) => self.add_object_names(kind, &mut candidates),
            V::SetType => match current.split_once('=') {
                None => self.add_object_names(NameKind::Program, &mut candidates),
                Some((program, word)) => {
                    candidates.current = word;
                    SEC_DEFS.iter().for_each(|def| candidates.add(def.name, def.program_type.name()));
                    return with_prefix(&format!("{program}="), candidates.found);
                }
            },
            V::InnerMap => match current.split_once('=') {
                None => self.add_object_names(NameKind::Map, &mut candidates),
                Some((map, word)) => {
                    candidates.current = word;
                    MapType::offered().for_each(|ty| candidates.add(&format!("{}:", ty.short_name()), ""));
                    return with_prefix(&format!("{map}="), candidates.found);
                }
            },
            #[cfg(feature = "fetch")]
            V::KernelSpec => {
                super::kernel_specs::values(current).iter().for_each(|value| candidates.add(value, ""));
            }
            V::ReusedMap => return self.complete_after_equals(V::Map, current),
            V::AttachRequest => return self.complete_after_equals(V::AttachPoint, current),
            V::AttachPoint => match current.split_once(':') {
                None => attach_point_kinds().for_each(|kind| candidates.add(&format!("{kind}:"), "")),
                Some((kind, place)) => {
                    candidates.current = place;
                    candidates.add_places(kind);
                    return with_prefix(&format!("{kind}:"), candidates.found);
                }
            },
        }
        candidates.found
    }

    /// Adds the names in the objects of the line. Adds nothing for files that cannot be read: a completion
    /// reports no errors.
    fn add_object_names(&self, kind: NameKind, candidates: &mut Candidates<'_>) {
        // A pipe would wait for its writer.
        for path in self.line.operands.iter().map(Path::new).filter(|path| path.is_file()) {
            let Ok(file) = ObjectFile::read(path) else { continue };
            let Ok(object) = file.parse() else { continue };
            ObjectNames::new(&object).all(kind).iter().for_each(|name| candidates.add(name, ""));
        }
    }

    /// Returns the values after the `=` of a word.
    fn complete_after_equals(&self, values: Values, current: &str) -> Vec<CompletionCandidate> {
        match current.split_once('=') {
            Some((name, value)) => with_prefix(&format!("{name}="), self.complete_word(values, value)),
            None => Vec::new(),
        }
    }
}

fn with_prefix(prefix: &str, candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    candidates.into_iter().map(|candidate| candidate.add_prefix(prefix)).collect()
}
