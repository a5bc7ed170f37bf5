//! Inputs of any size and the commands that read them: what `cli/tests/growth.rs` counts and `cargo xtask bench --growth` times.
//!
//! A [`Dimension`] is a kind of thing of which an input may have many. Its inputs are made of a count alone.

mod calls;
mod code;
mod data;
mod externs;
mod files;
mod object;
mod records;
mod struct_ops;
mod types;

pub use object::ObjectMaker;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// A kind of thing of which an input may have many.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// The plural of the thing.
    pub name: &'static str,
    /// The largest count that the formats, or the loader's limits, allow.
    pub most: usize,
    /// The commands whose work is expected to grow with the count; another one's may, too.
    pub commands: &'static [Command],
    /// Makes an input that has so many.
    pub make: fn(usize) -> Files,
}

/// The content of an input's files.
#[derive(Clone, Debug)]
pub struct Files {
    /// BPF objects.
    pub objects: Vec<Vec<u8>>,
    /// Kernels: raw BTF.
    pub kernels: Vec<Vec<u8>>,
}

/// A command and its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Check,
    Plan,
    Explain,
    Patch,
    Inspect,
    DryRun,
    Link,
    Dump,
}

use Command as C;

/// The commands for an object that grows in what is no type and no CO-RE relocation. Of those that only relocate, `patch` does
/// the most.
const OBJECT: &[C] = &[C::Patch, C::Inspect, C::DryRun, C::Link];
/// Those that do not link: the linker refuses the object, as libbpf's does, or gives up on types that all look alike.
const UNLINKED: &[C] = &[C::Patch, C::Inspect, C::DryRun];
/// Those that relocate.
const RELOCATING: &[C] = &[C::Check, C::Plan, C::Explain, C::Patch, C::DryRun];
/// Those that read all types.
const TYPES: &[C] = &[C::Explain, C::DryRun, C::Link, C::Dump];

/// Every dimension.
pub fn dimensions() -> Vec<Dimension> {
    [
        code::DIMENSIONS,
        calls::DIMENSIONS,
        data::DIMENSIONS,
        externs::DIMENSIONS,
        struct_ops::DIMENSIONS,
        records::DIMENSIONS,
        types::DIMENSIONS,
        files::DIMENSIONS,
    ]
    .concat()
}

impl Files {
    fn new(object: Vec<u8>, kernel: Vec<u8>) -> Self {
        Self { objects: vec![object], kernels: vec![kernel] }
    }

    /// Writes the files into a folder, which is made.
    pub fn write(&self, folder: &Path) -> io::Result<Written> {
        let write_all = |name: &str, contents: &[Vec<u8>]| {
            let within = folder.join(name);
            fs::create_dir_all(&within)?;
            let write = |(n, bytes): (usize, &Vec<u8>)| {
                let path = within.join(n.to_string());
                fs::write(&path, bytes).map(|()| path)
            };
            contents.iter().enumerate().map(write).collect::<io::Result<Vec<_>>>()
        };
        let objects = write_all("o", &self.objects)?;
        let mut kernels = write_all("k", &self.kernels)?;
        let kernel = match kernels.len() {
            1 => kernels.remove(0),
            _ => folder.join("k"),
        };
        Ok(Written { objects, kernel, output: folder.join("out") })
    }
}

/// An input's files on disk.
#[derive(Clone, Debug)]
pub struct Written {
    objects: Vec<PathBuf>,
    /// A kernel, or a folder of kernels.
    kernel: PathBuf,
    output: PathBuf,
}

impl Command {
    /// The command's words, without files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Plan => "plan",
            Self::Explain => "explain",
            Self::Patch => "patch",
            Self::Inspect => "inspect",
            Self::DryRun => "load --dry-run",
            Self::Link => "gen object",
            Self::Dump => "btf dump",
        }
    }

    /// Whether the exit status may be 1: a made input may have relocations that do not resolve, or need what the kernel lacks.
    pub const fn may_be_unresolved(self) -> bool {
        matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Patch | Self::DryRun)
    }

    /// Whether the JSON output has other parts than the text, so that its work grows in another way.
    pub const fn has_own_json(self) -> bool {
        matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Inspect)
    }

    /// The command line for an input; `json` asks for JSON instead of text.
    pub fn words(self, input: &Written, json: bool) -> Vec<OsString> {
        let first: &[&str] = match self {
            Self::Check => &["check", "--jobs", "1"],
            Self::Plan => &["plan"],
            Self::Explain => &["explain"],
            Self::Patch => &["patch"],
            Self::Inspect => &["inspect"],
            Self::DryRun => &["load", "--dry-run"],
            Self::Link => &["gen", "object"],
            Self::Dump => &["btf", "dump"],
        };
        let mut words: Vec<OsString> = first.iter().map(OsString::from).collect();
        if json {
            words.extend(["--format".into(), "json".into()]);
        }
        if matches!(self, Self::Check | Self::Plan | Self::Explain | Self::Patch | Self::DryRun) {
            words.extend(["--btf".into(), input.kernel.clone().into()]);
        }
        match self {
            Self::Patch => words.extend(["--output".into(), input.output.clone().into()]),
            Self::Link => words.push(input.output.clone().into()),
            _ => {}
        }
        words.extend(input.objects.iter().map(OsString::from));
        words
    }
}

/// `count` names: `stem` with a number, or all alike.
fn name(stem: &str, n: usize, is_distinct: bool) -> String {
    if is_distinct { format!("{stem}{n}") } else { stem.to_owned() }
}
