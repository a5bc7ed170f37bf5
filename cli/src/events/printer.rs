//! The text and the JSON lines of events.

use super::{
    reader::{EventReaders, Loss, Record},
    source::{BufferKind, EventSource, EventType},
};
use crate::{
    console::{Console, ExitStatus},
    error::BadInput,
    format::Format,
    long_double,
    output::is_stdout_closed,
    text::{hex, printer::LINE_BYTES},
};
use core_relo::{Escaped, btf::Value};
use serde::Serialize;
use std::{
    io,
    num::NonZeroU64,
    time::{Duration, Instant},
};

/// The kernel pads the samples of a perf event array with up to 7 bytes.
const PERF_PADDING: usize = 7;

/// The time between two messages about lost samples.
const LOST_INTERVAL: Duration = Duration::from_secs(1);

/// The conditions that end the printing of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventLimits {
    /// The number of events that are still printed; `None` for all.
    count: Option<u64>,
    /// The time when the printing ends; `None` for never.
    deadline: Option<Instant>,
}

impl EventLimits {
    /// Returns the limits of a number of events and a time from now on.
    pub(crate) fn new(count: Option<NonZeroU64>, timeout: Option<Duration>) -> Self {
        // A time that the clock does not reach is no limit.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self { count: count.map(Into::into), deadline }
    }
}

/// The JSON line of an event.
#[derive(Serialize)]
struct EventLine<'a> {
    map: &'a str,
    cpu: Option<u32>,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    value: Option<Value<'a>>,
    bytes: String,
    /// The number of bytes that the record lacks.
    missing_bytes: usize,
}

