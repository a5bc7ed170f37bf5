//! What a kernel image says about itself: version, configuration, symbols.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, prebuilt, run_guarded, schema, text};
use core_relo_test_support::skip;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, Read as _},
    path::Path,
};

const BANNER: &str =
    "Linux version 6.1.0-9-test (a@b) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP Debian 6.1.123-1 (2026-01-01)\n";

/// Every option that `kconfig.bpf.o` needs, and `CONFIG_KALLSYMS_ALL`.
const CONFIG: &str = "CONFIG_HZ=250\nCONFIG_NET=y\nCONFIG_BPF_SYSCALL=y\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\nCONFIG_KALLSYMS_ALL=y\n";

/// A note with the build id abcd0102.
const BUILD_ID_NOTE: &[u8] = b"\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0\xab\xcd\x01\x02";

fn gzip(mut bytes: impl io::Read) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    io::copy(&mut bytes, &mut packed).unwrap();
    packed.finish().unwrap()
}

/// Returns the read-only data of a kernel.
fn rodata(banner: &str, embedded: &[u8]) -> Vec<u8> {
    [b"some data\0", banner.as_bytes(), b"\0", embedded, b"\0\0"].concat()
}

fn embedded(config: &[u8]) -> Vec<u8> {
    [b"IKCFG_ST", config, b"IKCFG_ED"].concat()
}

fn btf() -> Vec<u8> {
    fs::read(demo().join("linux-6.1.btf")).unwrap()
}

/// Returns an image without sections, as arm64 boots them.
fn image(rodata: &[u8]) -> Vec<u8> {
    let mut image = [&[0; 64], rodata].concat();
    image.resize(image.len().next_multiple_of(8), 0);
    [image, btf()].concat()
}

/// Returns a vmlinux: an ELF with these symbols, each with its type (`STT_*`).
fn vmlinux(rodata: &[u8], symbols: &[(&str, u8)]) -> Vec<u8> {
    let (mut table, mut names) = (vec![0; 24], vec![0]);
    for (name, kind) in symbols {
        table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        // The symbol is in section 1.
        table.extend([*kind, 0, 1, 0]);
        table.extend([0; 16]);
        names.extend(name.as_bytes());
        names.push(0);
    }
    let btf = btf();
    let section_names = b"\0.text\0.rodata\0.BTF\0.symtab\0.strtab\0.shstrtab\0.notes\0";
    let sections: [(usize, u32, u64, &[u8]); 8] = [
        (0, 0, 0, &[]),
        (1, 1, 6, &[0; 16]),
        (7, 1, 2, rodata),
        (15, 1, 2, &btf),
        (20, 2, 0, &table),
        (28, 3, 0, &names),
        (36, 3, 0, section_names),
        (46, 7, 2, BUILD_ID_NOTE),
    ];
    let (mut content, mut headers) = (vec![0u8; 64], Vec::new());
    for (name, kind, flags, bytes) in sections {
        headers.extend(u32::try_from(name).unwrap().to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for word in [flags, 0, content.len() as u64, bytes.len() as u64, 0, 8, 0] {
            headers.extend(word.to_le_bytes());
        }
        // `sh_link` and `sh_info` are one word here, and `sh_entsize` is 0.
        content.extend(bytes);
        content.resize(content.len().next_multiple_of(8), 0);
    }
    let table_offset = content.len() as u64;
    content[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    content[16..20].copy_from_slice(&[2, 0, 62, 0]);
    content[0x14] = 1;
    content[0x28..0x30].copy_from_slice(&table_offset.to_le_bytes());
    content[0x34..0x40].copy_from_slice(&[64, 0, 0, 0, 0, 0, 64, 0, 8, 0, 6, 0]);
    [content, headers].concat()
}

/// Checks an object on a kernel that is written to `name` in a directory.
fn check_in(dir: &Path, object: &str, name: &str, kernel: &[u8], more: &[&str]) -> Run {
    fs::write(dir.join(name), kernel).unwrap();
    let object = prebuilt(object);
    let args = ["check", text(&object), "--no-config", "--format", "json", "--btf", name];
    run_guarded(dir, args.iter().chain(more))
}

/// Checks `kconfig.bpf.o` on a kernel, and returns the line.
fn check(kernel: &[u8], more: &[&str]) -> (Run, Value) {
    let dir = tempfile::tempdir().unwrap();
    let run = check_in(dir.path(), "live/kconfig.bpf.o", "kernel", kernel, more);
    let line = line_of(&run);
    (run, line)
}

fn line_of(run: &Run) -> Value {
    let mut lines = run.lines();
    assert_eq!(lines.len(), 1, "{}{}", run.out, run.err);
    schema().check("check", &lines[0]);
    lines.remove(0)
}

/// Returns the evidence for the reasons of a kind.
fn evidence<'l>(line: &'l Value, kind: &str) -> Vec<&'l str> {
    let programs = line["programs"].as_array().unwrap().iter();
    let reasons = programs.flat_map(|program| program["reasons"].as_array().unwrap());
    let of_kind = reasons.filter(|reason| reason["kind"] == kind);
    of_kind.map(|reason| reason["evidence"]["text"].as_str().unwrap_or("unknown")).collect()
}

