//! The paths of output files.

use super::OutputKind;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

/// The path of an output file, or `-` for stdout. Only paths of this type are written to.
#[derive(Clone, Debug)]
pub(crate) struct OutputPath {
    path: PathBuf,
    pub(crate) kind: OutputKind,
    /// The argument whose file the output may replace.
    replaced_input: Option<&'static str>,
}

impl OutputPath {
    /// Returns a parser for an output of this kind.
    pub(crate) fn parser(kind: OutputKind) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| Self { path, kind, replaced_input: None })
    }

    /// Returns a parser for an output that may replace the file of another argument.
    pub(crate) fn parser_in_place_of(
        input: &'static str,
        kind: OutputKind,
    ) -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().map(move |path| Self { path, kind, replaced_input: Some(input) })
    }

    /// Returns whether the output may replace the file of an argument.
    pub(crate) fn may_replace_input(&self, argument: &str) -> bool {
        self.replaced_input.is_some_and(|replaced| replaced == argument)
    }

    #[cfg(test)]
    pub(crate) fn new(path: impl Into<PathBuf>, kind: OutputKind) -> Self {
        Self { path: path.into(), kind, replaced_input: None }
    }
}

impl Deref for OutputPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}
