//! `run`: a test run of one program (`BPF_PROG_TEST_RUN`) on the user's data.

use super::load::{
    report::{end_by_signal, print_log, print_refusal, unknown_name},
    setup::{object_name, set_up},
};
use crate::{
    args::{format::Format, load::RunArgs},
    console::{Console, ExitStatus},
    error::BadInput,
    events::{EventLimits, EventReaders, find_sources, print_events},
    input::{file, limits::MAX_OBJECT_BYTES, object::ObjectFile},
    json::load as json,
    output,
    process::{interrupt::InterruptibleKernel, signals::TerminationSignals},
    text::{
        line::Line,
        style::{BOLD, ERROR},
    },
};
use core_relo_loader::{
    Loader,
    load::LoadError,
    object::ProgramType,
    sys::{self, Errno, TestRun, TestRunResult},
};
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The size of the buffers for output data and context, in bytes.
const OUTPUT_BYTES: usize = 256 * 1024;

/// The default input of programs that take packets.
const DEFAULT_PACKET: [u8; 64] = [0; 64];

pub(crate) fn run(console: &mut Console<'_>, args: &RunArgs) -> io::Result<()> {
    let mut termination = match TerminationSignals::catch() {
        Ok(termination) => termination,
        Err(e) => return console.report_error(&e.into()),
    };
    let mut has_arrived = || termination.has_arrived();
    let kernel = InterruptibleKernel::new(&mut has_arrived);
    let result = test_run(console, args, &kernel);
    if kernel.is_interrupted() {
        return end_by_signal(console, termination);
    }
    // Nothing is loaded any more. A signal may end the process, for example while an output waits for its reader.
    if let Err(e) = termination.release() {
        return console.report_error(&e.into());
    }
    match result {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(outcome))) => report(console, args, &outcome),
        Ok(Err(e)) => Err(e),
        Err(bad) => console.report_error(&bad),
    }
}

/// The result of a test run, with the output data and context.
pub(super) struct TestRunOutcome {
    object: String,
    result: TestRunResult,
    data: Vec<u8>,
    context: Vec<u8>,
}

/// Loads the program and runs it. Returns `None` if a signal arrived, or after the report that the kernel refused the program.
///
/// The outer error is bad input. The inner error is that of writing the report.
pub(super) fn test_run(
    console: &mut Console<'_>,
    args: &RunArgs,
    kernel: &InterruptibleKernel<'_>,
) -> Result<io::Result<Option<TestRunOutcome>>, BadInput> {
    let file = ObjectFile::read(&args.object)?;
    let object = file.parse()?;
    let mut loader = Loader::new(&object).name(object_name(&args.object));
    set_up(&mut loader, &file, &args.setup)?;
    let events = find_sources(&file.name, &object, &args.events.print)?;
    let input =
        |path: &Option<_>| path.as_ref().map(|path: &PathBuf| file::read(path, MAX_OBJECT_BYTES)).transpose();
    let (data_in, ctx_in) = (input(&args.data_in)?, input(&args.ctx_in)?);
    let ctx_in = ctx_in.as_deref().unwrap_or_default();
    loader.select_programs([args.program.as_str()]);
    let loaded = match loader.plan().and_then(|plan| loader.execute_unpinned(&plan, kernel)) {
        _ if kernel.check_interrupted() => return Ok(Ok(None)),
        Ok(loaded) => loaded,
        Err(e) => {
            return match unknown_name(&file.name, &e) {
                Some(bad) => Err(bad),
                None => Ok(report_refusal(console, args, &file.name, &e).map(|()| None)),
            };
        }
    };
    let mut events = match &*events {
        [] => None,
        sources => Some(EventReaders::open(&loaded, sources)?),
    };
    let Some(program) = loaded.program(&args.program) else {
        return Err(BadInput::new(&*file.name, format!("has no program `{}`", args.program)));
    };
    let takes_packets = takes_packets(program.plan.program_type());
    let default_data: &[u8] = if takes_packets { &DEFAULT_PACKET } else { &[] };
    let (mut data_out, mut ctx_out) = (vec![0; OUTPUT_BYTES], vec![0; OUTPUT_BYTES]);
    let wants_data = takes_packets || data_in.is_some();
    let mut request = TestRun {
        data_in: data_in.as_deref().unwrap_or(default_data),
        data_out: if wants_data { &mut data_out } else { &mut [] },
        ctx_in,
        ctx_out: if args.ctx_out.is_some() { &mut ctx_out } else { &mut [] },
        repeat: if args.repeat > 1 { args.repeat } else { 0 },
        ..TestRun::default()
    };
    match sys::prog_test_run(program, &mut request) {
        Ok(result) => {
            if let Some(readers) = &mut events {
                let limits = EventLimits::new(&args.events, Some(Duration::ZERO));
                let printed = print_events(console, readers, limits, &mut || kernel.check_interrupted());
                if let Err(e) = printed {
                    return Ok(Err(e));
                }
            }
            let object = file.name.clone();
            Ok(Ok(Some(TestRunOutcome { object, result, data: data_out, context: ctx_out })))
        }
        // A signal stops a test run with many repetitions.
        Err(_) if kernel.check_interrupted() => Ok(Ok(None)),
        Err(errno) => {
            let help = refusal_help(errno, program.plan.program_type());
            let what = format!("program `{}`: cannot be run: {errno}", args.program);
            Err(BadInput::new(&*file.name, what).help(help))
        }
    }
}

