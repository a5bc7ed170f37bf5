//! The details of an object: its programs, and the distinct reasons with source line, evidence and fix.

use super::{class, code, kernel_list, symbol};
use crate::{
    agreement::{Agreement, LoadOutcome},
    escape::{Markup, MarkupLines},
    findings::{Finding, find_by_reason, kernel_numbers},
    limits::{MAX_NAMED_PROGRAMS, MAX_PAGE_FINDINGS},
    matrix::{Matrix, ObjectLine, ProgramLine},
    model::Outcome,
    real_loads::{FoundLoad, find_real_loads},
    rules::rule,
    summary::{describe_kernels, summarize},
    warnings::{FoundWarning, find_warnings},
};
use core_relo_verdict::SourceLine;
use std::io::{self, Write};

/// Writes the section of an object.
pub(super) fn write(
    matrix: &Matrix<'_>,
    index: usize,
    object: &ObjectLine<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let outcomes = object.outcomes();
    write!(
        out,
        "<section id=\"o{}\">\n<a class=\"up\" href=\"#matrix\">all objects</a><h3><code>{}</code></h3>\n<p class=\"summary\">{}</p>\n",
        index + 1,
        Markup(object.name),
        summarize(&matrix.kernels, &outcomes).text(&code),
    )?;
    write_programs(matrix, &object.programs(), out)?;
    write_real_loads(&find_real_loads(object), out)?;
    for (bad, kernels) in object.bad_input() {
        let kernels_text = describe_kernels(&matrix.kernels, &outcomes, &kernels, &code);
        open_finding(Outcome::BadInput, &bad.problem, &kernels, out)?;
        write_field("kernels", &format!("{kernels_text} ({})", kernel_list(&kernels)), out)?;
        if let Some(help) = &bad.help {
            write_field("help", &Markup(help).to_string(), out)?;
        }
        writeln!(out, "</dl></article>")?;
    }
    let findings = find_by_reason(object);
    for finding in findings.iter().take(MAX_PAGE_FINDINGS) {
        write_finding(matrix, &outcomes, finding, out)?;
    }
    write_rest(findings.len(), "reasons", out)?;
    let warnings = find_warnings(object);
    for warning in warnings.iter().take(MAX_PAGE_FINDINGS) {
        write_warning(matrix, &outcomes, warning, out)?;
    }
    write_rest(warnings.len(), "warnings", out)?;
    writeln!(out, "</section>")
}

/// Writes how many entries of a list are left out.
fn write_rest(count: usize, noun: &str, out: &mut dyn Write) -> io::Result<()> {
    match count.checked_sub(MAX_PAGE_FINDINGS).filter(|rest| *rest > 0) {
        Some(rest) => {
            writeln!(out, "<p>{rest} more {noun}: see <code>core-relo check --format json</code>.</p>")
        }
        None => Ok(()),
    }
}

/// Writes the real loads as a table. Loads that agree with a verdict of `loads` are only counted.
fn write_real_loads(loads: &[FoundLoad<'_>], out: &mut dyn Write) -> io::Result<()> {
    if loads.is_empty() {
        return Ok(());
    }
    let is_expected = |found: &&FoundLoad<'_>| {
        found.load.outcome == LoadOutcome::Loaded && found.load.agreement == Agreement::Agrees
    };
    let (expected, shown): (Vec<_>, Vec<_>) = loads.iter().partition(is_expected);
    if !shown.is_empty() {
        write!(
            out,
            "<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th>program<th>verdict<th>real load<th>kernels</tr></thead>\n<tbody>\n"
        )?;
        for FoundLoad { load, kernels, .. } in shown.iter().take(MAX_PAGE_FINDINGS) {
            let mark = if load.differs() { " <b class=\"w\">≠ differs</b>" } else { "" };
            let (class, symbol, words) =
                (class(load.outcome.into()), symbol(load.outcome.into()), load.outcome.word());
            let reason = load.reason.as_deref().map(reason_html);
            writeln!(
                out,
                "<tr><td>{}<td>{}{mark}<td><b class=\"{class}\">{symbol} {words}</b>{}<td>{}</tr>",
                code(load.subject()),
                load.verdict_words(),
                reason.as_deref().unwrap_or(""),
                kernel_list(kernels),
            )?;
        }
        write!(out, "</tbody>\n</table></div>\n")?;
        write_rest(shown.len(), "real loads", out)?;
    }
    let count: usize = expected.iter().map(|found| found.kernels.len()).sum();
    match count {
        0 => Ok(()),
        1 => writeln!(out, "<p class=\"summary\">1 real load succeeded, as its verdict says.</p>"),
        _ => writeln!(out, "<p class=\"summary\">{count} real loads succeeded, as their verdicts say.</p>"),
    }
}

/// Returns the reason of a real load: its first line, and the verifier log below.
fn reason_html(reason: &str) -> String {
    match reason.split_once('\n') {
        Some((first, rest)) => format!("<br>{}<pre>{}</pre>", Markup(first), MarkupLines(rest)),
        None => format!("<br>{}", Markup(reason)),
    }
}

