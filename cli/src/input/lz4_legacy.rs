//! The lz4 format of kernel images: blocks of 8 MiB, each after its length, until something follows that is none. The kernel's build
//! appends the unpacked size.

use super::{
    budget::Budget,
    streams::{Decoder, FromMagic, Packed, read_up_to},
};
use core_relo::Endian;
use std::{
    io::{self, Read},
    ops::Range,
};

pub(super) const MAGIC: &[u8] = b"\x02\x21\x4c\x18";

/// Bytes of an unpacked block.
const BLOCK: usize = 8 << 20;

/// Bytes that a block may be packed into if it cannot be made smaller (lz4: `LZ4_COMPRESSBOUND`).
const PACKED: u32 = (8 << 20) + (8 << 20) / 255 + 16;

pub(super) struct Lz4Legacy<'r> {
    packed: FromMagic<'r>,
    budget: Budget,
    block: Vec<u8>,
    /// The bytes of the block that were not given out.
    ready: Range<usize>,
    is_last: bool,
}

impl<'r> Lz4Legacy<'r> {
    pub(super) fn new(packed: FromMagic<'r>, budget: Budget) -> io::Result<Self> {
        let mut frame = Self { packed, budget, block: Vec::new(), ready: 0..0, is_last: false };
        frame.next_block()?;
        if frame.ready.is_empty() { Err(io::Error::other("no block in it")) } else { Ok(frame) }
    }

    /// Unpacks the next block, if there is one.
    fn next_block(&mut self) -> io::Result<()> {
        self.is_last = true;
        let mut word = read_up_to(&mut self.packed, MAGIC.len())?;
        // At the beginning, and where another stream follows a last block that is full.
        while word == MAGIC {
            word = read_up_to(&mut self.packed, MAGIC.len())?;
        }
        let Some(len) = Endian::Little.u32(&word, 0).filter(|len| *len <= PACKED) else { return Ok(()) };
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let packed = read_up_to(&mut self.packed, len)?;
        if packed.len() < len {
            return Ok(());
        }
        self.block.resize(BLOCK, 0);
        match lz4_flex::block::decompress_into(&packed, &mut self.block) {
            Ok(unpacked) => {
                self.ready = 0..unpacked;
                self.is_last = unpacked < BLOCK;
                Ok(())
            }
            Err(e) => {
                // Almost all of a block may have been unpacked.
                self.budget.take(u64::try_from(BLOCK).map_err(io::Error::other)?)?;
                Err(io::Error::other(e))
            }
        }
    }
}

impl Read for Lz4Legacy<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && !self.is_last {
            self.ready = 0..0;
            self.next_block()?;
        }
        let ready = self.block.get(self.ready.clone()).unwrap_or_default();
        let n = ready.len().min(buf.len());
        if let (Some(from), Some(to)) = (ready.get(..n), buf.get_mut(..n)) {
            to.copy_from_slice(from);
        }
        self.ready.start = self.ready.start.saturating_add(n);
        Ok(n)
    }
}

impl<'r> Decoder<'r> for Lz4Legacy<'r> {
    fn into_rest(self: Box<Self>) -> Packed<'r> {
        self.packed.into_inner().1
    }
}
