//! The pace of a download: tells a slow mirror from one that sends next to nothing, for ever.

use crate::fetch::error::MirrorDefect;
use std::time::Duration;

/// The time of waiting in which some bytes have to arrive.
const WINDOW: Duration = Duration::from_secs(60);

/// The bytes that have to arrive in this time. A modem has 100 times as many.
const WINDOW_BYTES: u64 = 4 << 10;

/// The bytes of a download in the present window of time.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// Adds bytes, and the time that was spent waiting for them. The time for unpacking them does not count.
    pub(super) fn advance(&mut self, waited: Duration, bytes: u64) -> Result<(), MirrorDefect> {
        self.waited = self.waited.saturating_add(waited);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= WINDOW_BYTES {
            *self = Self::default();
        }
        match self.waited > WINDOW {
            true => Err(MirrorDefect::Slow { bytes: self.bytes, seconds: self.waited.as_secs() }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_mirror_that_sends_next_to_nothing_is_an_error() {
        let mut pace = Pace::default();
        for _ in 0..60 {
            assert_eq!(pace.advance(SECOND, 1), Ok(()));
        }
        assert_eq!(pace.advance(SECOND, 1), Err(MirrorDefect::Slow { bytes: 61, seconds: 61 }));
    }

    #[test]
    fn a_slow_mirror_is_none() {
        let mut pace = Pace::default();
        for _ in 0..1000 {
            assert_eq!(pace.advance(SECOND, 100), Ok(()));
        }
        // A pause of a server.
        assert_eq!(Pace::default().advance(SECOND.saturating_mul(45), 1), Ok(()));
    }
}
