//! Counts of test results.

/// Numbers of tests by result.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl Counts {
    /// Adds the numbers of a line `test result: ok. 3 passed; 0 failed; 1 ignored; …`. Ignores other lines.
    pub fn add_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        for part in rest.split(['.', ';']) {
            match part.trim().split_once(' ').map(|(n, what)| (n.parse().unwrap_or(0), what)) {
                Some((n, "passed")) => self.passed += n,
                Some((n, "failed")) => self.failed += n,
                Some((n, "ignored")) => self.ignored += n,
                _ => {}
            }
        }
    }

    /// Returns the counts added since `before`.
    pub fn difference(&self, before: &Self) -> Self {
        Self {
            passed: self.passed - before.passed,
            failed: self.failed - before.failed,
            ignored: self.ignored - before.ignored,
        }
    }

    /// Returns whether no test was counted.
    pub fn is_empty(&self) -> bool {
        self.passed + self.failed + self.ignored == 0
    }

    pub fn add_counts(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let mut counts = Counts::default();
        counts.add_line(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
        );
        counts.add_line("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.add_line("test something ... ok");
        assert_eq!((counts.passed, counts.failed, counts.ignored), (15, 2, 1));
    }
}
