//! `report`: makes reports of the JSON lines of earlier checks.

use super::{reports::Reports, stored, writer::CheckWriter};
use crate::{
    args::report::ReportArgs,
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
};
use core_relo_report::{
    Comparison,
    json::JsonLines,
    stored::{AddedLine, Contradictions, LinePlace, StoredResults},
};
use serde_json::Value;
use std::io;

pub(crate) fn run(console: &mut Console<'_>, args: &ReportArgs) -> CommandResult {
    let reports = Reports::new(args.format.report(), &args.report)?;
    let contradictions = if args.replace { Contradictions::TakeLast } else { Contradictions::Refuse };
    let baseline = stored::read_baseline(&args.baseline)?;
    let mut results = StoredResults::new(contradictions).with_baseline(baseline);
    // The lines of the JSON format, by the index of their result. A text takes less memory than its values.
    let mut lines = Vec::<(LinePlace, Box<[u8]>)>::new();
    let mut has_results = false;
    for path in &args.results {
        stored::read(stored::open(path)?, &escape_path(path), &mut |place, text| {
            let added = add(&mut results, place.clone(), text)?;
            has_results |= added != AddedLine::Other;
            if let (Format::Json, AddedLine::Result(index)) = (console.format, added) {
                let line = (place, text.into());
                match lines.get_mut(index) {
                    Some(known) => *known = line,
                    None => lines.push(line),
                }
            }
            Ok(())
        })?;
    }
    if let Some(path) = args.results.first().filter(|_| !has_results) {
        // A job that lost its results must not pass.
        let more = args.results.len().checked_sub(1).filter(|more| *more > 0);
        let more = more.map_or_else(String::new, |more| format!(", nor do {more} more files"));
        return Err(BadInput::for_path(path, format_args!("has no results{more}")).into());
    }
    for (index, (place, text)) in lines.iter().enumerate() {
        let line =
            json_line(text, results.comparison(index)).map_err(|e| BadInput::new(place.to_string(), e))?;
        console.out.json_lines(&line)?;
    }
    let mut writer = CheckWriter::new(console, None, &reports).with_all_lines(args.all);
    writer.write_stored(results.into_report(), args.strict)?;
    Ok(writer.finish(&reports)?)
}

fn add(results: &mut StoredResults, place: LinePlace, text: &[u8]) -> Result<AddedLine, BadInput> {
    results.add_line(place, text).map_err(|e| stored::bad_line(&e))
}

/// Returns the line with the escapes of this program, and with the comparison.
fn json_line(text: &[u8], comparison: Option<&Comparison>) -> io::Result<JsonLines> {
    let mut line: Value = serde_json::from_slice(text)?;
    if let (Some(comparison), Some(keys)) = (comparison, line.as_object_mut()) {
        keys.insert("baseline".to_owned(), serde_json::to_value(comparison)?);
    }
    let mut printed = JsonLines::default();
    printed.push(&line)?;
    Ok(printed)
}
