//! `check` under a limit on threads.

use super::*;
use core_relo_test_support::skip;
use std::{os::unix::fs::PermissionsExt as _, process::Command};

#[test]
fn a_thread_limit_does_not_change_the_result() {
    let fleet = Fleet::with_kernels(70);
    let expected = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    // The unprivileged user needs access to the directory.
    fs::set_permissions(fleet.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_core-relo"), fleet.path("core-relo")).unwrap();
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let works = Command::new("setpriv").args(user).args(["prlimit", "--nproc=1", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        skip!("needs root, setpriv and prlimit");
        return;
    }
    for jobs in ["1", "2", "5", "100000"] {
        for limit in ["1", "2", "3"] {
            let limited = Command::new("setpriv")
                .args(user)
                .args(["prlimit", &format!("--nproc={limit}"), "./core-relo"])
                .args(["check", "exec.bpf.o", "--btf", "kernels", "--jobs", jobs])
                .current_dir(fleet.path(""))
                .output()
                .unwrap();
            let err = String::from_utf8(limited.stderr).unwrap();
            assert_eq!(
                (limited.status.code(), &*err),
                (Some(expected.exit), ""),
                "{jobs} jobs, limit {limit}"
            );
            assert!(limited.stdout == expected.out.as_bytes(), "{jobs} jobs, limit {limit}");
        }
    }
}

#[test]
fn one_job_starts_no_thread() {
    let fleet = Fleet::with_kernels(70);
    let strace = ["-f", "-qq", "-e", "trace=clone,clone3", "-o", "trace", env!("CARGO_BIN_EXE_core-relo")];
    let traced = |args: &[&str]| {
        let output = Command::new("strace").args(strace).args(args).current_dir(fleet.path("")).output();
        output.ok().map(|_| fs::read_to_string(fleet.path("trace")).unwrap().contains("clone"))
    };
    let check = ["check", "exec.bpf.o", "basic.bpf.o", "--btf", "kernels", "--jobs"];
    if traced(&[&check[..], &["3"]].concat()) != Some(true) {
        skip!("no strace that sees threads");
        return;
    }
    let plan = ["plan", "exec.bpf.o", "--btf", "kernels"];
    let patch = ["patch", "exec.bpf.o", "--btf", "kernels/00/001.btf", "-o", "out.o"];
    for args in
        [&[&check[..], &["1"]].concat()[..], &plan, &patch, &["explain", "exec.bpf.o", "--btf", "kernels"]]
    {
        assert_eq!(traced(args), Some(false), "{args:?}");
    }
}