/// Writes the outputs and prints the result.
fn report(console: &mut Console<'_>, args: &RunArgs, outcome: &TestRunOutcome) -> io::Result<()> {
    let TestRunOutcome { object, result, data, context } = outcome;
    let written = write_output(args.data_out.as_deref(), data, result.data_len)
        .and_then(|()| write_output(args.ctx_out.as_deref(), context, result.ctx_len));
    if let Err(bad) = written {
        return console.report_error(&bad);
    }
    if console.format == Format::Json {
        let line = json::RunOutcome {
            object,
            program: &args.program,
            status: "ran",
            retval: result.retval,
            duration_ns: u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX),
            repeat: args.repeat,
            data_len: result.data_len,
            ctx_len: result.ctx_len,
            truncated: result.truncated,
        };
        return console.out.json(&line);
    }
    let (retval, duration) = (result.retval, result.duration);
    let signed = retval.cast_signed();
    let signed_text = if signed < 0 { format!(" ({signed})") } else { String::new() };
    let times = if args.repeat > 1 { format!(", mean of {} runs", args.repeat) } else { String::new() };
    let rest = format!(" returned {retval}{signed_text} in {duration:?}{times}");
    console.out.line(Line::new().styled(BOLD, &args.program).text(rest))
}

fn report_refusal(console: &mut Console<'_>, args: &RunArgs, object: &str, e: &LoadError) -> io::Result<()> {
    console.raise_exit(ExitStatus::Incompatible);
    if console.format == Format::Json {
        let wants_log = args.setup.verifier_log > 0;
        return console.out.json(&json::refused(object, Some(&args.program), e, wants_log, None));
    }
    let name = Line::new().styled(ERROR, "refused").text(format_args!("  {object}: "));
    print_refusal(&mut console.out, name, e, Path::new(object))?;
    match e.verifier_log() {
        Some(log) if args.setup.verifier_log > 0 => print_log(&mut console.out, log),
        _ => Ok(()),
    }
}

/// Returns whether a test run of this program type needs a packet.
fn takes_packets(program_type: ProgramType) -> bool {
    use ProgramType as P;
    matches!(
        program_type,
        P::SocketFilter
            | P::SchedCls
            | P::SchedAct
            | P::Xdp
            | P::CgroupSkb
            | P::LwtIn
            | P::LwtOut
            | P::LwtXmit
            | P::LwtSeg6local
            | P::FlowDissector
            | P::SkSkb
    )
}

/// Returns the help for a test run that the kernel refused.
fn refusal_help(errno: Errno, program_type: ProgramType) -> String {
    match errno.name() {
        Some("ENOTSUPP" | "EOPNOTSUPP") => {
            format!("this kernel has no test run for programs of type {program_type}")
        }
        Some("EINVAL") => {
            "the program type does not accept this data, context or number of runs: see --data-in, --ctx-in, --repeat"
                .into()
        }
        Some("EPERM") => "needs CAP_BPF, and CAP_NET_ADMIN or CAP_PERFMON".into(),
        _ => "see BPF_PROG_TEST_RUN in the kernel's documentation".into(),
    }
}

/// Writes the first `len` bytes to a file, if there is a path.
fn write_output(path: Option<&Path>, bytes: &[u8], len: u32) -> Result<(), BadInput> {
    let Some(path) = path else { return Ok(()) };
    // The kernel also reports lengths beyond the buffer, whose data it cuts off.
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    output::write(path, bytes.get(..len).unwrap_or(bytes))
}
