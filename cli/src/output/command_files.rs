//! The files that a command line names.

use super::OutputPath;
use std::path::{Path, PathBuf};

/// An input file or directory on the command line.
#[derive(Clone, Debug)]
struct InputPath {
    /// The name of the argument in clap. Empty if another file names the input.
    argument: String,
    path: PathBuf,
}

/// An output file on the command line.
#[derive(Clone, Debug)]
pub(crate) struct NamedOutput {
    /// The option that names the file, or the name of the positional argument.
    pub(crate) option: String,
    pub(crate) path: OutputPath,
}

/// The files that a command line names.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandFiles {
    inputs: Vec<InputPath>,
    pub(crate) outputs: Vec<NamedOutput>,
    /// Whether outputs may replace files of another kind.
    pub(crate) is_forced: bool,
}

impl CommandFiles {
    /// Adds an input. `argument` is its name in clap, or empty if another file names the input.
    pub(crate) fn add_input(&mut self, argument: &str, path: &Path) {
        self.inputs.push(InputPath { argument: argument.to_owned(), path: path.to_path_buf() });
    }

    /// Returns the inputs that an output must not replace.
    pub(crate) fn inputs_to_keep<'f>(&'f self, output: &'f OutputPath) -> impl Iterator<Item = &'f Path> {
        let kept = move |input: &&InputPath| !output.may_replace_input(&input.argument);
        self.inputs.iter().filter(kept).map(|input| &*input.path)
    }
}
