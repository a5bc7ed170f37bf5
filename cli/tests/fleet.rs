//! Many kernels: their order, shards, archives, interrupted runs, and what is bad among them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{Run, demo, prebuilt, run_in, schema};
use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

const KERNELS: [&str; 4] = ["linux-5.10.btf", "linux-6.1.btf", "linux-6.12.btf", "linux-7.2.btf"];

/// A folder with two objects, and a folder of kernels in it that a test fills.
struct Fleet(tempfile::TempDir);

impl Fleet {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(demo().join("exec.bpf.o"), folder.path().join("exec.bpf.o")).unwrap();
        fs::copy(prebuilt("fields/basic.bpf.o"), folder.path().join("basic.bpf.o")).unwrap();
        fs::create_dir(folder.path().join("kernels")).unwrap();
        Self(folder)
    }

    /// With `n` kernels in folders of three, named so that their order is not that of their making.
    fn of(n: usize) -> Self {
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

    /// Both objects on all kernels, with more arguments.
    fn check(&self, more: &[&str]) -> Run {
        let args = ["check", "exec.bpf.o", "basic.bpf.o", "--btf", "kernels", "--format", "json"];
        self.run(args.iter().chain(more))
    }

    /// The one object that fits them all, as lines of `target verdict`.
    fn verdicts(&self, more: &[&str]) -> (i32, Vec<(String, String)>) {
        let run =
            self.run(["check", "exec.bpf.o", "--btf", "kernels", "--format", "json"].iter().chain(more));
        (run.exit, verdicts(&run))
    }
}

fn verdicts(run: &Run) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    run.lines().iter().map(|line| (text(&line["target"]), text(&line["verdict"]))).collect()
}

fn kernel(i: usize) -> Vec<u8> {
    fs::read(demo().join(KERNELS[i % KERNELS.len()])).unwrap()
}

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().unwrap());
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &**bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn kernels_of_the_same_bytes_get_the_same_answers_under_their_own_names() {
    let fleet = Fleet::of(20);
    for jobs in ["1", "2"] {
        let run = fleet.check(&["--jobs", jobs]);
        let lines = run.lines();
        assert_eq!(lines.len(), 2 * 20);
        let (first, later) = lines.split_at(2 * KERNELS.len());
        for (line, nth) in later.iter().zip(0..) {
            let mut expected = first[nth % first.len()].clone();
            let name = format!("{:03}.btf", KERNELS.len() + nth / 2);
            assert!(line["target"].as_str().unwrap().ends_with(&name), "{line}");
            expected["target"] = line["target"].clone();
            assert_eq!(*line, expected);
        }
        let answer = |line: &serde_json::Value| [&line["kept"], &line["patched"]].map(ToString::to_string);
        let answers: std::collections::BTreeSet<_> = first.iter().map(answer).collect();
        assert!(answers.len() > 2, "else this test shows nothing: {answers:?}");
    }
}

#[test]
fn order_is_that_of_the_paths_whatever_the_threads_do() {
    let fleet = Fleet::of(60);
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
    assert_eq!(one.out.lines().filter(|line| line.starts_with("ok ")).count(), 30);
}

