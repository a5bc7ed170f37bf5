//! `btf min` and `btf which`: the same plans and verdicts on minimal BTF, archives, and bad input that leaves
//! nothing behind.
#![allow(clippy::panic, clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{demo, run, run_in, schema};
use core_relo_test_support::skip;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

const KERNELS: [&str; 2] = ["linux-5.10.btf", "linux-7.2.btf"];

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns a directory with the demo kernels under BTFHub's names.
fn kernels(dir: &Path) -> PathBuf {
    let root = dir.join("kernels");
    for (kernel, name) in
        KERNELS.iter().zip(["debian/11/x86_64/5.10.0-1.btf", "debian/13/x86_64/7.2.0-1.btf"])
    {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(demo().join(kernel), path).unwrap();
    }
    root
}

/// Returns the JSON lines of a command without what names the kernel's file.
fn lines(args: &[&str]) -> Vec<Value> {
    let mut lines = run(args.iter().chain(&["--format", "json"])).lines();
    for line in &mut lines {
        let object = line.as_object_mut().unwrap();
        for key in ["target", "target_key", "kernel_warnings", "candidates", "reason", "help", "text"] {
            object.remove(key);
        }
    }
    lines
}

/// Removes the numbers in brackets.
fn without_ids(text: &str) -> String {
    let parts = text.split('[').map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    parts.collect::<Vec<_>>().join("[")
}

#[test]
fn plans_on_minimal_btf_patch_the_same_instructions() {
    let dir = tempfile::tempdir().unwrap();
    for kernel in KERNELS {
        let [min, full_object, min_object] = ["min.btf", "full.o", "min.o"].map(|name| dir.path().join(name));
        let made = run(["btf", "min", "exec.bpf.o", "--btf", kernel, "-o", &text(&min)]);
        assert_eq!(made.exit, 0, "{}", made.err);
        assert!(read(&min).len() < read(&demo().join(kernel)).len());
        let exits = [(kernel.to_owned(), &full_object), (text(&min), &min_object)]
            .map(|(btf, object)| run(["patch", "exec.bpf.o", "--btf", &btf, "-o", &text(object)]).exit);
        assert_eq!(exits[0], exits[1]);
        assert!(full_object.exists() == min_object.exists());
        if full_object.exists() {
            assert_eq!(read(&full_object), read(&min_object));
        }
    }
}

#[test]
fn verdicts_on_an_archive_are_the_same_and_other_minimal_btf_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let kernels = text(&kernels(dir.path()));
    let archive = text(&dir.path().join("min.tar.gz"));
    let made = run(["btf", "min", "exec.bpf.o", "--btf", &kernels, "--verdicts", "-o", &archive]);
    assert_eq!(made.exit, 0, "{}", made.err);
    let verdicts = |btf: &str| {
        let lines = lines(&["check", "exec.bpf.o", "--no-config", "--btf", btf]);
        let verdict =
            |line: &Value| (line["object"].clone(), line["verdict"].clone(), line["programs"].clone());
        let verdicts = lines.iter().filter(|line| line.get("verdict").is_some()).map(verdict);
        // Types have other ids in the evidence: `vmlinux [12]`.
        let mut texts: Vec<_> = verdicts.map(|verdict| without_ids(&format!("{verdict:?}"))).collect();
        texts.sort();
        texts
    };
    let full = verdicts(&kernels);
    assert_eq!(full.len(), 2);
    assert_eq!(verdicts(&archive), full);

    let plain = text(&dir.path().join("plain.btf"));
    assert_eq!(run(["btf", "min", "exec.bpf.o", "--btf", KERNELS[0], "-o", &plain]).exit, 0);
    let checked = run(["check", "exec.bpf.o", "--no-config", "--btf", &plain]);
    assert_eq!(checked.exit, 2);
    let output = checked.out + &checked.err;
    assert!(output.contains("minimal BTF without the types on which verdicts depend"), "{output}");

    // Kernels of an archive are skipped, and the error has the remedy.
    let plain = text(&dir.path().join("plain.tar.gz"));
    assert_eq!(
        run(["btf", "min", "exec.bpf.o", "--btf", KERNELS[0], "--btf", KERNELS[1], "-o", &plain]).exit,
        0
    );
    let checked = run(["check", "exec.bpf.o", "--no-config", "--btf", &plain]);
    let help = "no kernel fits the objects: all are skipped; write the BTF with `btf min --verdicts`";
    assert!(checked.exit == 2 && checked.err.contains(help), "{checked:?}");
}

