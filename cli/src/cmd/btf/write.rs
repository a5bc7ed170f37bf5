//! The `btf` subcommands that write BTF: `dedup`, `merge`, `sort`, `split`, `distil`, `convert`.

use super::{HELP_RAW_BTF, encode, read::read_file};
use crate::{
    args::btf_write::{
        BtfConvertArgs, BtfDistilArgs, BtfInputArgs, BtfMergeArgs, BtfOutputArgs, BtfSplitArgs,
        BtfWriteCommand, ByteOrder, Layout,
    },
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    output::{self, NewOutput, OutputPath},
    text::{line::Line, style},
};
use core_relo::{
    Endian,
    btf::{Btf, Builder, ImportError, LayoutChange, convert, dedup, distil_base, sort},
};
use core_relo_kernels::{
    Limits, btf_file,
    module::{self, find_base},
};
use serde::Serialize;
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The report on written BTF, and its JSON line.
#[derive(Serialize)]
struct WriteReport {
    output: String,
    inputs: Vec<String>,
    /// The types of the inputs, without those of their base.
    types_read: usize,
    types: usize,
    bytes_read: usize,
    bytes: usize,
    /// The distilled base, which `btf distil` writes.
    distilled_base: Option<DistilledBaseReport>,
}

/// The part of the report on a distilled base.
#[derive(Serialize)]
struct DistilledBaseReport {
    output: String,
    types: usize,
    bytes: usize,
}

/// An input file and its types.
struct Input {
    path: PathBuf,
    /// The files of the BTFs on which it is split, the nearest first.
    bases: Vec<PathBuf>,
    btf: Btf<'static>,
}

pub(super) fn run(console: &mut Console<'_>, command: &BtfWriteCommand) -> CommandResult {
    let report = match command {
        BtfWriteCommand::Dedup(args) => {
            let input = Input::from_args(&args.input)?;
            write_deduped(&[&input], &input.btf, &args.output)
        }
        BtfWriteCommand::Merge(args) => merge(args),
        BtfWriteCommand::Sort(args) => write_sorted(&Input::from_args(&args.input)?, &args.output),
        BtfWriteCommand::Split(args) => split(args),
        BtfWriteCommand::Distil(args) => distil(args),
        BtfWriteCommand::Convert(args) => convert_file(args),
        BtfWriteCommand::Encode(args) => return encode::run(console, args),
    };
    Ok(print_report(console, &report?)?)
}

impl Input {
    /// Reads the BTF that the arguments name.
    fn from_args(BtfInputArgs { path, base }: &BtfInputArgs) -> Result<Self, BadInput> {
        Self::read(path, base.as_deref())
    }

    /// Reads BTF. The base of split BTF is `base`, or the `vmlinux` in the same directory.
    fn read(path: &Path, base: Option<&Path>) -> Result<Self, BadInput> {
        let btf = read_file(path, base)?;
        let bases = base_files(path, base, &btf);
        Ok(Self { path: path.to_path_buf(), bases, btf })
    }

    /// Reads BTF that is split from `base`, or has no base.
    fn read_with(path: &Path, base: Option<&Arc<Btf<'static>>>) -> Result<Self, BadInput> {
        match base {
            Some(base) => {
                let file = btf_file::read(path, Limits::default())?;
                let btf = module::parse_split(path, &file, base)?;
                Ok(Self { path: path.to_path_buf(), bases: Vec::new(), btf })
            }
            None => {
                let input = Self::read(path, None)?;
                match input.btf.base() {
                    Some(_) => Err(module::missing_base(path, None).into()),
                    None => Ok(input),
                }
            }
        }
    }

    fn bad(&self, what: impl fmt::Display) -> BadInput {
        BadInput::for_path(&self.path, what)
    }
}

/// Returns the files of the BTFs on which a file's BTF is split: `base`, or the kernel in the same directory,
/// and the files on which these are split.
fn base_files(path: &Path, base: Option<&Path>, btf: &Btf<'_>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = base.map(Path::to_path_buf).into_iter().collect();
    let mut lower = btf.base().filter(|_| base.is_none()).or_else(|| btf.base().and_then(|base| base.base()));
    while let Some(btf) = lower {
        let last = files.last().map_or(path, PathBuf::as_path);
        files.extend(find_base(last));
        lower = btf.base();
    }
    files
}

