//! The matrix: a line per object, a column per kernel.

use super::{class, symbol};
use crate::labels::full_version;
use crate::{
    escape::Markup,
    labels::{common_directory_len, distinct_labels},
    matrix::{Kernel, Matrix, ObjectLine},
    model::Outcome,
};
use std::io::{self, Write};

/// Writes the filters, which the script shows, and the table.
pub(super) fn write(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    if matrix.objects.is_empty() {
        return writeln!(out, "<p>No object was checked.</p>");
    }
    write_filters(matrix, out)?;
    write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Objects and kernels\"><table id=\"matrix\">\n\
         <caption>A cell leads to the reasons. Numbers of kernels: <a href=\"#kernels\">Kernels</a>.</caption>\n"
    )?;
    write_head(&matrix.kernels, out)?;
    writeln!(out, "<tbody>")?;
    let dir_len = common_directory_len(matrix.objects.iter().map(|object| object.name));
    for (index, object) in matrix.objects.iter().enumerate() {
        let name = object.name.get(dir_len..).unwrap_or(object.name);
        write_line(index + 1, name, object, &matrix.kernels, out)?;
    }
    write!(out, "</tbody>\n</table></div>\n")
}

fn write_filters(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<div id=\"filters\" hidden>\n<label>object <input id=\"object-filter\" type=\"search\"></label>\n\
         <label>kernel <input id=\"kernel-filter\" type=\"search\"></label>\n\
         <label>verdict <select id=\"verdict-filter\"><option value=\"\">all</option>"
    )?;
    for outcome in Outcome::ALL {
        write!(out, "<option value=\"{}\">{}</option>", class(outcome), outcome.words())?;
    }
    if matrix.baseline_summary.is_some() {
        write!(out, "<option value=\"new\">new since the baseline</option>")?;
    }
    write!(out, "</select></label>\n<output id=\"shown\"></output>\n</div>\n")
}

/// Writes a line of architectures, a line of releases of distributions if there are any, and a line of
/// kernels.
fn write_head(kernels: &[Kernel<'_>], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<thead>\n<tr class=\"group\"><th scope=\"col\">architecture")?;
    for group in kernels.chunk_by(|a, b| a.architecture == b.architecture) {
        let name = group.first().and_then(|kernel| kernel.architecture).unwrap_or("unknown");
        write!(out, "<th scope=\"colgroup\" colspan=\"{}\"><span>{}</span>", group.len(), Markup(name))?;
    }
    if kernels.iter().any(|kernel| kernel.distribution.is_some()) {
        write!(out, "</tr>\n<tr class=\"group\"><th scope=\"col\">distribution")?;
        for group in kernels.chunk_by(Kernel::is_same_release) {
            let name = group.first().and_then(Kernel::distribution_release);
            let name = name.as_deref().unwrap_or("other");
            write!(out, "<th scope=\"colgroup\" colspan=\"{}\"><span>{}</span>", group.len(), Markup(name))?;
        }
    }
    write!(out, "</tr>\n<tr><th scope=\"col\">object")?;
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.short_name).collect();
    let numbered = (1..).zip(kernels).zip(distinct_labels(&names));
    for ((number, kernel), name) in numbered {
        let (class, label) = (start_class(kernels, number - 1), label(kernels, number - 1, &name));
        let architecture = kernel.architecture.unwrap_or("");
        let version = kernel.version.map_or_else(String::new, full_version);
        let package = kernel.distribution.map_or("", |package| &*package.package_version);
        let version = if package.is_empty() { version } else { format!("{version} {package}") };
        let (architecture, name) = (Markup(architecture), Markup(kernel.name));
        write!(
            out,
            "<th scope=\"col\" class=\"{class}\" title=\"K{number} {architecture} {version} {name}\">\
             <a href=\"#k{number}\">{label}</a>"
        )?;
    }
    write!(out, "</tr>\n</thead>\n")
}

/// Returns a kernel's label: the version, and the short name unless the version tells the kernels of an
/// architecture, or of a release of a distribution, apart. Kernels of the same version are neighbours.
fn label(kernels: &[Kernel<'_>], index: usize, name: &str) -> String {
    let Some(kernel) = kernels.get(index) else { return String::new() };
    let neighbours = [index.checked_sub(1), index.checked_add(1)];
    let mut neighbours = neighbours.into_iter().flatten().filter_map(|index| kernels.get(index));
    let is_same = |other: &Kernel<'_>| other.is_same_release(kernel) && other.version == kernel.version;
    match kernel.version.map(full_version) {
        Some(version) if !neighbours.any(is_same) => version,
        Some(version) => format!("{version} {}", Markup(name)),
        None => Markup(name).to_string(),
    }
}

/// Returns the class ` start` for the first kernel of an architecture, or of a release of a distribution.
fn start_class(kernels: &[Kernel<'_>], index: usize) -> &'static str {
    let before = index.checked_sub(1).and_then(|before| kernels.get(before));
    match before.zip(kernels.get(index)) {
        Some((before, kernel)) if before.is_same_release(kernel) => "",
        _ => " start",
    }
}

/// Writes the line of an object. End tags are left out where HTML allows that: a large fleet has thousands of
/// cells.
fn write_line(
    number: usize,
    name: &str,
    object: &ObjectLine<'_>,
    kernels: &[Kernel<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "<tr><th scope=\"row\" title=\"{}\"><a href=\"#o{number}\">{}</a>",
        Markup(object.name),
        Markup(name)
    )?;
    for (index, outcome) in object.outcomes().into_iter().enumerate() {
        let start = start_class(kernels, index);
        match outcome {
            Some(outcome) => {
                let (class, symbol, words) = (class(outcome), symbol(outcome), outcome.words());
                let (mark, note) = match object.differs_on(index) {
                    true => ("<sup>≠</sup>", "; the verdict differs"),
                    false => ("", ""),
                };
                // The filter finds the cells by the class.
                let (new, new_mark, new_note) = match object.is_new_on(index) {
                    true => (" new", "<sup>new</sup>", "; new since the baseline"),
                    false => ("", "", ""),
                };
                write!(
                    out,
                    "<td class=\"{class}{start}{new}\"><a href=\"#o{number}\">{symbol}{mark}{new_mark}\
                     <i>{words}{note}{new_note}</i></a>"
                )?;
            }
            None => write!(out, "<td class=\"{start}\"><i>not checked</i>")?,
        }
    }
    writeln!(out, "</tr>")
}
