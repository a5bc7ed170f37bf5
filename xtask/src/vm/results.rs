//! The stored results of the live tests on each kernel, and the table of them in `docs/architectures.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::kernels::version_key;
use crate::platform::PLATFORMS;
use crate::system::{Failure, Outcome, read, root};

/// The document with the table, and the lines around it.
const DOCUMENT: &str = "docs/architectures.md";
const BEGIN: &str = "<!-- begin: cargo xtask vm --table -->\n";
const END: &str = "<!-- end: cargo xtask vm --table -->";

/// The file with the results on a kernel, in the kernel's directory below `target/vm`.
const FILE: &str = "results";

/// The result of a test on a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TestResult {
    Passed,
    Failed,
    /// The test did not run, for this reason.
    Skipped(String),
}

/// The results of a run on one kernel, by the tests' names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KernelResults(BTreeMap<String, TestResult>);

impl KernelResults {
    /// Adds the result in a line of the tests' output: `test live::MODULE::NAME ... ok`. Ignores other lines.
    pub fn add_line(&mut self, line: &str) {
        let Some((name, word)) = line.strip_prefix("test live::").and_then(|rest| rest.split_once(" ... "))
        else {
            return;
        };
        let result = match word.trim_end() {
            "ok" => TestResult::Passed,
            "ignored" => return,
            // `FAILED`, or the signal that ended the tests.
            _ => TestResult::Failed,
        };
        // A skipped test passes as well.
        self.0.entry(name.to_owned()).or_insert(result);
    }

    /// Adds a skipped test: `MODULE::NAME: REASON`.
    pub fn add_skip(&mut self, skip: &str) {
        if let Some((name, reason)) = skip.split_once(": ") {
            self.0.insert(name.to_owned(), TestResult::Skipped(reason.to_owned()));
        }
    }

    /// Writes the results to the directory of a kernel. With `keep_others`, the stored results of other tests
    /// stay.
    pub fn store(&self, dir: &Path, keep_others: bool) -> Outcome {
        let file = dir.join(FILE);
        let mut all = match std::fs::read_to_string(&file) {
            Ok(text) if keep_others => Self::from_text(&text),
            // The first selection of tests has no other results to keep.
            _ => Self::default(),
        };
        all.0.extend(self.0.clone());
        std::fs::write(&file, all.to_text()).map_err(|error| format!("{}: {error}", file.display()).into())
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, result) in &self.0 {
            let _ = match result {
                TestResult::Passed => writeln!(text, "passed {name}"),
                TestResult::Failed => writeln!(text, "failed {name}"),
                TestResult::Skipped(reason) => writeln!(text, "skipped {name}: {reason}"),
            };
        }
        text
    }

    fn from_text(text: &str) -> Self {
        let mut results = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("passed", name)) => drop(results.0.insert(name.to_owned(), TestResult::Passed)),
                Some(("failed", name)) => drop(results.0.insert(name.to_owned(), TestResult::Failed)),
                Some(("skipped", skip)) => results.add_skip(skip),
                _ => {}
            }
        }
        results
    }

    fn count(&self, is_counted: impl Fn(&TestResult) -> bool) -> usize {
        self.0.values().filter(|result| is_counted(result)).count()
    }
}

/// Writes the table of all stored results into the document.
pub fn write_table() -> Outcome {
    let kernels = stored()?;
    if kernels.is_empty() {
        return Err(Failure::CannotRun("no stored results: run the tests on some kernels first".to_owned()));
    }
    let path = root().join(DOCUMENT);
    let document = read(&path)?;
    let around =
        document.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        around.ok_or_else(|| format!("{DOCUMENT}: no lines `{}` and `{END}`", BEGIN.trim_end()))?;
    let text = format!("{before}{BEGIN}\n{}\n{END}{after}", table(&kernels));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{DOCUMENT}: {} kernels", kernels.len());
    Ok(())
}

