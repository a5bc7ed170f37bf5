//! `gen loader`: generates loader programs, and shows loader files.

mod report;
mod target;

use crate::{
    args::gen_loader::GenLoaderArgs,
    cmd::load::{
        adaptive::declares_variants,
        setup::{check_program_name, object_name, set_up},
    },
    console::Console,
    error::{BadInput, escape_path},
    input::{loader_file, object::ObjectFile},
    output,
    plan_error::{RefusedExterns, group_externs},
};
use core_relo_loader::{
    Loader,
    load::LoadError,
    load_plan::LoadPlanError,
    loader_program::{LoaderFile, LoaderOptions},
    object::Object,
};
use report::report;
use std::io;
use target::LoaderTarget;

pub(crate) fn run(console: &mut Console<'_>, args: &GenLoaderArgs) -> io::Result<()> {
    let result = if args.show { read(args) } else { generate(console, args)? };
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
fn generate(
    console: &mut Console<'_>,
    args: &GenLoaderArgs,
) -> io::Result<Result<(String, LoaderFile, usize), BadInput>> {
    let target = match LoaderTarget::read(args) {
        Ok(target) => target,
        Err(bad) => return Ok(Err(bad)),
    };
    target.warning.iter().try_for_each(|warning| console.warn(&format!("{}: {warning}", target.name)))?;
    let input = match ObjectFile::read(&args.file) {
        Ok(input) => input,
        Err(bad) => return Ok(Err(bad)),
    };
    let object = match input.parse() {
        Ok(object) => object,
        Err(bad) => return Ok(Err(bad)),
    };
    let generated = generate_from((&input, &object), target, args);
    if generated.is_ok() && args.program.is_empty() && declares_variants(&object) {
        let note = "the object declares variants: the file has the default programs, nothing chooses among the variants; \
                    `load --adaptive` chooses among those of the object";
        console.note(&format!("{}: {note}", input.name))?;
    }
    Ok(generated)
}

fn generate_from(
    (input, object): (&ObjectFile, &Object<'_>),
    target: LoaderTarget,
    args: &GenLoaderArgs,
) -> Result<(String, LoaderFile, usize), BadInput> {
    let bad = |what: String| BadInput::new(&*input.name, what);
    let no_output = || BadInput::new("-o", "no output file, expected a path");
    let output = args.output.as_deref().ok_or_else(no_output)?;
    output::refuse_inputs([&*args.file], output, "name another file with -o")?;
    let name = object_name(&args.file);
    let mut loader = Loader::for_kernel(object, target.kernel.clone()).name(&name);
    set_up(&mut loader, input, &args.setup)?;
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
        e => bad(e.without_object()),
    })?;
    let options = LoaderOptions { checks_data: args.signable, relocated_for: target.name };
    let file = LoaderFile::generate(&plan, &options).map_err(|e| bad(e.to_string()))?;
    let bytes = file.write().map_err(|e| bad(e.to_string()))?;
    output::write(output, &bytes)?;
    Ok((escape_path(output), file, bytes.len()))
}
