//! `prog tracelog`: the messages of `bpf_trace_printk`, from trace_pipe.

use super::messages::{MessageSource, print_messages};
use crate::{
    args::trace_output::TracelogArgs,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    text::line::Line,
};
use core_relo_loader::inventory::{Mount, mounts};
use serde::Serialize;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

pub(super) fn run(console: &mut Console<'_>, args: &TracelogArgs) -> CommandResult {
    print_messages(console, &mut TracePipe::open()?, args.limits)
}

/// trace_pipe, which reads and removes messages from the kernel's trace buffer.
struct TracePipe {
    path: PathBuf,
    file: File,
}

impl TracePipe {
    /// Opens trace_pipe of the first mounted tracefs, or of a debugfs, which contains a tracefs.
    fn open() -> Result<Self, BadInput> {
        let mounted = |file_system| {
            mounts(file_system)
                .map_err(|e| BadInput::new("/proc/self/mounts", format_args!("cannot be read: {e}")))
        };
        let debugfs = mounted("debugfs")?.into_iter().map(|Mount { dir, .. }| dir.join("tracing"));
        let dirs = mounted("tracefs")?.into_iter().map(|Mount { dir, .. }| dir).chain(debugfs);
        let mut first_error = None;
        for dir in dirs {
            let path = dir.join("trace_pipe");
            let nonblock = rustix::fs::OFlags::NONBLOCK.bits();
            let flags = i32::try_from(nonblock).map_err(|e| BadInput::for_path(&path, e))?;
            match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(e) => {
                    first_error = first_error.or_else(|| Some(unreadable(&path, &e)));
                }
            }
        }
        Err(first_error.unwrap_or_else(|| {
            BadInput::new("tracefs", "is not mounted").help("mount -t tracefs tracefs /sys/kernel/tracing")
        }))
    }
}

fn unreadable(path: &Path, e: &io::Error) -> BadInput {
    let bad = BadInput::for_path(path, format_args!("cannot be read: {e}"));
    match e.kind() {
        io::ErrorKind::PermissionDenied => bad.help("needs root, or a tracefs that this user may read"),
        io::ErrorKind::ResourceBusy => bad.help("another process reads it: it has one reader at a time"),
        _ => bad,
    }
}

impl MessageSource for TracePipe {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, BadInput> {
        match self.file.read(into) {
            Ok(read) => Ok(read),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            Err(e) => Err(unreadable(&self.path, &e)),
        }
    }

    fn is_message(&self, line: &[u8]) -> bool {
        // The kernel adds a line break to each message. After the line break of the message itself, this
        // makes an empty line.
        !line.is_empty()
    }

    fn print(&self, console: &mut Console<'_>, line: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        match console.format {
            Format::Json => console.out.json(&TraceLine::parse(&text)),
            Format::Text => console.out.line(Line::new().text(&text)),
        }
    }

    fn waits(&self) -> bool {
        true
    }
}

/// A line of trace_pipe, and its JSON line. What a line lacks is `None`.
#[derive(Debug, Default, PartialEq, Serialize)]
struct TraceLine<'l> {
    task: Option<&'l str>,
    pid: Option<u32>,
    cpu: Option<u32>,
    /// The letters for interrupts, preemption and so on.
    flags: Option<&'l str>,
    /// The trace clock.
    seconds: Option<f64>,
    /// The kernel function that wrote the message.
    function: Option<&'l str>,
    /// The message, or a line of another kind.
    message: &'l str,
}

impl<'l> TraceLine<'l> {
    /// Parses `  bash-123     [001] ...21  4242.424242: bpf_trace_printk: hello`.
    fn parse(line: &'l str) -> Self {
        Self::parse_event(line).unwrap_or(Self { message: line, ..Self::default() })
    }

    fn parse_event(line: &'l str) -> Option<Self> {
        // A task's name may contain brackets: the processor is the first number in brackets after `-PID`.
        let (task, rest) = line.match_indices(" [").find_map(|(at, bracket)| {
            let (task, rest) = (line.get(..at)?, line.get(at.checked_add(bracket.len())?..)?);
            let (cpu, rest) = rest.split_once(']')?;
            // With the option `record-tgid`, the process id follows in parentheses.
            let task = task
                .trim_end()
                .rsplit_once('(')
                .filter(|(_, end)| end.ends_with(')'))
                .map_or(task, |(task, _)| task);
            let (name, pid) = task.trim().rsplit_once('-')?;
            let (pid, cpu) = (pid.parse().ok()?, cpu.parse().ok()?);
            Some(((name, pid, cpu), rest))
        })?;
        let (name, pid, cpu) = task;
        let (flags, rest) = rest.trim_start().split_once(' ')?;
        let (seconds, rest) = rest.trim_start().split_once(": ")?;
        let (function, message) = rest.split_once(": ")?;
        Some(Self {
            task: Some(name),
            pid: Some(pid),
            cpu: Some(cpu),
            flags: Some(flags),
            seconds: Some(seconds.parse().ok()?),
            function: Some(function),
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed() {
        let hello = TraceLine {
            task: Some("bash"),
            pid: Some(123),
            cpu: Some(1),
            flags: Some("...21"),
            seconds: Some(4242.5),
            function: Some("bpf_trace_printk"),
            message: "hello: 7",
        };
        let text = "            bash-123     [001] ...21  4242.500000: bpf_trace_printk: hello: 7";
        assert_eq!(TraceLine::parse(text), hello);
        let text = "            bash-123     (   120) [001] ...21  4242.500000: bpf_trace_printk: hello: 7";
        assert_eq!(TraceLine::parse(text), hello);
        let odd = TraceLine::parse(" kworker/0:1 [x]-b-5  [000] d..2. 1.000001: bpf_trace_printk: ");
        assert_eq!((odd.task, odd.pid, odd.message), (Some("kworker/0:1 [x]-b"), Some(5), ""));
        for other in ["CPU:1 [LOST 5 EVENTS]", "", "a-1 [000]", " a-1 [000] . x: f: m"] {
            assert_eq!(TraceLine::parse(other), TraceLine { message: other, ..TraceLine::default() });
        }
    }
}
