//! What one input file may be unpacked to: bytes, compressed streams, streams within streams. Whatever unpacks takes it from here.

use super::file::Limits;
use std::{cell::Cell, error::Error, fmt, io, rc::Rc};

/// What any input may be unpacked to, and how many times its own size a large one may, unless the user gives a limit.
const UNPACKED_LEAST: u64 = 64 << 20;
const RATIO: u64 = 64;

/// What any archive may be unpacked to, and how many times the bytes of one kernel the largest may.
const ARCHIVE_LEAST: u64 = 512 << 20;
const KERNELS: u64 = 64;

/// Streams that any input may hold, and for how many unpacked bytes it may hold one more. Tools that split files into streams
/// put at least 64 KiB into each; what looks like a stream in a kernel image and is none counts, too.
const STREAMS_LEAST: u64 = 64;
const STREAM_BYTES: u64 = 16 << 10;

/// Compressed bytes that may be read of any input. A large one may have as many as it may be unpacked to: nothing is read again but for
/// the streams that are tried in an image, and what is longer than it unpacks to is made of holes.
const PACKED_LEAST: u64 = 64 << 20;

/// Streams within streams: a compressed image of a compressed kernel.
const LAYERS: u32 = 4;

/// What may still be unpacked of an input file. Clones share it: an image, the streams in it, the streams in those.
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
    /// Compressed bytes that were read.
    packed: Cell<u64>,
    /// The archive that a member is from: what is taken of the member is taken of the archive as well.
    archive: Option<Budget>,
}

/// What a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Kernel,
    Archive,
}

/// Why no more is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Bytes { scope: Scope, limit: u64 },
    Streams { limit: u64 },
    Packed { limit: u64 },
    Layers,
}

impl Budget {
    /// For a file, or a part of one, that takes `stored` bytes and holds one kernel.
    pub(crate) fn of_kernel(limits: Limits, stored: u64) -> Self {
        Self::new(Scope::Kernel, kernel_bytes(limits, stored), None)
    }

    /// For an archive that takes `stored` bytes.
    pub(crate) fn of_archive(limits: Limits, stored: u64) -> Self {
        let most = limits.bytes.saturating_mul(KERNELS);
        let bytes = if limits.given { most } else { by_ratio(stored, ARCHIVE_LEAST).min(most) };
        Self::new(Scope::Archive, bytes, None)
    }

    /// For a member that takes `stored` bytes of the archive that this budget is for.
    pub(crate) fn of_member(&self, limits: Limits, stored: u64) -> Self {
        Self::new(Scope::Kernel, kernel_bytes(limits, stored), Some(self.clone()))
    }

    fn new(scope: Scope, limit: u64, archive: Option<Self>) -> Self {
        let [bytes, streams, packed] = [const { Cell::new(0) }; 3];
        let account = Account { scope, limit, bytes, streams, packed, archive };
        Self { account: Rc::new(account), layers: LAYERS }
    }

    /// The accounts that everything is taken from.
    fn accounts(&self) -> impl Iterator<Item = &Account> {
        let archive = self.account.archive.as_ref();
        [Some(&*self.account), archive.map(|archive| &*archive.account)].into_iter().flatten()
    }

    /// Takes bytes. What does not fit leaves nothing for others.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Exceeded> {
        self.accounts().for_each(|account| account.bytes.set(account.bytes.get().saturating_add(bytes)));
        self.check()
    }

    /// Takes bytes that have yet to be unpacked. What does not fit is not taken: it will not be unpacked, and others may be.
    pub(crate) fn take_ahead(&self, bytes: u64) -> Result<(), Exceeded> {
        match self.accounts().find(|account| account.left() < bytes) {
            Some(account) => Err(account.exceeded()),
            None => self.take(bytes),
        }
    }

    /// Whether everything taken so far fitted.
    pub(crate) fn check(&self) -> Result<(), Exceeded> {
        self.accounts().try_for_each(Account::check)
    }

    /// How many bytes may still be taken.
    pub(crate) fn left(&self) -> u64 {
        self.accounts().map(Account::left).min().unwrap_or(0)
    }

    /// Takes a stream, whether it turns out to be one or not.
    pub(crate) fn take_stream(&self) -> Result<(), Exceeded> {
        self.accounts().for_each(|account| account.streams.set(account.streams.get().saturating_add(1)));
        self.check()
    }

    /// Takes compressed bytes that were read.
    pub(crate) fn take_packed(&self, bytes: u64) {
        self.accounts().for_each(|account| account.packed.set(account.packed.get().saturating_add(bytes)));
    }

    /// The same budget for what is in a stream.
    pub(crate) fn within_stream(&self) -> Result<Self, Exceeded> {
        let layers = self.layers.checked_sub(1).ok_or(Exceeded::Layers)?;
        Ok(Self { account: Rc::clone(&self.account), layers })
    }
}

