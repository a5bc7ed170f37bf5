//! A page that needs no other file: the matrix of objects and kernels, then the details of each object.
//!
//! The page is complete without JavaScript. The script adds filters, and shows the reasons for one cell.

mod details;
mod table;
use super::{
    escape::Markup, findings::kernel_numbers, limits::MAX_PAGE_FINDINGS, matrix::Matrix, model::Outcome,
};
use crate::labels::full_version;
use std::io::{self, Write};

/// The style sheet of reports in HTML, for other pages that look like them.
pub const STYLE: &str = include_str!("style.css");
/// The script. [`SCRIPT_HASH`] is its hash.
const SCRIPT: &str = include_str!("script.js");

/// The SHA-256 of [`STYLE`] in base64. The browser applies no other style sheet.
const STYLE_HASH: &str = "h69JPHnugA45SnoIEy6Yys2B5jdz6gTW9vuZ50+bbcU=";
/// The SHA-256 of [`SCRIPT`] in base64. The browser runs no other script.
const SCRIPT_HASH: &str = "d+Lvnhj8d9v9dzLozaOOzyleqnSqpg67LeObBq7md3c=";

/// Writes the page.
pub(super) fn write(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>core-relo check: {} objects on {} kernels</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        matrix.objects.len(),
        matrix.kernels.len(),
    )?;
    write_overview(matrix, out)?;
    table::write(matrix, out)?;
    write_unread(matrix, out)?;
    write_kernel_warnings(matrix, out)?;
    writeln!(out, "<h2 id=\"objects\">Objects</h2>")?;
    for (index, object) in matrix.objects.iter().enumerate() {
        details::write(matrix, index, object, out)?;
    }
    write_kernels(matrix, out)?;
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Writes the heading, the counts, and the legend.
fn write_overview(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    let everywhere = matrix.objects.iter().filter(|o| o.worst().is_some_and(Outcome::is_loads)).count();
    write!(
        out,
        "<h1>core-relo check</h1>\n<p>{everywhere} of {} objects load on every kernel they were checked on \
         ({} kernels).</p>\n<ul class=\"legend\">\n",
        matrix.objects.len(),
        matrix.kernels.len(),
    )?;
    let outcomes = || matrix.objects.iter().flat_map(|object| object.outcomes()).flatten();
    for outcome in Outcome::ALL {
        let (class, symbol, count) =
            (class(outcome), symbol(outcome), outcomes().filter(|o| *o == outcome).count());
        let (words, meaning) = (outcome.words(), meaning(outcome));
        writeln!(out, "<li><b class=\"{class}\">{symbol} {words}</b> {count}: {meaning}</li>")?;
    }
    writeln!(out, "</ul>")?;
    if let Some(summary) = &matrix.baseline_summary {
        writeln!(out, "<p>{summary}.</p>")?;
    }
    match matrix.agreement {
        Some(agreement) => {
            writeln!(out, "<p>{}.</p>\n<p>On a kernel that was booted, the real load decides.</p>", agreement)
        }
        None => Ok(()),
    }
}

/// Writes the warnings about the facts of kernels.
fn write_kernel_warnings(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    if matrix.kernel_warnings.is_empty() {
        return Ok(());
    }
    write!(out, "<h2>Warnings about kernels</h2>\n<ul>\n")?;
    for warning in matrix.kernel_warnings.iter().take(MAX_PAGE_FINDINGS) {
        writeln!(out, "<li>{}: {}</li>", code(&warning.kernel), Markup(&warning.text))?;
    }
    if let Some(rest @ 1..) = matrix.kernel_warnings.len().checked_sub(MAX_PAGE_FINDINGS) {
        writeln!(out, "<li>{rest} more: see <code>core-relo check --format json</code></li>")?;
    }
    writeln!(out, "</ul>")
}

/// Writes the inputs that could not be read or judged.
fn write_unread(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    if matrix.unread.is_empty() {
        return Ok(());
    }
    write!(out, "<h2>Files that could not be judged</h2>\n<ul>\n")?;
    for bad in matrix.unread {
        let help = bad.help.as_ref().map_or_else(String::new, |help| format!("<br>help: {}", Markup(help)));
        writeln!(out, "<li><code>{}</code>: {}{help}</li>", Markup(&bad.file), Markup(&bad.problem))?;
    }
    writeln!(out, "</ul>")
}

