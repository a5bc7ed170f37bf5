//! A frame of zstd. What the decoder keeps back, up to a whole window, counts as unpacked: a few bytes may stand for all of it.

use super::{
    budget::Budget,
    streams::{Decoder, FromMagic, Packed},
};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, Read};

/// Bytes that a window may take: the kernel's build uses 128 MiB.
const WINDOW: u64 = 256 << 20;

/// Bytes that are unpacked before the budget is looked at.
const STEP: u64 = 1 << 20;

pub(super) struct ZstdFrame<'r> {
    decoder: FrameDecoder,
    packed: FromMagic<'r>,
    budget: Budget,
    /// Bytes unpacked and not given out, or somewhat fewer.
    kept: u64,
}

impl<'r> ZstdFrame<'r> {
    pub(super) fn new(mut packed: FromMagic<'r>, budget: Budget) -> io::Result<Self> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        decoder.init(&mut packed).map_err(io::Error::other)?;
        Ok(Self { decoder, packed, budget, kept: 0 })
    }

    /// Unpacks until something can be given out.
    fn unpack(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let left = self.budget.left().saturating_sub(self.kept);
            let step = left.saturating_add(1).min(STEP);
            let until = BlockDecodingStrategy::UptoBytes(usize::try_from(step).map_err(io::Error::other)?);
            match self.decoder.decode_blocks(&mut self.packed, until) {
                Ok(true) => {}
                Ok(false) => self.kept = self.kept.saturating_add(step),
                Err(e) => {
                    self.budget.take(self.kept.saturating_add(step))?;
                    return Err(io::Error::other(e));
                }
            }
            if self.kept > self.budget.left() {
                self.budget.take(self.kept)?;
            }
        }
        Ok(())
    }
}

impl Read for ZstdFrame<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.unpack()?;
        let n = self.decoder.read(buf)?;
        self.kept = self.kept.saturating_sub(u64::try_from(n).map_err(io::Error::other)?);
        Ok(n)
    }
}

impl<'r> Decoder<'r> for ZstdFrame<'r> {
    fn into_rest(self: Box<Self>) -> Packed<'r> {
        self.packed.into_inner().1
    }
}
