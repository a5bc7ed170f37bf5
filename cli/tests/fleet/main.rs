//! Tests of `check` with many kernels: order, shards, archives, interrupted runs and bad files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod duplicates;
mod files;
mod limits;
mod report;
mod resume;
mod threads;

use common::{Run, demo, prebuilt, run_in, schema};
use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

const KERNELS: [&str; 4] = ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"];

/// A temporary directory with two objects and a directory of kernels, which tests fill.
struct Fleet(tempfile::TempDir);

impl Fleet {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::copy(demo().join("exec.bpf.o"), dir.path().join("exec.bpf.o")).unwrap();
        fs::copy(prebuilt("fields/basic.bpf.o"), dir.path().join("basic.bpf.o")).unwrap();
        fs::create_dir(dir.path().join("kernels")).unwrap();
        Self(dir)
    }

    /// Creates a fleet with `n` kernels in directories of three. The order of the names differs from that of
    /// creation.
    fn with_kernels(n: usize) -> Self {
        let fleet = Self::new();
        for i in (0..n).rev() {
            fleet.write(&format!("kernels/{:02}/{i:03}.btf", i / 3), kernel(i));
        }
        fleet
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        run_in(self.0.path(), args)
    }

    /// Checks both objects on all kernels with additional arguments.
    fn check(&self, more: &[&str]) -> Run {
        let args = ["check", "exec.bpf.o", "basic.bpf.o", "--btf", "kernels", "--format", "json"];
        self.run(args.iter().chain(more))
    }

    /// Checks `exec.bpf.o` on all kernels. Returns the exit status and the pairs of target and verdict.
    fn verdicts(&self, more: &[&str]) -> (i32, Vec<(String, String)>) {
        let run =
            self.run(["check", "exec.bpf.o", "--btf", "kernels", "--format", "json"].iter().chain(more));
        (run.exit, verdicts(&run))
    }
}

/// Returns the pairs of target and verdict of a run.
fn verdicts(run: &Run) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    run.lines().iter().map(|line| (text(&line["target"]), text(&line["verdict"]))).collect()
}

/// Returns one of the four demo kernels.
fn kernel(i: usize) -> Vec<u8> {
    fs::read(demo().join(KERNELS[i % KERNELS.len()])).unwrap()
}

#[test]
fn results_are_in_path_order_for_any_number_of_threads() {
    let fleet = Fleet::with_kernels(60);
    let one = fleet.check(&["--jobs", "1"]);
    let lines = one.lines();
    assert_eq!((one.exit, lines.len()), (1, 120), "{}", one.err);
    let schema = schema();
    for (n, pair) in lines.chunks(2).enumerate() {
        pair.iter().for_each(|line| schema.check("check", line));
        let target = format!("kernels/{:02}/{n:03}.btf", n / 3);
        assert_eq!((&pair[0]["target"], &pair[1]["target"]), (&target.clone().into(), &target.into()));
        assert_eq!((&pair[0]["object"], &pair[1]["object"]), (&"exec.bpf.o".into(), &"basic.bpf.o".into()));
    }
    for jobs in ["2", "4", "9"] {
        let several = fleet.check(&["--jobs", jobs]);
        assert_eq!((several.exit, &several.out), (1, &one.out), "{jobs} jobs");
    }
    let text = |jobs| fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--jobs", jobs]);
    let (one, four) = (text("1"), text("4"));
    assert_eq!(one.out, four.out);
    assert_eq!(one.out.lines().filter(|line| line.starts_with("loads ")).count(), 30);
}

#[test]
fn objects_are_in_argument_order_for_any_number_of_threads() {
    let fleet = Fleet::with_kernels(1);
    let mut args = vec!["check".to_owned(), "--btf=kernels".to_owned(), "--format=json".to_owned()];
    for n in 0..50 {
        let name = format!("{n:02}.bpf.o");
        match n % 10 {
            7 => fleet.write(&name, "no object"),
            even if even % 2 == 0 => drop(fs::copy(fleet.path("exec.bpf.o"), fleet.path(&name)).unwrap()),
            _ => drop(fs::copy(fleet.path("basic.bpf.o"), fleet.path(&name)).unwrap()),
        }
        args.push(name);
    }
    let [one, three] =
        ["1", "3"].map(|jobs| fleet.run(args.iter().map(String::as_str).chain(["--jobs", jobs])));
    let named =
        one.lines().iter().map(|line| line["object"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let (bad, good) = named.split_at(5);
    assert!(bad.iter().all(|name| name.ends_with("7.bpf.o")), "{bad:?}");
    assert!(good.len() == 45 && good.is_sorted(), "{good:?}");
    assert_eq!((three.exit, &three.out, &three.err), (one.exit, &one.out, &one.err));
}

#[test]
fn every_kernel_is_in_exactly_one_shard() {
    let fleet = Fleet::with_kernels(40);
    fleet.write("kernels/empty.btf", "");
    let (_, whole) = fleet.verdicts(&[]);
    let mut merged = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let (_, part) = fleet.verdicts(&["--shard", shard]);
        assert!(part.len() > 5 && part.is_sorted(), "{shard}: {part:?}");
        merged.extend(part);
    }
    merged.sort();
    assert_eq!(merged, whole);
    // A kernel stays in its shard when its directory moves or gets more kernels.
    fs::rename(fleet.path("kernels"), fleet.path("moved")).unwrap();
    fleet.write("moved/another.btf", kernel(0));
    let moved = fleet.run(["check", "exec.bpf.o", "--btf", "moved", "--format", "json", "--shard", "1/3"]);
    let moved =
        verdicts(&moved).into_iter().map(|(target, verdict)| (target.replace("moved", "kernels"), verdict));
    let first = merged.iter().filter(|verdict| moved.clone().any(|other| other == **verdict)).count();
    fs::rename(fleet.path("moved"), fleet.path("kernels")).unwrap();
    fs::remove_file(fleet.path("kernels/another.btf")).unwrap();
    assert_eq!(first, fleet.verdicts(&["--shard", "1/3"]).1.len());
    for bad in ["0/3", "4/3", "x"] {
        assert_eq!(fleet.check(&["--shard", bad]).exit, 2, "{bad}");
    }
    fs::create_dir(fleet.path("none")).unwrap();
    for shard in ["1/3", "2/3", "3/3"] {
        let shown = fleet.run(["check", "exec.bpf.o", "--btf", "none", "--shard", shard]);
        assert_eq!(shown.exit, 2, "{shard}");
        assert!(shown.err.contains("contains no kernel with BTF"), "{shard}: {}", shown.err);
    }
}
