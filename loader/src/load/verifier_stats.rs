//! Statistics that the verifier prints at the end of its log.

/// The number of last lines of a log that may have statistics.
const STATS_LINES: usize = 16;

/// Statistics of the verifier about a program (kernel: `print_verification_stats`). A value that the kernel does not tell is `None`.
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
            } else if line.starts_with("processed ") {
                stats.add_counts(line);
            }
        }
        stats
    }

    /// Adds the counts of a line such as `processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1`.
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
