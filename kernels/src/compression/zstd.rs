//! A zstd frame. The decoder buffers up to a whole window, which counts as unpacked: a few bytes may expand
//! to all of it.

use crate::compression::{
    budget::Budget,
    decoder::{Compressed, Decoder, FromMagic},
};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, Read};

/// The maximum window, in bytes. The kernel's build uses 128 MiB.
const WINDOW_BYTES: u64 = 256 << 20;

/// The number of bytes that are unpacked between two checks of the budget.
const STEP_BYTES: u64 = 1 << 20;

pub(super) struct ZstdFrame<'r> {
    decoder: FrameDecoder,
    compressed: FromMagic<'r>,
    budget: Budget,
    /// Bytes that the decoder has unpacked and the reader has not received. A lower bound.
    buffered: u64,
}

impl<'r> ZstdFrame<'r> {
    pub(super) fn new(mut compressed: FromMagic<'r>, budget: Budget) -> io::Result<Self> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES);
        decoder.init(&mut compressed).map_err(io::Error::other)?;
        Ok(Self { decoder, compressed, budget, buffered: 0 })
    }

    /// Unpacks until the reader can receive bytes.
    fn unpack(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let left = self.budget.remaining().saturating_sub(self.buffered);
            let step = left.saturating_add(1).min(STEP_BYTES);
            let until = BlockDecodingStrategy::UptoBytes(usize::try_from(step).map_err(io::Error::other)?);
            match self.decoder.decode_blocks(&mut self.compressed, until) {
                Ok(true) => {}
                Ok(false) => self.buffered = self.buffered.saturating_add(step),
                Err(e) => {
                    self.budget.take(self.buffered.saturating_add(step))?;
                    return Err(io::Error::other(e));
                }
            }
            if self.buffered > self.budget.remaining() {
                self.budget.take(self.buffered)?;
            }
        }
        Ok(())
    }
}

impl Read for ZstdFrame<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.unpack()?;
        let n = self.decoder.read(buf)?;
        self.buffered = self.buffered.saturating_sub(u64::try_from(n).map_err(io::Error::other)?);
        Ok(n)
    }
}

impl<'r> Decoder<'r> for ZstdFrame<'r> {
    fn into_rest(self: Box<Self>) -> Compressed<'r> {
        self.compressed.into_inner().1
    }
}
