//! `gen loader`: generates loader programs, and shows loader files.

mod report;
mod target;

use crate::{
    args::gen_loader::GenLoaderArgs,
    cmd::load::setup::{check_program_name, object_name, set_up},
    console::Console,
    error::{BadInput, escape_path},
    input::{loader_file, object::ObjectFile},
    output,
};
use core_relo_loader::{
    Loader,
    load::LoadError,
    load_plan::LoadPlanError,
    loader_program::{LoaderFile, LoaderOptions},
};
use report::report;
use std::io;
use target::LoaderTarget;

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
    let target = LoaderTarget::read(args.kernel.as_deref(), args.page_size)?;
    let mut loader = Loader::for_kernel(&object, target.kernel.clone()).name(&name);
    set_up(&mut loader, &input, &args.setup)?;
    for program in &args.program {
        check_program_name(&input, &object, program)?;
    }
    if !args.program.is_empty() {
        loader.select_programs(args.program.iter().map(String::as_str));
    }
    let plan = loader.plan().map_err(|e| {
        let bad = bad(e.without_object());
        let LoadError::Plan { cause: LoadPlanError::Externs(refused), .. } = e else { return bad };
        match target.externs_help(&refused, args.setup.kconfig.is_some()) {
            Some(help) => bad.help(help),
            None => bad,
        }
    })?;
    let options = LoaderOptions { checks_data: args.signable, relocated_for: target.name };
    let file = LoaderFile::generate(&plan, &options).map_err(|e| bad(e.to_string()))?;
    let bytes = file.write().map_err(|e| bad(e.to_string()))?;
    output::write(output, &bytes)?;
    Ok((escape_path(output), file, bytes.len()))
}