#[test]
fn the_version_and_the_configuration_come_from_the_image() {
    let rodata = rodata(BANNER, &embedded(&gzip(CONFIG.as_bytes())));
    for kernel in [image(&rodata), vmlinux(&rodata, &[]), gzip(&*vmlinux(&rodata, &[]))] {
        let (run, line) = check(&kernel, &[]);
        assert_eq!((run.exit, &line["verdict"], &*run.err), (0, &json!("loads"), ""), "{line}");
        assert_eq!(line["kernel_warnings"], json!([]));
    }
    let (_, line) = check(&image(BANNER.as_bytes()), &[]);
    assert_eq!(line["verdict"], "unknown");
    assert_eq!(evidence(&line, "kconfig"), ["unknown"; 4]);
    // A file that is no kernel has no facts.
    let other = BANNER.replace("Linux version", "Other version");
    let (_, line) = check(&image(&[other.as_bytes(), &embedded(&gzip(CONFIG.as_bytes()))].concat()), &[]);
    assert_eq!(evidence(&line, "kconfig"), ["unknown"; 4]);
}

#[test]
fn minimal_btf_has_the_version_string_and_the_build_id_of_the_image() {
    let rodata = rodata(BANNER, &[]);
    for (kernel, build_id) in [
        (image(&rodata), ""),
        (vmlinux(&rodata, &[]), "abcd0102"),
        (gzip(&*vmlinux(&rodata, &[])), "abcd0102"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("vmlinuz-test"), kernel).unwrap();
        let object = demo().join("exec.bpf.o");
        let args =
            ["btf", "min", text(&object), "--btf", "vmlinuz-test", "-o", "min.tar.gz", "--format", "json"];
        let run = run_guarded(dir.path(), args);
        let lines = run.lines();
        assert_eq!(lines.len(), 1, "{}{}", run.out, run.err);
        let found = ["release", "version", "build_id"].map(|key| lines[0][key].as_str().unwrap());
        assert_eq!(found, ["6.1.0-9-test", "#1 SMP Debian 6.1.123-1 (2026-01-01)", build_id]);
        let which = [
            "btf",
            "which",
            "min.tar.gz",
            "--release",
            "6.1.0-9-test",
            "--build-id",
            "0000",
            "--format",
            "json",
        ];
        // A kernel with another build id is another kernel.
        assert_eq!(run_guarded(dir.path(), which).exit, i32::from(!build_id.is_empty()));
    }
}

