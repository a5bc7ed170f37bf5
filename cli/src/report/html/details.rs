//! The details of an object: its programs, and the distinct reasons with source line, evidence and fix.

use super::{class, code, kernel_list, symbol};
use crate::report::{
    escape::Markup,
    findings::{Finding, find_by_reason, kernel_numbers},
    limits::{MAX_EVIDENCE, MAX_NAMED_PROGRAMS, MAX_PAGE_FINDINGS},
    matrix::{Matrix, ObjectLine, ProgramLine},
    model::Outcome,
    rules::rule,
    summary::{describe_kernels, summarize},
};
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
    for (bad, kernels) in object.bad_input() {
        let kernels_text = describe_kernels(&matrix.kernels, &outcomes, &kernels, &code);
        open_finding(Outcome::BadInput, &bad.what, &kernels, out)?;
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
    let rest = findings.len().saturating_sub(MAX_PAGE_FINDINGS);
    if rest > 0 {
        writeln!(out, "<p>{rest} more reasons: see <code>core-relo check --format json</code>.</p>")?;
    }
    writeln!(out, "</section>")
}

/// Writes the programs that do not load everywhere as a table, and the others as a list that is closed at first.
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
    let Finding { reason, programs, kernels, evidence, allowed } = finding;
    let outcome = allowed.map_or(Outcome::from(reason.verdict), |_| Outcome::Allowed);
    open_finding(outcome, &reason.text, kernels, out)?;
    if let Some(entry) = allowed {
        let text = format!("{}; {}", Outcome::from(reason.verdict).words(), Markup(&entry.words()));
        write_field("verdict", &text, out)?;
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
    if let Some(source) = &reason.source {
        let column = if source.column == 0 { String::new() } else { format!(":{}", source.column) };
        let position = format!("<code>{}:{}{column}</code>", Markup(&source.file), source.line);
        let text = Markup(source.text.trim());
        write_field("source", &format!("{position}<pre>{text}</pre>"), out)?;
    }
    for (evidence, kernels) in evidence.iter().take(MAX_EVIDENCE) {
        let text =
            format!("{}: {} ({})", evidence.source.word(), Markup(&evidence.text), kernel_list(kernels));
        write_field("evidence", &text, out)?;
    }
    if evidence.len() > MAX_EVIDENCE {
        write_field("evidence", &format!("{} more on other kernels", evidence.len() - MAX_EVIDENCE), out)?;
    }
    if let Some(fix) = &reason.fix {
        write_field("fix", &Markup(fix).to_string(), out)?;
    }
    writeln!(out, "</dl></article>")
}

/// Opens the element of a reason. The script finds the reasons of a cell by the numbers of their kernels.
fn open_finding(outcome: Outcome, text: &str, kernels: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let (class, symbol, words) = (class(outcome), symbol(outcome), outcome.words());
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
