//! Snapshots of all formats, hostile names, and the bounds of sizes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use crate::{
    FleetReport, ReportFormat, Row,
    limits::MAX_COMMENT_BYTES,
    test_fleet::{HOSTILE, fleet, loads, package_row, refused_row, row, version},
};
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
    kernel::{Evidence, EvidenceSource, KernelVersion},
};
use insta::assert_snapshot;
use std::sync::Arc;

const FORMATS: [ReportFormat; 4] =
    [ReportFormat::Html, ReportFormat::Sarif, ReportFormat::Junit, ReportFormat::Markdown];

/// Returns a report as text.
pub(super) fn text_of(format: ReportFormat, report: &FleetReport) -> String {
    let mut out = Vec::new();
    report.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn html() {
    let text = text_of(ReportFormat::Html, &fleet());
    let (before, rest) = text.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, _) = rest.split_once("<script>").unwrap();
    let (_, policy) = before.split_once("Content-Security-Policy").unwrap();
    assert!(policy.contains("default-src 'none'"));
    assert_snapshot!(body);
}

#[test]
fn sarif() {
    let log: serde_json::Value = serde_json::from_str(&text_of(ReportFormat::Sarif, &fleet())).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&log).unwrap());
}

#[test]
fn junit() {
    assert_snapshot!(text_of(ReportFormat::Junit, &fleet()));
}

#[test]
fn markdown() {
    assert_snapshot!(text_of(ReportFormat::Markdown, &fleet()));
}

#[test]
fn markdown_of_one_object() {
    let mut report = fleet();
    report.rows.retain(|row| row.object == "trace.bpf.o" && row.architecture.as_deref() == Some("x86_64"));
    report.unread.clear();
    assert_snapshot!(text_of(ReportFormat::Markdown, &report));
}

#[test]
fn text() {
    let mut text = String::new();
    for summary in fleet().summaries() {
        text += &format!("{}: {}\n", core_relo::Escaped(summary.object), core_relo::Escaped(summary.text));
    }
    assert_snapshot!(text);
}

#[test]
fn an_empty_report_is_valid() {
    for format in FORMATS {
        assert!(!text_of(format, &FleetReport::default()).is_empty(), "{format:?}");
    }
}

#[test]
fn hostile_names_add_no_markup() {
    // The same report with harmless names of the same kind.
    let replaced = |report: &FleetReport, name: &str| {
        let text = format!("{report:#?}");
        assert!(text.contains("script"), "the fleet has a hostile name");
        let mut report = report.clone();
        for row in &mut report.rows {
            row.object = row.object.replace(HOSTILE, name);
            for program in row.outcome.iter_mut().flat_map(|object| &mut Arc::make_mut(object).programs) {
                program.name = program.name.replace(HOSTILE, name);
                for reason in &mut program.reasons {
                    reason.text = reason.text.replace(HOSTILE, name);
                    reason.fix = reason.fix.as_ref().map(|fix| fix.replace(HOSTILE, name));
                    if let Some(source) = &mut reason.source {
                        source.file = source.file.replace(HOSTILE, name);
                        source.text = source.text.replace(HOSTILE, name);
                    }
                    if let Some(evidence) = &mut reason.evidence {
                        evidence.text = evidence.text.replace(HOSTILE, name);
                    }
                }
            }
        }
        for bad in &mut report.unread {
            bad.file = bad.file.replace(HOSTILE, name);
            bad.problem = bad.problem.replace(HOSTILE, name);
            bad.help = bad.help.as_ref().map(|help| help.replace(HOSTILE, name));
        }
        report
    };
    let hostile = fleet();
    // `<` sorts before letters, and so does `0`.
    let harmless = replaced(&hostile, "0harmless");
    for format in [ReportFormat::Html, ReportFormat::Junit] {
        let markup = |report: &FleetReport| {
            let text = text_of(format, report);
            ['<', '>', '"', '\''].map(|c| text.matches(c).count())
        };
        assert_eq!(markup(&hostile), markup(&harmless), "{format:?}");
    }
    for format in FORMATS {
        let text = text_of(format, &hostile);
        assert!(!text.contains("<script>alert") || format == ReportFormat::Sarif, "{format:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{format:?}");
    }
    let comment = text_of(ReportFormat::Markdown, &hostile);
    assert!(!comment.contains("@team") || comment.contains("<code>"), "{comment}");
    for line in comment.lines() {
        let outside_code: String = line
            .split("<code>")
            .map(|part| part.split_once("</code>").map_or(part, |(_, rest)| rest))
            .collect();
        assert!(!outside_code.contains("@team") && !outside_code.contains("example.com"), "{line}");
    }
}

