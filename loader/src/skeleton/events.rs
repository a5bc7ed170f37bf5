//! Ring buffers and perf buffers whose records are decoded to events.

use crate::{
    load::{Loaded, LoadedMap},
    ring::{CallbackResult, Consumed, PerfBuffer, PerfBufferOptions, RingBuffer, RingError},
    sys::{Errno, MapFd, Pod},
};
use alloc::sync::Arc;
use core::{fmt, marker::PhantomData, ops::ControlFlow, time::Duration};
use core_relo::Text;
use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    sync::{Mutex, PoisonError},
};
use thiserror::Error;

/// A record of a ring buffer or perf buffer: a [`Pod`] type, or an enum of such types that a skeleton
/// generates. `Vec<u8>` is the record itself.
pub trait Event: Sized {
    /// Decodes the start of a record. Returns `None` if the record is too short, or its kind is unknown.
    fn decode(record: &[u8]) -> Option<Self>;
}

impl<T: Pod> Event for T {
    fn decode(record: &[u8]) -> Option<Self> {
        T::from_bytes(record)
    }
}

impl Event for Vec<u8> {
    fn decode(record: &[u8]) -> Option<Self> {
        Some(record.to_vec())
    }
}

/// The reason why events cannot be read.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EventError {
    /// The ring cannot be opened or read.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A record is not an event of the map's type. The next call continues with the next record.
    #[error("map {map}: a record of {len} bytes is no `{event}`: it is too short, or of an unknown kind")]
    Record {
        /// The map's name.
        map: Text,
        /// The Rust type of the event.
        event: &'static str,
        /// The record's length in bytes.
        len: usize,
    },
}

core_relo::debug_as_message!(EventError);

/// A ring buffer map whose records are events of type `E`.
pub struct RingBufferMap<E> {
    loaded: Arc<Loaded>,
    name: &'static str,
    event: PhantomData<fn() -> E>,
}

/// A perf event array whose samples are events of type `E`.
pub struct PerfBufferMap<E> {
    loaded: Arc<Loaded>,
    name: &'static str,
    event: PhantomData<fn() -> E>,
}

/// A reader of a ring buffer that decodes its records.
pub struct EventReader<'cb> {
    ring: RingBuffer<'cb>,
    undecoded: Undecoded,
}

/// A reader of a perf event array that decodes its samples.
pub struct PerfEventReader<'cb> {
    ring: PerfBuffer<'cb>,
    undecoded: Undecoded,
}

/// The length of the record that stopped a call because it could not be decoded, and the names for the error.
#[derive(Clone)]
struct Undecoded {
    map: &'static str,
    event: &'static str,
    len: Arc<Mutex<Option<usize>>>,
}

impl Undecoded {
    fn new<E>(map: &'static str) -> Self {
        Self { map, event: core::any::type_name::<E>(), len: Arc::default() }
    }

    /// Decodes a record, and stops the call if that fails.
    fn decode<E: Event, R: CallbackResult>(
        &self,
        record: &[u8],
        on_event: impl FnOnce(E) -> R,
    ) -> ControlFlow<()> {
        if let Some(event) = E::decode(record) {
            return on_event(event).flow();
        }
        *self.len.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.len());
        ControlFlow::Break(())
    }

    /// Returns the result of a call, or the error of the record that stopped the call.
    fn check(&self, result: Result<Consumed, RingError>) -> Result<Consumed, EventError> {
        let consumed = result?;
        match self.len.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(consumed),
            Some(len) => Err(EventError::Record { map: self.map.into(), event: self.event, len }),
        }
    }
}

impl<E: Event> RingBufferMap<E> {
    /// Creates the handle of a map.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, event: PhantomData }
    }

    /// Opens a reader. The callback gets each event, and returns `()` or whether to continue.
    pub fn reader<'cb, R: CallbackResult>(
        &self,
        mut on_event: impl FnMut(E) -> R + Send + 'cb,
    ) -> Result<EventReader<'cb>, EventError> {
        self.reader_with_bytes(move |event, _record| on_event(event))
    }

    /// Opens a reader whose callback also gets the bytes of the whole record, for records with data after the
    /// event.
    pub fn reader_with_bytes<'cb, R: CallbackResult>(
        &self,
        mut on_event: impl FnMut(E, &[u8]) -> R + Send + 'cb,
    ) -> Result<EventReader<'cb>, EventError> {
        let undecoded = Undecoded::new::<E>(self.name);
        let decoder = undecoded.clone();
        let on_record = move |record: &[u8]| decoder.decode(record, |event| on_event(event, record));
        Ok(EventReader { ring: RingBuffer::new(self.handle()?, on_record)?, undecoded })
    }

    /// Returns a handle of the map, for readers of several maps ([`RingBuffer::add`]) and of raw records.
    pub fn handle(&self) -> Result<MapFd, RingError> {
        handle(&self.loaded, self.name)
    }
}