#[test]
fn shards_are_the_whole_and_no_kernel_is_in_two() {
    let fleet = Fleet::of(40);
    fleet.write("kernels/empty.btf", "");
    let (_, whole) = fleet.verdicts(&[]);
    let mut together = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let (_, part) = fleet.verdicts(&["--shard", shard]);
        assert!(part.len() > 5 && part.is_sorted(), "{shard}: {part:?}");
        together.extend(part);
    }
    together.sort();
    assert_eq!(together, whole);
    // Elsewhere, and among others, a kernel is of the same shard.
    fs::rename(fleet.path("kernels"), fleet.path("moved")).unwrap();
    fleet.write("moved/another.btf", kernel(0));
    let moved = fleet.run(["check", "exec.bpf.o", "--btf", "moved", "--format", "json", "--shard", "1/3"]);
    let moved =
        verdicts(&moved).into_iter().map(|(target, verdict)| (target.replace("moved", "kernels"), verdict));
    let first = together.iter().filter(|one| moved.clone().any(|other| other == **one)).count();
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
        assert!(shown.err.contains("holds no kernel with BTF"), "{shard}: {}", shown.err);
    }
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let fleet = Fleet::of(9);
    fleet.write("kernels/05", "no BTF");
    let plain = fleet.check(&[]);
    let whole = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((whole.exit, &whole.out), (2, &plain.out));
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    let header = results.find('\n').unwrap() + 1;
    assert_eq!(results[header..], plain.out);
    // Wherever it was cut off, it comes to the same.
    for cut in
        (0..results.len()).step_by(results.len() / 30).chain([results.len() - 1, results.len(), header])
    {
        fleet.write("results.jsonl", &results[..cut]);
        let rest = fleet.check(&["--resume", "results.jsonl", "--jobs", "2"]);
        assert_eq!(rest.exit, 2, "cut at {cut}: {}", rest.err);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "cut at {cut}");
        assert!(plain.out.ends_with(&rest.out), "only what is new is printed");
    }
    let again = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((again.exit, &*again.out), (2, ""), "how bad it was is not forgotten");
    assert!(again.err.contains("has the results of 10 kernels"), "{}", again.err);
}

#[test]
fn one_run_at_a_time_writes_to_a_file_of_results() {
    let fleet = Fleet::of(2);
    let theirs = fs::File::create(fleet.path("results.jsonl")).unwrap();
    theirs.lock().unwrap();
    let run = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((run.exit, &*run.out), (2, ""));
    assert!(run.err.contains("results.jsonl: another run is writing to it"), "{}", run.err);
    drop(theirs);
    assert_eq!(fleet.check(&["--resume", "results.jsonl"]).lines().len(), 4);
}

#[test]
fn results_of_other_objects_are_not_mixed() {
    let fleet = Fleet::of(2);
    fleet.check(&["--resume", "results.jsonl"]);
    let before = fs::read(fleet.path("results.jsonl")).unwrap();
    let refused = |what: &str| {
        let run = fleet.check(&["--resume", "results.jsonl"]);
        assert_eq!((run.exit, &*run.out, run.err.lines().count()), (2, "", 1));
        assert!(run.err.starts_with("core-relo: results.jsonl: ") && run.err.contains(what), "{}", run.err);
    };
    let object = fs::read(fleet.path("basic.bpf.o")).unwrap();
    fs::copy(prebuilt("fields/resize.bpf.o"), fleet.path("basic.bpf.o")).unwrap();
    refused("`basic.bpf.o` differs");
    fleet.write("basic.bpf.o", object);
    assert_eq!(fs::read(fleet.path("results.jsonl")).unwrap(), before);
    for (content, what) in [
        ("{}\n".to_owned(), "line 1: is none"),
        ("no JSON\n".to_owned(), "line 1: is none"),
        (String::from_utf8(before.clone()).unwrap() + "{}\n", "line 6: is none"),
        (String::from_utf8(before.clone()).unwrap().lines().skip(1).collect(), ""),
    ] {
        fleet.write("results.jsonl", &content);
        if what.is_empty() {
            continue;
        }
        refused(what);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), content, "it is left alone");
    }
    fs::create_dir(fleet.path("folder")).unwrap();
    assert_eq!(fleet.check(&["--resume", "folder"]).exit, 2);
}

#[test]
fn results_of_shards_may_be_put_together() {
    let fleet = Fleet::of(12);
    let mut together = Vec::new();
    for shard in ["1/2", "2/2"] {
        fleet.check(&["--shard", shard, "--resume", "part.jsonl"]);
        together.extend(fs::read(fleet.path("part.jsonl")).unwrap());
        fs::remove_file(fleet.path("part.jsonl")).unwrap();
    }
    fleet.write("all.jsonl", together);
    let run = fleet.check(&["--resume", "all.jsonl"]);
    assert_eq!((run.exit, &*run.out), (1, ""), "{}", run.err);
}

