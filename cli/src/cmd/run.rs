//! `run`: one program, run by the kernel on data of the caller's.

use super::{
    load::{interrupted, no_such, print_log, print_refusal, set_up, stem},
    load_json,
};
use crate::{
    app::{App, Exit},
    args::Format,
    args_load::Run,
    error::BadInput,
    input::{file, object::ObjectFile},
    interrupt::Interruptible,
    line::Line,
    output,
    render::style::{BOLD, ERROR},
    signals::EndRequests,
};
use core_relo_loader::{
    Loader,
    load::LoadError,
    object::ProgramType,
    sys::{self, Errno, TestRun, TestRunResult},
};
use std::{io, path::Path};

/// Room for what a program makes of its data and context.
const ROOM: usize = 256 * 1024;
/// What a program that takes packets gets if nothing is given: the least that is one.
const PACKET: [u8; 64] = [0; 64];

pub(crate) fn run(app: &mut App<'_>, args: &Run) -> io::Result<()> {
    let mut end_requests = EndRequests::catch()?;
    let mut has_arrived = || end_requests.arrived();
    let kernel = Interruptible::new(&mut has_arrived);
    let result = prepared(app, args, &kernel);
    if kernel.is_interrupted() {
        return interrupted(app, end_requests);
    }
    // Nothing is left to undo: a signal ends the process, also while an output waits for its reader.
    end_requests.release()?;
    match result {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(ran))) => report(app, args, &ran),
        Ok(Err(e)) => Err(e),
        Err(bad) => app.fail(&bad),
    }
}

/// What a test run left.
pub(super) struct Ran {
    object: String,
    result: TestRunResult,
    data: Vec<u8>,
    context: Vec<u8>,
}

/// Loads the program and runs it. Returns nothing if a signal arrived, or if the program is refused, which is reported.
pub(super) fn prepared(
    app: &mut App<'_>,
    args: &Run,
    kernel: &Interruptible<'_>,
) -> Result<io::Result<Option<Ran>>, BadInput> {
    let file = ObjectFile::read(&args.object)?;
    let object = file.parse()?;
    let mut loader = Loader::new(&object).name(stem(&args.object));
    set_up(&mut loader, &file, &args.setup)?;
    let input = |path: &Option<_>| {
        path.as_ref().map(|p: &std::path::PathBuf| file::read(p, file::OBJECT_BYTES)).transpose()
    };
    let (data_in, ctx_in) = (input(&args.data_in)?, input(&args.ctx_in)?);
    let ctx_in = ctx_in.as_deref().unwrap_or_default();
    loader.select_programs([args.program.as_str()]);
    let loaded = match loader.plan().and_then(|plan| loader.load_unpinned(&plan, kernel)) {
        _ if kernel.look() => return Ok(Ok(None)),
        Ok(loaded) => loaded,
        Err(e) => {
            return match no_such(&file.name, &e) {
                Some(bad) => Err(bad),
                None => Ok(refused(app, args, &file.name, &e).map(|()| None)),
            };
        }
    };
    let Some(program) = loaded.program(&args.program) else {
        return Err(BadInput::new(&*file.name, format!("has no program `{}`", args.program)));
    };
    let takes_packets = takes_packets(program.plan.program_type);
    let default: &[u8] = if takes_packets { &PACKET } else { &[] };
    let (mut data_out, mut ctx_out) = (vec![0; ROOM], vec![0; ROOM]);
    let wants_data = takes_packets || data_in.is_some();
    let mut test = TestRun {
        data_in: data_in.as_deref().unwrap_or(default),
        data_out: if wants_data { &mut data_out } else { &mut [] },
        ctx_in,
        ctx_out: if args.ctx_out.is_some() { &mut ctx_out } else { &mut [] },
        repeat: if args.repeat > 1 { args.repeat } else { 0 },
        ..TestRun::default()
    };
    let ran = sys::prog_test_run(program, &mut test);
    match ran {
        Ok(result) => {
            Ok(Ok(Some(Ran { object: file.name.clone(), result, data: data_out, context: ctx_out })))
        }
        // The kernel stops a test run of many rounds when a signal arrives.
        Err(_) if kernel.look() => Ok(Ok(None)),
        Err(errno) => {
            let help = hint(errno, program.plan.program_type);
            let what = format!("program `{}`: cannot be run: {errno}", args.program);
            Err(BadInput::new(&*file.name, what).help(help))
        }
    }
}

/// Writes the outputs and prints the result.
fn report(app: &mut App<'_>, args: &Run, ran: &Ran) -> io::Result<()> {
    let Ran { object, result: done, data, context } = ran;
    let written = write(args.data_out.as_deref(), data, done.data_len)
        .and_then(|()| write(args.ctx_out.as_deref(), context, done.ctx_len));
    if let Err(bad) = written {
        return app.fail(&bad);
    }
    if app.format == Format::Json {
        let ran = load_json::Ran {
            object,
            program: &args.program,
            status: "ran",
            retval: done.retval,
            duration_ns: u64::try_from(done.duration.as_nanos()).unwrap_or(u64::MAX),
            repeat: args.repeat,
            data_len: done.data_len,
            ctx_len: done.ctx_len,
            truncated: done.truncated,
        };
        return app.out.json(&ran);
    }
    let (retval, duration) = (done.retval, done.duration);
    let signed = retval.cast_signed();
    let alias = if signed < 0 { format!(" ({signed})") } else { String::new() };
    let times = if args.repeat > 1 { format!(", mean of {} runs", args.repeat) } else { String::new() };
    let rest = format!(" returned {retval}{alias} in {duration:?}{times}");
    app.out.line(Line::new().styled(BOLD, &args.program).text(rest))
}

fn refused(app: &mut App<'_>, args: &Run, object: &str, e: &LoadError) -> io::Result<()> {
    app.end_with(Exit::Unresolved);
    if app.format == Format::Json {
        let wants_log = args.setup.verifier_log > 0;
        return app.out.json(&load_json::refused(object, Some(&args.program), e, wants_log));
    }
    let name = Line::new().styled(ERROR, "refused").text(format_args!("  {object}: "));
    print_refusal(&mut app.out, name, e, Path::new(object))?;
    match e.verifier_log() {
        Some(log) if args.setup.verifier_log > 0 => print_log(&mut app.out, log),
        _ => Ok(()),
    }
}

/// Programs whose test run has to be given a packet.
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

fn hint(errno: Errno, program_type: ProgramType) -> String {
    match errno.name() {
        Some("ENOTSUPP" | "EOPNOTSUPP") => {
            format!("programs of type {program_type} have no test run on this kernel")
        }
        Some("EINVAL") => {
            "this program type takes other data, context or repetitions: see --data-in, --ctx-in, --repeat"
                .into()
        }
        Some("EPERM") => "needs CAP_BPF, and CAP_NET_ADMIN or CAP_PERFMON".into(),
        _ => "see BPF_PROG_TEST_RUN in the kernel's documentation".into(),
    }
}

fn write(path: Option<&Path>, bytes: &[u8], len: u32) -> Result<(), BadInput> {
    let Some(path) = path else { return Ok(()) };
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len());
    output::write(path, bytes.get(..len).unwrap_or_default())
}