/// Prints events until `is_stopped`, a limit, or the end of the output's reader. An output that is closed
/// ends it without an error.
pub(crate) fn print_events(
    console: &mut Console<'_>,
    readers: &mut EventReaders,
    limits: EventLimits,
    is_stopped: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    note_untyped(console, readers)?;
    let mut last_lost = (0, Instant::now());
    let result = print_until(console, readers, limits, is_stopped, &mut last_lost);
    if lost(readers) != last_lost.0 {
        readers.losses().try_for_each(|(map, loss)| console.warn(&loss_text(map, loss)))?;
    }
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn print_until(
    console: &mut Console<'_>,
    readers: &mut EventReaders,
    EventLimits { count: mut left, deadline }: EventLimits,
    is_stopped: &mut dyn FnMut() -> bool,
    last_lost: &mut (u64, Instant),
) -> io::Result<()> {
    loop {
        // The records that arrived before a signal or the deadline are printed.
        let is_last = is_stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let deadline_of_wait = if is_last { Some(Instant::now()) } else { deadline };
        let max_records = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let records = match readers.wait(deadline_of_wait, max_records) {
            Ok(records) => records,
            Err(e) => return console.report_error(&BadInput::new("events", e)),
        };
        let is_idle = records.is_empty();
        for record in &records {
            write_event(console, &readers.sources, record)?;
            left = left.map(|left| left.saturating_sub(1));
        }
        console.out.flush()?;
        if left == Some(0) {
            return Ok(());
        }
        if is_last {
            return report_shortfall(console, left);
        }
        warn_of_losses(console, readers, last_lost)?;
        if is_idle && is_stdout_closed() {
            return Ok(());
        }
    }
}

/// Reports that fewer events arrived than the user asked for.
fn report_shortfall(console: &mut Console<'_>, left: Option<u64>) -> io::Result<()> {
    let Some(left) = left else { return Ok(()) };
    console.raise_exit(ExitStatus::Incompatible);
    console.note(&format!("{left} events of --count did not arrive"))
}

/// Notes the maps whose records are printed as bytes.
fn note_untyped(console: &mut Console<'_>, readers: &EventReaders) -> io::Result<()> {
    for source in readers.sources.iter().filter(|source| source.is_untyped()) {
        let (map, ty) = (&source.map, source.likely_type().unwrap_or_else(|| "TYPE".into()));
        console.note(&format!(
            "map {}: no type of its records is declared: they are printed as bytes; {}{} prints values",
            Escaped(map),
            Escaped(&source.type_option),
            Escaped(&ty)
        ))?;
    }
    Ok(())
}

fn loss_text(map: &str, loss: Loss) -> String {
    let map = Escaped(map);
    match loss {
        Loss::Samples(count) => format!("map {map}: {count} events lost so far: the buffer was full"),
        Loss::RingWasFull(count) => {
            format!(
                "map {map}: events may be lost: the buffer was full {count} times, and the kernel does not count refused events"
            )
        }
        Loss::OverwrittenBytes(bytes) => {
            format!(
                "map {map}: events lost so far: {bytes} bytes of them were overwritten before they were read"
            )
        }
    }
}

/// Returns a number that grows with each loss.
fn lost(readers: &EventReaders) -> u64 {
    readers.losses().fold(0u64, |sum, (_, loss)| sum.saturating_add(loss.count()))
}

/// Warns of new losses, once in a while.
fn warn_of_losses(
    console: &mut Console<'_>,
    readers: &EventReaders,
    (last, time): &mut (u64, Instant),
) -> io::Result<()> {
    let lost = lost(readers);
    if lost == *last || (*last > 0 && time.elapsed() < LOST_INTERVAL) {
        return Ok(());
    }
    (*last, *time) = (lost, Instant::now());
    readers.losses().try_for_each(|(map, loss)| console.warn(&loss_text(map, loss)))
}

fn write_event(console: &mut Console<'_>, sources: &[EventSource], record: &Record) -> io::Result<()> {
    let Some(source) = sources.get(record.source) else { return Ok(()) };
    let ty = source.type_of(&record.bytes);
    if console.format == Format::Json {
        return console.out.json(&EventLine {
            map: &source.map,
            cpu: record.cpu,
            type_name: ty.map(|ty| &*ty.c_type),
            value: ty.map(|ty| value_of(ty, &record.bytes)),
            bytes: hex::digits(&record.bytes),
            missing_bytes: ty.map_or(0, |ty| ty.size.saturating_sub(record.bytes.len())),
        });
    }
    let cpu = record.cpu.map_or_else(String::new, |cpu| format!(" (CPU {cpu})"));
    let place = format!("{}{cpu}:", Escaped(&source.map));
    let text = match ty {
        Some(ty) => event_text(source, ty, &record.bytes, place.len()),
        None if source.is_untyped() => hex::lines(&record.bytes),
        None => format!("unknown kind: {}", hex::lines(&record.bytes)),
    };
    console.out.formatted_lines(&format!("{place} {text}"))
}

/// Returns the value of an event.
fn value_of<'v>(ty: &'v EventType, record: &'v [u8]) -> Value<'v> {
    ty.btf.value(ty.id, value_bytes(ty, record)).long_double(long_double::NATIVE)
}

/// Returns the text of an event: its value, with the name of its type if the map has several types.
fn event_text(source: &EventSource, ty: &EventType, record: &[u8], place_len: usize) -> String {
    let bytes = value_bytes(ty, record);
    let name = if source.types.len() > 1 { format!("{} ", ty.c_type) } else { String::new() };
    let text = value_of(ty, record).text().types(false);
    let line = text.to_string();
    let fits = line.len().saturating_add(name.len()).saturating_add(place_len) <= LINE_BYTES;
    let value = if fits { line } else { format!("{text:#}") };
    match record.len().saturating_sub(bytes.len()) {
        0 => format!("{name}{value}"),
        rest if source.buffer == BufferKind::Perf && rest <= PERF_PADDING => format!("{name}{value}"),
        rest => format!("{name}{value} and {rest} more bytes"),
    }
}

/// Returns the bytes of a record that belong to the value. The elements of a flexible array follow the
/// struct.
fn value_bytes<'r>(ty: &EventType, record: &'r [u8]) -> &'r [u8] {
    if ty.has_flexible_array { record } else { record.get(..ty.size).unwrap_or(record) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_loss_has_a_warning() {
        let text = |loss| loss_text("events", loss);
        assert_eq!(text(Loss::Samples(3)), "map events: 3 events lost so far: the buffer was full");
        assert!(
            text(Loss::RingWasFull(2)).starts_with("map events: events may be lost: the buffer was full 2")
        );
        let overwritten =
            "map events: events lost so far: 48 bytes of them were overwritten before they were read";
        assert_eq!(text(Loss::OverwrittenBytes(48)), overwritten);
    }
}
