//! Results of callbacks and of the calls that run them.

use core::ops::ControlFlow;

/// The result of a callback: `()`, or whether to continue.
pub trait CallbackResult {
    /// Returns whether to continue with the next record.
    fn flow(self) -> ControlFlow<()>;
}

impl CallbackResult for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl CallbackResult for ControlFlow<()> {
    fn flow(self) -> Self {
        self
    }
}

/// The result of a call that ran callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consumed {
    /// The number of records that callbacks got.
    pub records: usize,
    /// Whether a callback stopped the call.
    pub stopped: bool,
}

impl Consumed {
    /// Adds the result of another call.
    #[expect(
        clippy::disallowed_methods,
        reason = "a long `RingBuffer::spin` reaches the limit on 32-bit machines"
    )]
    pub(super) fn add(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.stopped |= other.stopped;
    }

    /// Adds a record and the flow that its callback returned.
    pub(super) fn add_record(&mut self, flow: ControlFlow<()>) {
        self.add(Self { records: 1, stopped: flow.is_break() });
    }

    /// Returns the number of remaining records, of `n`. Returns `None` if no records remain, or if a callback
    /// stopped the call.
    pub(super) fn remaining(&self, n: usize) -> Option<usize> {
        n.checked_sub(self.records).filter(|left| *left > 0 && !self.stopped)
    }
}
