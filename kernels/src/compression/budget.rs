//! The budget for unpacking one input file: bytes, compressed streams, streams within streams.

use crate::limits::Limits;
use std::{cell::Cell, error::Error, fmt, io, rc::Rc};

/// The default limit for the unpacked bytes of one kernel: [`RATIO`] times the file's size, and at least
/// [`KERNEL_MIN`].
const KERNEL_MIN: u64 = 64 << 20;
const RATIO: u64 = 64;

/// The default limit for the unpacked bytes of an archive: [`RATIO`] times the file's size, at least
/// [`ARCHIVE_MIN`], and at most [`ARCHIVE_KERNELS`] times the limit for one kernel.
const ARCHIVE_MIN: u64 = 512 << 20;
const ARCHIVE_KERNELS: u64 = 64;

/// The limit for the number of streams: [`STREAMS_MIN`], and one more for each [`STREAM_BYTES`] of the limit
/// for unpacked bytes.
///
/// Tools that split files into streams put at least 64 KiB into each. Bytes in a kernel image that only look
/// like a stream count as well.
const STREAMS_MIN: u64 = 64;
const STREAM_BYTES: u64 = 16 << 10;

/// The default limit for compressed bytes: [`COMPRESSED_RATIO`] times the file's size, and a minimum more.
///
/// Unpacking takes time for each compressed byte, even if the byte unpacks to nothing: a block of 11 bytes
/// that rebuilds the tables of a decoder takes as long as 300 unpacked bytes. Such blocks compress well
/// themselves, so the limit for unpacked bytes does not bound their number. Compressing a stream again hardly
/// makes it smaller, so each layer of a real file reads about as many bytes as the file has. An archive has a
/// larger minimum, because two members with the same content may take the space of one.
const COMPRESSED_RATIO: u64 = 4;
const COMPRESSED_KERNEL_MIN: u64 = 8 << 20;
const COMPRESSED_ARCHIVE_MIN: u64 = 32 << 20;

/// The maximum number of nested streams, as in a compressed image of a compressed kernel.
const LAYERS: u32 = 4;

/// The budget of an input file. All clones draw on the same budget: an image, its streams, and the streams
/// within those.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    account: Rc<Account>,
    layers: u32,
}

#[derive(Debug)]
struct Account {
    scope: Scope,
    limit: u64,
    bytes: Cell<u64>,
    streams: Cell<u64>,
    compressed_limit: u64,
    /// Compressed bytes that have been read.
    compressed: Cell<u64>,
    /// The budget of the archive that the member belongs to. What the member takes is taken from both
    /// budgets.
    archive: Option<Budget>,
}

/// The input that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A file with one kernel, or a member of an archive.
    Kernel,
    /// An archive.
    Archive,
}

/// A limit that has been exceeded.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exceeded {
    /// The file unpacks to too many bytes.
    Bytes {
        /// The input that has the limit.
        scope: Scope,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file contains too many compressed streams.
    Streams {
        /// The largest number of streams.
        limit: u64,
    },
    /// Decompression reads too many bytes.
    Compressed {
        /// The limit in bytes.
        limit: u64,
    },
    /// Too many compressed streams are nested.
    Layers,
}

core_relo::debug_as_message!(Exceeded);

impl Budget {
    /// Creates the budget for a file with one kernel that takes `stored` bytes.
    pub(crate) fn for_kernel(limits: Limits, stored: u64) -> Self {
        Self::new(Scope::Kernel, limits, stored, None)
    }

    /// Creates the budget for a list of packages, which unpacks to at most `max_bytes`.
    #[cfg(feature = "fetch")]
    pub(crate) fn for_list(max_bytes: u64, stored: &[u8]) -> Self {
        let stored_bytes = u64::try_from(stored.len()).unwrap_or(u64::MAX);
        Self::for_kernel(Limits::new(Some(max_bytes)), stored_bytes)
    }

    /// Creates the budget for an archive that takes `stored` bytes.
    pub(crate) fn for_archive(limits: Limits, stored: u64) -> Self {
        Self::new(Scope::Archive, limits, stored, None)
    }

    /// Creates the budget for a member that takes `stored` bytes of this budget's archive.
    pub(crate) fn for_member(&self, limits: Limits, stored: u64) -> Self {
        Self::new(Scope::Kernel, limits, stored, Some(self.clone()))
    }