#[test]
fn archives_are_checked_member_by_member() {
    let fleet = Fleet::new();
    let long = format!("{}/5.10.btf", "deep/".repeat(40));
    let members: Vec<_> = vec![
        ("./6.1.btf", kernel(1)),
        ("README.md", b"hello".to_vec()),
        (&*long, kernel(0)),
        ("broken", b"no BTF".to_vec()),
        ("twice/vmlinux.btf.gz", gzip(&kernel(2))),
    ];
    let bytes = tar(&members);
    fleet.write("kernels/a.tar", &bytes);
    fleet.write("kernels/b.tar.gz", gzip(&bytes));
    fleet.write("kernels/c.tar.xz", xz(&bytes));
    fleet.write("kernels/d.tar.zst", zstd(&bytes));
    fleet.write("kernels/e.btf", kernel(3));
    let mut expected = Vec::new();
    for archive in ["a.tar", "b.tar.gz", "c.tar.xz", "d.tar.zst"] {
        let members =
            [("6.1.btf", "ok"), (&long, "poisoned"), ("broken", "bad_input"), ("twice/vmlinux.btf.gz", "ok")];
        let of = |(member, verdict)| (format!("kernels/{archive}//{member}"), String::from(verdict));
        expected.extend(members.map(of));
    }
    expected.push(("kernels/e.btf".into(), "poisoned".into()));
    let target = |line: &serde_json::Value| {
        let named = if line["target"].is_null() { &line["error"]["file"] } else { &line["target"] };
        named.as_str().unwrap().to_owned()
    };
    for jobs in ["1", "3"] {
        let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--format", "json", "--jobs", jobs]);
        let lines = run.lines();
        let got: Vec<_> =
            lines.iter().map(|line| (target(line), line["verdict"].as_str().unwrap().to_owned())).collect();
        assert_eq!((run.exit, got), (2, expected.clone()));
    }
    // An archive cut short is told, and what came before is checked.
    fleet.write("kernels/b.tar.gz", &gzip(&bytes)[..2000]);
    fleet.write("kernels/c.tar.xz", "no archive");
    fleet.write("kernels/d.tar.zst", &zstd(&bytes)[..1000]);
    fleet.write("kernels/a.tar", &bytes[..bytes.len() / 2]);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    assert_eq!(run.exit, 2);
    for name in ["a.tar", "b.tar.gz", "c.tar.xz", "d.tar.zst"] {
        assert!(run.err.contains(&format!("core-relo: kernels/{name}")), "{name}: {}", run.err);
    }
    assert!(run.out.contains("ok        exec.bpf.o  kernels/a.tar//6.1.btf"), "{}", run.out);
    assert!(run.out.lines().any(|line| line.contains("kernels/e.btf")));
}

#[test]
fn other_commands_read_archives_too() {
    let fleet = Fleet::new();
    fleet.write("a.tar.gz", gzip(&tar(&[("6.1.btf", kernel(1)), ("6.12.btf", kernel(2))])));
    let run = fleet.run(["plan", "exec.bpf.o", "--btf", "a.tar.gz", "--format", "json"]);
    assert_eq!((run.exit, run.lines().len()), (0, 34));
    let run = fleet.run(["patch", "exec.bpf.o", "--btf", "a.tar.gz", "-o", "out.o"]);
    assert!(run.exit == 2 && run.err.contains("is an archive, expected one kernel"), "{run:?}");
    fleet.write("unnamed", gzip(&tar(&[("6.1.btf", kernel(1))])));
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "unnamed"]);
    assert!(run.exit == 2 && run.err.contains("is a tar archive"), "{run:?}");
}

#[test]
fn an_interrupted_archive_goes_on_at_its_next_member() {
    let fleet = Fleet::new();
    let names: Vec<_> = (0..6).map(|n| format!("{n}.btf")).collect();
    let members: Vec<_> = names.iter().enumerate().map(|(n, name)| (&**name, kernel(n))).collect();
    fleet.write("kernels/a.tar.gz", gzip(&tar(&members)));
    fleet.write("kernels/b.tar.gz", gzip(&tar(&members)));
    let whole = fleet.check(&["--resume", "results.jsonl"]);
    let results = fs::read_to_string(fleet.path("results.jsonl")).unwrap();
    assert_eq!((whole.exit, results.lines().count()), (1, 25));
    for cut in (0..results.len()).step_by(results.len() / 20) {
        fleet.write("results.jsonl", &results[..cut]);
        fleet.check(&["--resume", "results.jsonl"]);
        assert_eq!(fs::read_to_string(fleet.path("results.jsonl")).unwrap(), results, "cut at {cut}");
    }
    // Of an archive that is through, nothing is read again; half of a kernel's results are dropped.
    let kept: String = results.lines().take(16).flat_map(|line| [line, "\n"]).collect();
    fleet.write("results.jsonl", kept);
    fleet.write("kernels/a.tar.gz", "broken since");
    let rest = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((rest.exit, rest.lines().len()), (1, 10), "{}", rest.err);
}

