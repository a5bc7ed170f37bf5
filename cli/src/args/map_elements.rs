//! The arguments of the `map` commands that take keys and values, and of `map create`.

use super::{
    events::parse_seconds,
    object_selector::{ElementArgs, ObjectSelector, one_name},
    object_words::ObjectWords,
};
use crate::format::Format;
use clap::{
    Args, ValueHint,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use core_relo_loader::object::MapType;
use std::{num::NonZeroU64, path::PathBuf, str::FromStr, time::Duration};

const LOOKUP_HELP: &str = "Examples:
  core-relo map lookup 7 42
  core-relo map lookup --name flows '{\"saddr\": [10,0,0,1], \"port\": 80}'
  core-relo map lookup --name modes ON --format json
  core-relo map lookup --pinned /sys/fs/bpf/counts hex 2a 00 00 00

The key is a value of the map's key type, as `map dump` prints it, as text or as JSON, quoted for the shell: '{.saddr = [10, 0, 0, 1],
.port = 80}'. A number, an enumerator, text for an array of char, and numbers with commas for another array need no brackets. Members
that are left out are zero. `hex` and the bytes are a key of any type. A queue or stack has no key: its next element is shown.
--cpu 2 shows the value of one CPU of a per-CPU map, as `map dump` numbers them.
Exit status: 0 if the element was found, 1 if not, 2 if it could not be read.";
const GETNEXT_HELP: &str = "Examples:
  core-relo map getnext 7
  core-relo map getnext --name counts 42

Without a key, or with a key that the map does not have, prints the first key.
Exit status: 0 if there is a next key, 1 if not, 2 if it could not be read.";
const UPDATE_HELP: &str = "Examples:
  core-relo map update 7 42 100
  core-relo map update --name flows '{\"port\": 80}' '{\"packets\": 0}' --noexist
  core-relo map update --pinned /sys/fs/bpf/counts key hex 2a 00 00 00 value hex 64 00 00 00
  core-relo map update --name jumps 0 /sys/fs/bpf/tail
  core-relo map update --name .data 0 '{\"limit\": 7}'
  core-relo map update --name hits 0 100 --cpu 2

Takes a key and a value. If one of them has several words, the word `value` stands between them. Both are written as for
`core-relo map lookup`. All CPUs of a per-CPU map get the value; with --cpu N one CPU gets it, and the others keep theirs, on a kernel
that can do so (Linux 7.2 can, 6.18 cannot). The value of a map of programs or maps is an id, a name or the
path of a pin, that of an array of cgroups a directory. The value of a data section may be some of its variables: the others keep
their values, but a value that a program writes to them at this moment is lost.
Exit status: 0 if the element was written, 1 if --noexist or --exist refuses it, 2 if it could not be written.";
const DELETE_HELP: &str = "Examples:
  core-relo map delete 7 42
  core-relo map delete --name flows '{\"port\": 80}'

Exit status: 0 if the element was removed, 1 if there is none, 2 if it could not be removed.";
const PUSH_HELP: &str = "Examples:
  core-relo map push 7 100
  core-relo map push --name queue '{\"pid\": 1}' --exist

Exit status: 0 if the value was appended, 2 if not.";
const CREATE_HELP: &str = "Examples:
  core-relo map create /sys/fs/bpf/counts --type hash --key-size 4 --value-size 8 --max-entries 64
  core-relo map create /sys/fs/bpf/m --type array_of_maps --key-size 4 --value-size 4 \\
    --max-entries 8 --inner-map 7

Prints the map's id. Without the pin, the map would end with this command.";

const EVENTS_HELP: &str = "Examples:
  core-relo map events 7
  core-relo map events --name events --type 'struct event' --count 10
  core-relo map events --pinned /sys/fs/bpf/mine/maps/events --format json | jq .value.pid

Prints the records of a ring buffer or perf event array as they arrive, until Ctrl-C, --count or --timeout. The type of the records is
looked up in the BTF of a program that uses the map: the one of --type, or the one that EVENT_TYPE of core_relo.h declares. A record
that is read is gone for other readers: if another process holds the map, the command asks for --force. Of a perf event array, it takes
the events of all CPUs, and another reader gets no more events afterwards, either.
Exit status: 0; 1 if fewer than --count events arrived; 2 if the map cannot be read.";

/// The CPUs whose values in a per-CPU map are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuChoice {
    All,
    One(u32),
}

