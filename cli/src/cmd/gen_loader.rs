//! `gen loader`: generates loader programs, and shows loader files.

use crate::{
    args::{format::Format, gen_loader::GenLoaderArgs},
    cmd::load::setup::{check_program_name, object_name, set_up},
    console::Console,
    describe::short_type_name,
    error::{BadInput, escape_path},
    input::{
        image_facts::WantedFacts,
        kernel::{image::KernelImage, source::KernelSource},
        limits::Limits,
        loader_file,
        object::ObjectFile,
    },
    output,
    text::{
        line::Line,
        style::{self, BOLD, DIM},
    },
};
use core_relo::insn::{INSN_BYTES, Slot};
use core_relo_loader::{
    Loader,
    load::LoadError,
    load_plan::{LateBinding, LoadPlanError, TargetKernel},
    loader_program::{LoaderFile, LoaderOptions},
    running_kernel,
    target::KernelBtf,
};
use core_relo_verdict::kernel::KernelInputs;
use serde::Serialize;
use std::{io, path::Path, sync::Arc};

/// The value of `--kernel` for the running kernel.
const RUNNING: &str = "running";

/// A loader file as a JSON line.
#[derive(Serialize)]
struct LoaderJson<'f> {
    file: String,
    object: &'f str,
    bytes: usize,
    instructions: usize,
    data_bytes: usize,
    kernel: Option<&'f str>,
    checks_data: bool,
    signature_bytes: Option<usize>,
    maps: Vec<MapJson<'f>>,
    programs: Vec<ProgramJson<'f>>,
    insns: Vec<String>,
}

#[derive(Serialize)]
struct MapJson<'f> {
    name: &'f str,
    map_type: String,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    entry_per_cpu: bool,
}

#[derive(Serialize)]
struct ProgramJson<'f> {
    name: &'f str,
    program_type: &'static str,
    section: &'f str,
}

pub(crate) fn run(console: &mut Console<'_>, args: &GenLoaderArgs) -> io::Result<()> {
    let result = if args.show { read(args) } else { generate(args) };
    match result {
        Ok((name, file, bytes)) => report(console, args, name, &file, bytes),
        Err(bad) => console.report_error(&bad),
    }
}

/// Reads a loader file. Returns the path, the file and its size.
fn read(args: &GenLoaderArgs) -> Result<(String, LoaderFile, usize), BadInput> {
    let input = ObjectFile::read(&args.file)?;
    let file = loader_file::parse(&input)?;
    Ok((input.name.clone(), file, input.bytes().len()))
}

/// Writes a loader file. Returns the path, the file and its size.
fn generate(args: &GenLoaderArgs) -> Result<(String, LoaderFile, usize), BadInput> {
    let input = ObjectFile::read(&args.file)?;
    let bad = |what: String| BadInput::new(&*input.name, what);
    let no_output = || BadInput::new("-o", "no output file, expected a path");
    let output = args.output.as_deref().ok_or_else(no_output)?;
    output::refuse_inputs([&*args.file], output, "name another file with -o")?;
    let object = input.parse()?;
    let name = object_name(&args.file);
    let mut loader = Loader::for_kernel(&object, target_kernel(args.kernel.as_deref())?).name(&name);
    set_up(&mut loader, &input, &args.setup)?;
    for program in &args.program {
        check_program_name(&input, &object, program)?;
    }
    if !args.program.is_empty() {
        loader.select_programs(args.program.iter().map(String::as_str));
    }
    let without_prefix = |text: String| {
        let rest = text.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(": "));
        rest.map_or(text.clone(), str::to_owned)
    };
    let plan = loader.plan().map_err(|e| {
        let bad = bad(without_prefix(e.to_string()));
        match e {
            LoadError::Plan { cause: LoadPlanError::Externs(_), .. } if args.kernel.is_none() => {
                bad.help("the configuration is that of one kernel: name the kernel with --kernel")
            }
            _ => bad,
        }
    })?;
    let kernel = args.kernel.as_deref().map(escape_path).unwrap_or_default();
    let options = LoaderOptions { checks_data: args.signable, relocated_for: kernel };
    let file = LoaderFile::generate(&plan, &options).map_err(|e| bad(e.to_string()))?;
    let bytes = file.write().map_err(|e| bad(e.to_string()))?;
    output::write(output, &bytes)?;
    Ok((escape_path(output), file, bytes.len()))
}