#[test]
fn options_replace_what_the_image_says() {
    let without_hz = CONFIG.replace("CONFIG_HZ=250", "# CONFIG_HZ is not set");
    let kernel = image(&rodata(BANNER, &embedded(&gzip(without_hz.as_bytes()))));
    let (run, line) = check(&kernel, &[]);
    assert_eq!(run.exit, 1);
    assert_eq!(
        evidence(&line, "kconfig"),
        ["the configuration has no CONFIG_HZ (configuration in the image)"]
    );
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my-config"), CONFIG).unwrap();
    let run = check_in(dir.path(), "live/kconfig.bpf.o", "kernel", &kernel, &["--kconfig", "my-config"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
}

#[test]
fn a_contradicting_version_is_a_warning() {
    let kernel = image(&rodata(BANNER, &embedded(&gzip(CONFIG.as_bytes()))));
    for version in ["6.1", "6.1.123"] {
        let (run, line) = check(&kernel, &["--kernel-version", version]);
        assert_eq!((&*run.err, &line["kernel_warnings"]), ("", &json!([])), "{version}");
    }
    for (version, text) in [
        ("6.1.124", "the given version is 6.1.124, but that of the kernel is 6.1.123 (banner of the image)"),
        ("6.12", "the given version is 6.12, but that of the kernel is 6.1.123 (banner of the image)"),
    ] {
        let (run, line) = check(&kernel, &["--kernel-version", version]);
        assert_eq!(run.exit, 0, "a warning does not change the exit status");
        assert_eq!(line["kernel_warnings"][0], text);
        assert!(run.err.starts_with(&format!("core-relo: warning: kernel: {text}\n")), "{}", run.err);
    }
    // The BTF contradicts the version, too.
    let run = run_guarded(
        &demo(),
        ["check", "exec.bpf.o", "--btf", "linux-6.1.btf", "--kernel-version", "5.15", "--no-config"],
    );
    assert_eq!(run.exit, 0);
    assert!(
        run.err.contains("warning: linux-6.1.btf: the given version is 5.15, but the BTF is of Linux "),
        "{}",
        run.err
    );
}

#[test]
fn broken_configurations_are_left_out() {
    let packed = gzip(CONFIG.as_bytes());
    let bomb = gzip(io::repeat(b'\n').take(65 << 20));
    for (embedded, problem) in [
        ([b"IKCFG_ST", &*packed].concat(), "no end mark \"IKCFG_ED\""),
        (embedded(&packed[..packed.len() / 2]), "gzip: "),
        (embedded(&gzip(&b"no option\n"[..])), "it sets no option"),
        (embedded(&bomb), ""),
    ] {
        let (run, line) = check(&image(&rodata(BANNER, &embedded)), &[]);
        assert_eq!((run.exit, &line["verdict"]), (2, &json!("unknown")), "{problem}");
        let warning = line["kernel_warnings"][0].as_str().unwrap();
        let expected = format!("the configuration in the image cannot be read: {problem}");
        assert!(warning.starts_with(&expected), "{warning}");
        assert!(run.err.contains(&expected), "{}", run.err);
    }
}

#[test]
fn the_files_of_a_distribution_are_beside_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = image(BANNER.as_bytes());
    let check = || {
        let run = check_in(dir.path(), "live/kconfig.bpf.o", "vmlinuz-6.1.0-9-test", &kernel, &[]);
        let line = line_of(&run);
        (run, line)
    };
    assert_eq!(check().0.exit, 2);
    let config = dir.path().join("config-6.1.0-9-test");
    fs::write(&config, CONFIG).unwrap();
    assert_eq!(check().0.exit, 0);
    let packed = check_in(dir.path(), "live/kconfig.bpf.o", "6.1.0-9-test.btf.gz", &gzip(&*kernel), &[]);
    assert_eq!(packed.exit, 0, "{}", packed.out);
    fs::write(&config, CONFIG.replace("CONFIG_HZ=250", "")).unwrap();
    assert_eq!(evidence(&check().1, "kconfig"), ["the configuration has no CONFIG_HZ (config-6.1.0-9-test)"]);
    fs::write(&config, "other text").unwrap();
    let (run, line) = check();
    assert_eq!((run.exit, &line["verdict"]), (2, &json!("unknown")));
    let warning = "config-6.1.0-9-test is left out: it sets no option, expected a kernel's configuration";
    assert_eq!(line["kernel_warnings"], json!([warning]));
}

#[test]
fn symbols_come_from_the_symbol_table_or_the_system_map() {
    let rodata = rodata(BANNER, &embedded(&gzip(CONFIG.as_bytes())));
    // What is said of the kernel symbol `schedule`.
    let schedule = |dir: &Path, kernel: &[u8]| {
        let run = check_in(dir, "live/ksym.bpf.o", "vmlinux-6.1.0-9-test", kernel, &[]);
        let line = line_of(&run);
        let reasons = line["programs"][0]["reasons"].as_array().unwrap();
        let about = |reason: &&Value| reason["text"].as_str().unwrap().contains("kernel symbol schedule");
        reasons.iter().find(about).map(|reason| reason["evidence"]["text"].clone())
    };
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(schedule(dir.path(), &vmlinux(&rodata, &[])), Some(Value::Null), "nothing tells");
    assert_eq!(schedule(dir.path(), &vmlinux(&rodata, &[("_text", 0), ("schedule", 2)])), None);
    let absent = Some(json!("no symbol schedule (symbol table of the image)"));
    assert_eq!(schedule(dir.path(), &vmlinux(&rodata, &[("_text", 0), ("other", 2)])), absent);
    let map = dir.path().join("System.map-6.1.0-9-test");
    let stripped = vmlinux(&rodata, &[]);
    fs::write(&map, "ffffffff81000000 T _text\nffffffff81000010 T schedule\n").unwrap();
    assert_eq!(schedule(dir.path(), &stripped), None);
    fs::write(&map, "ffffffff81000000 T _text\n").unwrap();
    assert_eq!(schedule(dir.path(), &stripped), Some(json!("no symbol schedule (System.map-6.1.0-9-test)")));
    // Debian installs a text in place of the symbols.
    fs::write(&map, "ffffffffffffffff B The real System.map is in the linux-image-6.1-dbg package\n")
        .unwrap();
    assert_eq!(schedule(dir.path(), &stripped), Some(Value::Null));
}

#[test]
fn an_image_of_a_distribution_has_its_version() {
    let kernels = env::var_os("CORE_RELO_KERNELS").map(Into::into);
    let kernels =
        kernels.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/kernels/btf"));
    let vmlinux = kernels.join("../boot/amd64-5.10.223-cloud/vmlinux");
    if !vmlinux.is_file() {
        skip!("no {}; `cargo xtask kernels` fetches it", vmlinux.display());
        return;
    }
    let args = ["check", "exec.bpf.o", "--no-config", "--kernel-version", "5.4", "--btf", text(&vmlinux)];
    let run = run_guarded(&demo(), args);
    assert!(run.err.contains("but that of the kernel is 5.10.223 (banner of the image)"), "{}", run.err);
}
