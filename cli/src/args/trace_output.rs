//! The arguments of `prog tracelog` and `prog stream`.

use super::{
    events::parse_seconds,
    object_selector::{ProgramSelector, one_program_name, one_tag},
};
use crate::format::Format;
use clap::Args;
use std::{num::NonZeroU64, time::Duration};

pub(super) const TRACELOG_HELP: &str = "Examples:
  core-relo prog tracelog
  core-relo prog tracelog --format json | jq -r .message

Reads trace_pipe of the tracefs that is mounted, until Ctrl-C. A message that is read is gone for other readers. trace_pipe has the messages
of all programs, and of other users of the kernel's trace buffer.
Exit status: 0; 1 if fewer than --count messages arrived; 2 if trace_pipe cannot be read.";
pub(super) const STREAM_HELP: &str = "Examples:
  core-relo prog stream 42
  core-relo prog stream --name handle_exec --stderr
  core-relo prog stream 42 --follow

Reads the output stream of a program (kernels from 6.17) to its end. What is read is gone for other readers.
Exit status: 0; 1 if fewer than --count messages arrived; 2 if the stream cannot be read.";

/// Limits of the printed messages
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MessageLimitArgs {
    /// End after this number of lines
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU64>,
    /// End after this time
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct TracelogArgs {
    #[command(flatten)]
    pub(crate) limits: MessageLimitArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(mut_arg("name", one_program_name), mut_arg("tag", one_tag))]
pub(crate) struct ProgStreamArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    /// Print the kernel's reports of the program's faults, instead of the program's messages
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Wait for more messages, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) limits: MessageLimitArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
