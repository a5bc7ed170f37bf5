//! `prog stream`: the output streams of a program.

use super::messages::{MessageSource, print_messages};
use crate::{
    args::trace_output::ProgStreamArgs,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::{hint, object_name},
        select::select_one,
    },
    text::line::Line,
};
use core_relo_loader::{
    Errno,
    inventory::{self, ObjectKind},
    load::StreamId,
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(super) fn run(console: &mut Console<'_>, args: &ProgStreamArgs) -> CommandResult {
    let (id, program) = select_one(ObjectKind::Program, &args.selector)?;
    let stream = if args.stderr { StreamId::Stderr } else { StreamId::Stdout };
    print_messages(console, &mut ProgramStream { id, program, stream, follows: args.follow }, args.limits)
}

/// An output stream of a program.
struct ProgramStream {
    id: u32,
    program: OwnedFd,
    stream: StreamId,
    /// Whether to wait for more at the end of the stream.
    follows: bool,
}

/// A line of a stream, and its JSON line.
#[derive(Serialize)]
struct StreamLine<'l> {
    prog_id: u32,
    /// `stdout` or `stderr`.
    stream: &'static str,
    message: &'l str,
}

impl MessageSource for ProgramStream {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, BadInput> {
        match inventory::read_stream(&self.program, self.stream, into) {
            Ok(read) => Ok(read),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
            Err(e) => {
                let what = format_args!("its stream cannot be read: {e}");
                let bad = BadInput::new(object_name(ObjectKind::Program, self.id, ""), what);
                Err(match e {
                    Errno::EINVAL => bad.help("streams need a kernel from 6.17"),
                    _ => bad.help(hint(e).unwrap_or("`core-relo prog tracelog` prints other messages")),
                })
            }
        }
    }

    fn print(&self, console: &mut Console<'_>, line: &[u8]) -> io::Result<()> {
        let message = &*String::from_utf8_lossy(line);
        if console.format == Format::Text {
            return console.out.line(Line::new().text(message));
        }
        let stream = match self.stream {
            StreamId::Stdout => "stdout",
            StreamId::Stderr => "stderr",
        };
        console.out.json(&StreamLine { prog_id: self.id, stream, message })
    }

    fn waits(&self) -> bool {
        self.follows
    }
}