/// Returns the kernel to plan for.
fn target_kernel(path: Option<&Path>) -> Result<TargetKernel, BadInput> {
    let Some(path) = path else { return Ok(TargetKernel::unknown()) };
    let mut target = if path.as_os_str() == RUNNING {
        running_kernel()
    } else {
        let wanted = WantedFacts { version_and_kconfig: true, symbols: false };
        let source = KernelSource::File { path: path.to_path_buf(), base: None, is_listed: false };
        let kernel = KernelImage::open(&source, &[], Limits::default())?.parse_with_facts(wanted)?;
        let facts = kernel.inputs(&KernelInputs::default(), wanted);
        let btf = KernelBtf::from_btf(Arc::clone(&kernel.target.vmlinux().btf), []);
        let mut target = TargetKernel::offline(Arc::new(btf));
        if let Some(version) = facts.version {
            // `KERNEL_VERSION`, in which the patch level has one byte.
            let [major, minor] = [version.major, version.minor].map(u32::from);
            target.kernel_version = (major << 16) | (minor << 8) | u32::from(version.patch.min(255));
        }
        if let Some(kconfig) = facts.kconfig {
            target.kconfig = Some(kconfig);
        }
        target
    };
    target.late_binding = LateBinding::Names;
    Ok(target)
}

/// Reports a file that was written or read.
fn report(
    console: &mut Console<'_>,
    args: &GenLoaderArgs,
    name: String,
    file: &LoaderFile,
    bytes: usize,
) -> io::Result<()> {
    let insns = if args.insns { disassemble(file) } else { Vec::new() };
    if console.format == Format::Json {
        return console.out.json(&json(name, file, bytes, insns));
    }
    let count = file.instructions().len() / INSN_BYTES;
    let summary = format!(
        "{} maps, {} programs, {count} instructions, {} bytes of data",
        file.maps().len(),
        file.programs().len(),
        file.data().len()
    );
    if !args.show {
        let line = Line::new().styled(style::GOOD, "written");
        return console.out.line(line.text(format_args!(": {name}: {summary}, {bytes} bytes")));
    }
    console.out.line(
        Line::new().styled(BOLD, name).text(format_args!(": loader program of `{}`: {summary}", file.name())),
    )?;
    let kernel = file
        .relocated_for()
        .map_or_else(|| "by the kernel that executes it".to_owned(), |kernel| format!("for {kernel}"));
    console.out.line(format_args!("  relocated  {kernel}"))?;
    let checks = if file.checks_data() { "checks the hash of its data" } else { "does not check its data" };
    let signature = file.signatures().map_or("unsigned".to_owned(), |signatures| {
        format!("signature of {} bytes, not verified here", signatures.instructions.len())
    });
    console.out.line(format_args!("  signature  {signature}; {checks}"))?;
    for map in file.maps() {
        let kind = map.known_type().map_or("?".into(), |kind| short_type_name(kind.name()));
        let line = Line::new().text("  map      ").column(24, &map.name).text(" ").column(16, kind);
        let attributes = &map.attributes;
        let entries = if map.entry_per_cpu {
            "one for each CPU".to_owned()
        } else {
            attributes.max_entries.to_string()
        };
        let (key, value) = (attributes.key_size, attributes.value_size);
        console.out.line(line.text(format_args!(" key {key}, value {value}, entries {entries}")))?;
    }
    for program in file.programs() {
        let kind = short_type_name(program.program_type.name());
        let line = Line::new().text("  program  ").column(24, &program.name).text(" ").column(16, kind);
        console.out.line(line.text(format_args!(" section {}", program.section)))?;
    }
    insns.iter().try_for_each(|insn| console.out.line(Line::new().styled(DIM, "  ").text(insn)))
}

/// Returns the lines of the instructions.
fn disassemble(file: &LoaderFile) -> Vec<String> {
    let (mut lines, mut index) = (Vec::new(), 0_usize);
    let mut rest = file.instructions();
    while let Some(slot) = Slot::decode(file.endian(), rest) {
        lines.push(format!("{index:5}: {slot}"));
        let halves = if slot.second().is_some() { 2 } else { 1 };
        index = index.saturating_add(halves);
        rest = rest.get(INSN_BYTES.saturating_mul(halves)..).unwrap_or(&[]);
    }
    lines
}

fn json(name: String, file: &LoaderFile, bytes: usize, insns: Vec<String>) -> LoaderJson<'_> {
    let maps = file.maps().iter().map(|map| MapJson {
        name: &map.name,
        map_type: map
            .known_type()
            .map_or_else(|| map.attributes.map_type.to_string(), |kind| kind.name().to_owned()),
        key_size: map.attributes.key_size,
        value_size: map.attributes.value_size,
        max_entries: map.attributes.max_entries,
        map_flags: map.attributes.map_flags,
        entry_per_cpu: map.entry_per_cpu,
    });
    let programs = file.programs().iter().map(|program| ProgramJson {
        name: &program.name,
        program_type: program.program_type.name(),
        section: &program.section,
    });
    LoaderJson {
        file: name,
        object: file.name(),
        bytes,
        instructions: file.instructions().len() / INSN_BYTES,
        data_bytes: file.data().len(),
        kernel: file.relocated_for(),
        checks_data: file.checks_data(),
        signature_bytes: file.signatures().map(|signatures| signatures.instructions.len()),
        maps: maps.collect(),
        programs: programs.collect(),
        insns,
    }
}
