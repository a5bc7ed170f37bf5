//! Data that never changes after the load.

use core::ops::Range;
use core_relo::Endian;

/// Data that never changes after the load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data<'d> {
    pub(super) bytes: &'d [u8],
    /// The parts of `bytes` that are not known.
    pub(super) unknown: &'d [Range<usize>],
    pub(super) endian: Endian,
}

/// A number in data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataNumber {
    Known(u64),
    Unknown,
    /// The data end before the number does.
    Outside,
}

impl Data<'_> {
    /// Reads a number of a width in bytes.
    pub(super) fn number(&self, offset: u64, bytes: u8) -> DataNumber {
        let start = usize::try_from(offset).ok();
        let Some((start, end)) =
            start.and_then(|start| Some((start, start.checked_add(usize::from(bytes))?)))
        else {
            return DataNumber::Outside;
        };
        if self.unknown.iter().any(|part| part.start < end && start < part.end) {
            return DataNumber::Unknown;
        }
        let number = match bytes {
            1 => self.bytes.get(start).copied().map(u64::from),
            2 => self.endian.u16(self.bytes, start).map(u64::from),
            4 => self.endian.u32(self.bytes, start).map(u64::from),
            _ => self.endian.u64(self.bytes, start),
        };
        number.map_or(DataNumber::Outside, DataNumber::Known)
    }
}
