//! The readers. Each has the same work for each record: the sum of the first numbers, or a time.

use super::producer::{Buffer, Producer};
use crate::peer::Peer;
use core_relo_loader::ring::{PerfBuffer, PerfBufferOptions, RingBuffer};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The pages of a perf buffer for each CPU.
const PERF_PAGES: usize = 1024;

/// A reader of one map.
pub trait Reader {
    /// Reads all records, without waiting. Returns their number.
    fn consume(&mut self) -> Result<u64, String>;

    /// Waits for records and reads them. Returns their number.
    fn poll(&mut self, timeout: Duration) -> Result<u64, String>;
}

/// The work for each record.
pub enum Work {
    /// Adds up the first numbers, so that the record is read.
    Sum(AtomicU64),
    /// Collects the times between the time stamps of the records and now, in nanoseconds.
    Times(std::sync::Mutex<Vec<u64>>),
}

impl Work {
    fn run(&self, record: &[u8]) {
        let number = record.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        match self {
            Self::Sum(sum) => {
                // One thread reads.
                let sum_before = sum.load(Ordering::Relaxed);
                sum.store(sum_before.wrapping_add(number), Ordering::Relaxed);
            }
            Self::Times(times) => {
                let now = now();
                if let Ok(mut times) = times.lock() {
                    times.push(now.saturating_sub(number));
                }
            }
        }
    }
}

/// Returns the time of the clock of `bpf_ktime_get_ns`.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Opens the reader of a peer.
pub fn open<'w>(
    peer: Peer,
    producer: &Producer,
    buffer: Buffer,
    work: &'w Work,
) -> Result<Box<dyn Reader + 'w>, String> {
    let map = producer.map(buffer)?;
    match (peer, buffer) {
        (Peer::Ours, Buffer::Ring) => {
            let ring = RingBuffer::new(&map, |record: &[u8]| work.run(record));
            Ok(Box::new(ring.map_err(|e| e.to_string())?))
        }
        (Peer::Ours, Buffer::Perf) => {
            let options = PerfBufferOptions::new().pages(PERF_PAGES);
            let perf = options.open(&map, |_cpu, sample: &[u8]| work.run(sample));
            Ok(Box::new(perf.map_err(|e| e.to_string())?))
        }
        #[cfg(feature = "libbpf")]
        (Peer::Libbpf, _) => Ok(Box::new(libbpf::Consumer::open(map, buffer, work)?)),
        #[cfg(feature = "aya")]
        (Peer::Aya, Buffer::Ring) => Ok(Box::new(aya::Ring::open(map, work)?)),
        #[cfg(feature = "aya")]
        (Peer::Aya, Buffer::Perf) => Ok(Box::new(aya::Perf::open(map, work)?)),
        #[cfg(not(all(feature = "libbpf", feature = "aya")))]
        _ => Err(peer.missing_reason().unwrap_or_default().to_owned()),
    }
}

impl Reader for RingBuffer<'_> {
    fn consume(&mut self) -> Result<u64, String> {
        self.consume().map(|consumed| consumed.records as u64).map_err(|e| e.to_string())
    }

    fn poll(&mut self, timeout: Duration) -> Result<u64, String> {
        self.poll(Some(timeout)).map(|consumed| consumed.records as u64).map_err(|e| e.to_string())
    }
}

impl Reader for PerfBuffer<'_> {
    fn consume(&mut self) -> Result<u64, String> {
        self.consume().map(|consumed| consumed.records as u64).map_err(|e| e.to_string())
    }

    fn poll(&mut self, timeout: Duration) -> Result<u64, String> {
        self.poll(Some(timeout)).map(|consumed| consumed.records as u64).map_err(|e| e.to_string())
    }
}

#[cfg(feature = "libbpf")]
mod libbpf {
    use super::{Buffer, PERF_PAGES, Reader, Work};
    use libbpf_sys as sys;
    use std::{
        cell::Cell,
        ffi::{c_int, c_void},
        os::fd::{AsRawFd as _, OwnedFd},
        ptr, slice,
        time::Duration,
    };

