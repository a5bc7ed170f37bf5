//! What the arguments mean here and now: where to print, in which form, and with which exit status to end.

use crate::{
    args::{Args, Color, Command, Format},
    cmd,
    error::BadInput,
    json, output,
    plain::plain,
    render::style,
};
use anstream::{AutoStream, ColorChoice};
use std::{
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
    pub(crate) out: &'w mut dyn Write,
    pub(crate) err: &'w mut dyn Write,
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
        let e = style::ERROR;
        // In one piece: stderr is not buffered.
        self.err.write_all(format!("{e}core-relo{e:#}: {bad}\n").as_bytes())
    }

    /// Reports bad input that leaves nothing else to print; as JSON on stdout too, if that was asked for.
    pub(crate) fn fail(&mut self, bad: &BadInput) -> io::Result<()> {
        if self.format == Format::Json {
            json::line(self.out, &json::Failure::new(bad))?;
        }
        self.complain(bad)
    }

    /// Says something on stderr that changes nothing.
    pub(crate) fn note(&mut self, note: &str) -> io::Result<()> {
        writeln!(self.err, "core-relo: note: {}", plain(note))
    }
}

pub(crate) fn run(args: &Args, mut out: impl Write, mut err: impl Write) -> io::Result<Exit> {
    let format = format(&args.command);
    let mut app = App { out: &mut out, err: &mut err, format, exit: Exit::Resolved };
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
    let exit = app.exit;
    out.flush()?;
    Ok(exit)
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

/// Returns the stream for reports: stdout, or stderr where an output of the command goes to stdout.
///
/// JSON has no colours, and need not be searched for them.
pub(crate) fn reports(args: &Args) -> Box<dyn Write> {
    if outputs(&args.command).into_iter().any(output::is_stdout) {
        return Box::new(stderr(args.color));
    }
    let raw = io::stdout().lock();
    let choice = match format(&args.command) {
        Format::Json => ColorChoice::AlwaysAnsi,
        Format::Text => resolve(args.color, AutoStream::choice(&raw)),
    };
    Box::new(io::BufWriter::new(AutoStream::new(raw, choice)))
}

pub(crate) fn stderr(color: Color) -> impl Write + use<> {
    let raw = io::stderr();
    let choice = resolve(color, AutoStream::choice(&raw));
    AutoStream::new(raw, choice)
}

fn resolve(color: Color, auto: ColorChoice) -> ColorChoice {
    match color {
        Color::Auto => auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    }
}

/// Whether somebody watches stderr.
pub(crate) fn watched() -> bool {
    io::stderr().is_terminal()
}

/// Warnings of the libraries always, more with `-v`; `RUST_LOG` goes before.
pub(crate) fn init_log(verbose: u8) {
    let level = ["warn", "info", "debug", "trace"].get(usize::from(verbose)).copied().unwrap_or("trace");
    let env = env_logger::Env::default().default_filter_or(level);
    let line = |r: &log::Record<'_>| format!("core-relo: {}", plain(&r.args().to_string()));
    env_logger::Builder::from_env(env).format(move |f, r| writeln!(f, "{}", line(r))).init();
}

/// The answer could not be written: a full disk, a closed stdout.
pub(crate) fn cannot_write(e: &io::Error) -> ExitCode {
    // If stderr is gone as well, the exit status has to say it all.
    drop(writeln!(io::stderr(), "core-relo: stdout: {e}"));
    Exit::Unknown.into()
}
