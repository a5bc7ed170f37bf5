//! The answers as text: the features of one kernel by section, or a table of features and kernels.

use super::{
    answer::Support,
    model::{AnsweredFeature, KernelFeatures, Method},
};
use crate::args::feature::Section;
use crate::text::{
    line::Line,
    printer::Printer,
    section::write_section,
    style::BOLD,
    table::{AlignedTable, Cell, left_cell},
};
use clap::ValueEnum as _;
use std::io;

/// Prints the answers of kernels.
pub(super) fn write(out: &mut Printer<'_>, kernels: &[KernelFeatures], is_selected: bool) -> io::Result<()> {
    match kernels {
        [] => Ok(()),
        [kernel] => write_kernel(out, kernel, is_selected),
        kernels => write_matrix(out, kernels),
    }
}

fn write_kernel(out: &mut Printer<'_>, kernel: &KernelFeatures, is_selected: bool) -> io::Result<()> {
    let method = match kernel.method {
        Method::Probe => "probed",
        Method::ProbeUnprivileged => "probed without capabilities",
        Method::ProbeWithToken => "probed with a BPF token",
        Method::Evidence => "by evidence",
    };
    out.line(Line::new().styled(BOLD, &kernel.kernel).text(format_args!(": {method}")))?;
    for section in Section::value_variants() {
        let features = kernel.features.iter().filter(|feature| feature.entry.section == *section);
        let row = |feature: &AnsweredFeature| {
            let since = since(feature);
            let evidence = evidence(feature, is_selected);
            vec![
                left_cell(&feature.entry.name),
                left_cell(feature.answer.support().word()),
                left_cell(since),
                left_cell(evidence),
            ]
        };
        let title = section.name().replace('_', " ");
        write_section(out, &title, &["NAME", "ANSWER", "SINCE", "EVIDENCE"], features.map(row))?;
    }
    Ok(())
}

/// Returns the release that added a feature, or the oldest observed kernel with it.
fn since(feature: &AnsweredFeature) -> String {
    let release = feature.entry.release().map(|release| release.to_string());
    let observed = || feature.entry.first_observed().map(|kernel| format!("<= {kernel}"));
    release.or_else(observed).unwrap_or_else(|| "-".to_owned())
}

/// Returns the evidence. The answers on named helpers and kfuncs also list the program types.
fn evidence(feature: &AnsweredFeature, is_selected: bool) -> String {
    let answer = &feature.answer;
    let Some(callers) = answer.callers.as_ref().filter(|callers| is_selected && callers.has_several()) else {
        return answer.evidence().to_owned();
    };
    let unknown = match &*callers.unknown {
        [] => String::new(),
        unknown => format!("; unknown: {}", unknown.join(", ")),
    };
    format!("{}: {}{unknown}", answer.evidence(), callers.yes.join(", "))
}

/// Prints a row for each feature, and a column for each kernel.
fn write_matrix(out: &mut Printer<'_>, kernels: &[KernelFeatures]) -> io::Result<()> {
    let mut rows: Vec<&AnsweredFeature> = Vec::new();
    for feature in kernels.iter().flat_map(|kernel| &kernel.features) {
        if !rows.iter().any(|row| row.entry == feature.entry) {
            rows.push(feature);
        }
    }
    rows.sort_by_key(|row| row.entry.section);
    let mut table = AlignedTable::new();
    let names = kernels.iter().map(|kernel| left_cell(&kernel.kernel));
    table.header(["SECTION", "NAME"].map(left_cell).into_iter().chain(names));
    for row in rows {
        let cell = |kernel: &KernelFeatures| -> Cell {
            let found = kernel.features.iter().find(|feature| feature.entry == row.entry);
            // A kfunc that the kernel lacks is not among its features.
            left_cell(found.map_or(Support::No, |feature| feature.answer.support()).word())
        };
        let fixed = [left_cell(row.entry.section.name()), left_cell(&row.entry.name)];
        table.row(fixed.into_iter().chain(kernels.iter().map(cell)));
    }
    table.lines().into_iter().try_for_each(|line| out.line(line))
}
