//! Reads the lines of stored results.

use super::results_reader::{LineEnd, LineError, next_line};
use crate::{
    args::report::BaselineArgs,
    error::{BadInput, escape_path},
};
use core_relo_kernels::file;
use core_relo_report::{
    Baseline,
    stored::{Contradictions, LinePlace, StoredResultError, StoredResults},
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
    sync::Arc,
};

/// A function that receives each line with its place.
pub(super) type AddLine<'f> = dyn FnMut(LinePlace, &[u8]) -> Result<(), BadInput> + 'f;

/// Calls `add` for each line. The file may end without a line feed. `name` is that of the file.
pub(super) fn read(mut reader: impl BufRead, name: &str, add: &mut AddLine<'_>) -> Result<(), BadInput> {
    let (file, mut text) = (Arc::<str>::from(name), Vec::new());
    for line in 1u64.. {
        let end = next_line(&mut reader, &mut text).map_err(|e| match e {
            LineError::Foreign => {
                BadInput::new(name, format_args!("line {line}: is no line of `check --format json`"))
            }
            e => BadInput::new(name, format_args!("line {line}: {e}")),
        })?;
        if !text.is_empty() {
            add(LinePlace { file: Arc::clone(&file), line }, &text)?;
        }
        if end == LineEnd::EndOfFile {
            break;
        }
    }
    Ok(())
}

/// Opens a file; `-` is standard input.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, BadInput> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(path).map_err(|e| file::unreadable(path, &e))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// Reads the results to compare with. Returns `None` without files.
pub(super) fn read_baseline(args: &BaselineArgs) -> Result<Option<Baseline>, BadInput> {
    if args.baseline.is_empty() {
        return Ok(None);
    }
    let mut results = StoredResults::new(Contradictions::TakeLast);
    for path in &args.baseline {
        read(open(path)?, &escape_path(path), &mut |place, line| {
            results.add_line(place, line).map_err(|e| bad_line(&e)).map(drop)
        })?;
    }
    Ok(Some(Baseline::new(&results.into_report())))
}

/// Returns the error for a line that is no result.
pub(super) fn bad_line(error: &StoredResultError) -> BadInput {
    let StoredResultError { place, problem, .. } = error;
    let bad = BadInput::new(&*place.file, format_args!("line {}: {problem}", place.line));
    bad.help(problem.help().unwrap_or(""))
}