impl<E: Event> PerfBufferMap<E> {
    /// Creates the handle of a map.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, event: PhantomData }
    }

    /// Opens a reader. The callback gets the CPU and each event.
    pub fn reader<'cb, R: CallbackResult>(
        &self,
        on_event: impl FnMut(u32, E) -> R + Send + 'cb,
    ) -> Result<PerfEventReader<'cb>, EventError> {
        self.reader_with(PerfBufferOptions::new(), on_event)
    }

    /// Opens a reader with options: pages, CPUs, a callback for lost samples.
    pub fn reader_with<'cb, R: CallbackResult>(
        &self,
        options: PerfBufferOptions<'cb>,
        mut on_event: impl FnMut(u32, E) -> R + Send + 'cb,
    ) -> Result<PerfEventReader<'cb>, EventError> {
        let undecoded = Undecoded::new::<E>(self.name);
        let decoder = undecoded.clone();
        let on_sample = move |cpu, sample: &[u8]| decoder.decode(sample, |event| on_event(cpu, event));
        Ok(PerfEventReader { ring: options.open(self.handle()?, on_sample)?, undecoded })
    }

    /// Returns a handle of the map, for readers of raw samples.
    pub fn handle(&self) -> Result<MapFd, RingError> {
        handle(&self.loaded, self.name)
    }
}

fn handle(loaded: &Loaded, name: &str) -> Result<MapFd, RingError> {
    let handle = loaded.map(name).ok_or(Errno(libc::ENOENT)).and_then(LoadedMap::handle);
    handle.map_err(|errno| RingError::kernel(name, "find it in the loaded object", errno))
}

macro_rules! reader {
    ($reader:ident) => {
        impl $reader<'_> {
            /// Waits for records and runs the callback until the map is empty. Without a timeout, waits
            /// forever. A signal ends the wait early, without an error.
            pub fn poll(&mut self, timeout: Option<Duration>) -> Result<Consumed, EventError> {
                let result = self.ring.poll(timeout);
                self.undecoded.check(result)
            }

            /// Runs the callback until the map is empty. Does not wait.
            pub fn consume(&mut self) -> Result<Consumed, EventError> {
                let result = self.ring.consume();
                self.undecoded.check(result)
            }
        }

        impl AsFd for $reader<'_> {
            /// Returns an epoll instance that is readable while the map has records.
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.ring.as_fd()
            }
        }

        impl AsRawFd for $reader<'_> {
            /// Returns the same descriptor as `as_fd`, for event loops such as tokio's `AsyncFd`.
            fn as_raw_fd(&self) -> RawFd {
                self.ring.as_fd().as_raw_fd()
            }
        }

        impl fmt::Debug for $reader<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($reader)).field(&self.undecoded.map).finish()
            }
        }
    };
}

reader!(EventReader);
reader!(PerfEventReader);

impl EventReader<'_> {
    /// Returns how many times the reader found the ring too full for another record. See
    /// [`RingBuffer::full_count`].
    pub fn full_count(&self) -> u64 {
        self.ring.full_count(0)
    }

    /// Returns the number of bytes that were overwritten before they were read. See
    /// [`RingBuffer::lost_bytes`].
    pub fn lost_bytes(&self) -> u64 {
        self.ring.lost_bytes(0)
    }
}

impl PerfEventReader<'_> {
    /// Returns the number of samples lost so far. See [`PerfBuffer::lost`].
    pub fn lost(&self) -> u64 {
        self.ring.lost()
    }
}

macro_rules! map_field {
    ($map:ident) => {
        impl<E> Clone for $map<E> {
            fn clone(&self) -> Self {
                Self { loaded: Arc::clone(&self.loaded), name: self.name, event: PhantomData }
            }
        }

        impl<E> fmt::Debug for $map<E> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($map)).field(&self.name).finish()
            }
        }
    };
}

map_field!(RingBufferMap);
map_field!(PerfBufferMap);
