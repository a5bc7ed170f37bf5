//! `btf encode`: BTF from debug information.

use super::read::read_file;
use crate::{
    args::btf_write::BtfEncodeArgs,
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::unpacked_image::UnpackedImage,
    output,
    text::{line::Line, style},
};
use core_relo::btf::Btf;
use core_relo_dwarf::{EncodeError, EncodeSettings, Encoded, encode_file, limits};
use core_relo_kernels::{Limits, file::InputFile};
use serde::Serialize;
use std::{io, num::NonZeroUsize, sync::Arc, thread};

/// The names of functions in the text report.
const SHOWN_FUNCTIONS: usize = 5;

/// The report, and its JSON line.
#[derive(Serialize)]
struct EncodeReport {
    output: String,
    input: String,
    units: usize,
    skipped_units: usize,
    types: usize,
    functions: usize,
    variables: usize,
    inconsistent_functions: Vec<String>,
    bytes: usize,
}

pub(super) fn run(console: &mut Console<'_>, args: &BtfEncodeArgs) -> CommandResult {
    let report = encode(args)?;
    Ok(print_report(console, report)?)
}

fn encode(args: &BtfEncodeArgs) -> Result<EncodeReport, BadInput> {
    let base = args.base.as_deref().map(|base| read_file(base, None).map(Arc::new)).transpose()?;
    let image = UnpackedImage::new(&args.path, Limits::new(Some(limits::FILE_BYTES)))?;
    let input = InputFile::open(&image.path, limits::FILE_BYTES)?;
    let mut settings = EncodeSettings::default();
    settings.threads = NonZeroUsize::new(args.jobs)
        .or_else(|| thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    settings.base.clone_from(&base);
    let encoded = encode_file(input.into_file(), &settings).map_err(|e| bad_input(args, &e))?;
    write(args, base.as_ref(), encoded)
}

/// Parses the result, so that nothing invalid is written, and writes it.
fn write(
    args: &BtfEncodeArgs,
    base: Option<&Arc<Btf<'static>>>,
    encoded: Encoded,
) -> Result<EncodeReport, BadInput> {
    let written = match base {
        Some(base) => Btf::parse_split(encoded.bytes, Arc::clone(base)),
        None => Btf::parse(encoded.bytes),
    };
    let invalid = |e| format!("nothing written: the result is invalid: {e}");
    let written = written.map_err(|e| BadInput::for_path(&args.output.output, invalid(e)))?;
    output::write(&args.output.output, written.as_bytes())?;
    Ok(EncodeReport {
        output: escape_path(&args.output.output),
        input: escape_path(&args.path),
        units: encoded.units,
        skipped_units: encoded.skipped_units,
        types: written.types().count(),
        functions: encoded.functions,
        variables: encoded.variables,
        inconsistent_functions: encoded.inconsistent_functions,
        bytes: written.as_bytes().len(),
    })
}

fn bad_input(args: &BtfEncodeArgs, e: &EncodeError) -> BadInput {
    let bad = BadInput::for_path(&args.path, e);
    match e {
        EncodeError::NoDebugInfo => bad.help(
            "name the file with debug information: distributions have it in a package such as linux-image-*-dbg or kernel-debuginfo",
        ),
        EncodeError::SplitUnit { .. } => {
            bad.help("compile without -gsplit-dwarf (kernels: without CONFIG_DEBUG_INFO_SPLIT)")
        }
        _ => bad,
    }
}

fn print_report(console: &mut Console<'_>, report: EncodeReport) -> io::Result<()> {
    if console.format == Format::Json {
        return console.out.json(&report);
    }
    let EncodeReport { output, input: _, units, skipped_units, types, functions, variables, bytes, .. } =
        report;
    console.out.line(Line::new().styled(style::GOOD, "written").text(format_args!(
        ": {output}: {types} types from {units} units, {functions} functions, {variables} variables, {bytes} bytes"
    )))?;
    if skipped_units > 0 {
        console
            .out
            .line(Line::new().text(format_args!("left out: {skipped_units} units that are not in C")))?;
    }
    let names = &report.inconsistent_functions;
    if !names.is_empty() {
        let shown = names.iter().take(SHOWN_FUNCTIONS).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if names.len() > SHOWN_FUNCTIONS { ", ..." } else { "" };
        let count = names.len();
        console
            .out
            .line(Line::new().text(format_args!(
                "left out: {count} functions with different definitions: {shown}{more}"
            )))?;
    }
    Ok(())
}
