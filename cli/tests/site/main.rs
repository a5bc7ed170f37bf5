//! `site`: the files that it writes, and the page in a browser without a window (chromedriver and Chromium).
//!
//! The page needs its module: `cargo xtask site` builds it, and `cargo xtask test` does so before the tests.
//! `CORE_RELO_WASM` names another one.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod in_browser;
mod server;
mod webdriver;

use common::{Run, demo, run, run_in, text};
use core_relo::btf::{Btf, Builder};
use core_relo_test_support::skip;
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Returns the module of the page. Returns `None` with a skip if it has not been built.
fn module() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/site/core-relo-web.wasm");
    let module = env::var_os("CORE_RELO_WASM").map_or(built, PathBuf::from);
    if !module.is_file() {
        skip!(Browser, "no core-relo-web.wasm: run `cargo xtask site`");
        return None;
    }
    Some(module)
}

/// The kernels of the demo, oldest first.
const KERNELS: [&str; 4] = ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"];

/// Writes a page with these kernels.
fn write_site(dir: &Path, module: &Path, kernels: &[&str]) -> Run {
    let kernels = kernels.iter().flat_map(|kernel| ["--btf", kernel]);
    run(["site", "-o", text(dir), "--no-config", "--wasm", text(module)].into_iter().chain(kernels))
}

/// A file that the command takes for the module of its version.
fn stand_in(dir: &Path) -> PathBuf {
    let path = dir.join("stand-in.wasm");
    fs::write(&path, format!("\0asm core-relo-web {}", env!("CARGO_PKG_VERSION"))).unwrap();
    path
}

fn manifest(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("kernels.json")).unwrap()).unwrap()
}

/// Returns the names of the files of kernels.
fn kernel_files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("kernels")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_module_must_be_there_and_of_this_version() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("site");
    let attempt = |more: &[&str]| {
        let options = ["site", "-o", text(&site), "--no-config", "--btf", KERNELS[0]];
        run(options.iter().chain(more))
    };
    let none = attempt(&[]);
    assert_eq!(none.exit, 2);
    assert!(none.err.contains("core-relo-web.wasm: is neither beside this command nor in"), "{}", none.err);
    assert!(none.err.contains("give --wasm FILE"), "{}", none.err);
    let other = dir.path().join("other");
    fs::write(&other, "no module").unwrap();
    let wrong = attempt(&["--wasm", text(&other)]);
    assert!(wrong.err.contains("is no module for WebAssembly"), "{}", wrong.err);
    fs::write(&other, "\0asm core-relo-web 0.0.9").unwrap();
    let old = attempt(&["--wasm", text(&other)]);
    assert!(old.err.contains("is of another version, expected `core-relo-web "), "{}", old.err);
    assert!(!site.exists(), "an error before the kernels are read leaves no directory");
}

/// Archives have the module in `share/core-relo` beside the command, packages in `../share/core-relo`.
#[test]
fn the_module_of_an_installation_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for (command, share) in
        [("archive/core-relo", "archive/share/core-relo"), ("usr/bin/core-relo", "usr/share/core-relo")]
    {
        let (command, share) = (dir.path().join(command), dir.path().join(share));
        fs::create_dir_all(command.parent().unwrap()).unwrap();
        fs::create_dir_all(&share).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_core-relo"), &command).unwrap();
        fs::rename(stand_in(dir.path()), share.join("core-relo-web.wasm")).unwrap();
        let kernel = demo().join(KERNELS[0]);
        let mut site = std::process::Command::new(&command);
        let site = site.args(["site", "--no-config", "-o"]).arg(share.join("page")).arg("--btf").arg(kernel);
        let output = site.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A warning names the file beside the kernel without its directory.
#[test]
fn warnings_have_no_directories() {
    let dir = tempfile::tempdir().unwrap();
    let (kernels, site, module) =
        (dir.path().join("the kernels"), dir.path().join("site"), stand_in(dir.path()));
    fs::create_dir(&kernels).unwrap();
    write_kernel(&kernels);
    fs::write(kernels.join("config-6.1.0-9-test"), "no option").unwrap();
    let written = write_site(&site, &module, &[text(&kernels)]);
    assert_eq!(written.exit, 0, "{}", written.err);
    let warning = &manifest(&site)["kernels"][0]["facts"]["warnings"][0];
    let expected = "config-6.1.0-9-test is left out: it sets no option, expected a kernel's configuration";
    assert_eq!(warning, expected);
}

#[test]
fn kernels_must_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let module = stand_in(dir.path());
    let none = run_in(dir.path(), ["site", "-o", "site", "--no-config", "--wasm", text(&module)]);
    assert_eq!(none.exit, 2);
    assert!(none.err.contains("none is named, and no core-relo.toml has [kernels]"), "{}", none.err);
    fs::write(dir.path().join("core-relo.toml"), "[kernels]\nspecs = [\"nowhere:1\"]\n").unwrap();
    let options = ["site", "-o", "site", "--config", "core-relo.toml", "--wasm", text(&module)];
    let of_project = run_in(dir.path(), options);
    assert_eq!(of_project.exit, 2);
    assert!(of_project.err.contains("nowhere"), "the kernels of the project: {}", of_project.err);
}