    /// libbpf's `ring_buffer` or `perf_buffer`.
    pub struct Consumer<'w> {
        buffer: Handle,
        state: Box<State<'w>>,
        _map: OwnedFd,
    }

    enum Handle {
        Ring(*mut sys::ring_buffer),
        Perf(*mut sys::perf_buffer),
    }

    /// The context of the callbacks.
    struct State<'w> {
        work: &'w Work,
        count: Cell<u64>,
    }

    impl State<'_> {
        /// # Safety
        ///
        /// `context` is a state, `data` has `len` readable bytes.
        unsafe fn add(context: *const c_void, data: *const c_void, len: usize) {
            // SAFETY: see above.
            let (state, record) =
                unsafe { (&*context.cast::<State<'_>>(), slice::from_raw_parts(data.cast(), len)) };
            state.count.set(state.count.get() + 1);
            state.work.run(record);
        }
    }

    extern "C" fn on_record(context: *mut c_void, data: *mut c_void, len: sys::size_t) -> c_int {
        // SAFETY: libbpf passes the context and a record of `len` bytes.
        unsafe { State::add(context, data, len as usize) };
        0
    }

    extern "C" fn on_sample(context: *mut c_void, _cpu: c_int, data: *mut c_void, len: u32) {
        // SAFETY: libbpf passes the context and a sample of `len` bytes.
        unsafe { State::add(context, data, len as usize) };
    }

    impl<'w> Consumer<'w> {
        pub fn open(map: OwnedFd, buffer: Buffer, work: &'w Work) -> Result<Self, String> {
            let state = Box::new(State { work, count: Cell::new(0) });
            let context = (&raw const *state).cast_mut().cast();
            let fd = map.as_raw_fd();
            let handle = match buffer {
                // SAFETY: the context outlives the buffer, see `Consumer`; no options.
                Buffer::Ring => unsafe {
                    let ring = sys::ring_buffer__new(fd, Some(on_record), context, ptr::null());
                    (!ring.is_null()).then_some(Handle::Ring(ring))
                },
                // SAFETY: as above.
                Buffer::Perf => unsafe {
                    let pages = PERF_PAGES as sys::size_t;
                    let perf = sys::perf_buffer__new(fd, pages, Some(on_sample), None, context, ptr::null());
                    (!perf.is_null()).then_some(Handle::Perf(perf))
                },
            };
            let buffer = handle.ok_or_else(|| format!("libbpf: {}", std::io::Error::last_os_error()))?;
            Ok(Self { buffer, state, _map: map })
        }

        /// Calls a function of libbpf and returns the number of records that the callbacks got.
        fn counted(&self, call: impl FnOnce(&Handle) -> c_int) -> Result<u64, String> {
            self.state.count.set(0);
            match call(&self.buffer) {
                error if error < 0 => Err(format!("libbpf: error {error}")),
                _ => Ok(self.state.count.get()),
            }
        }
    }

    impl Reader for Consumer<'_> {
        fn consume(&mut self) -> Result<u64, String> {
            // SAFETY: the buffers are valid.
            self.counted(|buffer| unsafe {
                match buffer {
                    Handle::Ring(ring) => sys::ring_buffer__consume(*ring),
                    Handle::Perf(perf) => sys::perf_buffer__consume(*perf),
                }
            })
        }

        fn poll(&mut self, timeout: Duration) -> Result<u64, String> {
            let timeout = timeout.as_millis() as c_int;
            // SAFETY: the buffers are valid.
            self.counted(|buffer| unsafe {
                match buffer {
                    Handle::Ring(ring) => sys::ring_buffer__poll(*ring, timeout),
                    Handle::Perf(perf) => sys::perf_buffer__poll(*perf, timeout),
                }
            })
        }
    }

    impl Drop for Consumer<'_> {
        fn drop(&mut self) {
            // SAFETY: the buffers are valid and not used again.
            unsafe {
                match self.buffer {
                    Handle::Ring(ring) => sys::ring_buffer__free(ring),
                    Handle::Perf(perf) => sys::perf_buffer__free(perf),
                }
            }
        }
    }
}

