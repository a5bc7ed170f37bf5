//! The files that no output may replace: inputs, the other outputs, and files of another kind.

use super::{Destination, DestinationKind, OutputPath, is_dash, kind::HEAD_BYTES};
use crate::{
    error::BadInput,
    output::{CommandFiles, NamedOutput},
};
use rustix::{
    fd::AsFd,
    fs::{FileType, fstat},
};
use std::{ffi::OsString, fs, io, os::unix::fs::MetadataExt as _, path::Path};

/// Checks all outputs of a command, before the command does anything.
///
/// An output replaces no input and no other output, unless the help of its option says so. It replaces an
/// existing file only if that is of the kind that the command writes, or with `--force`.
pub(crate) fn check_outputs(files: &CommandFiles) -> Result<(), BadInput> {
    let mut previous: Vec<Option<FileIdentity>> = Vec::new();
    for NamedOutput { option, path: output } in &files.outputs {
        let help = format!("{option} names the output: give it a path of its own");
        refuse_inputs(files.inputs_to_keep(output), output, &help)?;
        // Stdout may get several outputs. A file named `-` is not written to.
        if is_dash(output) {
            continue;
        }
        // Writing reports a path that leads nowhere.
        let Some(destination) = Destination::find(output).ok().filter(Destination::is_replaced) else {
            continue;
        };
        let identity = FileIdentity::find(output);
        if previous.contains(&identity) {
            let bad = BadInput::for_path(output, "is the path of two outputs, expected one for each");
            return Err(bad.help(help));
        }
        previous.push(identity);
        if !files.is_forced {
            refuse_other_kind(output, &destination)
                .map_err(|bad| bad.help(format!("{help}, or replace the file with --force")))?;
        }
    }
    Ok(())
}

/// Refuses to replace an input by the output. `help` says how to give the output another name.
pub(crate) fn refuse_inputs<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    output: &OutputPath,
    help: &str,
) -> Result<(), BadInput> {
    let identity =
        if is_dash(output) { FileIdentity::of_open(io::stdout()) } else { FileIdentity::find(output) };
    let Some(identity) = identity else { return Ok(()) };
    let is_output = |input: &Path| {
        let input =
            if is_dash(input) { FileIdentity::of_open(io::stdin()) } else { FileIdentity::find(input) };
        input.is_some_and(|input| input == identity)
    };
    if !inputs.into_iter().any(is_output) {
        return Ok(());
    }
    let bad = BadInput::for_path(output, "is an input and the output, expected another output");
    Err(bad.help(help))
}

/// Refuses to replace a file that is not of the output's kind.
fn refuse_other_kind(output: &OutputPath, destination: &Destination) -> Result<(), BadInput> {
    let DestinationKind::File(_) = destination.kind else { return Ok(()) };
    let head = destination.read_head(HEAD_BYTES);
    let head =
        head.map_err(|e| BadInput::for_path(output, format_args!("exists and cannot be read: {e}")))?;
    if output.kind.may_replace(output, &head) {
        return Ok(());
    }
    let what =
        format!("exists and is of another kind: expected a new file, or {}", output.kind.description());
    Err(BadInput::for_path(output, what))
}

/// The identity of a regular file: two paths with the same identity are the same file, or would create it.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    /// An existing file.
    Inode { device: u64, number: u64 },
    /// A file that does not exist: its directory and name.
    New { device: u64, directory: u64, name: OsString },
}

impl FileIdentity {
    /// Returns the identity of an open regular file.
    fn of_open(file: impl AsFd) -> Option<Self> {
        let stat = fstat(file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then_some(Self::Inode { device: stat.st_dev, number: stat.st_ino })
    }

    /// Returns the identity of the regular file to which a path leads, through all links. `None` for a
    /// directory, a device, a pipe, a socket, and a path that leads nowhere.
    fn find(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                Some(Self::Inode { device: metadata.dev(), number: metadata.ino() })
            }
            Ok(_) => None,
            Err(_) => {
                let Destination { dir, name, kind: DestinationKind::Free } = Destination::find(path).ok()?
                else {
                    return None;
                };
                let stat = fstat(&dir).ok()?;
                Some(Self::New { device: stat.st_dev, directory: stat.st_ino, name })
            }
        }
    }
}
