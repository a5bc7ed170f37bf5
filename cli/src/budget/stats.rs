//! The verifier's statistics of a program, as JSON and as text. A guest prints them as JSON, and the host
//! reads them again.

use core_relo_loader::load::VerifierStats;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The verifier's statistics of a program. A value that the kernel does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ProgramStats {
    pub(crate) verified_insns: Option<u64>,
    pub(crate) total_states: Option<u64>,
    pub(crate) peak_states: Option<u64>,
    pub(crate) max_states_per_insn: Option<u64>,
    pub(crate) stack_depth: Option<u64>,
    pub(crate) peak_stack_depth: Option<u64>,
    pub(crate) verification_usec: Option<u64>,
    pub(crate) log_bytes: Option<usize>,
}

impl From<VerifierStats> for ProgramStats {
    fn from(stats: VerifierStats) -> Self {
        Self {
            verified_insns: stats.verified_insns,
            total_states: stats.total_states,
            peak_states: stats.peak_states,
            max_states_per_insn: stats.max_states_per_insn,
            stack_depth: stats.stack_depth,
            peak_stack_depth: stats.peak_stack_depth,
            verification_usec: stats.verification_usec,
            log_bytes: Some(stats.log_bytes),
        }
    }
}

/// Prints a list: `120 instructions verified, 9 states (peak 8), 32 bytes of stack, 95 µs, log of 180 bytes`.
/// Leaves out unknown values.
impl fmt::Display for ProgramStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.verified_insns.map(|n| format!("{n} instructions verified")));
        parts.extend(match (self.total_states, self.peak_states) {
            (Some(total), Some(peak)) => Some(format!("{total} states (peak {peak})")),
            (Some(total), None) => Some(format!("{total} states")),
            (None, Some(peak)) => Some(format!("peak of {peak} states")),
            (None, None) => None,
        });
        parts.extend(match (self.stack_depth, self.peak_stack_depth) {
            (Some(sum), Some(peak)) => Some(format!("{sum} bytes of stack (peak {peak})")),
            (sum, peak) => sum.or(peak).map(|n| format!("{n} bytes of stack")),
        });
        parts.extend(self.verification_usec.map(|n| format!("{n} µs")));
        parts.extend(self.log_bytes.map(|n| format!("log of {n} bytes")));
        f.write_str(if parts.is_empty() { "no statistics" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_left_out() {
        let stats = ProgramStats { verified_insns: Some(9), ..ProgramStats::default() };
        assert_eq!(stats.to_string(), "9 instructions verified");
        let stats =
            ProgramStats { total_states: Some(3), peak_states: Some(2), stack_depth: Some(0), ..stats };
        assert_eq!(stats.to_string(), "9 instructions verified, 3 states (peak 2), 0 bytes of stack");
        assert_eq!(ProgramStats::default().to_string(), "no statistics");
    }
}
