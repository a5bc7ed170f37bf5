//! Prints processes that start and exit, with user, file and exit code. Needs root, or `CAP_BPF` and `CAP_PERFMON`.
//!
//! ```text
//! cargo run --example exec_monitor -- [--count N] [--uid UID] [--name NAME] [--min-ms MS] [--tracepoints]
//! ```
//!
//! The program ends with Ctrl-C or after N lines. In both cases the kernel closes the descriptors of the process, and detaches and unloads
//! the programs with their last descriptor.

use core::{error::Error, ops::ControlFlow, time::Duration};
use core_relo_loader::{Loader, Pod as _, load::Loaded, object::Object, target};
use std::{
    env,
    io::{self, Write},
};

/// The BPF object, which is part of the executable.
#[cfg(target_endian = "little")]
const OBJECT: &[u8] = include_bytes!("prebuilt/el/exec_monitor.bpf.o");
#[cfg(target_endian = "big")]
const OBJECT: &[u8] = include_bytes!("prebuilt/eb/exec_monitor.bpf.o");

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
    let loaded = load(&options)?;
    // The drop of the links detaches the programs.
    let _links = loaded.attach_all()?;
    writeln!(out, "{:6} {:>8} {:>8} {:>6} {:16} WHAT", "", "PID", "PARENT", "UID", "NAME")?;
    let mut left = options.count.unwrap_or(u64::MAX);
    let mut events = loaded.ring_buffer("events", |record: &[u8]| {
        let written = Event::from_bytes(record).map_or(Ok(()), |event| event.print(out));
        left = left.saturating_sub(1);
        if left == 0 || written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    while !events.poll(Some(Duration::from_secs(1)))?.stopped {}
    drop(events);
    match loaded.global::<u64>("dropped")? {
        0 => Ok(()),
        dropped => Ok(writeln!(out, "{dropped} events were lost")?),
    }
}

fn load(options: &Options) -> Result<Loaded, Box<dyn Error>> {
    let object = Object::parse(OBJECT)?;
    let mut loader = Loader::new(&object).name("exec_monitor");
    if let Some(uid) = options.uid {
        loader.set_global("only_uid", &uid)?;
    }
    if let Some(name) = &options.name {
        // The kernel truncates process names in the same way.
        let mut comm = [0u8; 16];
        comm.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
        loader.set_global("only_comm", &comm)?;
    }
    loader.set_global("min_duration_ns", &options.min_ms.saturating_mul(1_000_000))?;
    // Without BTF, the programs cannot read the kernel's structures. The tracepoint programs show less.
    let has_types = target::kernel().is_ok() && !options.tracepoints;
    loader.select_programs(if has_types { ["process_exec", "process_exit"] } else { ["tp_exec", "tp_exit"] });
    Ok(loader.load()?)
}

core_relo_loader::pod! {
    /// A record as the BPF programs write it.
    struct Event {
        duration_ns: u64,
        pid: u32,
        parent: u32,
        uid: u32,
        ended: u32,
        exit_code: u32,
        _pad: u32,
        comm: [u8; 16],
        filename: [u8; 128],
    }
}

impl Event {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { pid, parent, uid, .. } = self;
        let what = if self.ended == 0 { "exec" } else { "exit" };
        write!(out, "{what:6} {pid:8} {parent:8} {uid:6} {:16} ", text(&self.comm))?;
        if self.ended == 0 {
            return writeln!(out, "{}", text(&self.filename));
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

/// Returns the text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
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
