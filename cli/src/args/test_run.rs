//! The options for test runs of programs (`BPF_PROG_TEST_RUN`), which `run` and `prog run` share.

use super::object_selector::{ProgramSelector, one_program_name, one_tag};
use crate::{
    format::Format,
    output::{OutputKind, OutputPath},
};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const PROG_RUN_HELP: &str = "Examples:
  core-relo prog run 42 --data-in packet.bin --repeat 1000
  core-relo prog run --name setup --ctx-in args.bin --ctx-out -
  core-relo prog run --pinned /sys/fs/bpf/redirect --data-in packet.bin --live-frames --repeat 1000

Runs a program that is loaded already, with BPF_PROG_TEST_RUN, which some program types do not support. Without --data-in, programs that
take packets get 64 zero bytes. `core-relo run` loads a program from an object and runs it.
Exit status: 0 if the program ran (whatever it returned), 2 if not.";

/// Options of a test run
#[derive(Clone, Debug, Args)]
pub(crate) struct TestRunArgs {
    /// Input data, for example a packet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) data_in: Option<PathBuf>,
    /// Write the data after the run to this file; `-` is stdout, and the report goes to stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Bytes))]
    pub(crate) data_out: Option<OutputPath>,
    /// Input context
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ctx_in: Option<PathBuf>,
    /// Write the context after the run to this file; `-` is stdout, and the report goes to stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Bytes))]
    pub(crate) ctx_out: Option<OutputPath>,
    /// Number of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Run on this processor; for raw tracepoints
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Let the network stack handle the packets as the program decides, on the interface of the context; for
    /// XDP
    #[arg(long, conflicts_with = "data_out")]
    pub(crate) live_frames: bool,
    /// The number of packets in a batch [default: 64]
    #[arg(long, value_name = "N", requires = "live_frames")]
    pub(crate) batch: Option<u32>,
}

#[derive(Debug, Args)]
#[command(mut_arg("name", one_program_name), mut_arg("tag", one_tag))]
pub(crate) struct ProgRunArgs {
    #[command(flatten)]
    pub(crate) selector: ProgramSelector,
    #[command(flatten)]
    pub(crate) test: TestRunArgs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
}
