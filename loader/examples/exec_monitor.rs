//! Prints processes that start and exit, with user, file and exit code. Needs root, or `CAP_BPF` and
//! `CAP_PERFMON`.
//!
//! ```text
//! cargo run --example exec_monitor -- [--count N] [--uid UID] [--name NAME] [--min-ms MS] [--tracepoints]
//! ```
//!
//! The program ends with Ctrl-C or after N lines. In both cases the kernel closes the descriptors of the
//! process, and detaches and unloads the programs with their last descriptor.

use core::{error::Error, ops::ControlFlow, time::Duration};
use core_relo_loader::{skeleton::CText, target};
use exec_monitor::{Event, ExecMonitor};
use std::{
    env,
    io::{self, Write},
};

// The module `exec_monitor`: the BPF object, which is part of the executable, and its types.
include!("skeletons/exec_monitor.skel.rs");

fn main() -> Result<(), Box<dyn Error>> {
    run(env::args().skip(1), &mut io::stdout())
}

/// The options of the command line.
#[derive(Debug, Default)]
struct Options {
    count: Option<u64>,
    uid: Option<u32>,
    name: Option<String>,
    min_ms: u64,
    tracepoints: bool,
}

/// Runs the monitor with the given arguments and output.
pub(crate) fn run(
    words: impl Iterator<Item = String>,
    out: &mut (dyn Write + Send),
) -> Result<(), Box<dyn Error>> {
    let options = Options::parse(words)?;
    let monitor = load(&options)?;
    // The drop of the links detaches the programs.
    let _links = monitor.attach()?;
    writeln!(out, "{:6} {:>8} {:>8} {:>6} {:16} WHAT", "", "PID", "PARENT", "UID", "NAME")?;
    let mut left = options.count.unwrap_or(u64::MAX);
    let mut events = monitor.maps.events.reader(|event: Event| {
        let written = event.print(out);
        left = left.saturating_sub(1);
        if left == 0 || written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    while !events.poll(Some(Duration::from_secs(1)))?.stopped {}
    drop(events);
    match monitor.globals.dropped.get()? {
        0 => Ok(()),
        dropped => Ok(writeln!(out, "{dropped} events were lost")?),
    }
}

fn load(options: &Options) -> Result<ExecMonitor, Box<dyn Error>> {
    let mut open = ExecMonitor::open()?;
    if let Some(uid) = options.uid {
        open.globals.only_uid.set(uid);
    }
    if let Some(name) = &options.name {
        // The kernel truncates process names in the same way.
        open.globals.only_comm.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
    }
    open.globals.min_duration_ns.set(options.min_ms.saturating_mul(1_000_000));
    // Without BTF, the programs cannot read the kernel's structures. The tracepoint programs show less.
    let has_types = target::kernel().is_ok() && !options.tracepoints;
    open.programs.process_exec.autoload = Some(has_types);
    open.programs.process_exit.autoload = Some(has_types);
    open.programs.tp_exec.autoload = Some(!has_types);
    open.programs.tp_exit.autoload = Some(!has_types);
    Ok(open.load()?)
}

impl Event {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { pid, parent, uid, .. } = self;
        let what = if self.ended == 0 { "exec" } else { "exit" };
        write!(out, "{what:6} {pid:8} {parent:8} {uid:6} {:16} ", CText(&self.comm))?;
        if self.ended == 0 {
            return writeln!(out, "{}", CText(&self.filename));
        }
        match self.exit_code & 0x7f {
            0 => write!(out, "code {}", self.exit_code >> 8)?,
            signal => write!(out, "signal {signal}")?,
        }
        match self.duration_ns {
            0 => writeln!(out),
            ns => writeln!(out, " after {:?}", Duration::from_nanos(ns)),
        }
    }
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--count" => options.count = Some(value()?.parse()?),
                "--uid" => options.uid = Some(value()?.parse()?),
                "--name" => options.name = Some(value()?),
                "--min-ms" => options.min_ms = value()?.parse()?,
                "--tracepoints" => options.tracepoints = true,
                _ => return Err(format!("unknown argument `{word}`").into()),
            }
        }
        Ok(options)
    }
}