/// A page of before keeps none of its kernels. Files of something else stay.
#[test]
fn a_directory_of_something_else_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let module = stand_in(dir.path());
    let refused = write_site(dir.path(), &module, &KERNELS[..1]);
    assert_eq!(refused.exit, 2);
    assert!(refused.err.contains("is not empty, expected a new directory"), "{}", refused.err);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let site = dir.path().join("site");
    let broken = write_site(&site, &module, &["no-such-kernel"]);
    assert_eq!(broken.exit, 2);
    assert!(!site.join("kernels.json").exists());
    assert_eq!(write_site(&site, &module, &KERNELS[..2]).exit, 0, "what an error has left is no obstacle");
    let before = kernel_files(&site);
    assert_eq!(before.len(), 2);
    assert_eq!(write_site(&site, &module, &KERNELS[1..]).exit, 0);
    let after = kernel_files(&site);
    assert_eq!(after.len(), 3);
    assert_eq!(after.iter().filter(|file| before.contains(file)).count(), 1);
    let names: Vec<_> = manifest(&site)["kernels"].as_array().unwrap().clone();
    let names: Vec<_> =
        names.iter().map(|kernel| kernel["facts"]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, KERNELS[1..], "sorted by version");
}

/// Writes a kernel with a configuration, a version, symbols and a module into a directory.
fn write_kernel(dir: &Path) {
    let bytes = fs::read(demo().join("linux-6.1.btf")).unwrap();
    let base = Btf::parse(bytes.clone()).unwrap();
    let mut module = Builder::split(&base);
    module.int("site_int", 4, 0);
    let files = [
        ("6.1.0-9-test.btf", bytes),
        ("config-6.1.0-9-test", b"CONFIG_HZ=250\nCONFIG_BPF_LSM=y\n".to_vec()),
        ("version-6.1.0-9-test", b"Linux version 6.1.0-9-test (a@b) #1 SMP Debian 6.1.176-1\n".to_vec()),
        ("System.map-6.1.0-9-test", b"ffffffff81000000 T _text\nffffffff81000010 T bpf_map_put\n".to_vec()),
    ];
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).unwrap();
    }
    fs::create_dir(dir.join("6.1.0-9-test")).unwrap();
    fs::write(dir.join("6.1.0-9-test/site.btf"), module.finish()).unwrap();
}

/// The page has the facts that `check` uses, and no directories of the machine.
#[test]
fn facts_travel_with_the_kernels() {
    let dir = tempfile::tempdir().unwrap();
    let (kernels, site, module) = (dir.path().join("kernels"), dir.path().join("site"), stand_in(dir.path()));
    fs::create_dir(&kernels).unwrap();
    write_kernel(&kernels);
    let written = write_site(&site, &module, &[text(&kernels)]);
    assert_eq!(written.exit, 0, "{}", written.err);
    assert!(written.out.contains("1 kernel "), "{}", written.out);
    let manifest = manifest(&site);
    let kernel = &manifest["kernels"][0];
    let facts = &kernel["facts"];
    assert_eq!(facts["name"], "6.1.0-9-test.btf");
    assert_eq!(facts["release"], "6.1.0-9-test");
    assert_eq!(facts["version"], "6.1.176");
    assert_eq!(facts["version_origin"], "version-6.1.0-9-test");
    assert_eq!(facts["kconfig_origin"], "config-6.1.0-9-test");
    assert_eq!(facts["symbols_origin"], "System.map-6.1.0-9-test");
    let parts: Vec<_> = kernel["parts"].as_array().unwrap().iter().map(|part| part["part"].clone()).collect();
    assert_eq!(parts, ["btf", "kconfig", "symbols", "given_modules"]);
    for part in kernel["parts"].as_array().unwrap() {
        let file = site.join(part["path"].as_str().unwrap());
        assert_eq!(fs::metadata(file).unwrap().len(), part["packed_bytes"].as_u64().unwrap());
    }
    let text = manifest.to_string();
    assert!(!text.contains(dir.path().to_str().unwrap()), "{text}");
}
