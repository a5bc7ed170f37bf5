//! The arguments of `report`.

use crate::{
    args::format::CheckFormat,
    output::{OutputKind, OutputPath},
};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const REPORT_HELP: &str = "Examples:
  core-relo report results-*.jsonl                       the text of one `check` of all shards
  core-relo report results-*.jsonl --report matrix.html --report result.sarif
  core-relo report monday.jsonl tuesday.jsonl --replace --format markdown
  core-relo report results.jsonl --baseline main.jsonl    what is new since main
  ssh builder cat results.jsonl | core-relo report - --format junit

RESULTS are the lines of `check --format json`, or the files of `check --resume`: of shards, of interrupted runs, of several machines and
days. The report is that of one `check` of the same objects and kernels.
Results of the same object and kernel count once. If their verdicts differ, the command names both lines and stops; with --replace, the
last one counts: give the files in the order of the runs. Different objects of the same name are refused.
Exit status: as for `check`.";

/// The results to compare with
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BaselineArgs {
    /// JSON lines of an earlier check, such as that of the main branch. Refusals that FILE has, for the same
    /// object, program and reason, on the same kernel or another version of it, do not count for the exit
    /// status; may be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// JSON lines of `check`; `-` is stdin
    #[arg(required = true, value_name = "RESULTS", value_hint = ValueHint::FilePath)]
    pub(crate) results: Vec<PathBuf>,
    /// Of several results for the same object and kernel that differ, take the last one
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// Exit with 1 instead of 2 if a verdict is unknown
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print a line for every object and kernel. By default, the text groups more than 1,000 lines
    #[arg(long)]
    pub(crate) all: bool,
    /// Also write a report to FILE: .html (a page that needs no other file), .sarif, .xml (JUnit) or .md; may
    /// be given several times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser(OutputKind::Report))]
    pub(crate) report: Vec<OutputPath>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CheckFormat,
}
