//! Test runs of programs (`BPF_PROG_TEST_RUN`): input, run and report, which `run` and `prog run` share.

mod context_limits;
mod sizes;

use crate::{
    args::test_run::TestRunArgs,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    input::limits::MAX_OBJECT_BYTES,
    json::test_run as json,
    output::{self, NewOutput},
    text::{line::Line, style::BOLD},
};
use context_limits::ContextLimits;
use core_relo_kernels::file;
use core_relo_loader::{
    Errno, inventory,
    load::{TestRun, TestRunResult},
    object::ProgramType,
};
use sizes::AcceptedSizes;
pub(super) use sizes::RefusedRun;
use std::{os::fd::BorrowedFd, path::PathBuf};

/// The size of the buffers for output data and context, in bytes.
const OUTPUT_BYTES: usize = 256 * 1024;

/// The default input of programs that take packets.
const DEFAULT_PACKET: [u8; 64] = [0; 64];

/// `BPF_F_TEST_RUN_ON_CPU`.
const RUN_ON_CPU: u32 = 1 << 0;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;

/// The data and the context that a program gets.
pub(super) struct TestRunInput {
    data: Option<Vec<u8>>,
    context: Vec<u8>,
}

/// The result of a test run, with the output data and context.
pub(super) struct TestRunOutput {
    result: TestRunResult,
    data: Vec<u8>,
    context: Vec<u8>,
}

/// The program that ran, in the report.
pub(super) struct RunProgram<'a> {
    /// The object that `run` loaded.
    pub(super) object: Option<&'a str>,
    /// The id of the program that `prog run` selected.
    pub(super) prog_id: Option<u32>,
    pub(super) name: &'a str,
    /// The reason why `run` loaded the object without BTF.
    pub(super) btf_refusal: Option<&'a str>,
}

impl TestRunInput {
    /// Reads the input files.
    pub(super) fn read(args: &TestRunArgs) -> Result<Self, BadInput> {
        let read = |path: &Option<PathBuf>| {
            path.as_ref().map(|path| file::read(path, MAX_OBJECT_BYTES).map(|data| data.to_vec())).transpose()
        };
        Ok(Self { data: read(&args.data_in)?, context: read(&args.ctx_in)?.into_iter().flatten().collect() })
    }

    /// Runs a program.
    pub(super) fn run(
        &self,
        program: BorrowedFd<'_>,
        program_type: Option<ProgramType>,
        args: &TestRunArgs,
    ) -> Result<TestRunOutput, Errno> {
        let takes_packets = program_type.is_some_and(takes_packets);
        let default_data: &[u8] = if takes_packets { &DEFAULT_PACKET } else { &[] };
        let (mut data, mut context) = (vec![0; OUTPUT_BYTES], vec![0; OUTPUT_BYTES]);
        // Live frames leave the program, so that no data comes back.
        let wants_data = (takes_packets || self.data.is_some()) && !args.live_frames;
        let on_cpu = if args.cpu.is_some() { RUN_ON_CPU } else { 0 };
        let live = if args.live_frames { LIVE_FRAMES } else { 0 };
        let mut request = TestRun {
            data_in: self.data.as_deref().unwrap_or(default_data),
            data_out: if wants_data { &mut data } else { &mut [] },
            ctx_in: &self.context,
            ctx_out: if args.ctx_out.is_some() { &mut context } else { &mut [] },
            // Raw tracepoints and other types refuse a number of runs.
            repeat: if args.repeat > 1 { args.repeat } else { 0 },
            flags: on_cpu | live,
            cpu: args.cpu.unwrap_or(0),
            // The kernel takes 0 for its default.
            batch_size: args.batch.unwrap_or(0),
        };
        let result = inventory::test_run(program, &mut request)?;
        Ok(TestRunOutput { result, data, context })
    }
}