    fn new(scope: Scope, limits: Limits, stored: u64, archive: Option<Self>) -> Self {
        let (max, min, compressed_min) = match scope {
            Scope::Kernel => (limits.bytes, KERNEL_MIN, COMPRESSED_KERNEL_MIN),
            Scope::Archive => {
                (limits.bytes.saturating_mul(ARCHIVE_KERNELS), ARCHIVE_MIN, COMPRESSED_ARCHIVE_MIN)
            }
        };
        let limit = if limits.is_user_set { max } else { stored.saturating_mul(RATIO).max(min).min(max) };
        let by_size = stored.saturating_mul(COMPRESSED_RATIO).saturating_add(compressed_min);
        let compressed_limit = if limits.is_user_set { by_size.max(limit) } else { by_size };
        let [bytes, streams, compressed] = [const { Cell::new(0) }; 3];
        let account = Account { scope, limit, bytes, streams, compressed_limit, compressed, archive };
        Self { account: Rc::new(account), layers: LAYERS }
    }

    /// Returns the accounts to take from: this budget's own, and the archive's for a member.
    fn accounts(&self) -> impl Iterator<Item = &Account> {
        let archive = self.account.archive.as_ref();
        [Some(&*self.account), archive.map(|archive| &*archive.account)].into_iter().flatten()
    }

    /// Takes bytes that have been unpacked. After they have exceeded the budget, every later request fails as
    /// well.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Exceeded> {
        self.accounts().for_each(|account| account.bytes.set(account.bytes.get().saturating_add(bytes)));
        self.check()
    }

    /// Takes bytes before they are unpacked. If they exceed the budget, the caller does not unpack them, and
    /// the budget stays unchanged.
    pub(crate) fn take_ahead(&self, bytes: u64) -> Result<(), Exceeded> {
        match self.accounts().find(|account| account.remaining() < bytes) {
            Some(account) => Err(account.exceeded()),
            None => self.take(bytes),
        }
    }

    /// Returns an error if the budget is exceeded.
    pub(crate) fn check(&self) -> Result<(), Exceeded> {
        self.accounts().try_for_each(Account::check)
    }

    /// Returns the number of bytes that may still be unpacked.
    pub(crate) fn remaining(&self) -> u64 {
        let own = self.account.remaining();
        self.account.archive.as_ref().map_or(own, |archive| own.min(archive.account.remaining()))
    }

    /// Counts a stream, before its content is checked.
    pub(crate) fn take_stream(&self) -> Result<(), Exceeded> {
        self.accounts().for_each(|account| account.streams.set(account.streams.get().saturating_add(1)));
        self.check()
    }

    /// Counts compressed bytes that have been read.
    pub(crate) fn take_compressed(&self, bytes: u64) {
        self.accounts()
            .for_each(|account| account.compressed.set(account.compressed.get().saturating_add(bytes)));
    }

    /// Returns a clone for the content of a stream, one layer deeper.
    pub(crate) fn within_stream(&self) -> Result<Self, Exceeded> {
        let layers = self.layers.checked_sub(1).ok_or(Exceeded::Layers)?;
        Ok(Self { account: Rc::clone(&self.account), layers })
    }
}

impl Account {
    fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.bytes.get())
    }

    const fn exceeded(&self) -> Exceeded {
        Exceeded::Bytes { scope: self.scope, limit: self.limit }
    }

    fn check(&self) -> Result<(), Exceeded> {
        if self.bytes.get() > self.limit {
            return Err(self.exceeded());
        }
        let limit = (self.limit / STREAM_BYTES).saturating_add(STREAMS_MIN);
        if self.streams.get() > limit {
            return Err(Exceeded::Streams { limit });
        }
        if self.compressed.get() > self.compressed_limit {
            return Err(Exceeded::Compressed { limit: self.compressed_limit });
        }
        Ok(())
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { scope: Scope::Kernel, limit } => write!(f, "unpacks to more than {limit} bytes"),
            Self::Bytes { scope: Scope::Archive, limit } => {
                write!(f, "unpacks to more than {limit} bytes, the limit for an archive")
            }
            Self::Streams { limit } => write!(f, "contains more than {limit} compressed streams"),
            Self::Compressed { limit } => {
                write!(f, "reads more than {limit} compressed bytes, a multiple of the file's size")
            }
            Self::Layers => write!(f, "contains more than {LAYERS} nested compressed streams"),
        }
    }
}

impl Error for Exceeded {}

