//! The records of ring buffers and perf event arrays, printed as values of their types.

mod printed_map;
mod printer;
mod reader;
mod source;

pub(crate) use printed_map::PrintedMap;
pub(crate) use printer::{EventLimits, print_events};
pub(crate) use reader::EventReaders;
pub(crate) use source::{EventSource, find_sources};
