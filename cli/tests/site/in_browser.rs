//! The page in a browser: its verdicts are those of `check`, and it works by keyboard, on a narrow screen, in
//! the dark and without a network.

use super::{KERNELS, common, module, server::Server, webdriver::Browser, write_kernel, write_site};
use common::{demo, prebuilt, run_in, text};
use core_relo_test_support::skip;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The page, without its kernels, is loaded before anything can be checked.
const PAGE_BYTES: u64 = 3_000_000;

const TAB: char = '\u{e004}';

/// A page in a browser.
struct Page {
    browser: Browser,
    server: Server,
    dir: tempfile::TempDir,
}

impl Page {
    /// Opens a page with kernels. Returns `None` with a skip if this machine cannot.
    fn open(kernels: &[&str]) -> Option<Self> {
        let module = module()?;
        let Some(browser) = Browser::start() else {
            skip!(Browser, "no chromedriver or no chromium in PATH");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join("site");
        let written = write_site(&site, &module, kernels);
        assert_eq!(written.exit, 0, "{}", written.err);
        let server = Server::start(&site);
        let page = Self { browser, server, dir };
        page.load();
        Some(page)
    }

    fn load(&self) {
        self.browser.open(&self.server.address());
        self.browser.wait_for("document.documentElement.dataset.ready === 'yes'");
    }

    /// Chooses files, and waits for their verdicts.
    fn check(&self, files: &[&Path]) {
        let count = self.browser.run("return document.querySelectorAll('#objects > section').length;");
        self.browser.choose_files("#files", files);
        let count = count.as_u64().unwrap() + u64::try_from(files.len()).unwrap();
        self.browser.wait_for(&format!("document.querySelectorAll('#objects > section').length === {count}"));
        self.wait();
    }

    /// Waits until nothing is left to check.
    fn wait(&self) {
        self.browser.wait_for("document.documentElement.dataset.state === 'idle'");
    }

    /// Returns the verdicts, as the page has them.
    fn results(&self) -> Vec<Value> {
        self.browser.run("return coreReloResults();").as_array().unwrap().clone()
    }

    fn text(&self) -> String {
        self.browser.run("return document.body.innerText;").as_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Returns the parts of a line of `check` that the page has.
fn comparable(line: &Value) -> Value {
    let reason = |reason: &Value| {
        let mut reason = reason.clone();
        reason.as_object_mut().unwrap().remove("allowed");
        reason
    };
    let reasons = |value: &Value| value.as_array().unwrap().iter().map(reason).collect::<Vec<_>>();
    let programs = line["programs"].as_array().unwrap().iter().map(|program| {
        let keys = ["name", "autoload", "verdict"].map(|key| program[key].clone());
        json!([keys, reasons(&program["reasons"])])
    });
    let counts = ["kept", "patched", "poisoned"].map(|key| line[key].clone());
    json!([
        counts,
        line["verdict"],
        line["loader"],
        reasons(&line["reasons"]),
        programs.collect::<Vec<_>>(),
        line["warnings"],
        line["kernel_warnings"]
    ])
}

/// Returns the lines of `check` for objects and kernels, without the directory of the kernels in evidence.
fn command_lines(objects: &[&Path], kernels: &[&str]) -> Vec<Value> {
    let options = kernels.iter().flat_map(|kernel| ["--btf", kernel]);
    let objects = objects.iter().map(|object| text(object));
    let arguments = ["check", "--no-config", "--format", "json"].into_iter().chain(objects).chain(options);
    let run = run_in(&demo(), arguments);
    let directory = format!("({}/", kernels[0]);
    run.out.lines().map(|line| serde_json::from_str(&line.replace(&directory, "(")).unwrap()).collect()
}

/// Compares the verdicts of the page with those of the command.
fn compare(page: &Page, objects: &[&Path], kernels: &[&str]) {
    let (results, mut lines) = (page.results(), command_lines(objects, kernels));
    // A file that is no object has no verdict on the page.
    lines.retain(|line| !line["target"].is_null());
    assert_eq!(results.len(), lines.len());
    // Only the command chooses among variants.
    lines.retain(|line| line["adaptive"].is_null());
    let name = |value: &Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    for line in &lines {
        let key = |line: &Value| (name(&line["object"]), name(&line["target"]));
        let found = results.iter().find(|result| key(result) == key(line));
        let found = found.unwrap_or_else(|| panic!("no result for {:?}", key(line)));
        if line["error"].is_null() {
            assert_eq!(comparable(found), comparable(line), "{:?}", key(line));
        } else {
            assert_eq!(found["verdict"], "bad_input", "{:?}", key(line));
        }
    }
}

#[test]
fn verdicts_are_those_of_the_command() {
    let Some(page) = Page::open(&KERNELS) else { return };
    let object = demo().join("exec.bpf.o");
    page.check(&[&object]);
    assert_eq!(page.results().len(), 1, "at first, the newest kernel is chosen");
    page.browser.click("#all");
    page.wait();
    compare(&page, &[&object], &KERNELS);
    let shown = page.text();
    for part in ["no member `__state`", "bpf_core_field_exists(struct task_struct, __state)", "exec.bpf.c:70"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The cell of a refused program leads to its reasons.
    page.browser.click("#matrix tr.program td.r a");
    assert_eq!(page.browser.run("return document.activeElement.className;"), "finding chosen");
    page.browser.click("#objects details summary");
    page.browser.wait_for("document.getElementById('objects').innerText.includes('ringbuf')");
    let report = page.browser.run_async(
        "let html; const create = URL.createObjectURL; URL.createObjectURL = blob => { html = blob; return create(blob); };
         document.getElementById('save').click();
         while (!html) await new Promise(resolve => setTimeout(resolve, 20));
         return html.text();",
    );
    let report = report.as_str().unwrap();
    assert!(report.contains("1 of 1 objects") || report.contains("0 of 1 objects"), "{report}");
    assert!(report.contains("(4 kernels)"), "{report}");
}

/// Configuration, version, symbols and modules decide on verdicts.
#[test]
fn verdicts_use_the_facts_of_kernels() {
    let kernels = tempfile::tempdir().unwrap();
    write_kernel(kernels.path());
    let kernel = text(kernels.path()).to_owned();
    let Some(page) = Page::open(&[&kernel]) else { return };
    // The page knows the names of files only.
    let mut objects = BTreeMap::new();
    let topics = fs::read_dir(prebuilt("").canonicalize().unwrap()).unwrap();
    for topic in topics.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for object in fs::read_dir(topic).unwrap().map(|entry| entry.unwrap()) {
            objects.insert(object.file_name(), object.path());
        }
    }
    assert!(objects.len() > 100, "{objects:?}");
    let objects: Vec<_> = objects.values().step_by(3).map(PathBuf::as_path).collect();
    page.check(&objects);
    compare(&page, &objects, &[&kernel]);
}

#[test]
fn broken_objects_are_explained_and_others_are_judged() {
    let Some(page) = Page::open(&KERNELS[2..3]) else { return };
    let object = fs::read(demo().join("exec.bpf.o")).unwrap();
    let cut = page.file("cut.bpf.o", &object[..object.len() / 2]);
    let text = page.file("<img src=x onerror=alert(1)>.o", b"not an object");
    let empty = page.file("empty.o", b"");
    let good = demo().join("exec.bpf.o");
    page.check(&[&cut, &text, &empty, &good]);
    let shown = page.text();
    for part in
        ["is the file complete?", "expected a BPF object", "is empty", "<img src=x onerror=alert(1)>.o"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(page.browser.run("return document.querySelectorAll('img').length;"), 0);
    assert_eq!(page.results().len(), 1);
    assert_eq!(page.results()[0]["verdict"], "loads");
    let changed = page.file("exec.bpf.o", &object[..1000]);
    page.browser.choose_files("#files", &[&changed]);
    page.browser.wait_for("document.querySelector('#object-4 .finding b.b')");
    page.wait();
    assert_eq!(
        page.results(),
        [] as [Value; 0],
        "a file that was compiled again takes the place of the one before"
    );
    page.browser.click("#clear");
    page.browser.wait_for("document.getElementById('results').hidden");
    page.check(&[&good]);
    assert_eq!(page.results().len(), 1, "a new worker judges");
}

#[test]
fn the_page_works_by_keyboard_narrow_and_dark() {
    let Some(page) = Page::open(&KERNELS) else { return };
    let browser = &page.browser;
    let focus = || {
        browser.run(
            "return document.activeElement.id || document.activeElement.name || document.activeElement.type;",
        )
    };
    browser.press(&TAB.to_string());
    assert_eq!(focus(), "files");
    let outline = "return getComputedStyle(document.getElementById('choose')).outlineStyle;";
    assert_eq!(browser.run(outline), "solid", "the focus is visible");
    for id in ["all", "none", "loader"] {
        browser.press(&TAB.to_string());
        assert_eq!(focus(), id);
    }
    browser.press(&format!("{TAB} "));
    assert_eq!(browser.run("return document.activeElement.checked;"), true, "the oldest kernel is chosen");
    page.check(&[&demo().join("exec.bpf.o")]);
    assert_eq!(page.results().len(), 2);
    for (width, scheme) in [(1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")] {
        browser.debug(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false }),
        );
        browser.debug(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
        let found = browser.run(CHECK_LAYOUT);
        let context = format!("{width} {scheme}: {found}");
        assert_eq!(found["overflow"], 0, "the page is wider than the window: {context}");
        assert!(found["contrast"].as_f64().unwrap() >= 4.5, "WCAG 2, level AA: {context}");
        assert_eq!(found["dark"], scheme == "dark", "{context}");
        assert_eq!(found["unnamed"], json!([]), "controls without a name: {context}");
    }
}

/// Measures the width of the page, the contrast of its colours, and finds controls without a name.
const CHECK_LAYOUT: &str = r"
const luminance = color => {
  const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const background = element => {
  for (; element; element = element.parentElement) {
    const { backgroundColor } = getComputedStyle(element);
    if (!backgroundColor.endsWith(', 0)')) return backgroundColor;
  }
  return 'rgb(255, 255, 255)';
};
const contrast = element => {
  const [a, b] = [getComputedStyle(element).color, background(element)].map(luminance);
  return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
};
const texts = [...document.querySelectorAll('p, label, small, b, td, th, dt, dd, pre, a, span, button')].filter(e => e.offsetWidth && e.textContent.trim());
const controls = [...document.querySelectorAll('button, input, select')].filter(e => !e.hidden);
return {
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  contrast: Math.min(...texts.map(contrast)),
  dark: luminance(getComputedStyle(document.body).backgroundColor) < .2,
  unnamed: controls.filter(e => !e.textContent.trim() && !e.labels?.length).map(e => e.id),
};
";

/// The user's files stay on the machine: the page asks only its own directory, and only to read.
#[test]
fn the_page_asks_only_its_own_directory() {
    let Some(page) = Page::open(&KERNELS[..2]) else { return };
    let bytes: u64 =
        ["index.html", "report.css", "page.css", "page.js", "worker.js", "core-relo-web.wasm.gz"]
            .iter()
            .map(|name| fs::metadata(page.dir.path().join("site").join(name)).unwrap().len())
            .sum();
    assert!(bytes < PAGE_BYTES, "{bytes}");
    assert!(
        page.server.paths().iter().all(|path| !path.starts_with("kernels/")),
        "no kernel before it is needed"
    );
    page.check(&[&demo().join("exec.bpf.o")]);
    let kernels = page.server.paths().iter().filter(|path| path.starts_with("kernels/")).count();
    assert_eq!(kernels, 1, "only the chosen kernel");
    let other = Server::start(page.dir.path());
    let refused = page.browser.run_async(&format!(
        "const name = await fetch('{}').then(() => 'answered', error => error.name); return name;",
        other.address()
    ));
    assert_eq!(refused, "TypeError", "the content security policy refuses other hosts");
    assert_eq!(other.paths(), Vec::<String>::new());
}
