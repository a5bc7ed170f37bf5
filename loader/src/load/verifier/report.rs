//! The explanation that the verifier writes after its message: reason, causal path and suggestion (Linux 7.3
//! and later).

use core::fmt;
use core_relo::Escaped;

/// The beginning of the first line of an explanation.
const HEADING: &str = "Verification failed: ";

/// The numbers of steps in a message: the first ones, which show where the value comes from, and the last
/// ones.
const SHOWN_STEPS: [usize; 2] = [3, 5];

/// The number of characters of each part of a message.
const SHOWN_CHARS: usize = 1000;

/// The verifier's explanation of a refusal (Linux 7.3 and later; kernel: `kernel/bpf/diagnostics.c`).
///
/// Each text is the kernel's, without its line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct VerifierReport {
    /// The rule that the program breaks: `Register Type Safety`.
    pub category: String,
    /// The problem: `Invalid dereference`. May be empty.
    pub problem: String,
    /// The reason, in one or more sentences. May be empty.
    pub reason: String,
    /// The instruction that the verifier refused.
    #[cfg_attr(feature = "serde", serde(rename = "at"))]
    pub location: Option<ReportStep>,
    /// The steps that led to the refusal, the first one first. May be empty.
    pub path: Vec<ReportStep>,
    /// What to change in the program. May be empty.
    pub suggestion: String,
}

/// A step on the path to a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct ReportStep {
    /// The kind of step: `branch`, `update`, `error`, `acquired` and others. Empty for a note about steps
    /// that the kernel left out.
    pub label: String,
    /// What happened in this step.
    pub note: String,
    /// The index of the instruction, in the program with its subprograms.
    pub insn: Option<u32>,
    /// The function. `None` without line information.
    pub function: Option<String>,
    /// The source file. `None` without line information.
    pub file: Option<String>,
    /// The line in the file. `None` without line information.
    pub line: Option<u32>,
    /// The text of the source line.
    pub source: Option<String>,
}

/// The parts of a verifier log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogParts<'l> {
    /// The log of older kernels, up to the message of the refusal.
    pub(super) steps: &'l str,
    /// The explanation. Empty on older kernels.
    explanation: &'l str,
    /// What follows the explanation: the statistics, and rarely another message.
    pub(super) rest: &'l str,
}

impl<'l> LogParts<'l> {
    /// Finds the explanation in a log.
    pub(super) fn new(log: &'l str) -> Self {
        let mut splits = log.rmatch_indices(HEADING).filter_map(|(at, _)| log.split_at_checked(at));
        let starts_line = |before: &str| before.is_empty() || before.ends_with('\n');
        let Some((steps, after)) = splits.find(|(before, _)| starts_line(before)) else {
            return Self { steps: log, explanation: "", rest: "" };
        };
        // The first line is the heading itself.
        let lines = after.split_inclusive('\n').enumerate();
        let len = lines
            .take_while(|(index, line)| *index == 0 || is_explanation(line))
            .map(|(_, line)| line.len())
            .sum();
        let (explanation, rest) = after.split_at_checked(len).unwrap_or((after, ""));
        Self { steps, explanation, rest }
    }

    /// Returns the explanation. Returns `None` on older kernels.
    pub(super) fn report(&self) -> Option<VerifierReport> {
        (!self.explanation.is_empty()).then(|| VerifierReport::parse(self.explanation))
    }
}

/// Returns whether a line after the heading belongs to the explanation: the name of a section, an indented
/// line or an empty line.
fn is_explanation(line: &str) -> bool {
    line.starts_with(' ') || line.trim().is_empty() || section_name(line).is_some()
}

/// Returns the name of a section that a line begins: `Reason:`.
fn section_name(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_suffix(':')?;
    let is_name = |c: char| c.is_ascii_alphabetic() || c == ' ';
    (name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_name)).then_some(name)
}