#[cfg(feature = "aya")]
mod aya {
    use super::{PERF_PAGES, Reader, Work};
    use aya::maps::{
        Map, MapData, PerfEventArray, RingBuf,
        perf::{PerfEvent, PerfEventArrayBuffer},
    };
    use std::{
        os::fd::{AsRawFd as _, OwnedFd},
        time::Duration,
    };

    /// aya's `RingBuf`, and a poll(2) before each read, as aya has no wait of its own.
    pub struct Ring<'w> {
        ring: RingBuf<MapData>,
        work: &'w Work,
    }

    impl<'w> Ring<'w> {
        pub fn open(map: OwnedFd, work: &'w Work) -> Result<Self, String> {
            let map = MapData::from_fd(map).map_err(|e| e.to_string())?;
            let ring = RingBuf::try_from(Map::RingBuf(map)).map_err(|e| e.to_string())?;
            Ok(Self { ring, work })
        }
    }

    impl Reader for Ring<'_> {
        fn consume(&mut self) -> Result<u64, String> {
            let mut count = 0;
            while let Some(record) = self.ring.next() {
                self.work.run(&record);
                count += 1;
            }
            Ok(count)
        }

        fn poll(&mut self, timeout: Duration) -> Result<u64, String> {
            wait(&mut [self.ring.as_raw_fd()], timeout)?;
            self.consume()
        }
    }

    /// aya's `PerfEventArray` with a buffer for each CPU.
    pub struct Perf<'w> {
        buffers: Vec<PerfEventArrayBuffer>,
        work: &'w Work,
        _array: PerfEventArray<MapData>,
    }

    impl<'w> Perf<'w> {
        pub fn open(map: OwnedFd, work: &'w Work) -> Result<Self, String> {
            let map = MapData::from_fd(map).map_err(|e| e.to_string())?;
            let mut array = PerfEventArray::try_from(Map::PerfEventArray(map)).map_err(|e| e.to_string())?;
            let mut buffers = Vec::new();
            for cpu in aya::util::online_cpus().map_err(|(what, e)| format!("{what}: {e}"))? {
                let buffer = PerfEventArrayBuffer::open(cpu, PERF_PAGES).map_err(|e| e.to_string())?;
                array.set(cpu, &buffer).map_err(|e| e.to_string())?;
                buffers.push(buffer);
            }
            Ok(Self { buffers, work, _array: array })
        }
    }

    impl Reader for Perf<'_> {
        fn consume(&mut self) -> Result<u64, String> {
            let mut count = 0;
            for buffer in &mut self.buffers {
                buffer.for_each(|event| {
                    if let PerfEvent::Sample { head, tail } = event {
                        // The number may be cut by the end of the buffer.
                        self.work.run(if head.len() < 8 { tail } else { head });
                        count += 1;
                    }
                });
            }
            Ok(count)
        }

        fn poll(&mut self, timeout: Duration) -> Result<u64, String> {
            let mut fds: Vec<_> = self.buffers.iter().map(|buffer| buffer.as_raw_fd()).collect();
            wait(&mut fds, timeout)?;
            self.consume()
        }
    }

    /// Waits with poll(2).
    fn wait(fds: &mut [i32], timeout: Duration) -> Result<(), String> {
        let mut fds: Vec<_> =
            fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
        // SAFETY: the array is valid for reads and writes.
        let result =
            unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout.as_millis() as i32) };
        if result < 0 { Err(format!("poll: {}", std::io::Error::last_os_error())) } else { Ok(()) }
    }
}
