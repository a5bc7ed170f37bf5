//! Commands whose output is of another kind than their inputs never replace an input.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{demo, run_in};
use std::fs;

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