/// The programs read fields of `struct tcp_sock` through a `struct sock *`, for example: both must be known
/// to begin alike.
#[test]
fn verdicts_and_warnings_about_test_programs_are_those_of_the_running_kernels_full_btf() {
    let kernel = "/sys/kernel/btf/vmlinux";
    if !Path::new(kernel).exists() {
        return skip!(Btf, "the running kernel has no BTF");
    }
    let dir = tempfile::tempdir().unwrap();
    let order = if cfg!(target_endian = "little") { "el" } else { "eb" };
    let prebuilt = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt").join(order);
    let objects = ["kernel", "live"].map(|folder| text(&prebuilt.join(folder)));
    let minimal = text(&dir.path().join("min.btf"));
    let arguments = ["--verdicts", "--btf", kernel, "-o", &minimal];
    let made = run(["btf", "min", &objects[0], &objects[1]].iter().chain(&arguments));
    assert_eq!(made.exit, 0, "{}", made.err);
    let check = |btf: &str| {
        let lines = lines(&["check", &objects[0], &objects[1], "--no-config", "--btf", btf]);
        // Reports on variants name the file with the BTF.
        lines.iter().map(|line| without_ids(&line.to_string()).replace(btf, "BTF")).collect::<Vec<_>>()
    };
    let full = check(kernel);
    assert!(full.len() > 20, "{}", full.len());
    let on_minimal = check(&minimal);
    assert_eq!(full.len(), on_minimal.len());
    for (full, minimal) in full.iter().zip(on_minimal) {
        assert_eq!(*full, minimal);
    }
}

#[test]
fn an_archive_names_its_kernels_and_which_finds_them() {
    let dir = tempfile::tempdir().unwrap();
    let kernels = kernels(dir.path());
    // The same kernel for another distribution: its BTF is stored once.
    fs::create_dir_all(kernels.join("ubuntu/20.04/x86_64")).unwrap();
    fs::copy(demo().join(KERNELS[0]), kernels.join("ubuntu/20.04/x86_64/5.10.0-1.btf")).unwrap();
    let archive = dir.path().join("min.tar.gz");
    let min = |out: &Path| {
        run(["btf", "min", "exec.bpf.o", "--btf", &text(&kernels), "--format", "json", "-o", &text(out)])
    };
    let made = min(&archive);
    assert_eq!(made.exit, 0, "{}", made.err);
    made.lines().iter().for_each(|line| schema().check("btf min", line));
    let files: Vec<_> = made.lines().iter().map(|line| line["file"].as_str().unwrap().to_owned()).collect();
    let names =
        ["debian/11/x86_64/5.10.0-1.btf", "debian/13/x86_64/7.2.0-1.btf", "ubuntu/20.04/x86_64/5.10.0-1.btf"];
    assert_eq!(files, names);
    let again = dir.path().join("again.tgz");
    min(&again);
    assert_eq!(read(&archive), read(&again), "the same bytes for the same input");

    let which = |args: &[&str]| {
        let archive = text(&archive);
        let mut all = vec!["btf", "which", &archive];
        all.extend(args);
        let run = run(all);
        (run.exit, run.out.trim_end().to_owned(), run.err)
    };
    let (exit, out, _) = which(&["--release", "7.2.0-1", "--arch", "amd64"]);
    assert_eq!((exit, &*out), (0, "debian/13/x86_64/7.2.0-1.btf: chosen by release"));
    // Both distributions have the same BTF, so that the choice does not matter.
    assert_eq!(which(&["--release", "5.10.0-1"]).0, 0);
    let (exit, out, _) = which(&["--release", "5.10.0-1", "--distribution", "ubuntu/20.04", "--all"]);
    assert_eq!(exit, 0);
    let expected = [
        "debian/11/x86_64/5.10.0-1.btf: matches by release",
        "debian/13/x86_64/7.2.0-1.btf: another release",
        "ubuntu/20.04/x86_64/5.10.0-1.btf: chosen by release, distribution and its version",
    ];
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    let (exit, out, err) = which(&["--release", "6.6.6"]);
    assert!(exit == 1 && out.is_empty() && err.contains("no BTF for kernel 6.6.6 among 3 kernels"), "{err}");
    assert!(
        err.contains("min.tar.gz: BTF archive: ") && err.contains("; `--all` lists the entries"),
        "{err}"
    );
    let (_, out, _) = which(&["--release", "7.2.0-1", "--format", "json"]);
    let line: Value = serde_json::from_str(&out).unwrap();
    schema().check("btf which", &line);
    assert_eq!((&line["chosen"], &line["evidence"]), (&Value::Bool(true), &Value::from("release")));
}

