//! `run`: a test run of one program (`BPF_PROG_TEST_RUN`) on the user's data.

use super::{
    load::{
        report::{end_by_signal, print_load_refusal, print_log, unknown_name},
        running_target,
        setup::{set_up, set_up_loading},
    },
    test_run::{RefusedRun, RunProgram, TestRunInput, TestRunOutput, refusal_help},
};
use crate::{
    args::load::RunArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandError, CommandResult, escape_path},
    events::{EventLimits, EventReaders, find_sources, print_events},
    format::Format,
    input::object::{ObjectFile, object_name},
    json::load as json,
    process::{interrupt::InterruptibleKernel, signals::TerminationSignals},
    settings::UserSettings,
    text::{line::Line, style::ERROR},
};
use core_relo_loader::{Loader, load::LoadError};
use std::{io, os::fd::AsFd as _, time::Duration};

pub(crate) fn run(console: &mut Console<'_>, args: &RunArgs) -> CommandResult {
    let mut termination = TerminationSignals::catch()?;
    let mut has_arrived = || termination.has_arrived();
    let kernel = InterruptibleKernel::new(&mut has_arrived);
    let result = test_run(console, args, &kernel);
    if kernel.is_interrupted() {
        return end_by_signal(console, termination);
    }
    // Nothing is loaded any more. A signal may end the process, for example while an output waits for its
    // reader.
    termination.release()?;
    match result {
        Ok(None) => Ok(()),
        Ok(Some(FinishedRun { object, btf_refusal, output })) => {
            let btf_refusal = btf_refusal.as_deref();
            let program =
                RunProgram { object: Some(&object), prog_id: None, name: &args.program, btf_refusal };
            Ok(output.report(console, &program, &args.test)?)
        }
        Err(CommandError::BadInput(bad)) => {
            Ok(console.report_load_error(&escape_path(&args.object), &bad.for_program(&args.program))?)
        }
        Err(e) => Err(e),
    }
}

/// A test run of an object's program.
pub(super) struct FinishedRun {
    object: String,
    /// The reason why the object was loaded without BTF.
    btf_refusal: Option<String>,
    output: TestRunOutput,
}

/// Loads the program and runs it. Returns `None` if a signal arrived, or after the report that the kernel
/// refused the program.
pub(super) fn test_run(
    console: &mut Console<'_>,
    args: &RunArgs,
    kernel: &InterruptibleKernel<'_>,
) -> CommandResult<Option<FinishedRun>> {
    let file = ObjectFile::read(&args.object)?;
    let object = file.parse()?;
    let target = running_target(args.relocate_against.as_deref())?;
    let mut loader = Loader::for_kernel(&object, target).name(object_name(&args.object));
    loader.settings_mut().core_options = args.relocation.options();
    let settings = UserSettings::new(&args.setup.settings)?;
    let warnings = set_up(&mut loader, &file, args.setup.kconfig.as_deref(), &settings)?;
    warnings.iter().try_for_each(|warning| console.warn(warning))?;
    set_up_loading(&mut loader, &args.loading)?;
    let events = find_sources(&file.name, &object, &args.events.print)?;
    let input = TestRunInput::read(&args.test)?;
    loader.select_programs([args.program.as_str()]);
    let loaded = match loader.plan().and_then(|plan| loader.execute_unpinned(&plan, kernel)) {
        _ if kernel.check_interrupted() => return Ok(None),
        Ok(loaded) => loaded,
        Err(e) => match unknown_name(&file.name, &e) {
            Some(bad) => return Err(bad.into()),
            None => {
                report_refusal(console, args, &file.name, &e)?;
                return Ok(None);
            }
        },
    };
    let mut events = match &*events {
        [] => None,
        sources => Some(EventReaders::open(&loaded, sources)?),
    };
    let Some(program) = loaded.program(&args.program) else {
        return Err(BadInput::new(&*file.name, format!("has no program `{}`", args.program)).into());
    };
    let program_type = program.plan.program_type();
    match input.run(program.as_fd(), Some(program_type), &args.test) {
        Ok(output) => {
            if let Some(readers) = &mut events {
                let limits =
                    EventLimits::new(args.events.count, args.events.timeout.or(Some(Duration::ZERO)));
                print_events(console, readers, limits, &mut || kernel.check_interrupted())?;
            }
            let btf_refusal = loaded.btf_refusal().map(str::to_owned);
            Ok(Some(FinishedRun { object: file.name.clone(), btf_refusal, output }))
        }
        // A signal stops a test run with many repetitions.
        Err(_) if kernel.check_interrupted() => Ok(None),
        Err(errno) => {
            let refused = RefusedRun {
                program_type: program_type.number(),
                attach_type: program.plan.attach_type(),
                flags: program.plan.flags(),
                may_have_frags: false,
            };
            let help = refusal_help(errno, refused, &input, &args.test);
            let what = format!("program `{}`: cannot be run: {errno}", args.program);
            Err(BadInput::new(&*file.name, what).help(help).into())
        }
    }
}

fn report_refusal(console: &mut Console<'_>, args: &RunArgs, object: &str, e: &LoadError) -> io::Result<()> {
    console.raise_exit(ExitStatus::Incompatible);
    if console.format == Format::Json {
        let wants_log = args.loading.verifier_log > 0;
        return console.out.json(&json::refused(object, Some(&args.program), e, wants_log, None));
    }
    let name = Line::new().styled(ERROR, "refused").text(format_args!("  {object}: "));
    print_load_refusal(&mut console.out, name, e)?;
    match e.verifier_log() {
        Some(log) if args.loading.verifier_log > 0 => print_log(&mut console.out, log),
        _ => Ok(()),
    }
}
