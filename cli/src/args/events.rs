//! The arguments for printing the records of ring buffers and perf event arrays.

use crate::events::PrintedMap;
use clap::Args;
use std::{num::NonZeroU64, time::Duration};

/// Options for printing events
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EventArgs {
    /// Print the records of a ring buffer or perf event array; may be given several times. TYPE is the C type
    /// of the records [default: as the object declares with EVENT_TYPE of core_relo.h, or bytes]
    #[arg(long, value_name = "MAP[=TYPE]")]
    pub(crate) print: Vec<PrintedMap>,
    /// With --print: end after this number of events
    #[arg(long, value_name = "N", requires = "print")]
    pub(crate) count: Option<NonZeroU64>,
    /// With --print: end after this time
    #[arg(long, value_name = "SECONDS", requires = "print", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// Parses a number of seconds, which may have a fraction.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds: f64 = text.parse().map_err(|_no_number| "expected a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|_out_of_range| "expected a number of seconds, at least 0")
}