impl TestRunInput {
    /// Returns the input whose size the kernel refuses, with its size and the sizes that the kernel accepts.
    fn refused_size(&self, refused: RefusedRun, args: &TestRunArgs) -> Option<String> {
        let has_more_input = !self.context.is_empty() || args.cpu.is_some() || args.batch.is_some();
        if let Some(data) = &self.data
            && let Some(sizes) = AcceptedSizes::find(refused)
            && !sizes.contains(data.len())
            // Something else may be refused if the data fits with frags.
            && (!has_more_input || !sizes.contains_with_frags(data.len()))
        {
            return Some(format!("--data-in has {} bytes, expected {sizes}", data.len()));
        }
        let reads_given_context = matches!(
            ProgramType::from_number(refused.program_type),
            Some(ProgramType::RawTracepoint | ProgramType::RawTracepointWritable | ProgramType::Syscall)
        );
        let largest = AcceptedSizes::find_largest_context(refused).filter(|_| reads_given_context)?;
        let found = self.context.len();
        // Programs of these types take neither data nor a number of runs. The kernel has one error for all.
        let has_other_cause =
            self.data.is_some() || args.repeat > 1 || args.cpu.is_some() || args.batch.is_some();
        let least = "as many as the program reads";
        (found > largest || !has_other_cause)
            .then(|| format!("--ctx-in has {found} bytes, expected at least {least}, and at most {largest}"))
    }
}

impl TestRunOutput {
    /// Writes the output files and prints the result.
    pub(super) fn report(
        &self,
        console: &mut Console<'_>,
        program: &RunProgram<'_>,
        args: &TestRunArgs,
    ) -> CommandResult {
        let Self { result, data, context } = self;
        let data = returned(data, result.data_len);
        let context = returned(context, result.ctx_len);
        let written = match (&args.data_out, &args.ctx_out) {
            (Some(to_data), Some(to_context)) => output::write_both(
                NewOutput { path: to_data, content: data },
                NewOutput { path: to_context, content: context },
            ),
            (Some(to_data), None) => output::write(to_data, data),
            (None, Some(to_context)) => output::write(to_context, context),
            (None, None) => Ok(()),
        };
        written?;
        if console.format == Format::Json {
            let line = json::RunOutcome {
                object: program.object,
                prog_id: program.prog_id,
                program: program.name,
                status: "ran",
                retval: result.retval,
                duration_ns: u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX),
                repeat: args.repeat,
                data_len: result.data_len,
                ctx_len: result.ctx_len,
                truncated: result.truncated,
                btf_refusal: program.btf_refusal,
            };
            return Ok(console.out.json(&line)?);
        }
        if let Some(refusal) = program.btf_refusal {
            console.out.line(Line::new().text("btf not loaded: ").text(refusal))?;
        }
        let (retval, duration) = (result.retval, result.duration);
        let signed = retval.cast_signed();
        let signed_text = if signed < 0 { format!(" ({signed})") } else { String::new() };
        let times = if args.repeat > 1 { format!(", mean of {} runs", args.repeat) } else { String::new() };
        let rest = format!(" returned {retval}{signed_text} in {duration:?}{times}");
        Ok(console.out.line(Line::new().styled(BOLD, program.name).text(rest))?)
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
pub(super) fn refusal_help(
    errno: Errno,
    refused: RefusedRun,
    input: &TestRunInput,
    args: &TestRunArgs,
) -> String {
    let program_type = ProgramType::from_number(refused.program_type);
    let type_name = program_type.map_or_else(|| refused.program_type.to_string(), |known| known.to_string());
    // The kernel checks the context before the data.
    if errno == Errno::E2BIG
        && !input.context.is_empty()
        && let Some(limits) = ContextLimits::find(refused)
        && limits.refuses(&input.context)
    {
        return limits.refusal(input.context.len(), &type_name);
    }
    if matches!(errno, Errno::EINVAL | Errno::ENOMEM | Errno::EMSGSIZE | Errno::E2BIG)
        && let Some(size) = input.refused_size(refused, args)
    {
        return format!("{size}: this kernel takes no other size for programs of type {type_name}");
    }
    match errno {
        Errno::ENOTSUPP | Errno::EOPNOTSUPP => {
            format!("this kernel has no test run for programs of type {type_name}")
        }
        Errno::EINVAL => {
            "the program type does not accept this data, context, number of runs or processor: see --data-in, --ctx-in, --repeat, --cpu"
                .into()
        }
        Errno::ENXIO => "--cpu: no such processor is online".into(),
        Errno::EPERM => "needs CAP_BPF, and CAP_NET_ADMIN or CAP_PERFMON".into(),
        _ => "see BPF_PROG_TEST_RUN in the kernel's documentation".into(),
    }
}

/// Returns the bytes that the kernel wrote to a buffer. It also reports lengths beyond the buffer, whose data
/// it cuts off.
fn returned(buffer: &[u8], len: u32) -> &[u8] {
    usize::try_from(len).ok().and_then(|len| buffer.get(..len)).unwrap_or(buffer)
}