/// Merges files that have the same base, or none, and writes the deduplicated types.
fn merge(args: &BtfMergeArgs) -> Result<WriteReport, BadInput> {
    let base = args.base.as_deref().map(|path| read_base(path, &args.output.output)).transpose()?;
    let read = |path: &PathBuf| Input::read_with(path, base.as_ref());
    let inputs = args.paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = inputs.first() else { return Err(BadInput::new("btf merge", "expected a path")) };
    let builder = match &base {
        Some(base) => Builder::split_with_strings(base),
        None => Builder::new(first.btf.endian()),
    };
    append_and_write(&inputs, base.as_ref(), builder, &args.output)
}

/// Reads the base of several inputs, which must not be the output.
fn read_base(path: &Path, output: &OutputPath) -> Result<Arc<Btf<'static>>, BadInput> {
    let base = Input::read(path, None)?;
    refuse_input_as_output(&[&base], output)?;
    Ok(Arc::new(base.btf))
}

/// Writes the types of files that the base does not have.
fn split(args: &BtfSplitArgs) -> Result<WriteReport, BadInput> {
    let base = read_base(&args.base, &args.output.output)?;
    let read = |path: &PathBuf| {
        let input = Input::read_with(path, None)?;
        if input.btf.endian() != base.endian() {
            let help = "convert one of them: core-relo btf convert --endian ORDER";
            return Err(input.bad("has another byte order than the base").help(help));
        }
        Ok(input)
    };
    let inputs = args.paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    append_and_write(&inputs, Some(&base), Builder::split_with_strings(&base), &args.output)
}

/// Appends all inputs to the builder, and writes the deduplicated types.
fn append_and_write(
    inputs: &[Input],
    base: Option<&Arc<Btf<'static>>>,
    mut builder: Builder,
    output: &BtfOutputArgs,
) -> Result<WriteReport, BadInput> {
    for input in inputs {
        builder.append(&input.btf).map_err(|e| input.bad(e))?;
    }
    let all = parse(builder.finish(), base).map_err(|e| bad_output(&output.output, e))?;
    drop(builder);
    write_deduped(&inputs.iter().collect::<Vec<_>>(), &all, output)
}

/// Deduplicates the types of all inputs and writes them.
fn write_deduped(
    inputs: &[&Input],
    all: &Btf<'static>,
    output: &BtfOutputArgs,
) -> Result<WriteReport, BadInput> {
    let place = inputs.first().filter(|_| inputs.len() == 1).map_or(&*output.output, |input| &*input.path);
    let deduped = dedup(all).map_err(|e| BadInput::for_path(place, e))?;
    write(inputs, deduped.finish(), all.base(), output)
}

fn write_sorted(input: &Input, output: &BtfOutputArgs) -> Result<WriteReport, BadInput> {
    let sorted = sort(&input.btf).map_err(|e: ImportError| input.bad(e))?;
    write(&[input], sorted.into_bytes(), input.btf.base(), output)
}

/// Writes split BTF on its distilled base, and the base.
fn distil(args: &BtfDistilArgs) -> Result<WriteReport, BadInput> {
    let input = Input::from_args(&args.input)?;
    refuse_input_as_output(&[&input], &args.base_output)?;
    let distilled = distil_base(&input.btf).map_err(|e| input.bad(e))?;
    let base = Btf::parse(distilled.base).map_err(|e| bad_output(&args.base_output, e))?;
    let base = Arc::new(base);
    let (written, mut report) = check_result(&[&input], distilled.split, Some(&base), &args.output)?;
    // A base without its split BTF is of no use, nor is split BTF without its base.
    output::write_both(
        NewOutput { path: &args.output.output, content: written.as_bytes() },
        NewOutput { path: &args.base_output, content: base.as_bytes() },
    )?;
    report.distilled_base = Some(DistilledBaseReport {
        output: escape_path(&args.base_output),
        types: base.types().count(),
        bytes: base.as_bytes().len(),
    });
    Ok(report)
}

