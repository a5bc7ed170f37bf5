//! A comment on a pull request: a sentence, a table of objects, and the details, which are folded.
//!
//! The length is bounded. What does not fit is counted.

use crate::{
    agreement::LoadOutcome,
    escape::{MarkdownCode, Markup},
    findings::{Finding, find_by_reason},
    limits::{
        MAX_COMMENT_BYTES, MAX_COMMENT_FINDINGS, MAX_COMMENT_TEXT_CHARS, MAX_HEADLINE_BYTES,
        MAX_NAMED_KERNELS, MAX_TABLE_BYTES,
    },
    matrix::{Matrix, ObjectLine},
    model::{Outcome, RealLoad},
    real_loads::{FoundLoad, find_real_loads, unforeseen_refusal},
    summary::{describe_kernels, summarize},
    warnings::{FoundWarning, find_warnings},
};
use std::{
    cmp::Reverse,
    fmt::Write as _,
    io::{self, Write},
};

/// The mark by which a CI job finds its comment to update it.
const MARK: &str = "<!-- core-relo check -->";

/// A text of bounded length.
struct BoundedText {
    text: String,
}

impl BoundedText {
    /// Adds a part if the text stays within `limit` bytes. Returns whether the part was added.
    fn add(&mut self, part: &str, limit: usize) -> bool {
        let fits = self.text.len() + part.len() <= limit;
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    /// Adds a part per value until one does not fit. Returns the number of values that were left out.
    fn add_all<T>(&mut self, values: &[T], limit: usize, part: impl Fn(&T) -> String) -> usize {
        let added = values.iter().take_while(|value| self.add(&part(value), limit)).count();
        values.len() - added
    }
}

/// Writes the comment.
pub(super) fn write(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut objects: Vec<_> = matrix.objects.iter().collect();
    objects.sort_by_key(|object| Reverse(object.worst()));
    let mut comment = BoundedText { text: format!("{MARK}\n### core-relo check\n\n{}\n", headline(matrix)) };
    if let Some(summary) = &matrix.baseline_summary {
        let _ = writeln!(comment.text, "\n{summary}.");
    }
    if let Some(agreement) = matrix.agreement {
        let _ = writeln!(comment.text, "\n{agreement}.");
    }
    if !objects.is_empty() {
        comment.text += "\n| object | verdict | kernels |\n|---|---|---|\n";
        let rest = comment.add_all(&objects, MAX_TABLE_BYTES, |object| table_row(matrix, object));
        comment.text += &left_out(rest, "objects");
    }
    let with_details: Vec<_> = objects.into_iter().filter(|object| has_details(object)).collect();
    let rest = comment.add_all(&with_details, MAX_COMMENT_BYTES, |object| details(matrix, object));
    comment.text += &left_out(rest, "objects with details");
    if !matrix.unread.is_empty() {
        comment.text += "\n**Files that could not be judged**\n\n";
        let rest = comment.add_all(matrix.unread, MAX_COMMENT_BYTES, |bad| {
            format!("* {}: {}\n", MarkdownCode(&bad.file), MarkdownCode(&bad.problem))
        });
        comment.text += &left_out(rest, "files");
    }
    if !matrix.kernel_warnings.is_empty() {
        comment.text += "\n**Warnings about kernels**\n\n";
        let rest = comment.add_all(matrix.kernel_warnings, MAX_COMMENT_BYTES, |warning| {
            format!("* {}: {}\n", MarkdownCode(&warning.kernel), MarkdownCode(&warning.text))
        });
        comment.text += &left_out(rest, "warnings");
    }
    out.write_all(comment.text.as_bytes())
}

/// Returns the line for what did not fit.
fn left_out(count: usize, noun: &str) -> String {
    if count == 0 { String::new() } else { format!("\n{count} more {noun} do not fit into this comment.\n") }
}

/// Returns the sentence that sums up the report.
fn headline(matrix: &Matrix<'_>) -> String {
    match matrix.objects.as_slice() {
        [] => "**No object was checked.**".to_owned(),
        [object] => object_headline(matrix, object),
        objects => {
            let everywhere = objects.iter().filter(|o| o.worst().is_some_and(Outcome::is_loads)).count();
            let counts = |worst: Outcome| {
                let count = objects.iter().filter(|o| o.worst() == Some(worst)).count();
                (count > 0).then(|| format!("{count} {}", words(worst)))
            };
            let rest: Vec<_> =
                Outcome::ALL.into_iter().rev().filter(|o| !o.is_loads()).filter_map(counts).collect();
            let rest = if rest.is_empty() {
                String::new()
            } else {
                format!("; on at least one kernel: {}", rest.join(", "))
            };
            let (objects, kernels) = (objects.len(), matrix.kernels.len());
            format!("**{everywhere} of {objects} objects load on every kernel** ({kernels} kernels){rest}")
        }
    }
}

/// Returns the sentence for a single object: "loads on 41 of 45 kernels; refused before 5.15: helper bpf_loop
/// is missing".
fn object_headline(matrix: &Matrix<'_>, object: &ObjectLine<'_>) -> String {
    let outcomes = object.outcomes();
    let checked = outcomes.iter().flatten().count();
    let loading = outcomes.iter().flatten().filter(|outcome| outcome.is_loads()).count();
    let name = MarkdownCode(object.name);
    let mut text = format!("**{name} loads on {loading} of {checked} kernels**");
    let problems = summarize(&matrix.kernels, &outcomes).problems(&code);
    if !problems.is_empty() && problems.len() <= MAX_HEADLINE_BYTES {
        let foreseen = || find_by_reason(object).first().map(|finding| finding.reason.text.clone());
        let first = unforeseen_refusal(object).or_else(foreseen);
        let first = first.map(|reason| format!(": {}", MarkdownCode(&reason)));
        let _ = write!(text, "; {problems}{}", first.as_deref().unwrap_or(""));
    }
    text
}

fn table_row(matrix: &Matrix<'_>, object: &ObjectLine<'_>) -> String {
    let outcomes = object.outcomes();
    let worst =
        object.worst().map_or_else(String::new, |worst| format!("{} {}", symbol(worst), words(worst)));
    let text = summarize(&matrix.kernels, &outcomes).text(&code);
    format!("| {} | {worst} | {text} |\n", MarkdownCode(object.name))
}

fn has_details(object: &ObjectLine<'_>) -> bool {
    let rows = || object.cells.iter().copied().flatten();
    let has_warnings = || rows().any(|row| row.outcome.as_ref().is_ok_and(|v| !v.warnings.is_empty()));
    let has_unexpected = || rows().any(|row| row.real_loads.iter().any(is_unexpected));
    object.worst().is_some_and(|worst| !worst.is_loads()) || has_warnings() || has_unexpected()
}

/// Returns whether a real load is worth a line: it differs from the verdict, or its outcome is unknown.
fn is_unexpected(load: &RealLoad) -> bool {
    load.differs() || load.outcome == LoadOutcome::Unknown
}

/// Returns the folded details of an object. Markdown does not apply in the line that stays visible.
fn details(matrix: &Matrix<'_>, object: &ObjectLine<'_>) -> String {
    let name = super::escape::shortened(object.name, MAX_COMMENT_TEXT_CHARS);
    let worst = object.worst().map_or("", words);
    let mut text = format!("\n<details><summary><code>{}</code>: {worst}</summary>\n\n", Markup(&name));
    let outcomes = object.outcomes();
    for (bad, kernels) in object.bad_input().iter().take(MAX_COMMENT_FINDINGS) {
        let extent = describe_kernels(&matrix.kernels, &outcomes, kernels, &code);
        let _ = writeln!(text, "* **bad input** {}: {extent}", MarkdownCode(&bad.problem));
    }
    let findings = find_by_reason(object);
    for finding in findings.iter().take(MAX_COMMENT_FINDINGS) {
        text += &finding_item(matrix, &outcomes, finding);
    }
    let rest = findings.len().saturating_sub(MAX_COMMENT_FINDINGS);
    if rest > 0 {
        let _ = writeln!(text, "* {rest} more reasons");
    }
    let loads = find_real_loads(object);
    for found in loads.iter().filter(|found| is_unexpected(found.load)).take(MAX_COMMENT_FINDINGS) {
        text += &real_load_item(matrix, &outcomes, found);
    }
    let warnings = find_warnings(object);
    for warning in warnings.iter().take(MAX_COMMENT_FINDINGS) {
        text += &warning_item(matrix, &outcomes, warning);
    }
    if let Some(rest @ 1..) = warnings.len().checked_sub(MAX_COMMENT_FINDINGS) {
        let _ = writeln!(text, "* {rest} more warnings");
    }
    text + "\n</details>\n"
}

/// Returns the list item of a real load, beside its verdict.
fn real_load_item(matrix: &Matrix<'_>, outcomes: &[Option<Outcome>], found: &FoundLoad<'_>) -> String {
    let FoundLoad { load, kernels, .. } = found;
    let extent = describe_kernels(&matrix.kernels, outcomes, kernels, &code);
    let reason = load.headline().map(|reason| format!(": {}", MarkdownCode(&reason)));
    let (program, words, verdict) = (MarkdownCode(load.subject()), load.outcome.word(), load.verdict_words());
    let reason = reason.as_deref().unwrap_or("");
    let mut item = format!("* **real load** of {program} {extent}: {words} (verdict: {verdict}){reason}\n");
    for line in load.deciding_lines() {
        let _ = writeln!(item, "  * {}", MarkdownCode(line.trim()));
    }
    item
}

/// Returns the list item of a silent mismatch, with both declarations.
fn warning_item(matrix: &Matrix<'_>, outcomes: &[Option<Outcome>], warning: &FoundWarning<'_>) -> String {
    let FoundWarning { mismatch, kernels, .. } = warning;
    let extent = describe_kernels(&matrix.kernels, outcomes, kernels, &code);
    let (text, program) = (MarkdownCode(&mismatch.text), MarkdownCode(&mismatch.program));
    let mut item = format!("* **warning** {extent}: {text}\n  * program: {program}\n");
    if let Some(source) = &mismatch.source {
        let line = MarkdownCode(source.text.trim());
        let _ = writeln!(item, "  * source: {}: {line}", MarkdownCode(&source.position()));
    }
    let (local, target) = (MarkdownCode(&mismatch.local), MarkdownCode(&mismatch.target));
    item + &format!("  * in the object: {local}\n  * in the kernel: {target}\n")
}

/// Returns the list item of a reason.
fn finding_item(matrix: &Matrix<'_>, outcomes: &[Option<Outcome>], finding: &Finding<'_>) -> String {
    let Finding { reason, programs, kernels, evidence, allowed, is_new } = finding;
    let extent = describe_kernels(&matrix.kernels, outcomes, kernels, &code);
    let verdict = words(Outcome::from(reason.verdict));
    let allowed = allowed.map_or_else(String::new, |entry| format!(" ({})", code(&entry.words())));
    let new = match is_new {
        Some(true) => "**new** ",
        Some(false) | None => "",
    };
    let mut text = format!("* {new}**{verdict}**{allowed} {extent}: {}\n", MarkdownCode(&reason.text));
    let mut names: Vec<_> =
        programs.iter().take(MAX_NAMED_KERNELS).map(|program| code(program.name)).collect();
    if programs.len() > MAX_NAMED_KERNELS {
        names.push(format!("{} more", programs.len() - MAX_NAMED_KERNELS));
    }
    let default = if finding.is_autoload() { "" } else { " (not loaded by default)" };
    let _ = writeln!(text, "  * programs: {}{default}", names.join(", "));
    if let Some(source) = &reason.source {
        let line = MarkdownCode(source.text.trim());
        let _ = writeln!(text, "  * source: {}: {line}", MarkdownCode(&source.position()));
    }
    if let Some((evidence, _)) = evidence.first.first() {
        let _ = writeln!(text, "  * evidence: {}: {}", evidence.source, MarkdownCode(&evidence.text));
    }
    if let Some(fix) = &reason.fix {
        let _ = writeln!(text, "  * fix: {}", MarkdownCode(fix));
    }
    text
}

fn code(name: &str) -> String {
    MarkdownCode(name).to_string()
}

fn words(outcome: Outcome) -> &'static str {
    outcome.words()
}

const fn symbol(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Loads => "✅",
        Outcome::Allowed => "☑️",
        Outcome::Unknown => "❔",
        Outcome::NeedsInput => "⚠️",
        Outcome::Refused => "❌",
        Outcome::BadInput => "🚫",
    }
}