#[test]
fn every_kind_of_bad_file_is_named_and_the_rest_checked() {
    let fleet = Fleet::new();
    let good = kernel(1);
    fleet.write("kernels/a-good.btf", &good);
    fleet.write("kernels/b-empty", "");
    fleet.write("kernels/c-cut.btf", &good[..good.len() / 2]);
    fleet.write("kernels/d-noise", [7; 5000]);
    fleet.write("kernels/e-foreign.o", fs::read(prebuilt("../eb/fields/basic.bpf.o")).unwrap());
    fs::File::create(fleet.path("kernels/f-huge")).unwrap().set_len(2 << 30).unwrap();
    let mut huge = fs::File::create(fleet.path("kernels/g-huge.btf")).unwrap();
    huge.write_all(&good).unwrap();
    huge.set_len(2 << 30).unwrap();
    fleet.write("kernels/h-bomb.gz", gzip(&vec![0; 80 << 20]));
    fleet.write(
        "kernels/i-bomb.tar.gz",
        gzip(&tar(&[("bomb", vec![0; 300 << 20]), ("good.btf", good.clone())])),
    );
    fleet.write("kernels/j-cut.gz", &gzip(&good)[..900]);
    std::os::unix::fs::symlink("nowhere", fleet.path("kernels/k-nowhere")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", fleet.path("kernels/l-device")).unwrap();
    fleet.write("kernels/m-duplicate.btf", &good);
    std::os::unix::fs::symlink("a-good.btf", fleet.path("kernels/n-duplicate.btf")).unwrap();
    fleet.write("kernels/o-longer.btf", [&*good, &[7; 9000]].concat());
    let bad = [
        ("b-empty", "is empty"),
        ("c-cut.btf", "truncated: its header says "),
        ("d-noise", "no BTF in it"),
        ("e-foreign.o", "the kernel is big-endian, the object little-endian"),
        ("f-huge", "has 2147483648 bytes, at most"),
        ("g-huge.btf", "has 2147483648 bytes, at most"),
        ("h-bomb.gz", "unpacks to more than"),
        ("i-bomb.tar.gz//bomb", "has 314572800 bytes, at most"),
        ("j-cut.gz", "gzip stream"),
        ("k-nowhere", "no such file"),
        ("l-device", "is a device"),
    ];
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--jobs", "2"]);
    assert_eq!((run.exit, run.err.lines().count()), (2, bad.len()), "{}", run.err);
    for (line, (name, what)) in run.err.lines().zip(bad) {
        assert!(line.starts_with(&format!("core-relo: kernels/{name}: ")) && line.contains(what), "{line}");
    }
    let checked: Vec<_> = run.out.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let good =
        ["a-good.btf", "i-bomb.tar.gz//good.btf", "m-duplicate.btf", "n-duplicate.btf", "o-longer.btf"];
    assert_eq!(checked, good.map(|name| format!("kernels/{name}")));
}

#[test]
fn streams_that_follow_one_another_are_one_file() {
    type Pack = fn(&[u8]) -> Vec<u8>;
    let packs: [(&str, Pack); 5] = [("gz", gzip), ("xz", xz), ("zst", zstd), ("bz2", bzip2), ("lz4", lz4)];
    let fleet = Fleet::new();
    let good = kernel(1);
    let archive = tar(&[("one.btf", good.clone()), ("two.btf", good.clone())]);
    let mut expected = Vec::new();
    for (ending, pack) in packs {
        for (name, bytes) in [("kernel", &good), ("archive.tar", &archive)] {
            let (first, rest) = bytes.split_at(bytes.len() / 3);
            let (second, third) = rest.split_at(rest.len() / 2);
            // Streams of different lengths, an empty one among them.
            let packed = [first, second, b"", third].map(pack).concat();
            fleet.write(&format!("kernels/{name}.{ending}"), packed);
        }
        expected.extend(["one", "two"].map(|m| format!("kernels/archive.tar.{ending}//{m}.btf")));
        expected.push(format!("kernels/kernel.{ending}"));
    }
    expected.sort();
    let (exit, mut found) = fleet.verdicts(&[]);
    found.sort();
    assert_eq!(found, expected.into_iter().map(|name| (name, "ok".to_owned())).collect::<Vec<_>>());
    assert_eq!(exit, 0);
    // pzstd: how long each frame is comes before it.
    let frames = |bytes: &[u8]| {
        let frame = zstd(bytes);
        let len = u32::try_from(frame.len()).unwrap().to_le_bytes();
        [b"\x50\x2a\x4d\x18\x04\0\0\0".as_slice(), &len, &frame].concat()
    };
    for (name, bytes) in [("kernel.zst", &good), ("archive.tar.zst", &archive)] {
        let (first, second) = bytes.split_at(bytes.len() / 3);
        fleet.write(&format!("kernels/{name}"), [frames(first), frames(second)].concat());
    }
    let (exit, mut again) = fleet.verdicts(&[]);
    again.sort();
    assert_eq!((exit, again), (0, found));
}

#[test]
fn limits_are_for_the_user_to_set() {
    let fleet = Fleet::new();
    let good = kernel(1);
    fleet.write("kernels/a.btf", &good);
    fleet.write("kernels/b.gz", gzip(&good));
    fleet.write("kernels/c.tar", tar(&[("c.btf", good.clone())]));
    fleet.write("kernels/d.tar.gz", gzip(&tar(&[("d.btf", good.clone())])));
    let least = good.len().to_string();
    assert_eq!(fleet.verdicts(&["--max-bytes", &least]).0, 0);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--max-bytes", "1000"]);
    assert_eq!((run.exit, &*run.out, run.err.lines().count()), (2, "", 4), "{}", run.err);
    assert!(run.err.lines().all(|line| line.contains("1000")), "{}", run.err);
    // All members together are limited as well, and so is what is passed over.
    let many: Vec<_> = (0..80).map(|_| ("zeros.txt", vec![0; 1000])).collect();
    fleet.write("many.tar.gz", gzip(&tar(&many)));
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "many.tar.gz", "--max-bytes", "1000"]);
    assert!(run.exit == 2 && run.err.contains("more than is read of one archive"), "{}", run.err);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "many.tar.gz", "--max-bytes", "9000"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
}

