//! Fuzzing entry points: functions that read untrusted files, without a command line and without output.

use crate::{
    args::{gen_loader::GenLoaderArgs, load::SetupArgs},
    cmd::{
        check::{results_file::ResultsFile, results_header::ResultsHeader},
        gen_loader,
    },
    console::{Console, ExitStatus},
    error::BadInput,
    format::Format,
    input::kernel_args::KernelArgs,
    policy::ConfigArgs,
    text::printer::Printer,
};
use core_relo::btf::{Type, Value};
use core_relo_kernels::{KernelSelection, Note, WantedFacts};
use std::{io, ops::ControlFlow, path::Path};

/// Reads the kernels in a file, as `check --btf PATH --max-bytes N` does. Returns the size of each kernel's
/// BTF in bytes, or the error message. A file whose name ends in `.tar` is an archive.
pub fn read_kernels(path: &Path, max_bytes: u64) -> Vec<Result<usize, String>> {
    let args = KernelArgs { btf: vec![path.to_owned()], max_bytes: Some(max_bytes), ..KernelArgs::default() };
    let selection = KernelSelection::new(&args.paths());
    let mut found: Vec<_> =
        selection.errors.iter().map(|error| Err(BadInput::from(error).to_string())).collect();
    for source in &selection.sources {
        let wanted = WantedFacts { version_and_kconfig: true, symbols: true, ..WantedFacts::default() };
        let _note: Option<Note> = selection.visit_images(source, &|_| true, &mut |_, image| {
            let kernel = image.and_then(|image| image.parse_with_facts(wanted));
            let size = kernel.map(|kernel| kernel.target.vmlinux().btf.as_bytes().len());
            found.push(size.map_err(|error| BadInput::from(error).to_string()));
            ControlFlow::Continue(())
        });
    }
    found
}

/// Opens a results file as `check --resume PATH` does. The objects are pairs of name and content. Returns the
/// number of kernels with results in the file.
pub fn open_results(path: &Path, objects: &[(&str, &[u8])]) -> Result<usize, String> {
    let header = ResultsHeader::new(objects.iter().copied());
    let (_results, previous) = ResultsFile::open(path, &header).map_err(|bad| bad.to_string())?;
    Ok(previous.kernel_count())
}

/// Shows a loader file as `gen loader --show PATH --insns` does, as text or with `--format json`. Returns
/// standard output, or the error message.
pub fn show_loader_file(path: &Path, is_json: bool) -> io::Result<Result<String, String>> {
    let format = if is_json { Format::Json } else { Format::Text };
    let args = GenLoaderArgs {
        signature: Vec::new(),
        bytes_to_sign: Vec::new(),
        file: path.to_owned(),
        output: None,
        kernel: None,
        kernel_version: None,
        page_size: None,
        zero_extend_enums: false,
        signable: false,
        program: Vec::new(),
        show: true,
        insns: true,
        setup: SetupArgs::default(),
        config: ConfigArgs::default(),
        format,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: Printer::new(&mut out, false),
        err: Printer::new(&mut err, false),
        format,
        exit: ExitStatus::Success,
        batch_line: None,
    };
    gen_loader::run(&mut console, &args).or_else(|error| console.report(error))?;
    let exit = console.exit;
    let text = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
    Ok(if exit == ExitStatus::Success { Ok(text(out)?) } else { Err(text(err)?) })
}

/// Returns a type as JSON, as `btf dump --format json` prints it.
pub fn type_to_json(ty: Type<'_>) -> serde_json::Result<String> {
    serde_json::to_string(&ty)
}

/// Returns a value as JSON, as `map dump --format json` prints it, or the error message.
pub fn value_to_json(value: &Value<'_>) -> Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}