/// Writes the list of kernels, with their numbers.
fn write_kernels(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    let has_packages = matrix.kernels.iter().any(|kernel| kernel.distribution.is_some());
    let package_head = if has_packages { "<th>distribution<th>package" } else { "" };
    write!(
        out,
        "<h2 id=\"kernels\">Kernels</h2>\n<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th>number<th>architecture\
         {package_head}<th>version<th>kernel<th>objects that load</tr></thead>\n<tbody>\n"
    )?;
    for (index, kernel) in matrix.kernels.iter().enumerate() {
        let cells = || matrix.objects.iter().filter_map(|object| object.cells.get(index).copied().flatten());
        let loading = cells().filter(|row| row.outcome().is_loads()).count();
        let package = kernel.distribution.map_or("", |package| &*package.package_version);
        let package_cells = match has_packages {
            true => format!(
                "<td>{}<td>{}",
                Markup(kernel.distribution_release().as_deref().unwrap_or("")),
                Markup(package)
            ),
            false => String::new(),
        };
        writeln!(
            out,
            "<tr id=\"k{0}\"><td>K{0}<td>{1}{package_cells}<td>{2}<td><code>{3}</code><td>{loading} of {4}</tr>",
            index + 1,
            Markup(kernel.architecture.unwrap_or("unknown")),
            kernel.version.map_or_else(|| "unknown".into(), full_version),
            Markup(kernel.name),
            cells().count(),
        )?;
    }
    write!(out, "</tbody>\n</table></div>\n")
}

/// Returns a name as code.
fn code(name: &str) -> String {
    format!("<code>{}</code>", Markup(name))
}

/// Returns the numbers of kernels for people: `K1–K4 K7`.
fn kernel_list(kernels: &[usize]) -> String {
    let numbers = kernel_numbers(kernels);
    let ranges = numbers.split_whitespace().map(|range| format!("K{}", range.replace('-', "–K")));
    ranges.collect::<Vec<_>>().join(" ")
}

/// Returns the class of an outcome in the style sheet and the script.
const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Loads => "l",
        Outcome::Allowed => "a",
        Outcome::Unknown => "u",
        Outcome::NeedsInput => "n",
        Outcome::Refused => "r",
        Outcome::BadInput => "b",
    }
}

/// Returns the symbol of an outcome, so that colours are not needed.
const fn symbol(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Loads => "✓",
        Outcome::Allowed => "~",
        Outcome::Unknown => "?",
        Outcome::NeedsInput => "!",
        Outcome::Refused => "✗",
        Outcome::BadInput => "⚠",
    }
}

/// Returns the meaning of an outcome.
const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Loads => {
            "the kernel has all that the programs need; the verifier may still refuse them for other reasons"
        }
        Outcome::Allowed => "the project accepts every reason against the load (core-relo.toml, --allow)",
        Outcome::Unknown => "no evidence answers at least one question about the kernel",
        Outcome::NeedsInput => "user space must set something before the load",
        Outcome::Refused => "the kernel refuses a program that is loaded by default",
        Outcome::BadInput => "the object could not be judged on the kernel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    /// Returns bytes in base64.
    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits =
                (0..3).fold(0usize, |bits, i| bits << 8 | usize::from(chunk.get(i).copied().unwrap_or(0)));
            for digit in 0..4 {
                let is_padding = digit > chunk.len();
                text.push(if is_padding { '=' } else { DIGITS[bits >> (18 - 6 * digit) & 63].into() });
            }
        }
        text
    }

    #[test]
    fn the_browser_runs_only_this_script_and_style() {
        assert_eq!(base64(b"light w"), "bGlnaHQgdw==");
        assert_eq!(base64(&Sha256::digest(STYLE)), STYLE_HASH);
        assert_eq!(base64(&Sha256::digest(SCRIPT)), SCRIPT_HASH);
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"), "the HTML parser would end the element");
    }

    #[test]
    fn kernels_are_listed_as_ranges() {
        assert_eq!(kernel_list(&[0, 1, 2, 6]), "K1–K3 K7");
    }
}