/// Writes BTF in another byte order, or with a changed layout section.
fn convert_file(args: &BtfConvertArgs) -> Result<WriteReport, BadInput> {
    let input = Input::from_args(&args.input)?;
    let endian = match args.endian {
        Some(ByteOrder::Little) => Endian::Little,
        Some(ByteOrder::Big) => Endian::Big,
        None => input.btf.endian(),
    };
    let layout = match args.layout {
        Some(Layout::Add) => LayoutChange::Add,
        Some(Layout::Remove) => LayoutChange::Remove,
        None => LayoutChange::Keep,
    };
    let bytes = convert(&input.btf, endian, layout).map_err(|e| input.bad(e))?;
    // Split BTF has the byte order of its base, which is converted for the check of the result.
    let base = input.btf.base().map(|base| convert_base(&input, base, endian)).transpose()?;
    write(&[&input], bytes, base.as_ref(), &args.output)
}

/// Returns a base in another byte order.
fn convert_base(
    input: &Input,
    base: &Arc<Btf<'static>>,
    endian: Endian,
) -> Result<Arc<Btf<'static>>, BadInput> {
    if base.endian() == endian {
        return Ok(Arc::clone(base));
    }
    let lower = base.base().map(|lower| convert_base(input, lower, endian)).transpose()?;
    let bytes = convert(base, endian, LayoutChange::Keep).map_err(|e| input.bad(e))?;
    parse(bytes, lower.as_ref()).map(Arc::new).map_err(|e| input.bad(e))
}

/// Parses BTF with or without a base.
fn parse(bytes: Vec<u8>, base: Option<&Arc<Btf<'static>>>) -> Result<Btf<'static>, core_relo::btf::BtfError> {
    match base {
        Some(base) => Btf::parse_split(bytes, Arc::clone(base)),
        None => Btf::parse(bytes),
    }
}

/// Parses the result, so that nothing invalid is written, and writes it.
fn write(
    inputs: &[&Input],
    bytes: Vec<u8>,
    base: Option<&Arc<Btf<'static>>>,
    output: &BtfOutputArgs,
) -> Result<WriteReport, BadInput> {
    let (written, report) = check_result(inputs, bytes, base, output)?;
    output::write(&output.output, written.as_bytes())?;
    Ok(report)
}

/// Parses the result, so that nothing invalid is written, and creates the report on it.
fn check_result(
    inputs: &[&Input],
    bytes: Vec<u8>,
    base: Option<&Arc<Btf<'static>>>,
    output: &BtfOutputArgs,
) -> Result<(Btf<'static>, WriteReport), BadInput> {
    refuse_input_as_output(inputs, &output.output)?;
    let written = parse(bytes, base).map_err(|e| bad_output(&output.output, e))?;
    let report = WriteReport {
        output: escape_path(&output.output),
        inputs: inputs.iter().map(|input| escape_path(&input.path)).collect(),
        types_read: inputs.iter().map(|input| input.btf.types().count()).sum(),
        types: written.types().count(),
        bytes_read: inputs.iter().map(|input| input.btf.as_bytes().len()).sum(),
        bytes: written.as_bytes().len(),
        distilled_base: None,
    };
    Ok((written, report))
}

/// Creates the error for a result that cannot be parsed.
fn bad_output(path: &Path, e: impl fmt::Display) -> BadInput {
    BadInput::for_path(path, format_args!("nothing written: the result is invalid: {e}"))
}

/// Refuses to replace an input or its base, which may be ELF files, by raw BTF.
fn refuse_input_as_output(inputs: &[&Input], output: &OutputPath) -> Result<(), BadInput> {
    let files = inputs.iter().flat_map(|input| input.bases.iter().chain([&input.path]));
    output::refuse_inputs(files.map(PathBuf::as_path), output, HELP_RAW_BTF)
}

fn print_report(console: &mut Console<'_>, report: &WriteReport) -> io::Result<()> {
    if console.format == Format::Json {
        return console.out.json(report);
    }
    let WriteReport { output, inputs: _, types_read, types, bytes_read, bytes, distilled_base } = report;
    console.out.line(Line::new().styled(style::GOOD, "written").text(format_args!(
        ": {output}: {types} types from {types_read}, {bytes} bytes from {bytes_read}"
    )))?;
    if let Some(DistilledBaseReport { output, types, bytes }) = distilled_base {
        console.out.line(
            Line::new()
                .styled(style::GOOD, "written")
                .text(format_args!(": {output}: distilled base: {types} types, {bytes} bytes")),
        )?;
    }
    Ok(())
}