#[test]
fn a_name_without_end_does_not_fill_the_memory() {
    let fleet = Fleet::new();
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_path("././@LongLink").unwrap();
    header.set_size(200 << 20);
    header.set_cksum();
    let bytes = [header.as_bytes().as_slice(), &vec![b'n'; 200 << 20]].concat();
    fleet.write("name.tar.gz", gzip(&bytes));
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "name.tar.gz"]);
    assert!(run.exit == 2 && run.err.contains("name is longer than 1 MiB"), "{}", run.err);
}

#[test]
fn a_large_elf_is_read_by_its_sections() {
    let fleet = Fleet::new();
    let object = fs::read(fleet.path("exec.bpf.o")).unwrap();
    let plan = |name: &str| fleet.run(["check", "exec.bpf.o", "--btf", name, "--format", "json"]);
    let small = plan("exec.bpf.o");
    fs::write(fleet.path("large"), object).unwrap();
    fs::OpenOptions::new().write(true).open(fleet.path("large")).unwrap().set_len(3 << 30).unwrap();
    let large = plan("large");
    assert_eq!(
        (large.exit, large.out),
        (small.exit, small.out.replace("\"target\":\"exec.bpf.o\"", "\"target\":\"large\""))
    );
}

#[test]
fn what_a_large_file_lacks_is_told_without_reading_it() {
    let fleet = Fleet::new();
    let sized = |name: &str, bytes: &[u8], len: u64| {
        fleet.write(name, bytes);
        fs::OpenOptions::new().write(true).open(fleet.path(name)).unwrap().set_len(len).unwrap();
    };
    let object = fs::read(fleet.path("exec.bpf.o")).unwrap();
    // Without a section of the name, as a vmlinux with all debug information but BTF.
    let mut plain = object.clone();
    let at: Vec<_> =
        plain.windows(5).enumerate().filter(|(_, w)| *w == b".BTF\0").map(|(at, _)| at).collect();
    at.into_iter().for_each(|at| plain[at] = b'_');
    sized("kernels/a-plain", &plain, 3 << 30);
    // An ELF header alone.
    sized("kernels/b-header", &object[..16], 900 << 20);
    let mut lies = kernel(0);
    lies[20..24].copy_from_slice(&(3u32 << 30).to_le_bytes());
    sized("kernels/c-lies", &lies, 900 << 20);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    let expected = [
        "no section `.BTF`",
        "has 943718400 bytes, at most 268435456 are read",
        "truncated: its header says",
    ];
    assert_eq!((run.exit, run.err.lines().count()), (2, 3), "{}", run.err);
    for (line, what) in run.err.lines().zip(expected) {
        assert!(line.contains(what), "{line}");
    }
}

