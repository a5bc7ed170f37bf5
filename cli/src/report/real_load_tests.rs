//! Silent mismatches, real loads and warnings about kernels in all formats.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{
    FleetReport, KernelWarning, ReportFormat, Row,
    model::{Outcome, RealLoad},
    test_fleet::{loads, refused_row, row},
    tests::text_of,
};
use core_relo_verdict::{
    judge::Verdict,
    mismatch::{Mismatch, MismatchKind},
};

fn real_load(verdict: Option<Verdict>, outcome: Outcome, reason: Option<&str>) -> RealLoad {
    let agrees = verdict.map(|verdict| (verdict == Verdict::Loads) == outcome.is_loads());
    let agrees = agrees.filter(|_| outcome != Outcome::Unknown);
    let reason = reason.map(str::to_owned);
    RealLoad { program: "main".to_owned(), autoload: true, verdict, outcome, reason, agrees }
}

/// Creates the report of an object on four kernels. The third and the fourth were booted.
fn booted_fleet() -> FleetReport {
    let plain = |kernel| row("one.bpf.o", kernel, None, None, loads());
    let mut mismatching = loads();
    let text = "argument 2 of do_unlinkat has another type";
    let declarations = ("struct filename *name<1>", "const char *name{2}");
    mismatching.warnings.push(Mismatch::new(MismatchKind::Prototype, "main", text, declarations));
    let unforeseen = real_load(Some(Verdict::Loads), Outcome::Refused, Some("R1 is <bad>"));
    let wrong = real_load(Some(Verdict::Refused), Outcome::Loads, None);
    let rows = vec![
        plain("k1"),
        row("one.bpf.o", "k2", None, None, mismatching),
        Row { real_loads: vec![unforeseen], ..plain("k3") },
        Row { real_loads: vec![wrong], ..refused_row("one.bpf.o", "k4") },
    ];
    let warning = KernelWarning {
        kernel: "k1".to_owned(),
        text: "--kernel-version 5.10, but its banner is <6.1>".to_owned(),
    };
    FleetReport {
        rows,
        kernel_warnings: vec![warning],
        agreement: Some("0 verdicts agree with the real loads, 2 differ".to_owned()),
        ..FleetReport::default()
    }
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn html_has_both_declarations_and_real_loads() {
    assert_contains(
        &text_of(ReportFormat::Html, &booted_fleet()),
        &[
            "<p>0 verdicts agree with the real loads, 2 differ.</p>",
            "<h2>Warnings about kernels</h2>\n<ul>\n<li><code>k1</code>: --kernel-version 5.10, but its banner is &lt;6.1&gt;</li>",
            "<article class=\"finding\" data-kernels=\"2\">\n<p><b class=\"w\">≠ warning</b> argument 2 of do_unlinkat has another type",
            "<dt>in object</dt><dd><pre>struct filename *name&lt;1&gt;</pre></dd>",
            "<dt>in kernel</dt><dd><pre>const char *name{2}</pre></dd>",
            "<td>loads <b class=\"w\">≠ differs</b><td><b class=\"r\">✗ refused</b><br>R1 is &lt;bad&gt;<td>K3</tr>",
            "<td>refused <b class=\"w\">≠ differs</b><td><b class=\"l\">✓ loaded</b><td>K4</tr>",
            "✓<sup>≠</sup><i>loads; a real load differs</i>",
        ],
    );
}

#[test]
fn junit_tests_pass_and_fail_as_the_real_loads() {
    let text = text_of(ReportFormat::Junit, &booted_fleet());
    assert_contains(
        &text,
        &[
            "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\"",
            "<property name=\"warning\" value=\"--kernel-version 5.10, but its banner is &lt;6.1&gt;\"/>",
            "<system-out>warning: argument 2 of do_unlinkat has another type\n  object: struct filename *name&lt;1&gt;\n  kernel: const char *name{2}\n</system-out>",
            "<failure message=\"real load: refused: R1 is &lt;bad&gt;; verdict: loads, which differs\" type=\"real_load\"/>",
            "<system-out>real load: loaded; verdict: refused, which differs\nmap_type: map type arena is missing\n",
        ],
    );
}

#[test]
fn junit_has_real_loads_without_verdicts() {
    let mut report = booted_fleet();
    report.rows.truncate(1);
    let row = &mut report.rows[0];
    row.outcome = Err(crate::error::BadInput::new("k1", "no BTF"));
    row.real_loads = vec![real_load(None, Outcome::Loads, None)];
    let text = text_of(ReportFormat::Junit, &report);
    assert_contains(&text, &["failures=\"0\" errors=\"0\"", "real load: loaded; verdict: no verdict"]);
    report.rows[0].real_loads = vec![real_load(None, Outcome::Unknown, Some("the guest ended"))];
    let text = text_of(ReportFormat::Junit, &report);
    assert_contains(&text, &["errors=\"1\"", "<error message=\"real load: unknown: the guest ended"]);
}

#[test]
fn markdown_has_both_declarations_and_real_loads() {
    assert_contains(
        &text_of(ReportFormat::Markdown, &booted_fleet()),
        &[
            "\n0 verdicts agree with the real loads, 2 differ.\n",
            "* **warning** on `k2`: `argument 2 of do_unlinkat has another type`\n",
            "  * in the object: `struct filename *name<1>`\n  * in the kernel: `const char *name{2}`\n",
            "* **real load** of `main` on `k3`: refused (verdict: loads): `R1 is <bad>`\n",
            "* **real load** of `main` on `k4`: loaded (verdict: refused)\n",
            "**Warnings about kernels**\n\n* `k1`: `--kernel-version 5.10, but its banner is <6.1>`\n",
        ],
    );
}

#[test]
fn sarif_has_warnings_about_kernels() {
    let log: serde_json::Value =
        serde_json::from_str(&text_of(ReportFormat::Sarif, &booted_fleet())).unwrap();
    let run = &log["runs"][0];
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true, "a warning is no failure");
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["level"], "warning");
    assert_eq!(notification["message"]["text"], "k1: --kernel-version 5.10, but its banner is <6.1>");
    let results = run["results"].as_array().unwrap();
    let mismatch = results.iter().find(|result| result["ruleId"] == "mismatch").unwrap();
    let text = mismatch["message"]["text"].as_str().unwrap();
    assert_contains(text, &["object: struct filename *name<1>\nkernel: const char *name{{2}}\non k2"]);
}