impl Account {
    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.bytes.get())
    }

    const fn exceeded(&self) -> Exceeded {
        Exceeded::Bytes { scope: self.scope, limit: self.limit }
    }

    fn check(&self) -> Result<(), Exceeded> {
        if self.bytes.get() > self.limit {
            return Err(self.exceeded());
        }
        let limit = (self.limit / STREAM_BYTES).saturating_add(STREAMS_LEAST);
        if self.streams.get() > limit {
            return Err(Exceeded::Streams { limit });
        }
        let limit = self.limit.max(PACKED_LEAST);
        if self.packed.get() > limit {
            return Err(Exceeded::Packed { limit });
        }
        Ok(())
    }
}

fn kernel_bytes(limits: Limits, stored: u64) -> u64 {
    if limits.given { limits.bytes } else { by_ratio(stored, UNPACKED_LEAST).min(limits.bytes) }
}

fn by_ratio(stored: u64, least: u64) -> u64 {
    stored.saturating_mul(RATIO).max(least)
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { scope: Scope::Kernel, limit } => write!(f, "unpacks to more than {limit} bytes"),
            Self::Bytes { scope: Scope::Archive, limit } => {
                write!(f, "unpacks to more than is read of one archive, {limit} bytes")
            }
            Self::Streams { limit } => write!(f, "holds more than {limit} compressed streams"),
            Self::Packed { limit } => {
                write!(f, "holds more than {limit} compressed bytes that unpack to little")
            }
            Self::Layers => write!(f, "compressed more than {LAYERS} times over"),
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
    /// Returns why an error of a stream means that no more is unpacked, if it does.
    pub(crate) fn of(e: &io::Error) -> Option<Self> {
        e.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }

    /// What the user can do about it.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::Bytes { scope: Scope::Kernel, .. } | Self::Streams { .. } | Self::Packed { .. } => {
                "unpack it first, or raise --max-bytes where the command has it"
            }
            Self::Bytes { scope: Scope::Archive, .. } => {
                "unpack it first, or raise --max-bytes: an archive may unpack to 64 times that"
            }
            Self::Layers => "unpack it first",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_may_unpack_to_a_minimum_large_ones_to_a_multiple_of_their_size() {
        let kernel = |limits, stored| Budget::of_kernel(limits, stored).left();
        let archive = |limits, stored| Budget::of_archive(limits, stored).left();
        let (free, given) = (Limits::default(), Limits::of(Some(1000)));
        assert_eq!(
            [0, 1 << 20, 2 << 20, 1 << 30].map(|n| kernel(free, n)),
            [64 << 20, 64 << 20, 128 << 20, 1 << 30]
        );
        assert_eq!([0, 1 << 25, 1 << 40].map(|n| archive(free, n)), [512 << 20, 2 << 30, 64 << 30]);
        assert_eq!([0, u64::MAX].map(|n| kernel(given, n)), [1000; 2]);
        assert_eq!([0, u64::MAX].map(|n| archive(given, n)), [64_000; 2]);
    }

    #[test]
    fn everything_of_a_member_is_taken_of_its_archive() {
        let archive = Budget::of_archive(Limits::of(Some(100)), 0);
        for _ in 0..64 {
            let member = archive.of_member(Limits::of(Some(100)), 10);
            assert_eq!(member.within_stream().unwrap().take(100), Ok(()));
            assert_eq!(member.left(), 0);
        }
        let last = archive.of_member(Limits::of(Some(100)), 10);
        let exceeded = Exceeded::Bytes { scope: Scope::Archive, limit: 6400 };
        assert_eq!((last.left(), last.take(1), archive.check()), (0, Err(exceeded), Err(exceeded)));
        // Once too much was taken, nothing fits.
        assert_eq!(last.take(0), Err(exceeded));
    }

    #[test]
    fn what_a_member_only_claims_to_be_is_not_taken_of_its_archive() {
        let archive = Budget::of_archive(Limits::of(Some(100)), 0);
        let member = archive.of_member(Limits::of(Some(100)), 10);
        assert_eq!(member.take_ahead(101), Err(Exceeded::Bytes { scope: Scope::Kernel, limit: 100 }));
        assert_eq!((archive.left(), member.take_ahead(100), archive.left()), (6400, Ok(()), 6300));
        assert_eq!(archive.take(6300), Ok(()));
        let member = archive.of_member(Limits::of(Some(100)), 10);
        assert_eq!(member.take_ahead(1), Err(Exceeded::Bytes { scope: Scope::Archive, limit: 6400 }));
        assert_eq!(archive.check(), Ok(()));
    }

    #[test]
    fn streams_and_layers_end() {
        let budget = Budget::of_kernel(Limits::of(Some(2 * STREAM_BYTES)), 0);
        let taken = (0..1000).take_while(|_| budget.take_stream().is_ok()).count();
        assert_eq!((taken, budget.check()), (66, Err(Exceeded::Streams { limit: 66 })));
        let mut budget = Budget::of_kernel(Limits::default(), 0);
        for _ in 0..LAYERS {
            budget = budget.within_stream().unwrap();
        }
        assert_eq!(budget.within_stream().unwrap_err(), Exceeded::Layers);
    }
}
