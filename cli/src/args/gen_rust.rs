//! The arguments of `gen rust`.

use super::object_name::parse_name;
use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(crate) const GEN_RUST_HELP: &str = "Examples:
  core-relo gen rust agent.bpf.o -o src/agent.skel.rs
  core-relo gen rust el/agent.bpf.o eb/agent.bpf.o -o src/agent.skel.rs
  core-relo gen rust agent.bpf.o --event events='struct event' > agent.skel.rs

A program includes the skeleton by `include!(\"agent.skel.rs\")`, and needs the crate core-relo-loader. Build scripts generate
skeletons by the crate core-relo-build. The macros EVENT_TYPE and EVENT_KIND of core_relo.h declare event types in C.
Exit status 0 if the skeleton was written, else 2.";

#[derive(Debug, Args)]
pub(crate) struct GenRustArgs {
    /// BPF object with BTF (clang -g)
    #[arg(value_name = "OBJ", value_hint = ValueHint::FilePath)]
    pub(crate) object: PathBuf,
    /// The same object for machines of the other byte order
    #[arg(value_name = "OTHER", value_hint = ValueHint::FilePath)]
    pub(crate) other: Option<PathBuf>,
    /// File to write the skeleton to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, default_value = "-", value_parser = OutputPath::parser(OutputKind::Skeleton))]
    pub(crate) output: OutputPath,
    /// Name of the skeleton's module [default: the file name of OBJ, without .bpf.o or .o]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Type of the events of a ring buffer or perf event array; may be repeated
    #[arg(long = "event", value_name = "MAP=TYPE", value_parser = parse_event)]
    pub(crate) events: Vec<(String, String)>,
    /// Generate this type, too, such as `struct header`; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// A map that may be left out of a load; its field is an `Option`; may be repeated
    #[arg(long, value_name = "MAP", value_parser = parse_name)]
    pub(crate) optional_map: Vec<String>,
    /// Implement bytemuck::Pod for the types
    #[arg(long)]
    pub(crate) bytemuck: bool,
    /// Derive zerocopy's traits for the types; members of type bool are u8 then
    #[arg(long)]
    pub(crate) zerocopy: bool,
}

fn parse_event(argument: &str) -> Result<(String, String), String> {
    match argument.split_once('=') {
        Some((map, ty)) if !map.is_empty() && !ty.is_empty() => Ok((map.to_owned(), ty.to_owned())),
        _ => Err("expected MAP=TYPE, such as events='struct event'".into()),
    }
}
