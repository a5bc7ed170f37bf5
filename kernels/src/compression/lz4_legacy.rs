//! The legacy lz4 format of kernel images: blocks of 8 MiB, each after its length.
//!
//! Anything else ends the stream. The kernel's build appends the unpacked size.

use crate::compression::{
    budget::Budget,
    decoder::{Compressed, Decoder, FromMagic, read_up_to},
    format::Compression,
};
use core_relo::Endian;
use std::{
    io::{self, Read},
    ops::Range,
};

const MAGIC: &[u8] = Compression::Lz4Legacy.magic();

/// The size of an unpacked block, in bytes.
const BLOCK_BYTES: usize = 8 << 20;

/// The maximum size of a compressed block, in bytes (lz4: `LZ4_COMPRESSBOUND`).
const COMPRESSED_BYTES: u32 = (8 << 20) + (8 << 20) / 255 + 16;

pub(super) struct Lz4Legacy<'r> {
    compressed: FromMagic<'r>,
    budget: Budget,
    block: Vec<u8>,
    /// The range of the block that the reader has not received.
    pending: Range<usize>,
    is_last: bool,
}

impl<'r> Lz4Legacy<'r> {
    pub(super) fn new(compressed: FromMagic<'r>, budget: Budget) -> io::Result<Self> {
        let mut frame = Self { compressed, budget, block: Vec::new(), pending: 0..0, is_last: false };
        frame.next_block()?;
        if frame.pending.is_empty() { Err(io::Error::other("no block in it")) } else { Ok(frame) }
    }

    /// Unpacks the next block, unless the stream has ended.
    fn next_block(&mut self) -> io::Result<()> {
        self.is_last = true;
        let mut word = read_up_to(&mut self.compressed, MAGIC.len())?;
        // At the start, and where a full last block is followed by another stream.
        while word == MAGIC {
            word = read_up_to(&mut self.compressed, MAGIC.len())?;
        }
        let Some(len) = Endian::Little.u32(&word, 0).filter(|len| *len <= COMPRESSED_BYTES) else {
            return Ok(());
        };
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let compressed = read_up_to(&mut self.compressed, len)?;
        if compressed.len() < len {
            return Ok(());
        }
        self.block.resize(BLOCK_BYTES, 0);
        match lz4_flex::block::decompress_into(&compressed, &mut self.block) {
            Ok(unpacked) => {
                self.pending = 0..unpacked;
                self.is_last = unpacked < BLOCK_BYTES;
                Ok(())
            }
            Err(e) => {
                // The decoder may have unpacked almost the whole block.
                self.budget.take(u64::try_from(BLOCK_BYTES).map_err(io::Error::other)?)?;
                Err(io::Error::other(e))
            }
        }
    }
}

impl Read for Lz4Legacy<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.pending.is_empty() && !self.is_last {
            self.pending = 0..0;
            self.next_block()?;
        }
        let outside = || io::Error::other("lz4: more bytes are pending than the block has");
        let mut pending = self.block.get(self.pending.clone()).ok_or_else(outside)?;
        let n = pending.read(buf)?;
        self.pending.start += n;
        Ok(n)
    }
}

impl<'r> Decoder<'r> for Lz4Legacy<'r> {
    fn into_rest(self: Box<Self>) -> Compressed<'r> {
        self.compressed.into_inner().1
    }
}
