//! The dispatch of commands: the output streams and colours of a command, and the function that runs it.

mod batch;

use crate::{
    args::{Args, Command, Deferred, format::Color, gen_object::GenCommand},
    cmd,
    console::{Console, ExitStatus},
    error::CommandResult,
    output::{self, Stream},
    text::printer::Printer,
};
use anstream::{AutoStream, ColorChoice};
use std::io::{self, Write};

/// Runs the command that the arguments name. `batch_line` is its line in the file of `batch`.
pub(crate) fn run(args: &Args, batch_line: Option<u32>) -> io::Result<ExitStatus> {
    let (mut out, out_has_colour) = report_stream(args);
    let err_has_colour = has_colour(args.color, AutoStream::choice(&io::stderr()));
    let mut err = Stream(io::stderr());
    let mut console = Console {
        out: Printer::new(&mut *out, out_has_colour),
        err: Printer::new(&mut err, err_has_colour),
        format: args.command.format(),
        exit: ExitStatus::Success,
        batch_line,
    };
    let result = run_command(&mut console, args).or_else(|error| console.report(error));
    match result.and_then(|()| console.out.flush()) {
        // The reader of the output, for example `head`, stopped reading. The exit status is that of the
        // results so far.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(console.exit),
        result => result.map(|()| console.exit),
    }
}

fn run_command(console: &mut Console<'_>, args: &Args) -> CommandResult {
    output::check_outputs(&args.files)?;
    match &args.command {
        Command::Check(c) => cmd::check::run(console, c),
        Command::Report(c) => cmd::check::results_command::run(console, c),
        Command::Plan(c) => cmd::plan::run(console, c),
        Command::Explain(c) => cmd::explain::run(console, c),
        Command::Patch(c) => cmd::patch::run(console, c),
        Command::Inspect(c) => cmd::inspect::run(console, c),
        Command::Requires(c) => cmd::requires::run(console, c),
        Command::Load(c) => cmd::load::run(console, c),
        Command::Run(c) => cmd::run::run(console, c),
        Command::Vm(c) => cmd::vm::run(console, c),
        Command::Feature(c) => cmd::feature::run(console, c),
        Command::Btf(c) => cmd::btf::run(console, c),
        Command::Prog(c) => cmd::prog::run(console, c),
        Command::Map(c) => cmd::map::run(console, c),
        Command::Link(c) => cmd::link::run(console, c),
        Command::Net(c) => cmd::net::run(console, c),
        Command::Cgroup(c) => cmd::cgroup::run(console, c),
        Command::Perf(c) => cmd::perf::run(console, c),
        Command::StructOps(c) => cmd::struct_ops::run(console, c),
        Command::Iter(c) => cmd::iter::run(console, c),
        Command::Token(c) => cmd::token::run(console, c),
        Command::Gen(Deferred(GenCommand::Object(c))) => cmd::gen_object::run(console, c),
        Command::Gen(Deferred(GenCommand::Rust(c))) => cmd::gen_rust::run(console, c),
        Command::Gen(Deferred(GenCommand::Loader(c))) => cmd::gen_loader::run(console, c),
        Command::Gen(Deferred(GenCommand::Vmlinux(c))) => cmd::gen_vmlinux::run(console, c),
        Command::Gen(Deferred(GenCommand::Header(c))) => cmd::gen_header::run(console, c),
        #[cfg(feature = "fetch")]
        Command::Kernels(c) => cmd::kernels::run(console, c),
        Command::Site(c) => cmd::site::run(console, c),
        Command::Batch(c) => batch::run(console, c, args.color),
        Command::Demo(_) => cmd::demo::run(console),
        #[cfg(feature = "completions")]
        Command::Completions { shell } => cmd::completions::run(console, *shell),
        #[cfg(feature = "man")]
        Command::Man { command } => cmd::man::run(console, command),
    }
}

/// Returns the stream for the report, and whether it gets colours. The stream is stdout, or stderr if the
/// command writes a file to stdout.
fn report_stream(args: &Args) -> (Box<dyn Write>, bool) {
    if args.files.outputs.iter().any(|output| output::is_stdout(&output.path)) {
        let has_colour = has_colour(args.color, AutoStream::choice(&io::stderr()));
        return (Box::new(Stream(io::stderr())), has_colour);
    }
    let has_colour = has_colour(args.color, AutoStream::choice(&io::stdout()));
    (Box::new(io::BufWriter::new(Stream(io::stdout()))), has_colour)
}

/// Returns whether a stream gets colours. `auto` depends on the stream and the environment.
fn has_colour(color: Color, auto: ColorChoice) -> bool {
    match color {
        Color::Auto => auto != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    }
}
