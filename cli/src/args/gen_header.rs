//! The arguments of `gen header`.

use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueHint};

pub(crate) const GEN_HEADER_HELP: &str = "Examples:
  core-relo gen header -o core_relo.h
  core-relo gen header | less

BPF programs in C include the header. VARIANT, OPTIONAL, LOADED, OFFSET_OF, SIZE_OF, ENUM_VALUE and HAS_FIELD are for `load --adaptive`,
EVENT_TYPE and EVENT_KIND for `load --print`, `map events` and `gen rust`. Build scripts with the crate core-relo-build need no copy.
Exit status 0 if the header was written, else 2.";

#[derive(Debug, Args)]
pub(crate) struct GenHeaderArgs {
    /// File to write the header to; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, default_value = "-", value_parser = OutputPath::parser(OutputKind::CoreReloHeader))]
    pub(crate) output: OutputPath,
}