/// Returns the stored results, by the kernels' names: architecture by architecture, the oldest kernel first.
fn stored() -> Outcome<Vec<(String, KernelResults)>> {
    let mut kernels = Vec::new();
    let dirs = std::fs::read_dir(root().join("target/vm")).into_iter().flatten().flatten();
    let files: Vec<PathBuf> =
        dirs.map(|entry| entry.path().join(FILE)).filter(|file| file.is_file()).collect();
    for file in files {
        let name = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let Some((arch, rest)) = name.split_once('-') else { continue };
        let Some(place) = PLATFORMS.iter().position(|platform| platform.debian == arch) else { continue };
        let version = rest.rsplit_once('-').map_or(rest, |(version, _flavour)| version);
        let results = KernelResults::from_text(&read(&file)?);
        kernels.push(((place, version_key(version)), (format!("{arch} {version}"), results)));
    }
    kernels.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(kernels.into_iter().map(|(_, kernel)| kernel).collect())
}

/// Returns the counts of each kernel, the table of tests, and the reasons of skipped tests, as Markdown.
fn table(kernels: &[(String, KernelResults)]) -> String {
    let mut text = String::from("| kernel | passed | failed | skipped |\n|---|---|---|---|\n");
    for (name, results) in kernels {
        let passed = results.count(|result| *result == TestResult::Passed);
        let failed = results.count(|result| *result == TestResult::Failed);
        let skipped = results.count(|result| matches!(result, TestResult::Skipped(_)));
        let _ = writeln!(text, "| {name} | {passed} | {failed} | {skipped} |");
    }
    let _ = writeln!(text, "\n| test | {} |", joined(kernels, |(name, _)| name.replace(' ', "<br>"), " | "));
    let _ = writeln!(text, "|---|{}", joined(kernels, |_| ":-:|".to_owned(), ""));
    let tests: BTreeSet<&String> = kernels.iter().flat_map(|(_, results)| results.0.keys()).collect();
    for test in tests {
        let cell = |(_, results): &(String, KernelResults)| match results.0.get(test) {
            Some(TestResult::Passed) => "yes".to_owned(),
            Some(TestResult::Failed) => "**no**".to_owned(),
            Some(TestResult::Skipped(_)) => "·".to_owned(),
            None => String::new(),
        };
        let _ = writeln!(text, "| `{test}` | {} |", joined(kernels, cell, " | "));
    }
    text.push_str("\n| kernel | reason of skipped tests | tests |\n|---|---|---|\n");
    for (name, results) in kernels {
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (test, result) in &results.0 {
            if let TestResult::Skipped(reason) = result {
                by_reason.entry(reason).or_default().push(test);
            }
        }
        for (reason, tests) in by_reason {
            let _ = writeln!(text, "| {name} | {} | {} |", reason.replace('|', "\\|"), tests.len());
        }
    }
    text
}

fn joined<T>(items: &[T], to_text: impl Fn(&T) -> String, separator: &str) -> String {
    items.iter().map(to_text).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> KernelResults {
        let mut results = KernelResults::default();
        results.add_skip("a::third: no BTF: none here");
        for line in [
            "test live::a::first ... ok",
            "test live::a::second ... Trace/breakpoint trap",
            "test live::a::third ... ok",
            "test result: FAILED. 1 passed; 1 failed",
            "a line ... ok",
        ] {
            results.add_line(line);
        }
        results
    }

    #[test]
    fn results_are_read_as_they_are_stored() {
        let results = results();
        let text = "passed a::first\nfailed a::second\nskipped a::third: no BTF: none here\n";
        assert_eq!(results.to_text(), text);
        assert_eq!(KernelResults::from_text(text), results);
    }

    #[test]
    fn a_selection_of_tests_replaces_only_their_results() {
        let dir = std::env::temp_dir().join(format!("core-relo-results-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        results().store(&dir, false).unwrap();
        let mut selection = KernelResults::default();
        selection.add_line("test live::a::second ... ok");
        selection.store(&dir, true).unwrap();
        let stored = std::fs::read_to_string(dir.join(FILE)).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(stored, "passed a::first\npassed a::second\nskipped a::third: no BTF: none here\n");
    }

    #[test]
    fn the_table_has_a_row_for_each_test_and_each_reason() {
        let mut other = KernelResults::default();
        other.add_line("test live::a::first ... ok");
        let text = table(&[("s390x 6.1".to_owned(), results()), ("s390x 7.2".to_owned(), other)]);
        for line in [
            "| s390x 6.1 | 1 | 1 | 1 |",
            "| test | s390x<br>6.1 | s390x<br>7.2 |",
            "|---|:-:|:-:|",
            "| `a::first` | yes | yes |",
            "| `a::second` | **no** |  |",
            "| `a::third` | · |  |",
            "| s390x 6.1 | no BTF: none here | 1 |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