#[test]
fn modules_in_a_folder_are_passed_over() {
    let fleet = Fleet::of(2);
    fs::copy(prebuilt("kernel/module.bpf.o"), fleet.path("kernels/object.o")).unwrap();
    let mut split = kernel(0);
    let word = |at: usize| u32::from_le_bytes(split[at..at + 4].try_into().unwrap());
    let strings = usize::try_from(word(4) + word(16)).unwrap();
    split[strings] = b'x';
    fleet.write("kernels/module", split);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    assert!(
        run.err.contains("note: kernels: 1 BTFs of modules passed over (kernels/module, …)"),
        "{}",
        run.err
    );
    assert_eq!(run.out.lines().filter(|line| line.contains("kernels/")).count(), 3, "{}", run.out);
}

#[test]
fn a_folder_of_modules_may_hold_what_belongs_to_them() {
    let fleet = Fleet::new();
    fleet.write("linux.btf", kernel(1));
    let base = std::sync::Arc::new(core_relo::btf::Btf::parse(kernel(1)).unwrap());
    let mut module = core_relo::btf::Builder::split(&base);
    module.structure("of_module", 4, &[]);
    let module = module.finish();
    for (name, bytes) in [("a.ko.gz", gzip(&module)), ("b.ko.xz", xz(&module)), ("c.ko.zst", zstd(&module))] {
        fleet.write(&format!("6.1/kernel/{name}"), bytes);
    }
    fleet.write("6.1/modules.builtin", "kernel/fs/ext4/ext4.ko");
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "linux.btf", "--module", "6.1"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
    fleet.write("6.1/kernel/d.ko", "no module");
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "linux.btf", "--module", "6.1"]);
    assert!(run.exit == 2 && run.err.contains("6.1/kernel/d.ko: no BTF in it"), "{}", run.err);
}

#[test]
fn packed_modules_in_a_folder_are_passed_over_unread() {
    let fleet = Fleet::of(1);
    fleet.write("kernels/veth.ko.xz", "not looked at");
    fleet.write("kernels/loop.ko.zst", "nor this");
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    let checked = run.out.lines().filter(|line| line.contains("kernels/")).count();
    assert_eq!((run.err.lines().count(), checked), (1, 1), "{}", run.err);
    assert!(
        run.err.contains("note: kernels: 2 BTFs of modules passed over (kernels/loop.ko.zst, …)"),
        "{}",
        run.err
    );
}

#[test]
fn results_that_cannot_be_kept_end_the_run() {
    if !Path::new("/dev/full").exists() {
        println!("SKIP: no /dev/full");
        return;
    }
    let fleet = Fleet::of(3);
    let run = fleet.check(&["--resume", "/dev/full"]);
    assert_eq!((run.exit, &*run.out), (2, ""));
    assert!(run.err.contains("/dev/full: is a device"), "{}", run.err);
}
