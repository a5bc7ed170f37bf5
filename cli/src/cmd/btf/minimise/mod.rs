//! `btf min`: the part of kernels' BTF that objects need, as a file or an archive.

mod archive;
mod kernels;
mod report;

use crate::{
    args::btf::BtfMinArgs,
    cmd::verdicts::objects::{JudgedObjects, ObjectFiles, REPORT_BAD, with_judged_objects},
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    output,
    settings::UserSettings,
};
use core_relo_kernels::threads::Threads;
use core_relo_verdict::loaders::LoaderKind;
use kernels::{MinimalKernel, minimise_kernels};
use report::{MinimalKernelJson, write_report};

pub(super) fn run(console: &mut Console<'_>, args: &BtfMinArgs) -> CommandResult {
    let threads = Threads::none();
    let files = ObjectFiles::read(console, &args.objects, &threads, REPORT_BAD)?;
    let user = UserSettings::default();
    let loader = LoaderKind::CoreRelo;
    with_judged_objects(console, &files, loader, &user, &threads, |console, objects| {
        minimise(console, args, objects)
    })
}

fn minimise(console: &mut Console<'_>, args: &BtfMinArgs, objects: &JudgedObjects<'_>) -> CommandResult {
    for object in objects.fleet.objects() {
        if let Err(error) = &object.needs {
            console.report_error(&BadInput::new(&*object.data.file.name, error))?;
        }
    }
    let mut without = objects.fleet.objects().iter().filter(|object| object.relocs.records().is_empty());
    if let Some(first) = without.next() {
        let (count, name) = (without.count() + 1, &first.data.file.name);
        console.note(&format!("objects without CO-RE relocations: {count} ({name}, …)"))?;
    }
    // Objects that cannot be read have been reported.
    if objects.fleet.objects().is_empty() || console.exit == ExitStatus::Error {
        return Ok(());
    }
    let kernels = minimise_kernels(console, args, objects)?;
    if console.exit == ExitStatus::Error {
        return Ok(());
    }
    output::write(&args.output, &encode(args, &kernels)?)?;
    match args.format {
        Format::Json => {
            Ok(kernels.iter().try_for_each(|kernel| console.out.json(&MinimalKernelJson::new(kernel)))?)
        }
        Format::Text => Ok(write_report(console, &escape_path(&args.output), &kernels)?),
    }
}

/// Returns the bytes of the output file: an archive, or the BTF of the only kernel.
fn encode(args: &BtfMinArgs, kernels: &[MinimalKernel]) -> Result<Vec<u8>, BadInput> {
    if output::is_output_archive_name(&args.output) {
        return archive::encode(kernels).map_err(|e| BadInput::for_path(&args.output, e));
    }
    match kernels {
        [kernel] => match kernel.modules.first() {
            None => Ok(kernel.bytes.clone()),
            Some(module) => {
                let what = format!(
                    "types of module {} are needed, which a file of raw BTF cannot have",
                    module.name
                );
                Err(BadInput::new(&*kernel.name, what)
                    .help("for an archive with modules, end the name of OUT with .tar.gz"))
            }
        },
        _ => {
            let what = format!("a file of raw BTF is for one kernel: found {}, expected 1", kernels.len());
            Err(BadInput::for_path(&args.output, what).help("for an archive, end the name with .tar.gz"))
        }
    }
}
