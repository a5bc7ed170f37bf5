//! Loader files.

use crate::{error::BadInput, input::object::ObjectFile};
use core_relo_loader::loader_program::{LoaderFile, LoaderFileError};

/// Parses a loader file.
pub(crate) fn parse(input: &ObjectFile) -> Result<LoaderFile, BadInput> {
    LoaderFile::read(input.bytes()).map_err(|error| explain(input, &error))
}

/// Checks that a signature over the instructions covers the data, too.
pub(crate) fn check_signable(input: &ObjectFile, loader: &LoaderFile) -> Result<(), BadInput> {
    if !loader.checks_data() || loader.compares_data_hash() {
        return Ok(());
    }
    let what =
        "the instructions do not have the hash of the data, so that a signature would not cover the data";
    let bad = BadInput::new(&*input.name, what);
    Err(bad.help("sign the file as `core-relo gen loader --signable` wrote it"))
}

/// Returns the error for a loader file that cannot be read, signed or written.
pub(crate) fn explain(input: &ObjectFile, error: &LoaderFileError) -> BadInput {
    let text = error.to_string();
    let (what, help) = match text.split_once("\nhelp: ") {
        Some((what, help)) => (what, Some(help)),
        None => (&*text, None),
    };
    let help = help.or(match error {
        LoaderFileError::Truncated { .. } => Some("is the file complete?"),
        LoaderFileError::Magic => Some("expected a file that `core-relo gen loader` wrote"),
        _ => None,
    });
    let bad = BadInput::new(&*input.name, what);
    match help {
        Some(help) => bad.help(help),
        None => bad,
    }
}