impl From<Exceeded> for io::Error {
    fn from(e: Exceeded) -> Self {
        Self::new(io::ErrorKind::FileTooLarge, e)
    }
}

impl Exceeded {
    /// Returns the exceeded limit that caused an I/O error.
    pub fn from_io(e: &io::Error) -> Option<Self> {
        e.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_may_unpack_to_a_minimum_large_ones_to_a_multiple_of_their_size() {
        let kernel = |limits, stored| Budget::for_kernel(limits, stored).remaining();
        let archive = |limits, stored| Budget::for_archive(limits, stored).remaining();
        let (free, given) = (Limits::default(), Limits::new(Some(1000)));
        assert_eq!(
            [0, 1 << 20, 2 << 20, 1 << 30].map(|n| kernel(free, n)),
            [64 << 20, 64 << 20, 128 << 20, 1 << 30]
        );
        assert_eq!([0, 1 << 25, 1 << 40].map(|n| archive(free, n)), [512 << 20, 2 << 30, 64 << 30]);
        assert_eq!([0, u64::MAX].map(|n| kernel(given, n)), [1000; 2]);
        assert_eq!([0, u64::MAX].map(|n| archive(given, n)), [64_000; 2]);
    }

    #[test]
    fn archives_pay_for_their_members() {
        let archive = Budget::for_archive(Limits::new(Some(100)), 0);
        for _ in 0..64 {
            let member = archive.for_member(Limits::new(Some(100)), 10);
            assert_eq!(member.within_stream().unwrap().take(100), Ok(()));
            assert_eq!(member.remaining(), 0);
        }
        let last = archive.for_member(Limits::new(Some(100)), 10);
        let exceeded = Exceeded::Bytes { scope: Scope::Archive, limit: 6400 };
        assert_eq!((last.remaining(), last.take(1), archive.check()), (0, Err(exceeded), Err(exceeded)));
        // Once too much was taken, nothing fits.
        assert_eq!(last.take(0), Err(exceeded));
    }

    #[test]
    fn bytes_that_are_not_unpacked_cost_nothing() {
        let archive = Budget::for_archive(Limits::new(Some(100)), 0);
        let member = archive.for_member(Limits::new(Some(100)), 10);
        assert_eq!(member.take_ahead(101), Err(Exceeded::Bytes { scope: Scope::Kernel, limit: 100 }));
        assert_eq!((archive.remaining(), member.take_ahead(100), archive.remaining()), (6400, Ok(()), 6300));
        assert_eq!(archive.take(6300), Ok(()));
        let member = archive.for_member(Limits::new(Some(100)), 10);
        assert_eq!(member.take_ahead(1), Err(Exceeded::Bytes { scope: Scope::Archive, limit: 6400 }));
        assert_eq!(archive.check(), Ok(()));
    }

    #[test]
    fn streams_and_layers_are_limited() {
        let budget = Budget::for_kernel(Limits::new(Some(2 * STREAM_BYTES)), 0);
        let taken = (0..1000).take_while(|_| budget.take_stream().is_ok()).count();
        assert_eq!((taken, budget.check()), (66, Err(Exceeded::Streams { limit: 66 })));
        let mut budget = Budget::for_kernel(Limits::default(), 0);
        for _ in 0..LAYERS {
            budget = budget.within_stream().unwrap();
        }
        assert_eq!(budget.within_stream().unwrap_err(), Exceeded::Layers);
    }

    #[test]
    fn compressed_bytes_are_limited_by_the_size_of_the_file() {
        let limit = |budget: Budget| {
            budget.take_compressed(1 << 62);
            match budget.check() {
                Err(Exceeded::Compressed { limit }) => limit,
                other => panic!("{other:?}"),
            }
        };
        let (default, user_set) = (Limits::default(), Limits::new(Some(1 << 30)));
        assert_eq!(limit(Budget::for_kernel(default, 1 << 20)), 12 << 20);
        assert_eq!(limit(Budget::for_archive(default, 1 << 20)), 36 << 20);
        assert_eq!(limit(Budget::for_kernel(user_set, 1 << 20)), 1 << 30);
        assert_eq!(limit(Budget::for_kernel(Limits::new(Some(1000)), 0)), 8 << 20);
        let archive = Budget::for_archive(default, 1 << 20);
        archive.for_member(default, 1 << 30).take_compressed(37 << 20);
        assert_eq!(archive.check(), Err(Exceeded::Compressed { limit: 36 << 20 }));
    }
}
