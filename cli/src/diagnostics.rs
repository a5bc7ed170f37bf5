//! Messages on stderr that do not go through a command's console: the log, panics, output that cannot be
//! written.

use crate::{error::BadInput, output::Stream, text::printer::Printer};
use core_relo::Escaped;
use std::{
    backtrace::{Backtrace, BacktraceStatus},
    env,
    io::{self, Write as _},
    panic,
};

/// Starts the logger. It prints warnings, and more with each `-v`; `RUST_LOG` takes precedence.
pub(crate) fn init_log(verbose: u8) {
    let level = ["warn", "info", "debug", "trace"].get(usize::from(verbose)).copied().unwrap_or("trace");
    let filters = env::var("RUST_LOG").unwrap_or_else(|_| level.to_owned());
    let mut builder = env_logger::Builder::new();
    // The builder prints filters that it cannot parse.
    builder.parse_filters(&Escaped(filters).to_string());
    builder.target(env_logger::Target::Pipe(Box::new(Stream(io::stderr()))));
    builder.format(|f, r| Printer::new(f, false).line(format_args!("core-relo: {}", r.args()))).init();
}

/// Prints a panic, which is a defect of this program, on one line; and the backtrace if `RUST_BACKTRACE` is
/// set.
pub(crate) fn init_panic_hook() {
    panic::set_hook(Box::new(|info| {
        let mut text = Vec::new();
        let mut printer = Printer::new(&mut text, false);
        // Writing to memory does not fail.
        drop(printer.line(format_args!("core-relo: a defect of this program: {info}")));
        // The static file has no tables for unwinding, so its backtraces would be empty.
        let backtrace = if cfg!(core_relo_static) { Backtrace::disabled() } else { Backtrace::capture() };
        if backtrace.status() == BacktraceStatus::Captured {
            drop(backtrace.to_string().lines().try_for_each(|line| printer.line(line)));
        }
        // Without stderr, only the exit status reports the defect.
        drop(io::stderr().write_all(&text));
    }));
}

/// Reports an error that ends the command with status 2: stdout cannot be written, or signals cannot be
/// caught.
pub(crate) fn report(bad: &BadInput) {
    // Without stderr, only the exit status reports the error.
    drop(Printer::new(&mut io::stderr(), false).line(format_args!("core-relo: {bad}")));
}
