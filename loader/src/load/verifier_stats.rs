//! Statistics that the verifier prints at the end of its log.

/// The number of last lines of a log that may have statistics.
const STATS_LINES: usize = 16;

/// Statistics of the verifier about a program (kernel: `print_verification_stats`). A value that the kernel
/// does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifierStats {
    /// The number of instructions that the verifier processed, on all paths.
    pub verified_insns: Option<u64>,
    /// The number of states that the verifier stored.
    pub total_states: Option<u64>,
    /// The maximum number of states that were in memory at the same time.
    pub peak_states: Option<u64>,
    /// The maximum number of states of one instruction.
    pub max_states_per_insn: Option<u64>,
    /// The bytes of stack: the sum over the program and its subprograms, as veristat counts them.
    pub stack_depth: Option<u64>,
    /// The maximum bytes of stack on a chain of calls. Only new kernels tell it: 7.2 does, 6.18 does not.
    pub peak_stack_depth: Option<u64>,
    /// The time of the verification, in microseconds.
    pub verification_usec: Option<u64>,
    /// The length of the log in bytes.
    pub log_bytes: usize,
}

impl VerifierStats {
    /// Reads the statistics in a verifier log. Time and stack are only in logs of level 4 (`BPF_LOG_STATS`).
    pub fn from_log(log: &str) -> Self {
        let mut stats = Self { log_bytes: log.len(), ..Self::default() };
        // The last lines count: lines before them may quote the source text of a hostile object.
        for line in log.lines().rev().take(STATS_LINES) {
            let line = line.trim();
            if let Some(time) = line.strip_prefix("verification time ") {
                set_once(&mut stats.verification_usec, first_number(time));
            } else if let Some(depths) = line.strip_prefix("stack depth ") {
                set_once(&mut stats.stack_depth, sum_of_depths(depths));
                let peak = depths.split_once(" max ").and_then(|(_, peak)| first_number(peak));
                set_once(&mut stats.peak_stack_depth, peak);
            } else if line.starts_with("processed ") {
                stats.add_counts(line);
            }
        }
        stats
    }

    /// Adds the counts of a line such as
    /// `processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1`.
    fn add_counts(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        while let Some(word) = words.next() {
            let count = match word {
                "processed" => &mut self.verified_insns,
                "total_states" => &mut self.total_states,
                "peak_states" => &mut self.peak_states,
                "max_states_per_insn" => &mut self.max_states_per_insn,
                _ => continue,
            };
            set_once(count, words.next().and_then(|number| number.parse().ok()));
        }
    }
}

/// Sets a value that has not been found yet.
fn set_once(value: &mut Option<u64>, found: Option<u64>) {
    *value = value.or(found);
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the sum of a list such as `32+0+16`, of the program and its subprograms.
fn sum_of_depths(text: &str) -> Option<u64> {
    let depths = text.split_ascii_whitespace().next()?.split('+');
    depths.map(|depth| depth.parse::<u64>().ok()).try_fold(0u64, |sum, depth| sum.checked_add(depth?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns verified instructions, all states, peak of states, stack, and its peak.
    fn counts(stats: &VerifierStats) -> [Option<u64>; 5] {
        let VerifierStats {
            verified_insns, total_states, peak_states, stack_depth, peak_stack_depth, ..
        } = *stats;
        [verified_insns, total_states, peak_states, stack_depth, peak_stack_depth]
    }

    #[test]
    fn logs_of_linux_5_10_have_statistics() {
        let log = "verification time 4000 usec\nstack depth 0+0+0\nprocessed 26 insns (limit 1000000) max_states_per_insn 0 total_states 2 peak_states 2 mark_read 1\n";
        let stats = VerifierStats::from_log(log);
        assert_eq!(counts(&stats), [Some(26), Some(2), Some(2), Some(0), None]);
        assert_eq!((stats.verification_usec, stats.max_states_per_insn), (Some(4000), Some(0)));
        assert_eq!(stats.log_bytes, log.len());
    }

    #[test]
    fn logs_of_linux_7_2_have_statistics() {
        let log = "Func#1 ('checked_alone') is safe for any args that match its prototype\nverification time 4000 usec\nstack depth 0+0+0 max 0\ninsns processed 17+9\nprocessed 26 insns (limit 1000000) max_states_per_insn 0 total_states 2 peak_states 3 mark_read 0\n";
        let stats = VerifierStats::from_log(log);
        assert_eq!(counts(&stats), [Some(26), Some(2), Some(3), Some(0), Some(0)]);
    }

    #[test]
    fn the_stack_is_the_sum_of_the_subprograms() {
        let depth = |line: &str| VerifierStats::from_log(line).stack_depth;
        assert_eq!(depth("stack depth 32"), Some(32));
        assert_eq!(depth("stack depth 32+0+16 max 48\n"), Some(48));
        assert_eq!(depth("stack depth 32+x"), None);
        assert_eq!(depth(&format!("stack depth {}+1", u64::MAX)), None);
    }

    #[test]
    fn missing_and_broken_values_are_unknown() {
        assert_eq!(counts(&VerifierStats::from_log("")), [None; 5]);
        let log = "verification time\nstack depth \nprocessed many insns total_states 3 peak_states";
        assert_eq!(counts(&VerifierStats::from_log(log)), [None, Some(3), None, None, None]);
    }

    #[test]
    fn quoted_source_text_is_no_statistic() {
        let log = "processed 1 insns\n; \nprocessed 7 insns (limit 1000000) total_states 2 peak_states 2\n";
        assert_eq!(VerifierStats::from_log(log).verified_insns, Some(7));
        let far = format!("stack depth 8\n{}", "0: (95) exit\n".repeat(STATS_LINES));
        assert_eq!(VerifierStats::from_log(&far).stack_depth, None);
    }
}
