//! Fuzz targets: functions that must return for every input without a panic and within the limits of time and
//! memory.
//!
//! The targets of [`files`] parse the input as a file. For the targets of [`generated`], the input is a list
//! of choices that a generator ([`generate`]) makes. Generated files are mostly valid, so the fuzzer reaches
//! the code behind the parsers. [`properties`] contains the checks.

mod files;
mod generate;
mod generated;
mod properties;
pub mod random;
mod scratch;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name of the target and of its file in `fuzz_targets/`.
    pub name: &'static str,
    /// Runs the target on one input. A violated property is a panic.
    pub run: fn(&[u8]),
    /// The format of the input.
    pub input: Input,
}

/// The format of a target's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or several files with their lengths.
    File,
    /// The choices of a generator. Random bytes are good inputs.
    Decisions,
}

/// All targets.
pub const TARGETS: [FuzzTarget; 21] = [
    FuzzTarget::new("btf", files::btf, Input::File),
    FuzzTarget::new("ext", files::ext, Input::File),
    FuzzTarget::new("object", files::object, Input::File),
    FuzzTarget::new("plan", files::plan, Input::File),
    FuzzTarget::new("verdict", files::verdict, Input::File),
    FuzzTarget::new("link", files::link, Input::File),
    FuzzTarget::new("load_plan", files::load_plan, Input::File),
    FuzzTarget::new("loader_file", files::loader_file, Input::File),
    FuzzTarget::new("image", files::image, Input::File),
    FuzzTarget::new("package", files::package, Input::File),
    FuzzTarget::new("repository", files::repository, Input::File),
    FuzzTarget::new("binary", files::binary, Input::File),
    FuzzTarget::new("btf_ids", files::btf_ids, Input::File),
    FuzzTarget::new("dwarf", files::dwarf, Input::File),
    FuzzTarget::new("skeleton", files::skeleton, Input::File),
    FuzzTarget::new("generated_btf", generated::btf, Input::Decisions),
    FuzzTarget::new("generated_object", generated::object, Input::Decisions),
    FuzzTarget::new("generated_link", generated::link, Input::Decisions),
    FuzzTarget::new("reach", generated::reach, Input::Decisions),
    FuzzTarget::new("archive", generated::archive, Input::Decisions),
    FuzzTarget::new("results", generated::results, Input::Decisions),
];

impl FuzzTarget {
    const fn new(name: &'static str, run: fn(&[u8]), input: Input) -> Self {
        Self { name, run, input }
    }

    /// Finds a target by its name.
    pub fn find(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }
}

/// Runs a target by its name. This is the body of every libFuzzer entry point.
pub fn run(name: &str, data: &[u8]) {
    let target = FuzzTarget::find(name).expect("every file in fuzz_targets names a target");
    (target.run)(data);
}