/// The target of a link has at most 100 bytes in the `ustar` format, a name 256.
#[test]
fn equal_btf_with_a_long_name_is_stored_under_each_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = format!("5.10.0-{}.btf", "long".repeat(20));
    for distribution in ["debian/11", "debian/12"] {
        let path = dir.path().join("kernels").join(distribution).join("x86_64");
        fs::create_dir_all(&path).unwrap();
        fs::copy(demo().join(KERNELS[0]), path.join(&file)).unwrap();
    }
    let [kernels, archive] = ["kernels", "min.tar.gz"].map(|name| text(&dir.path().join(name)));
    let made = run(["btf", "min", "exec.bpf.o", "--btf", &kernels, "-o", &archive]);
    assert_eq!(made.exit, 0, "{}", made.err);
    let release = file.trim_end_matches(".btf");
    let which = run(["btf", "which", &archive, "--release", release, "--distribution", "debian/12"]);
    assert_eq!(
        which.out,
        format!("debian/12/x86_64/{file}: chosen by release, distribution and its version\n")
    );
}

/// Modules lie in the directory with the name of their kernel, in the input and in the archive.
#[test]
fn archives_have_the_modules_that_objects_need() {
    let dir = tempfile::tempdir().unwrap();
    let prebuilt = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt/el/arrays");
    let object = text(&prebuilt.join("index.bpf.o"));
    let kernels = kernels(dir.path());
    let kernel = "debian/11/x86_64/5.10.0-1.btf";
    let module = "debian/11/x86_64/5.10.0-1/nf_index.btf";
    let base = text(&kernels.join(kernel));
    fs::create_dir(kernels.join(module).parent().unwrap()).unwrap();
    for (types, file) in [("index.same.o", "nf_index"), ("whole.same.o", "unneeded")] {
        let types = text(&prebuilt.join(types));
        let split = text(&kernels.join(module).with_file_name(format!("{file}.btf")));
        assert_eq!(run(["btf", "split", &types, "--base", &base, "-o", &split]).exit, 0);
    }
    // The same kernel for another distribution, with its module.
    for (from, to) in
        [(kernel, "ubuntu/20.04/x86_64/5.10.0-1.btf"), (module, "ubuntu/20.04/x86_64/5.10.0-1/nf_index.btf")]
    {
        let to = kernels.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(kernels.join(from), to).unwrap();
    }
    let archive = dir.path().join("min.tar.gz");
    let made =
        run(["btf", "min", &object, "--btf", &text(&kernels), "--format", "json", "-o", &text(&archive)]);
    assert_eq!((made.exit, &*made.err), (0, ""));
    let lines = made.lines();
    lines.iter().for_each(|line| schema().check("btf min", line));
    let modules: Vec<Vec<_>> = lines
        .iter()
        .map(|line| line["modules"].as_array().unwrap().iter().map(|module| module["name"].clone()).collect())
        .collect();
    assert_eq!(modules, [vec![Value::from("nf_index")], vec![], vec![Value::from("nf_index")]]);

    let unpacked = dir.path().join("unpacked");
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(&archive).unwrap()));
    tar.unpack(&unpacked).unwrap();
    let plan = |root: &Path, kernel: &str| {
        let kernel = text(&root.join(kernel));
        let module = text(&Path::new(&kernel).with_extension("").join("nf_index.btf"));
        self::lines(&["plan", &object, "--btf", &kernel, "--module", &module])
    };
    let full = plan(&kernels, kernel);
    assert!(full.len() > 1 && full.iter().all(|line| line["target_spec"]["btf"] == "nf_index"));
    for kernel in [kernel, "ubuntu/20.04/x86_64/5.10.0-1.btf"] {
        let minimal = plan(&unpacked, kernel);
        let facts = |lines: &[Value]| {
            let keys = ["outcome", "target_value", "before", "after", "warning"];
            let facts =
                |line: &Value| (keys.map(|key| line[key].clone()), line["target_spec"]["btf"].clone());
            lines.iter().map(facts).collect::<Vec<_>>()
        };
        assert_eq!(facts(&minimal), facts(&full));
    }
    // An unpacked archive is input for an equal one.
    let again = dir.path().join("again.tar.gz");
    assert_eq!(run(["btf", "min", &object, "--btf", &text(&unpacked), "-o", &text(&again)]).exit, 0);
    assert_eq!(read(&again), read(&archive));

    // Other commands take only the kernels of an archive, and raw BTF has no modules.
    let listed = run(["plan", &object, "--btf", &text(&archive)]);
    assert!(listed.err.contains("1 BTFs of modules skipped"), "{}", listed.err);
    let raw = text(&dir.path().join("raw.btf"));
    let module = text(&kernels.join(module));
    let refused = run(["btf", "min", &object, "--btf", &base, "--module", &module, "-o", &raw]);
    assert!(
        refused.exit == 2 && refused.err.contains("types of module nf_index are needed"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains(".tar.gz") && !Path::new(&raw).exists(), "{}", refused.err);
}

