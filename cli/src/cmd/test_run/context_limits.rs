//! The sizes of contexts of programs that take data, too: the kernel copies what it knows of the context, and
//! demands zeros behind it.

use super::sizes::{MOST_BYTES, RefusedRun, USUAL_BYTES, load_like, smallest};
use core_relo_loader::{Errno, inventory, load::TestRun};
use std::os::fd::AsFd as _;

/// The sizes in bytes of a context that the running kernel does not refuse with `E2BIG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContextLimits {
    /// The size of the context that the kernel knows.
    known: usize,
    /// The largest context, with zeros at its end.
    largest: usize,
}

impl ContextLimits {
    /// Finds the limits for programs like a refused one. Returns `None` if the kernel runs no such program.
    pub(super) fn find(refused: RefusedRun) -> Option<Self> {
        let program = load_like(refused).ok()?;
        let data = [0; USUAL_BYTES];
        Some(Self::search(&|context| {
            let mut request = TestRun { data_in: &data, ctx_in: context, ..TestRun::default() };
            inventory::test_run(program.as_fd(), &mut request).is_err_and(|e| e == Errno::E2BIG)
        }))
    }

    /// Finds the limits with a function that tells whether a context is too long.
    fn search(is_too_long: &dyn Fn(&[u8]) -> bool) -> Self {
        let beyond = |last: u8| {
            smallest(1..MOST_BYTES, &|bytes| {
                let mut context = vec![0; bytes];
                context.last_mut().into_iter().for_each(|byte| *byte = last);
                is_too_long(&context)
            })
        };
        // Both numbers are at least 1.
        let [known, largest] = [1, 0].map(|last| beyond(last).saturating_sub(1));
        Self { known, largest }
    }

    /// Returns whether the kernel refuses a context with `E2BIG`.
    pub(super) fn refuses(self, context: &[u8]) -> bool {
        context.len() > self.largest || context.iter().skip(self.known).any(|byte| *byte != 0)
    }

    /// Returns why a context is refused.
    pub(super) fn refusal(self, bytes: usize, type_name: &str) -> String {
        let Self { known, largest } = self;
        if bytes > largest {
            return format!(
                "--ctx-in has {bytes} bytes, expected at most {largest}: this kernel takes no more for programs of type {type_name}"
            );
        }
        format!(
            "--ctx-in has {bytes} bytes, expected zeros after the first {known}: the context of programs of type {type_name} has no more \
             on this kernel"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_and_the_largest_size_are_found() {
        let is_too_long =
            |context: &[u8]| context.len() > 4096 || context.iter().skip(24).any(|byte| *byte != 0);
        let limits = ContextLimits::search(&is_too_long);
        assert_eq!(limits, ContextLimits { known: 24, largest: 4096 });
        for (bytes, last, is_refused) in [(24, 1, false), (25, 1, true), (4096, 0, false), (4097, 0, true)] {
            let mut context = vec![0; bytes];
            *context.last_mut().unwrap() = last;
            assert_eq!(limits.refuses(&context), is_refused, "{bytes}");
        }
        assert!(limits.refusal(9000, "xdp").starts_with("--ctx-in has 9000 bytes, expected at most 4096: "));
        assert!(limits.refusal(30, "xdp").contains("expected zeros after the first 24: "));
    }
}