impl VerifierReport {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let heading = lines.next().and_then(|line| line.strip_prefix(HEADING)).unwrap_or(text).trim();
        let (category, problem) = heading.split_once(": ").unwrap_or((heading, ""));
        let mut report =
            Self { category: category.to_owned(), problem: problem.to_owned(), ..Self::default() };
        let mut section = "";
        let mut steps = StepReader::default();
        for line in lines {
            if let Some(name) = section_name(line) {
                report.add_steps(section, &mut steps);
                section = name;
            } else {
                match section {
                    "Reason" => push_words(&mut report.reason, line),
                    "Suggestion" => push_words(&mut report.suggestion, line),
                    _ => steps.read(line),
                }
            }
        }
        report.add_steps(section, &mut steps);
        report
    }

    /// Takes over the steps of a section. Sections without a field of their own, such as `Active lock`, have
    /// steps of the path.
    fn add_steps(&mut self, section: &str, reader: &mut StepReader) {
        let mut steps = core::mem::take(&mut reader.steps).into_iter();
        if section == "At" {
            self.location = steps.next();
        }
        self.path.extend(steps);
    }

    /// Returns the problem and its reason in one sentence or more.
    fn cause(&self) -> String {
        let parts = [if self.problem.is_empty() { &self.category } else { &self.problem }, &self.reason];
        parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(": ")
    }
}

impl fmt::Display for VerifierReport {
    /// Writes the cause, the path and the suggestion, each on its own line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Escaped(cut(&self.cause(), SHOWN_CHARS)))?;
        let [first, last] = SHOWN_STEPS;
        let hidden = first..self.path.len().saturating_sub(last);
        for (index, step) in self.path.iter().enumerate() {
            if !hidden.contains(&index) {
                write!(f, "\n   = path  {}", Escaped(cut(&step.to_string(), SHOWN_CHARS)))?;
            } else if index == first {
                write!(f, "\n   = path  … {} more steps", hidden.len())?;
            }
        }
        if !self.suggestion.is_empty() {
            write!(f, "\n   = help  {}", Escaped(cut(&self.suggestion, SHOWN_CHARS)))?;
        }
        Ok(())
    }
}

impl fmt::Display for ReportStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, self.insn) {
            (Some(file), Some(line), _) => write!(f, "{file}:{line}: ")?,
            (_, _, Some(insn)) => write!(f, "instruction {insn}: ")?,
            (_, _, None) => {}
        }
        f.write_str(&self.note)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// Cuts a text to a number of characters. A text that was cut ends with `…`.
pub(in crate::load) fn cut(text: &str, max_chars: usize) -> String {
    let mut chars = text.chars();
    let mut head: String = chars.by_ref().take(max_chars).collect();
    if chars.next().is_some() {
        head.push('…');
    }
    head
}

/// Appends the words of a line to a text.
fn push_words(text: &mut String, line: &str) {
    for word in line.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// The block of a step that a line belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Source,
    Instructions,
}

/// A reader of the steps of one section.
#[derive(Debug, Default)]
struct StepReader {
    steps: Vec<ReportStep>,
    block: Block,
}

impl StepReader {
    /// Reads a line: the position of a step, the heading of a block, a source line, an instruction, or a note
    /// about a source line.
    fn read(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("  ") else { return };
        if let Some((left, right)) = text.split_once('|').filter(|(left, _)| is_margin(left)) {
            let Some(step) = self.steps.last_mut() else { return };
            match (left.trim().strip_prefix(">>>"), self.block) {
                (Some(_), Block::Source) => step.source = Some(words(right)),
                (Some(number), Block::Instructions) => step.insn = number.trim().parse().ok(),
                (None, _) if left.trim().is_empty() => step.add_note(right.trim()),
                (None, _) => {}
            }
        } else {
            match text.trim_end() {
                "Source context:" => self.block = Block::Source,
                "Instruction context:" => self.block = Block::Instructions,
                "" => {}
                position => {
                    self.steps.push(ReportStep::at(position));
                    self.block = Block::Source;
                }
            }
        }
    }
}

/// Returns whether a text is the margin of a line: the mark `>>>` and a number, both optional.
fn is_margin(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || c == '>' || c.is_ascii_digit())
}

fn words(text: &str) -> String {
    let mut out = String::new();
    push_words(&mut out, text);
    out
}

