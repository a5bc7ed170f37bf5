//! `gen loader`: generates loader programs, and shows loader files.

mod report;
mod signature;
mod target;

use crate::{
    args::gen_loader::GenLoaderArgs,
    cmd::load::setup::set_up,
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    input::{
        loader_file,
        object::{ObjectFile, object_name},
        variant_table::unchosen_note,
    },
    output,
    plan_error::{RefusedExterns, group_externs, in_one_line, load_message, zero_extend_help},
    policy::Config,
    settings::check_program_name,
};
use core_relo::plan::Options;
use core_relo_loader::{
    Loader,
    load::LoadError,
    load_plan::LoadPlanError,
    loader_program::{LoaderFile, LoaderOptions},
};
use core_relo_verdict::loaders::LoaderKind;
use report::report;
use target::LoaderTarget;

/// A loader file that was written or read.
struct NamedLoaderFile {
    path: String,
    file: LoaderFile,
    bytes: usize,
}

pub(crate) fn run(console: &mut Console<'_>, args: &GenLoaderArgs) -> CommandResult {
    let NamedLoaderFile { path, file, bytes } = if args.show {
        read(args)?
    } else if args.signature.is_empty() {
        generate(console, args)?
    } else {
        signature::add_signatures(args)?
    };
    signature::write_bytes_to_sign(args, &file)?;
    Ok(report(console, args, path, &file, bytes)?)
}

fn read(args: &GenLoaderArgs) -> Result<NamedLoaderFile, BadInput> {
    let input = ObjectFile::read(&args.file)?;
    let file = loader_file::parse(&input)?;
    Ok(NamedLoaderFile { path: input.name.clone(), file, bytes: input.bytes().len() })
}

fn no_output() -> BadInput {
    BadInput::new("-o", "no output file, expected a path")
}

/// Writes a loader file, and prints what its user should know.
fn generate(console: &mut Console<'_>, args: &GenLoaderArgs) -> CommandResult<NamedLoaderFile> {
    let target = LoaderTarget::read(args)?;
    target.warning.iter().try_for_each(|warning| console.warn(&format!("{}: {warning}", target.name)))?;
    let Generated { file, notes, warnings } = generate_for(target, args)?;
    warnings.iter().try_for_each(|warning| console.warn(warning))?;
    notes.iter().try_for_each(|note| console.note(note))?;
    Ok(file)
}

/// A generated loader file, and what its user should know.
struct Generated {
    file: NamedLoaderFile,
    /// Notes about the settings of `core-relo.toml` and the variants of the object.
    notes: Vec<String>,
    /// The settings that change nothing.
    warnings: Vec<String>,
}

/// Writes a loader file for a kernel.
fn generate_for(target: LoaderTarget, args: &GenLoaderArgs) -> Result<Generated, BadInput> {
    let input = &ObjectFile::read(&args.file)?;
    let object = &input.parse()?;
    let bad = |what: String| BadInput::new(&*input.name, what);
    let output = args.output.as_ref().ok_or_else(no_output)?;
    let name = object_name(&args.file);
    let mut loader = Loader::for_kernel(object, target.kernel.clone()).name(&name);
    loader.settings_mut().core_options =
        Options::default().zero_extend_unsigned_enums(args.zero_extend_enums);
    let options = &args.setup.settings;
    let load = Config::load_of_project(&args.config, Some(LoaderKind::CoreRelo), options)?;
    let warnings = set_up(&mut loader, input, args.setup.kconfig.as_deref(), &load.user)?;
    for program in &args.program {
        check_program_name(input, object, program)?;
    }
    if !args.program.is_empty() {
        loader.select_programs(args.program.iter().map(String::as_str));
    }
    let plan = loader.plan().map_err(|e| match e {
        LoadError::Plan { cause: LoadPlanError::Externs(refused), .. } => {
            let groups: Vec<_> = group_externs(&refused).iter().map(RefusedExterns::text).collect();
            let plural = if refused.len() == 1 { "" } else { "s" };
            let bad = bad(format!("unresolved extern{plural}: {}", groups.join("; ")));
            target.facts_help(&refused).into_iter().fold(bad, BadInput::help)
        }
        e => zero_extend_help(&e).into_iter().fold(bad(in_one_line(&load_message(&e))), BadInput::help),
    })?;
    let options = LoaderOptions { checks_data: args.signable, relocated_for: target.name };
    let file = LoaderFile::generate(&plan, &options).map_err(|e| bad(e.to_string()))?;
    let bytes = file.write().map_err(|e| bad(e.to_string()))?;
    output::write(output, &bytes)?;
    let note = "the object declares variants: the file has the default programs, nothing chooses among the variants; \
                `load --adaptive` chooses among those of the object";
    let note = args.program.is_empty().then(|| unchosen_note(input, object, note)).flatten();
    let notes = load.user.file_note(input, object).into_iter().chain(note).collect();
    let file = NamedLoaderFile { path: escape_path(output), file, bytes: bytes.len() };
    Ok(Generated { file, notes, warnings })
}