impl FromStr for CpuChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            number => {
                number.parse().map(Self::One).map_err(|_no_number| "expected the number of a CPU, or `all`")
            }
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = LOOKUP_HELP)]
#[command(override_usage = "core-relo map lookup [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> [KEY]...")]
pub(crate) struct MapLookupArgs {
    #[command(flatten)]
    pub(crate) map: ObjectWords,
    /// Of a per-CPU map, show the value of this CPU only, or of `all` CPUs [default: all]
    #[arg(long, value_name = "N|all")]
    pub(crate) cpu: Option<CpuChoice>,
    #[command(flatten)]
    pub(crate) elements: ElementArgs,
}

#[derive(Debug, Args)]
#[command(after_help = GETNEXT_HELP)]
#[command(override_usage = "core-relo map getnext [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> [KEY]...")]
pub(crate) struct MapGetnextArgs {
    #[command(flatten)]
    pub(crate) map: ObjectWords,
    #[command(flatten)]
    pub(crate) elements: ElementArgs,
}

#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
#[command(
    override_usage = "core-relo map update [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> [key] <KEY>... [value] <VALUE>..."
)]
pub(crate) struct MapUpdateArgs {
    #[command(flatten)]
    pub(crate) map: ObjectWords,
    /// Of a per-CPU map, write the value of this CPU only, or of `all` CPUs [default: all]
    #[arg(long, value_name = "N|all")]
    pub(crate) cpu: Option<CpuChoice>,
    /// Only add: the element must not exist
    #[arg(long, conflicts_with = "exist")]
    pub(crate) noexist: bool,
    /// Only change: the element must exist
    #[arg(long)]
    pub(crate) exist: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = DELETE_HELP)]
#[command(override_usage = "core-relo map delete [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> <KEY>...")]
pub(crate) struct MapDeleteArgs {
    #[command(flatten)]
    pub(crate) map: ObjectWords,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = PUSH_HELP)]
#[command(override_usage = "core-relo map push [OPTIONS] <ID|--id N|--name NAME|--pinned PATH> <VALUE>...")]
pub(crate) struct MapPushArgs {
    #[command(flatten)]
    pub(crate) map: ObjectWords,
    /// If the queue or stack is full, remove its oldest element
    #[arg(long)]
    pub(crate) exist: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = EVENTS_HELP)]
#[command(mut_arg("name", one_name))]
pub(crate) struct MapEventsArgs {
    #[command(flatten)]
    pub(crate) selector: ObjectSelector,
    /// The C type of the records [default: as the object declares with EVENT_TYPE of core_relo.h, or bytes]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// End after this number of events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU64>,
    /// End after this time
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Read the map even if another process holds it, which may lose events
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = CREATE_HELP)]
pub(crate) struct MapCreateArgs {
    /// The pin, on a bpffs; the directory is created if its parent exists
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,
    /// The type of map, such as hash
    #[arg(long = "type", value_name = "TYPE", value_parser = map_type_parser())]
    pub(crate) map_type: u32,
    /// Bytes of a key
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) key_size: u32,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) value_size: u32,
    /// The maximum number of elements; of a ring buffer, bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_entries: u32,
    /// The map's name
    #[arg(long, default_value = "")]
    pub(crate) name: String,
    /// BPF_F_* flags, as a number
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_flags)]
    pub(crate) flags: u32,
    /// A map that is like the inner maps: its id, name or pin
    #[arg(long, value_name = "MAP", value_hint = ValueHint::FilePath)]
    pub(crate) inner_map: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Returns a parser for the short names of map types.
fn map_type_parser() -> impl clap::builder::TypedValueParser<Value = u32> {
    let names: Vec<String> = MapType::offered().map(MapType::short_name).collect();
    PossibleValuesParser::new(names)
        .try_map(|name| MapType::from_name(&name).map(MapType::number).ok_or("unknown map type"))
}

/// Parses a decimal or hexadecimal number.
fn parse_flags(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_no_number| "expected a number of 32 bits, decimal or 0x…".to_owned())
}