impl ReportStep {
    /// Parses the position of a step: `function @ file:line:column`, `file:line:column` or `insn NUMBER`. Any
    /// other text is a note.
    fn at(position: &str) -> Self {
        if let Some(insn) = position.strip_prefix("insn ").and_then(|number| number.parse().ok()) {
            return Self { insn: Some(insn), ..Self::default() };
        }
        let (function, place) =
            position.split_once(" @ ").map_or((None, position), |(function, place)| (Some(function), place));
        let line = place.rsplit_once(':').and_then(|(file_and_line, column)| {
            column.parse::<u32>().ok()?;
            let (file, line) = file_and_line.rsplit_once(':')?;
            Some((file.to_owned(), line.parse().ok()?))
        });
        match line {
            Some((file, line)) => Self {
                function: function.map(str::to_owned),
                file: Some(file),
                line: Some(line),
                ..Self::default()
            },
            None => Self { note: position.to_owned(), ..Self::default() },
        }
    }

    /// Adds a line of the note below the source line: `^-- label: note`, or what continues it.
    fn add_note(&mut self, text: &str) {
        let text = match text.strip_prefix("^-- ") {
            Some(first) => match first.split_once(": ") {
                Some((label, note)) => {
                    label.clone_into(&mut self.label);
                    note
                }
                None => first,
            },
            None => text,
        };
        push_words(&mut self.note, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(log: &str) -> VerifierReport {
        LogParts::new(log).report().unwrap()
    }

    #[test]
    fn reason_path_and_suggestion_of_a_real_log_are_read() {
        let log = include_str!("logs/7.3-null_map_value.txt");
        let parts = LogParts::new(log);
        assert!(parts.steps.trim_end().ends_with("R0 invalid mem access 'map_value_or_null'"));
        assert!(parts.rest.starts_with("processed 9 insns"), "{}", parts.rest);
        let report = report(log);
        assert_eq!((&*report.category, &*report.problem), ("Register Type Safety", "Invalid dereference"));
        assert_eq!(
            report.reason,
            "R0 may be NULL here (a nullable map value pointer). The program could dereference NULL on this path, so the verifier \
             cannot prove this access is safe."
        );
        assert!(report.suggestion.starts_with("Add a NULL check before the access and dereference"));
        let at = report.location.as_ref().unwrap();
        assert_eq!((at.insn, at.file.as_deref(), at.line), (Some(10), Some("diag.bpf.c"), Some(36)));
        assert_eq!(at.source.as_deref(), Some("*count += key;"));
        assert_eq!((&*at.label, at.function.as_deref()), ("error", Some("null_map_value")));
        let steps: Vec<_> = report.path.iter().map(|step| (step.insn, &*step.label)).collect();
        assert_eq!(steps, [(Some(6), "update"), (Some(8), "branch")]);
        assert_eq!(
            report.path.first().unwrap().note,
            "R0 changed from integer scalar value 0 to nullable map value from counts at offset 0"
        );
        assert_eq!(
            report.to_string(),
            "Invalid dereference: R0 may be NULL here (a nullable map value pointer). The program could dereference NULL on this path, \
             so the verifier cannot prove this access is safe.
   = path  diag.bpf.c:32: R0 changed from integer scalar value 0 to nullable map value from counts at offset 0: __u64 *count = \
             bpf_map_lookup_elem(&counts, &key);
   = path  diag.bpf.c:34: took the true branch of this conditional, goto followed: if (key > 1)
   = help  Add a NULL check before the access and dereference the pointer only on the non-NULL path."
        );
    }

    #[test]
    fn a_message_after_the_explanation_does_not_belong_to_it() {
        let log = include_str!("logs/7.3-leaked_record.txt");
        let parts = LogParts::new(log);
        assert!(parts.rest.starts_with("BPF_EXIT instruction in main prog would lead to reference leak\n"));
        let report = report(log);
        assert_eq!(report.problem, "Unreleased resource");
        let labels: Vec<_> = report.path.iter().map(|step| &*step.label).collect();
        assert_eq!(labels, ["acquired", "branch", "branch"]);
        assert!(report.suggestion.ends_with("before the program exits."), "{}", report.suggestion);
    }

    #[test]
    fn a_program_without_line_information_has_instructions_in_its_path() {
        let report = report(include_str!("logs/7.3-no_lines.txt"));
        let at = report.location.unwrap();
        assert_eq!((at.insn, at.line, at.source), (Some(5), None, None));
        assert_eq!(at.note, "invalid dereference of R1 (an integer scalar)");
        let steps: Vec<_> = report.path.iter().map(|step| (step.insn.unwrap(), &*step.label)).collect();
        assert_eq!(steps, [(0, "update"), (1, "update"), (3, "branch"), (4, "update")]);
        assert!(
            report.path[1].to_string().starts_with("instruction 1: R1 changed from uninitialized value to")
        );
        assert!(report.path[1].note.ends_with("range [0, 4294967295]"), "{}", report.path[1].note);
    }

    #[test]
    fn a_long_path_is_shortened_in_the_message_only() {
        let report = report(include_str!("logs/7.3-many_branches.txt"));
        assert_eq!(report.path.len(), 65);
        let notes = report.path.iter().filter(|step| step.label.is_empty()).map(|step| &*step.note);
        assert_eq!(notes.collect::<Vec<_>>(), ["28 intermediate causal-history events omitted"]);
        let text = report.to_string();
        assert_eq!(text.lines().count(), 1 + 3 + 1 + 5 + 1, "{text}");
        assert!(text.contains("\n   = path  … 57 more steps\n"), "{text}");
    }

    #[test]
    fn the_context_of_a_lock_is_in_the_path() {
        let report = report(include_str!("logs/7.3-helper_under_lock.txt"));
        assert_eq!(report.category, "Execution Context Safety");
        assert_eq!(report.path.first().unwrap().note, "entered lock region; depth is now 1");
        assert!(report.suggestion.starts_with("Release the BPF spin lock"));
    }

    #[test]
    fn logs_of_older_kernels_and_messages_without_explanation_have_no_report() {
        for log in [
            include_str!("logs/5.10-null_map_value.txt"),
            include_str!("logs/6.12-null_map_value.txt"),
            include_str!("logs/6.18-null_map_value.txt"),
            include_str!("logs/7.2-null_map_value.txt"),
            include_str!("logs/7.3-out_of_bounds.txt"),
            "",
            "; Verification failed: in a comment of the program @ a.c:1\n0: (95) exit\n",
        ] {
            let parts = LogParts::new(log);
            assert_eq!((parts.steps, parts.rest, parts.report()), (log, "", None));
        }
    }

    #[test]
    fn hostile_explanations_are_read_as_far_as_they_go() {
        assert_eq!(report("Verification failed: ").cause(), "");
        assert_eq!(report("Verification failed: Policy").cause(), "Policy");
        let odd = "Verification failed: A: b: c\nReason:\nAt:\n  >>> 1 | x\n  | ^-- y\n  insn 99999999999\n  a @ b\n  :::\n  é:1:2\n\
                   \u{20}  >>> é | z\n  Instruction context:\n  >>> x | (95)\n   é\nCausal path:\nOther part:\n  insn 7\n    | ^-- w";
        let odd = report(odd);
        assert_eq!((&*odd.problem, &*odd.reason, &*odd.suggestion), ("b: c", "", ""));
        let notes: Vec<_> = odd.path.iter().map(|step| &*step.note).collect();
        assert_eq!(notes, ["a @ b", ":::", "", " >>> é | z", ">>> x | (95)", " é", "w"]);
        // The last one counts: earlier ones can only come from the program's own text.
        let two = "Verification failed: first\nReason:\n  x\n0: (95) exit\nVerification failed: second\n";
        assert_eq!(report(two).category, "second");
        let cut_at_any_byte = include_str!("logs/7.3-null_map_value.txt");
        for len in 0..cut_at_any_byte.len() {
            let parts = LogParts::new(cut_at_any_byte.get(..len).unwrap());
            let text = parts.report().map_or(String::new(), |report| report.to_string());
            assert!(text.lines().count() <= 10);
        }
        let long = format!("Verification failed: X: y\n\nReason:\n  {}\n", "é\n  ".repeat(100_000));
        assert!(report(&long).to_string().chars().count() < 1100);
        let steps = format!(
            "Verification failed: X: y\n\nCausal path:\n{}",
            "  insn 1\n  | ^-- a: \x1b[31m\n".repeat(50_000)
        );
        let text = report(&steps).to_string();
        assert!(text.len() < 1000 && !text.contains('\x1b'), "{text}");
    }
}
