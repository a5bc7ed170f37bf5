//! Silent mismatches, real loads and warnings about kernels in all formats.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use crate::{
    FleetReport, KernelWarning, ReportFormat, Row,
    agreement::{Agreement, LoadOutcome},
    model::{RealLoad, UnjudgedInput},
    test_fleet::{loads, refused_row, row},
    tests::text_of,
};
use core_relo_verdict::{
    SourceLine,
    judge::Verdict,
    mismatch::{Declarations, Mismatch, MismatchKind},
};
use serde_json::json;

fn real_load(verdict: Option<Verdict>, outcome: LoadOutcome, reason: Option<&str>) -> RealLoad {
    let agreement = verdict.map_or(Agreement::Undecided, |verdict| Agreement::new(verdict, outcome));
    let reason = reason.map(str::to_owned);
    RealLoad { verdict, reason, agreement, ..RealLoad::new(Some("main".to_owned()), outcome) }
}

/// Creates the report of an object on four kernels. The third and the fourth were booted.
fn booted_fleet() -> FleetReport {
    let plain = |kernel| row("one.bpf.o", kernel, None, None, loads());
    let mut mismatching = loads();
    let text = "argument 2 of do_unlinkat has another type";
    let declarations = Declarations { local: "struct filename *name<1>", target: "const char *name{2}" };
    mismatching.warnings.push(Mismatch::new(MismatchKind::Prototype, "main", text, declarations));
    let unforeseen = real_load(Some(Verdict::Loads), LoadOutcome::Refused, Some("R1 is <bad>"));
    let wrong = real_load(Some(Verdict::Refused), LoadOutcome::Loaded, None);
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
        agreement: Some([Agreement::Differs; 2].into_iter().collect()),
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
            "✗<sup>≠</sup><i>refused; the verdict differs</i>",
            "✓<sup>≠</sup><i>loads; the verdict differs</i>",
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
    row.outcome = Err(UnjudgedInput::new("k1", "no BTF"));
    row.real_loads = vec![real_load(None, LoadOutcome::Loaded, None)];
    let text = text_of(ReportFormat::Junit, &report);
    assert_contains(&text, &["failures=\"0\" errors=\"0\"", "real load: loaded; verdict: no verdict"]);
    report.rows[0].real_loads = vec![real_load(None, LoadOutcome::Unknown, Some("the guest ended"))];
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

/// The message of a verifier log that is longer than any limit for a text.
fn long_refusal() -> RealLoad {
    let log: String = (0..100).map(|number| format!("   | {number}: (79) r2 = *(u64 *)(r4 +0)\n")).collect();
    let reason = format!(
        "p: refused by the kernel: EACCES\n  --> a.bpf.c:141: ip = x[{{i}}];\n{log}   | R4 unbounded memory access"
    );
    let load = real_load(Some(Verdict::Loads), LoadOutcome::Refused, Some(&reason));
    let source = SourceLine {
        file: "a.bpf.c".to_owned(),
        line: 141,
        column: 0,
        text: "ip = x[{i}];".to_owned(),
        is_near: false,
    };
    RealLoad { source: Some(source), ..load }
}

/// Creates the report of an object whose verdict is `loads` on two kernels that refused it.
fn unforeseen_fleet() -> FleetReport {
    let refused =
        |kernel| Row { real_loads: vec![long_refusal()], ..row("one.bpf.o", kernel, None, None, loads()) };
    FleetReport { rows: vec![refused("k1"), refused("k2")], ..FleetReport::default() }
}

#[test]
fn summaries_follow_the_real_loads() {
    let report = unforeseen_fleet();
    let summaries: Vec<_> = report.summaries().into_iter().map(|s| (s.object, s.text)).collect();
    assert_eq!(summaries, [("one.bpf.o", "refused on both kernels".to_owned())]);
    assert_contains(
        &text_of(ReportFormat::Markdown, &report),
        &[
            "**`one.bpf.o` loads on 0 of 2 kernels**; refused on both kernels: `p: refused by the kernel: EACCES`",
            "| `one.bpf.o` | ❌ refused | refused on both kernels |",
            "<details><summary><code>one.bpf.o</code>: refused</summary>",
            "\n  * `--> a.bpf.c:141: ip = x[{i}];`\n  * <code>&#124; R4 unbounded memory access</code>\n",
        ],
    );
    assert_contains(
        &text_of(ReportFormat::Html, &report),
        &[
            "0 of 1 objects load on every kernel",
            "<b class=\"r\">✗ refused</b> 2:",
            "<td>0 of 1</tr>",
            "<tr><td><code>main</code><td>refused on both kernels</tr>",
            "<br>p: refused by the kernel: EACCES<pre>  --&gt; a.bpf.c:141: ip = x[{i}];\n   | 0: ",
            "\n   | R4 unbounded memory access</pre>",
        ],
    );
}

#[test]
fn programs_outside_the_default_load_do_not_decide() {
    let mut report = unforeseen_fleet();
    report.rows[0].real_loads[0].autoload = false;
    report.rows.truncate(1);
    let text = text_of(ReportFormat::Markdown, &report);
    assert!(
        text.contains("**`one.bpf.o` loads on 1 of 1 kernels**"),
        "the default load has no refused program: {text}"
    );
}

#[test]
fn junit_has_the_last_line_of_a_long_log() {
    assert_contains(
        &text_of(ReportFormat::Junit, &unforeseen_fleet()),
        &[
            "message=\"real load: refused: p: refused by the kernel: EACCES; verdict: loads, which differs&#10;  --&gt; \
             a.bpf.c:141: ip = x[{i}];&#10;   | R4 unbounded memory access\"",
            "   | 99: (79) r2 = *(u64 *)(r4 +0)\n   | R4 unbounded memory access\n</system-out>",
        ],
    );
}

#[test]
fn sarif_has_unforeseen_refusals() {
    let log = |report: &FleetReport| -> serde_json::Value {
        serde_json::from_str(&text_of(ReportFormat::Sarif, report)).unwrap()
    };
    let unforeseen = log(&unforeseen_fleet());
    let results = unforeseen["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "equal refusals are one result");
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("real_load"), &json!("error")));
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 141);
    let text = results[0]["message"]["text"].as_str().unwrap();
    assert_contains(text, &["main in one.bpf.o: ", "R4 unbounded memory access\nverdict: loads\non k1, k2"]);
    let mixed = log(&booted_fleet());
    let run = &mixed["runs"][0];
    let of_rule = |rule: &str| {
        let results = run["results"].as_array().unwrap();
        results.iter().find(|result| result["ruleId"] == rule).unwrap()
    };
    assert_eq!(of_rule("map_type")["level"], "note", "the kernel loaded the program");
    let index = usize::try_from(of_rule("real_load")["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "real_load");
}