/// Writes a silent mismatch with both declarations.
fn write_warning(
    matrix: &Matrix<'_>,
    outcomes: &[Option<Outcome>],
    warning: &FoundWarning<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let FoundWarning { mismatch, kernels, .. } = warning;
    open_article(("w", "≠", "warning"), &mismatch.text, kernels, out)?;
    let kernels_text = describe_kernels(&matrix.kernels, outcomes, kernels, &code);
    write_field("kernels", &format!("{kernels_text} ({})", kernel_list(kernels)), out)?;
    write_field("program", &code(&mismatch.program), out)?;
    write_source(mismatch.source.as_ref(), out)?;
    write_field("in object", &format!("<pre>{}</pre>", Markup(&mismatch.local)), out)?;
    write_field("in kernel", &format!("<pre>{}</pre>", Markup(&mismatch.target)), out)?;
    writeln!(out, "</dl></article>")
}

/// Writes the programs that do not load everywhere as a table, and the others as a list that is closed at
/// first.
fn write_programs(matrix: &Matrix<'_>, programs: &[ProgramLine<'_>], out: &mut dyn Write) -> io::Result<()> {
    let loads_everywhere =
        |program: &&ProgramLine<'_>| program.outcomes.iter().flatten().all(|outcome| outcome.is_loads());
    let (good, bad): (Vec<_>, Vec<_>) = programs.iter().partition(loads_everywhere);
    if !bad.is_empty() {
        write!(
            out,
            "<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th>program<th>kernels</tr></thead>\n<tbody>\n"
        )?;
        for program in bad {
            let default = if program.autoload { "" } else { " (not loaded by default)" };
            let text = summarize(&matrix.kernels, &program.outcomes).text(&code);
            writeln!(out, "<tr><td>{}{default}<td>{text}</tr>", code(program.name))?;
        }
        write!(out, "</tbody>\n</table></div>\n")?;
    }
    if good.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = good.iter().map(|program| code(program.name)).collect();
    let word = if names.len() == 1 { "program loads" } else { "programs load" };
    writeln!(
        out,
        "<details><summary>{} {word} on every kernel</summary><p>{}</p></details>",
        names.len(),
        names.join(", ")
    )
}

/// Writes a reason.
fn write_finding(
    matrix: &Matrix<'_>,
    outcomes: &[Option<Outcome>],
    finding: &Finding<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Finding { reason, programs, kernels, evidence, allowed, is_new } = finding;
    let outcome = allowed.map_or(Outcome::from(reason.verdict), |_| Outcome::Allowed);
    open_finding(outcome, &reason.text, kernels, out)?;
    if let Some(entry) = allowed {
        let text = format!("{}; {}", Outcome::from(reason.verdict).words(), Markup(&entry.words()));
        write_field("verdict", &text, out)?;
    }
    if let Some(is_new) = is_new {
        let words = if *is_new { "<b class=\"w\">new</b>" } else { "has the reason, too" };
        write_field("baseline", words, out)?;
    }
    write_field("problem", rule(reason.kind).title, out)?;
    let kernels_text = describe_kernels(&matrix.kernels, outcomes, kernels, &code);
    write_field("kernels", &format!("{kernels_text} ({})", kernel_list(kernels)), out)?;
    let mut names: Vec<_> =
        programs.iter().take(MAX_NAMED_PROGRAMS).map(|program| code(program.name)).collect();
    if programs.len() > MAX_NAMED_PROGRAMS {
        names.push(format!("{} more", programs.len() - MAX_NAMED_PROGRAMS));
    }
    let default = if finding.is_autoload() { "" } else { " (not loaded by default)" };
    write_field("programs", &format!("{}{default}", names.join(", ")), out)?;
    write_source(reason.source.as_ref(), out)?;
    for (evidence, kernels) in &evidence.first {
        let text =
            format!("{}: {} ({})", evidence.source.word(), Markup(&evidence.text), kernel_list(kernels));
        write_field("evidence", &text, out)?;
    }
    match evidence.other_kernel_count() {
        0 => {}
        1 => write_field("evidence", "other evidence on 1 kernel", out)?,
        others => write_field("evidence", &format!("other evidence on {others} kernels"), out)?,
    }
    if let Some(fix) = &reason.fix {
        write_field("fix", &Markup(fix).to_string(), out)?;
    }
    writeln!(out, "</dl></article>")
}

/// Writes the field of a source line, if it is known.
fn write_source(source: Option<&SourceLine>, out: &mut dyn Write) -> io::Result<()> {
    let Some(source) = source else { return Ok(()) };
    let position = format!("<code>{}</code>", Markup(&source.position_with_column()));
    let text = Markup(source.text.trim());
    write_field("source", &format!("{position}<pre>{text}</pre>"), out)
}

/// Opens the element of a reason.
fn open_finding(outcome: Outcome, text: &str, kernels: &[usize], out: &mut dyn Write) -> io::Result<()> {
    open_article((class(outcome), symbol(outcome), outcome.words()), text, kernels, out)
}

/// Opens the element of a reason or a warning. The script finds those of a cell by the numbers of their
/// kernels.
fn open_article(
    (class, symbol, words): (&str, &str, &str),
    text: &str,
    kernels: &[usize],
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "<article class=\"finding\" data-kernels=\"{}\">\n<p><b class=\"{class}\">{symbol} {words}</b> {}</p>\n<dl>",
        kernel_numbers(kernels),
        Markup(text),
    )
}

/// Writes a field of a reason. `html` is escaped already.
fn write_field(name: &str, html: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<dt>{name}</dt><dd>{html}</dd>")
}
