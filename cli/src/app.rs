//! What the arguments mean here and now: where to print, in which form, and with which exit status to end.

use crate::{
    args::{Args, Color, Command, Format},
    cmd,
    error::BadInput,
    json,
    line::Line,
    output::{self, Stream},
    printer::Printer,
    render::style,
};
use anstream::{AutoStream, ColorChoice};
use core_relo::{Escaped, EscapedLines};
use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, IsTerminal as _, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// How a run ends; a later one outdoes an earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Every relocation resolves.
    #[default]
    Resolved,
    /// Some are poisoned or fail.
    Unresolved,
    /// It could not be told.
    Unknown,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Resolved => Self::SUCCESS,
            Exit::Unresolved => Self::from(1),
            Exit::Unknown => Self::from(2),
        }
    }
}

/// What every command prints through.
pub(crate) struct App<'w> {
    pub(crate) out: Printer<'w>,
    pub(crate) err: Printer<'w>,
    pub(crate) format: Format,
    pub(crate) exit: Exit,
}

impl App<'_> {
    /// Remembers the worst so far.
    pub(crate) fn end_with(&mut self, exit: Exit) {
        self.exit = self.exit.max(exit);
    }

    /// Reports bad input on stderr, in one line.
    pub(crate) fn complain(&mut self, bad: &BadInput) -> io::Result<()> {
        self.end_with(Exit::Unknown);
        self.err.line(Line::new().styled(style::ERROR, "core-relo").text(format_args!(": {bad}")))
    }

    /// Reports bad input that leaves nothing else to print; as JSON on stdout too, if that was asked for.
    pub(crate) fn fail(&mut self, bad: &BadInput) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.json(&json::Failure::new(bad))?;
        }
        self.complain(bad)
    }

    /// Says something on stderr that changes nothing.
    pub(crate) fn note(&mut self, note: &str) -> io::Result<()> {
        self.err.line(format_args!("core-relo: note: {note}"))
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Exit> {
    let (mut out, out_has_colour) = reports(args);
    let err_has_colour = has_colour(args.color, AutoStream::choice(&io::stderr()));
    let mut err = Stream(io::stderr());
    let mut app = App {
        out: Printer::new(&mut *out, out_has_colour),
        err: Printer::new(&mut err, err_has_colour),
        format: format(&args.command),
        exit: Exit::Resolved,
    };
    match &args.command {
        Command::Check(c) => cmd::check::run(&mut app, c),
        Command::Plan(c) => cmd::plan::run(&mut app, c),
        Command::Explain(c) => cmd::explain::run(&mut app, c),
        Command::Patch(c) => cmd::patch::run(&mut app, c),
        Command::Inspect(c) => cmd::inspect::run(&mut app, c),
        Command::Load(c) => cmd::load::run(&mut app, c),
        Command::Run(c) => cmd::run::run(&mut app, c),
        Command::Btf(c) => cmd::btf::run(&mut app, c),
        Command::Prog(c) => cmd::prog::run(&mut app, c),
        Command::Map(c) => cmd::map::run(&mut app, c),
        Command::Link(c) => cmd::link::run(&mut app, c),
        Command::Gen(crate::args_gen::Gen::Object(c)) => cmd::r#gen::object(&mut app, c),
        Command::Demo(_) => cmd::demo::run(&mut app),
        Command::Completions { shell } => cmd::about::completions(&mut app, *shell),
        Command::Man { command } => cmd::about::man(&mut app, command.as_deref()),
    }?;
    app.out.flush()?;
    Ok(app.exit)
}

fn format(command: &Command) -> Format {
    match command {
        Command::Check(c) => c.format,
        Command::Plan(c) => c.format,
        Command::Explain(c) => c.format,
        Command::Patch(c) => c.format,
        Command::Inspect(c) => c.format,
        Command::Load(c) => c.format,
        Command::Run(c) => c.format,
        Command::Demo(c) => c.format,
        Command::Btf(c) => c.format(),
        Command::Prog(c) => c.format(),
        Command::Map(c) => c.format(),
        Command::Link(c) => c.format(),
        Command::Gen(crate::args_gen::Gen::Object(c)) => c.format,
        _ => Format::Text,
    }
}

/// Returns the paths of the files that a command writes as a whole.
fn outputs(command: &Command) -> Vec<&Path> {
    match command {
        Command::Patch(c) => vec![&c.output],
        Command::Gen(crate::args_gen::Gen::Object(c)) => vec![&c.output],
        Command::Run(c) => [&c.data_out, &c.ctx_out].into_iter().flatten().map(PathBuf::as_path).collect(),
        _ => Vec::new(),
    }
}

/// Returns the stream for reports, and whether it gets colours: stdout, or stderr where an output of the command goes to stdout.
fn reports(args: &Args) -> (Box<dyn Write>, bool) {
    if outputs(&args.command).into_iter().any(output::is_stdout) {
        let has_colour = has_colour(args.color, AutoStream::choice(&io::stderr()));
        return (Box::new(Stream(io::stderr())), has_colour);
    }
    let has_colour = has_colour(args.color, AutoStream::choice(&io::stdout()));
    (Box::new(io::BufWriter::new(Stream(io::stdout()))), has_colour)
}

/// Whether a stream gets colours: as `--color` says, or as the stream and the environment do.
fn has_colour(color: Color, auto: ColorChoice) -> bool {
    match color {
        Color::Auto => auto != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    }
}

/// Whether somebody watches stderr.
pub(crate) fn watched() -> bool {
    io::stderr().is_terminal()
}

/// Warnings of the libraries always, more with `-v`; `RUST_LOG` goes before.
pub(crate) fn init_log(verbose: u8) {
    let level = ["warn", "info", "debug", "trace"].get(usize::from(verbose)).copied().unwrap_or("trace");
    let filters = std::env::var("RUST_LOG").unwrap_or_else(|_| level.to_owned());
    // What it cannot parse it prints.
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(&Escaped(filters).to_string());
    builder.target(env_logger::Target::Pipe(Box::new(Stream(io::stderr()))));
    builder.format(|f, r| writeln!(f, "core-relo: {}", Escaped(r.args()))).init();
}

/// Reports panics, which are defects of this program, on one line; and where from, if RUST_BACKTRACE is set.
pub(crate) fn init_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut text = format!("core-relo: a defect of this program: {}\n", Escaped(info));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&EscapedLines(backtrace).to_string());
        }
        // If stderr is gone as well, the exit status has to say it all.
        drop(io::stderr().write_all(text.as_bytes()));
    }));
}

/// Reports on stderr that the output cannot be written: a full disk, a closed stdout.
pub(crate) fn cannot_write(e: &io::Error) -> ExitCode {
    end_with_failure(&BadInput::new("stdout", e))
}

/// Reports on stderr why the command ends without an answer.
pub(crate) fn end_with_failure(bad: &BadInput) -> ExitCode {
    // If stderr is gone as well, the exit status has to say it all.
    drop(writeln!(io::stderr(), "core-relo: {bad}"));
    Exit::Unknown.into()
}
