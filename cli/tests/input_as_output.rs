//! No output of a command replaces an input, another output, or a file of another kind.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{demo, run_in};
use std::{fs, os::unix::fs::symlink};

#[test]
fn no_input_becomes_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let files = [("agent.bpf.o", "exec.bpf.o"), ("kernel.btf", "linux-6.1.btf")];
    for (name, from) in files {
        fs::copy(demo().join(from), dir.path().join(name)).unwrap();
    }
    fs::create_dir(dir.path().join("kernels")).unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["btf", "min", "agent.bpf.o", "--btf", "kernel.btf"], "agent.bpf.o"),
        (&["btf", "min", "agent.bpf.o", "--btf", "kernel.btf"], "kernel.btf"),
        (&["btf", "min", "agent.bpf.o", "--btf", "kernel.btf"], "kernels/../kernel.btf"),
        (&["gen", "rust", "agent.bpf.o"], "agent.bpf.o"),
        (&["gen", "vmlinux", "agent.bpf.o", "--btf", "kernel.btf"], "agent.bpf.o"),
        (&["gen", "vmlinux", "agent.bpf.o", "--btf", "kernel.btf"], "./kernel.btf"),
        (&["patch", "agent.bpf.o", "--btf", "kernel.btf"], "kernel.btf"),
    ];
    for (arguments, output) in cases {
        let run = run_in(dir.path(), [arguments, &["-o", output]].concat());
        assert_eq!((run.exit, run.out.as_str()), (2, ""), "{arguments:?} {output}: {}", run.err);
        assert!(run.err.contains(&format!("{output}: is an input and the output")), "{}", run.err);
        for (name, from) in files {
            assert_eq!(fs::read(dir.path().join(name)).unwrap(), fs::read(demo().join(from)).unwrap());
        }
    }
}

/// Stdout is no file, and may get several outputs.
#[test]
fn a_file_named_like_stdout_is_not_written_to() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(demo().join("linux-6.1.btf"), dir.path().join("kernel.btf")).unwrap();
    fs::write(dir.path().join("-"), "a file of the user").unwrap();
    fs::copy(demo().join("exec.bpf.o"), dir.path().join("agent.bpf.o")).unwrap();
    let header = run_in(dir.path(), ["gen", "vmlinux", "agent.bpf.o", "--btf", "kernel.btf", "-o", "-"]);
    assert!(header.exit == 0 && header.out.contains("__VMLINUX_H__"), "{}", header.err);
    // The program is looked up after the outputs are checked.
    let run = run_in(dir.path(), ["prog", "run", "--pinned", "nosuch", "--data-out", "-", "--ctx-out", "-"]);
    assert!(run.exit == 2 && run.err.contains("nosuch: "), "{}", run.err);
    assert_eq!(fs::read(dir.path().join("-")).unwrap(), b"a file of the user");
}

/// Reports and budgets replace only reports and budgets. A glob after an option makes its first file the
/// output.
#[test]
fn reports_and_budgets_replace_no_other_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["agent.bpf.o", "other.bpf.o", "o.md"] {
        fs::copy(demo().join("exec.bpf.o"), at(name)).unwrap();
    }
    for name in ["kernel.btf", "k.html"] {
        fs::copy(demo().join("linux-6.1.btf"), at(name)).unwrap();
    }
    symlink("o.md", at("link.md")).unwrap();
    fs::hard_link(at("o.md"), at("hard.md")).unwrap();
    fs::write(at("README.md"), "# A document of the user\n").unwrap();
    fs::write(at("main.rs"), "fn main() {}\n").unwrap();
    let check = ["check", "agent.bpf.o", "--btf", "kernel.btf", "--report"];
    let cases: [(&[&str], &str); 12] = [
        (&["check", "o.md", "--btf", "kernel.btf", "--report", "o.md"], "o.md: is an input"),
        (&["check", "o.md", "--btf", "kernel.btf", "--report", "./o.md", "--force"], "./o.md: is an input"),
        (&["check", "o.md", "--btf", "kernel.btf", "--report", "link.md"], "link.md: is an input"),
        (&["check", "o.md", "--btf", "kernel.btf", "--report", "hard.md"], "hard.md: is an input"),
        (&["check", "agent.bpf.o", "--btf", "k.html", "--report", "k.html"], "k.html: is an input"),
        (&[&check[..], &["README.md"]].concat(), "README.md: exists and is of another kind"),
        (&[&check[..], &["new.md", "--report", "./new.md"]].concat(), "./new.md: is the path of two outputs"),
        (&["load", "agent.bpf.o", "--each", "--write-budget", "agent.bpf.o"], "agent.bpf.o: is an input"),
        (
            &["load", "--each", "--write-budget", "agent.bpf.o", "other.bpf.o"],
            "agent.bpf.o: exists and is of",
        ),
        (&["gen", "rust", "agent.bpf.o", "-o", "main.rs"], "main.rs: exists and is of another kind"),
        (&["gen", "object", "agent.bpf.o", "agent.bpf.o"], "OUT names the output"),
        (&["btf", "dedup", "kernel.btf", "-o", "agent.bpf.o"], "-o names the output"),
    ];
    let contents = || {
        let mut entries: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = contents();
    for (arguments, expected) in cases {
        let run = run_in(dir.path(), arguments);
        assert!(run.exit == 2 && run.err.contains(expected), "{arguments:?}: {} {}", run.exit, run.err);
        assert!(contents() == before, "{arguments:?}");
    }
    // A report, an empty file and, with --force, any file that is no input.
    fs::write(at("empty.md"), "").unwrap();
    for (output, more) in
        [("new.md", &[][..]), ("new.md", &[]), ("empty.md", &[]), ("README.md", &["--force"])]
    {
        let run = run_in(dir.path(), [&check[..], &[output], more].concat());
        assert!(
            fs::read_to_string(at(output)).unwrap().starts_with("<!-- core-relo check -->"),
            "{}",
            run.err
        );
    }
    // The lines of a batch keep its file.
    fs::write(at("batch"), "gen header -o batch --force\n").unwrap();
    let run = run_in(dir.path(), ["batch", "batch"]);
    assert!(run.exit == 2 && run.err.contains("batch: is an input and the output"), "{}", run.err);
}

#[test]
fn an_archive_in_place_of_a_kernel_is_not_asked_for_the_name_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let object = demo().join("exec.bpf.o");
    let kernel = demo().join("linux-6.1.btf");
    let [object, kernel] = [&object, &kernel].map(|path| common::text(path));
    assert_eq!(run_in(dir.path(), ["btf", "min", object, "--btf", kernel, "-o", "min.tar.gz"]).exit, 0);
    let run = run_in(dir.path(), ["gen", "vmlinux", object, "--btf", "min.tar.gz"]);
    assert!(
        run.exit == 2 && run.err.contains("min.tar.gz: is a tar archive; BTF of one kernel"),
        "{}",
        run.err
    );
}