/// Creates a fleet of many objects and kernels. Every object has reasons of its own.
fn large_fleet(object_count: u32, kernel_count: u32) -> FleetReport {
    let mut rows = Vec::new();
    for kernel in 0..kernel_count {
        let architecture = ["x86_64", "arm64", "s390x"][usize::try_from(kernel % 3).unwrap()];
        let number = |number: u32| u8::try_from(number).unwrap();
        let version = KernelVersion::release(number(5 + kernel / 20), number(kernel % 20));
        let name =
            format!("fleet/{architecture}/{}.{}.0-{kernel}-generic.btf.tar.xz", version.major, version.minor);
        for object in 0..object_count {
            rows.push(large_row(object, &name, architecture, version));
        }
    }
    FleetReport { rows, ..FleetReport::default() }
}

fn large_row(object: u32, kernel: &str, architecture: &str, version: KernelVersion) -> Row {
    let programs = (0..6).map(|program| {
        let source = SourceLine {
            file: format!("/build/libbpf-tools/tool{object}.bpf.c"),
            line: 40 + program,
            column: 9,
            text: "\treturn bpf_get_socket_cookie(ctx);".into(),
            is_near: false,
        };
        let evidence = Evidence {
            source: EvidenceSource::Btf,
            text: format!("enum bpf_func_id ends with BPF_FUNC_{}_{}", version.major, version.minor),
        };
        let reason = Reason::new(
            ReasonKind::Helper,
            Verdict::Refused,
            format!("helper bpf_helper_{object}_{program} is missing"),
        )
        .with_source(source)
        .with_evidence(evidence)
        .with_fix("guard the call with bpf_core_enum_value_exists");
        let is_refused = u32::from(version.minor) < object % 12 && program < object % 7;
        let reasons = if is_refused { vec![reason] } else { Vec::new() };
        let verdict = ProgramVerdict::new(format!("handle_{program}"), reasons);
        if program == 5 { verdict.without_autoload() } else { verdict }
    });
    let name = format!("libbpf-tools-0.37.0/tool{object:02}.bpf.o");
    row(&name, kernel, Some(architecture), Some(version), ObjectVerdict::new(programs.collect()))
}

#[test]
fn sizes_are_bounded() {
    let small = large_fleet(57, 45);
    let page = text_of(ReportFormat::Html, &small);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("helper bpf_helper_13_0 is missing").count(), 1, "a reason is stored once");
    let large = large_fleet(200, 100);
    for report in [&small, &large] {
        let comment = text_of(ReportFormat::Markdown, report);
        assert!(comment.len() <= MAX_COMMENT_BYTES + 200, "{} bytes", comment.len());
        assert_eq!(comment.matches("<details>").count(), comment.matches("</details>").count());
    }
    assert!(text_of(ReportFormat::Markdown, &large).contains("do not fit into this comment"));
    // The pages of this variable's folder are for the eye.
    if let Some(folder) = std::env::var_os("CORE_RELO_REPORT_FOLDER") {
        let folder = std::path::Path::new(&folder);
        std::fs::write(folder.join("large.html"), &page).unwrap();
        std::fs::write(folder.join("small.html"), text_of(ReportFormat::Html, &fleet())).unwrap();
        std::fs::write(folder.join("large.sarif"), text_of(ReportFormat::Sarif, &small)).unwrap();
        std::fs::write(folder.join("small.sarif"), text_of(ReportFormat::Sarif, &fleet())).unwrap();
        std::fs::write(folder.join("small.xml"), text_of(ReportFormat::Junit, &fleet())).unwrap();
    }
}

#[test]
fn one_long_name_does_not_fill_a_report() {
    let long = "n".repeat(100_000);
    let report =
        FleetReport { rows: vec![row(&long, &long, Some(&long), None, loads())], ..FleetReport::default() };
    for format in FORMATS {
        let text = text_of(format, &report);
        assert!(text.len() < 60_000, "{format:?}: {} bytes", text.len());
    }
}

/// Protects the columns of the page from losing their distributions, and the comment from versions of Linux
/// in place of releases.
#[test]
fn kernels_of_distributions_are_grouped_by_release() {
    let kernels = [("11", version(5, 10, 0)), ("12", version(6, 1, 100)), ("12", version(6, 1, 192))];
    let rows = kernels.map(|(release, version)| {
        let refused = refused_row("a.o", "").outcome.unwrap();
        let verdict = if release == "11" { (*refused).clone() } else { loads() };
        package_row("a.o", "debian", release, version, verdict)
    });
    let report = FleetReport { rows: rows.into(), ..FleetReport::default() };
    let html = text_of(ReportFormat::Html, &report);
    let groups = "<th scope=\"colgroup\" colspan=\"1\"><span>debian 11</span>\
                  <th scope=\"colgroup\" colspan=\"2\"><span>debian 12</span>";
    assert!(html.contains(groups), "{html}");
    assert!(html.contains("<td>debian 12<td>6.1.192-1<td>6.1.192<td>"), "{html}");
    let markdown = text_of(ReportFormat::Markdown, &report);
    assert!(markdown.contains("`debian`: loads from 12 on, refused before 12"), "{markdown}");
}
