//! The slices of a wait for records, between which the rings are read.

use core::time::Duration;

/// The default time after which a reader looks at its rings although no wakeup arrived.
pub(super) const DRAIN_INTERVAL: Duration = Duration::from_millis(500);

/// The shortest interval. A shorter one would wait without sleeping.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Returns an interval that a caller chose, made long enough to sleep.
pub(super) fn checked_interval(interval: Option<Duration>) -> Option<Duration> {
    interval.map(|interval| interval.max(SHORTEST_INTERVAL))
}

/// The slices of a wait: an iterator of timeouts, `None` for one without end. There is at least one.
#[derive(Debug)]
pub(super) struct WaitSlices {
    /// The time that is left; `None` for a wait without end.
    left: Option<Duration>,
    interval: Option<Duration>,
    is_over: bool,
}

impl WaitSlices {
    /// Cuts a wait at each interval. Without an interval, there is one slice.
    pub(super) const fn new(timeout: Option<Duration>, interval: Option<Duration>) -> Self {
        Self { left: timeout, interval, is_over: false }
    }
}

impl Iterator for WaitSlices {
    type Item = Option<Duration>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let slice = match (self.left, self.interval) {
            (Some(left), Some(interval)) => Some(left.min(interval)),
            (left, interval) => left.or(interval),
        };
        self.left = self.left.zip(slice).map(|(left, slice)| left.saturating_sub(slice));
        self.is_over = slice.is_none() || self.left.is_some_and(|left| left.is_zero());
        Some(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_cut_at_each_interval_and_has_its_whole_length() {
        let millis = Duration::from_millis;
        let slices = |timeout: Option<u64>, interval: Option<u64>| -> Vec<_> {
            WaitSlices::new(timeout.map(millis), interval.map(millis)).take(4).collect()
        };
        assert_eq!(slices(Some(5), Some(2)), [2, 2, 1].map(|n| Some(millis(n))));
        assert_eq!(slices(Some(0), Some(2)), [Some(millis(0))]);
        assert_eq!(slices(Some(5), None), [Some(millis(5))]);
        assert_eq!(slices(None, None), [None]);
        assert_eq!(slices(None, Some(2)), [Some(millis(2)); 4]);
        assert_eq!(checked_interval(Some(Duration::ZERO)), Some(millis(1)));
    }
}
