//! The HTML report in a real browser, without a window: Chromium from `PATH`, or the program in
//! `CORE_RELO_BROWSER`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::run;
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The names of Chromium and its relatives.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Checks the page as a user would: filters, clicks on a cell, the width of the page, the contrast of the
/// colours.
const SCRIPT: &str = r#"
const find = id => document.getElementById(id);
const shown = () => [...find('matrix').tBodies[0].rows].filter(row => row.getBoundingClientRect().height > 0).length;
const input = (id, value) => { find(id).value = value; find(id).dispatchEvent(new Event('input')); };
const luminance = color => {
  const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = element => {
  const { color, backgroundColor } = getComputedStyle(element);
  const [a, b] = [color, backgroundColor].map(luminance);
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
};
const result = { filters: !find('filters').hidden, rows: shown() };
input('verdict-filter', 'b');
result.badInput = shown();
input('verdict-filter', '');
input('object-filter', 'no such object');
result.noObject = shown();
input('object-filter', '');
input('kernel-filter', '6.1.0');
result.kernel = find('shown').textContent;
input('kernel-filter', '');
const refused = document.querySelector('#matrix td.r');
const findings = () => [...document.querySelectorAll('.finding')].filter(f => f.getBoundingClientRect().height > 0).length;
result.findings = findings();
refused.firstElementChild.click();
result.findingsOfCell = findings();
result.choice = document.querySelector('.choice span').textContent;
document.querySelector('.choice button').click();
result.findingsAfterwards = findings();
result.target = find(refused.firstElementChild.hash.slice(1)).tagName;
result.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
result.contrast = Math.min(...[document.body, ...document.querySelectorAll('.legend b, #matrix td')].map(contrast));
result.dark = luminance(getComputedStyle(document.body).backgroundColor) < .2;
const output = document.createElement('pre');
output.id = 'result';
output.textContent = JSON.stringify(result);
document.body.append(output);
"#;

/// Runs the browser on a page and returns the document after all scripts.
fn document(browser: &Path, page: &Path, options: &[&str]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let done = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-extensions"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(options)
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn find_browser() -> Option<PathBuf> {
    let in_path = || {
        let path = env::var_os("PATH")?;
        let files = env::split_paths(&path).flat_map(|dir| BROWSERS.map(|name| dir.join(name)));
        files.into_iter().find(|file| file.is_file())
    };
    env::var_os("CORE_RELO_BROWSER").map(PathBuf::from).or_else(in_path)
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = find_browser() else {
        core_relo_test_support::skip(
            "the_page_works_in_a_browser",
            "no Chromium in PATH, see CORE_RELO_BROWSER",
        );
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("report.html");
    let kernels = ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"];
    let kernels = kernels.into_iter().flat_map(|kernel| ["--btf", kernel]);
    let report = run(["check", "exec.bpf.o", "--report", common::text(&page)].into_iter().chain(kernels));
    assert_eq!(report.exit, 1, "{}", report.err);

    // The page as it is: the browser accepts the script and the style sheet by their hashes.
    let own = document(&browser, &page, &[]);
    assert!(own.contains(r#"<output id="shown">1 of 1 objects, 4 of 4 kernels</output>"#), "{own}");

    // A second script needs a page without the content security policy.
    let html = fs::read_to_string(&page).unwrap();
    let (start, rest) = html.split_once("<meta http-equiv").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    let tested = rest.replace("</body>", &format!("<script>(() => {{{SCRIPT}}})()</script></body>"));
    let tested_page = dir.path().join("tested.html");
    fs::write(&tested_page, format!("{start}{tested}")).unwrap();
    for (is_dark, scheme) in [(false, 1), (true, 0)] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        for size in ["--window-size=1200,900", "--window-size=500,900"] {
            let document = document(&browser, &tested_page, &[&scheme, size]);
            let (_, result) = document.split_once(r#"<pre id="result">"#).expect(&document);
            let result: Value = serde_json::from_str(result.split_once("</pre>").unwrap().0).unwrap();
            let context = format!("{scheme} {size}: {result}");
            assert_eq!(result["filters"], true, "{context}");
            assert_eq!([&result["rows"], &result["badInput"], &result["noObject"]], [1, 0, 0], "{context}");
            assert_eq!(result["kernel"], "1 of 1 objects, 1 of 4 kernels", "{context}");
            let count = |key: &str| result[key].as_u64().unwrap();
            assert!(count("findingsOfCell") >= 1 && count("findingsOfCell") < count("findings"), "{context}");
            assert_eq!(result["findingsAfterwards"], result["findings"], "{context}");
            assert!(result["choice"].as_str().unwrap().starts_with("only K1"), "{context}");
            assert_eq!(result["target"], "SECTION", "{context}");
            assert_eq!(result["overflow"], 0, "the page is wider than the window: {context}");
            assert!(result["contrast"].as_f64().unwrap() >= 4.5, "WCAG 2, level AA: {context}");
            assert_eq!(result["dark"], is_dark, "{context}");
        }
    }
}