#[test]
fn bad_input_is_named_and_leaves_the_old_output() {
    let dir = tempfile::tempdir().unwrap();
    let kernels = kernels(dir.path());
    let out = dir.path().join("out.tar.gz");
    let written = run(["btf", "min", "exec.bpf.o", "--btf", &text(&kernels), "-o", &text(&out)]);
    assert_eq!(written.exit, 0, "{}", written.err);
    let old = read(&out);
    let min = |objects: &[&str], btf: &Path, out: &Path| {
        let (btf, out) = (text(btf), text(out));
        let mut args = vec!["btf", "min"];
        args.extend(objects);
        args.extend(["--btf", &*btf, "-o", &*out]);
        let run = run(args);
        assert_eq!(
            (run.exit, read(&dir.path().join("out.tar.gz")).as_slice()),
            (2, old.as_slice()),
            "{}",
            run.err
        );
        run.err
    };
    let broken = kernels.join("debian/11/x86_64/5.10.0-2.btf");
    let bytes = read(&demo().join(KERNELS[0]));
    fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    assert!(min(&["exec.bpf.o"], &kernels, &out).contains("5.10.0-2.btf"));
    fs::remove_file(&broken).unwrap();
    assert!(min(&["exec.bpf.o", "absent.bpf.o"], &kernels, &out).contains("absent.bpf.o"));
    assert!(min(&[KERNELS[0]], &kernels, &out).contains(KERNELS[0]));
    let several = min(&["exec.bpf.o"], &kernels, &dir.path().join("raw.btf"));
    assert!(several.contains("found 2, expected 1") && several.contains(".tar.gz"), "{several}");
    assert!(!dir.path().join("raw.btf").exists());
    // Two kernels of one name with different BTF.
    let twin = dir.path().join("twin/debian/11/x86_64");
    fs::create_dir_all(&twin).unwrap();
    fs::copy(demo().join(KERNELS[1]), twin.join("5.10.0-1.btf")).unwrap();
    let args =
        ["btf", "min", "exec.bpf.o", "-o", &text(&out), "--btf", &text(&kernels), "--btf", &text(&twin)];
    let run = run(args);
    assert!(
        run.exit == 2 && run.err.contains("has the name debian/11/x86_64/5.10.0-1.btf in the archive"),
        "{}",
        run.err
    );
    assert_eq!(read(&out), old);
    let leftovers = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(leftovers, 3, "the kernels, the twin and the old output");
}

#[test]
fn archives_that_are_cut_short_or_no_archives_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("min.tar.gz");
    assert_eq!(run(["btf", "min", "exec.bpf.o", "--btf", KERNELS[0], "-o", &text(&archive)]).exit, 0);
    let bytes = read(&archive);
    let which = |bytes: &[u8]| {
        fs::write(dir.path().join("bad.tar.gz"), bytes).unwrap();
        let run = run_in(dir.path(), ["btf", "which", "bad.tar.gz", "--release", "linux"]);
        assert_eq!(run.exit, 2, "{}", run.err);
        run.err
    };
    assert!(which(&bytes[..bytes.len() / 2]).contains("not a complete gzip stream"));
    assert!(which(b"text").contains("not a complete gzip stream"));
    assert!(which(b"").contains("bad.tar.gz"));
}

/// An object without CO-RE relocations needs only the pointer size and the attach targets.
#[test]
fn objects_without_relocations_are_noted() {
    let dir = tempfile::tempdir().unwrap();
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf-progs/prebuilt/el/sections/none.bpf.o");
    let out = text(&dir.path().join("min.btf"));
    let made = run(["btf", "min", &text(&object), "--btf", KERNELS[0], "-o", &out]);
    assert_eq!(made.exit, 0, "{}", made.err);
    let relocations = run(["inspect", &text(&object), "--format", "json"]).out;
    assert!(made.err.contains("without CO-RE relocations") || relocations.contains("core"), "{}", made.err);
}
