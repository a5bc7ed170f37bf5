//! Kinds of files in a fleet: archives, compressed files, bad files and modules.

use super::*;

pub(crate) fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().unwrap());
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &**bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
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
        let members = [
            ("6.1.btf", "loads"),
            (&long, "refused"),
            ("broken", "bad_input"),
            ("twice/vmlinux.btf.gz", "loads"),
        ];
        let line = |(member, verdict)| (format!("kernels/{archive}//{member}"), String::from(verdict));
        expected.extend(members.map(line));
    }
    expected.push(("kernels/e.btf".into(), "refused".into()));
    let target = |line: &serde_json::Value| {
        let name = if line["target"].is_null() { &line["error"]["file"] } else { &line["target"] };
        name.as_str().unwrap().to_owned()
    };
    for jobs in ["1", "3"] {
        let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--format", "json", "--jobs", jobs]);
        let lines = run.lines();
        let verdicts: Vec<_> =
            lines.iter().map(|line| (target(line), line["verdict"].as_str().unwrap().to_owned())).collect();
        assert_eq!((run.exit, verdicts), (2, expected.clone()));
    }
    // A truncated archive is an error, and the members before the cut are checked.
    fleet.write("kernels/b.tar.gz", &gzip(&bytes)[..2000]);
    fleet.write("kernels/c.tar.xz", "no archive");
    fleet.write("kernels/d.tar.zst", &zstd(&bytes)[..1000]);
    fleet.write("kernels/a.tar", &bytes[..bytes.len() / 2]);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    assert_eq!(run.exit, 2);
    for name in ["a.tar", "b.tar.gz", "c.tar.xz", "d.tar.zst"] {
        assert!(run.err.contains(&format!("core-relo: kernels/{name}")), "{name}: {}", run.err);
    }
    assert!(run.out.contains("loads    exec.bpf.o  kernels/a.tar//6.1.btf"), "{}", run.out);
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
fn a_resumed_check_continues_at_the_next_archive_member() {
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
    // A completed archive is not read again. Incomplete results of a kernel are dropped.
    let kept: String = results.lines().take(16).flat_map(|line| [line, "\n"]).collect();
    fleet.write("results.jsonl", kept);
    fleet.write("kernels/a.tar.gz", "broken since");
    let rest = fleet.check(&["--resume", "results.jsonl"]);
    assert_eq!((rest.exit, rest.lines().len()), (1, 10), "{}", rest.err);
}

#[test]
fn every_bad_file_is_named_and_the_rest_is_checked() {
    let fleet = Fleet::new();
    let good = kernel(1);
    fleet.write("kernels/a-good.btf", &good);
    fleet.write("kernels/b-empty", "");
    fleet.write("kernels/c-cut.btf", &good[..good.len() / 2]);
    fleet.write("kernels/d-noise", [7; 5000]);
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
        ("f-huge", "has 2147483648 bytes, at most"),
        ("g-huge.btf", "has 2147483648 bytes, at most"),
        ("h-bomb.gz", "unpacks to more than"),
        ("i-bomb.tar.gz//bomb", "has 314572800 bytes, at most"),
        ("j-cut.gz", "gzip stream"),
        ("k-nowhere", "no such file"),
    ];
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--jobs", "2"]);
    let (skipped, errors) = run.err.split_once('\n').unwrap();
    assert!(
        skipped.contains("1 devices, pipes, sockets or files without a length skipped (kernels/l-device, …)")
    );
    assert_eq!((run.exit, errors.lines().count()), (2, bad.len()), "{}", run.err);
    for (line, (name, what)) in errors.lines().zip(bad) {
        assert!(line.starts_with(&format!("core-relo: kernels/{name}: ")) && line.contains(what), "{line}");
    }
    let checked: Vec<_> = run.rows().iter().filter_map(|row| row.split_whitespace().nth(2)).collect();
    let good =
        ["a-good.btf", "i-bomb.tar.gz//good.btf", "m-duplicate.btf", "n-duplicate.btf", "o-longer.btf"];
    assert_eq!(checked, good.map(|name| format!("kernels/{name}")));
}

#[test]
fn concatenated_streams_are_one_file() {
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
            // Streams of different lengths, one of them empty.
            let packed = [first, second, b"", third].map(pack).concat();
            fleet.write(&format!("kernels/{name}.{ending}"), packed);
        }
        expected.extend(["one", "two"].map(|m| format!("kernels/archive.tar.{ending}//{m}.btf")));
        expected.push(format!("kernels/kernel.{ending}"));
    }
    expected.sort();
    let (exit, mut found) = fleet.verdicts(&[]);
    found.sort();
    assert_eq!(found, expected.into_iter().map(|name| (name, "loads".to_owned())).collect::<Vec<_>>());
    assert_eq!(exit, 0);
    // pzstd writes a skippable frame with the length before each frame.
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
fn max_bytes_limits_files_and_archives() {
    let fleet = Fleet::new();
    let good = kernel(1);
    fleet.write("kernels/a.btf", &good);
    fleet.write("kernels/b.gz", gzip(&good));
    fleet.write("kernels/c.tar", tar(&[("c.btf", good.clone())]));
    fleet.write("kernels/d.tar.gz", gzip(&tar(&[("d.btf", good.clone())])));
    let exact = good.len().to_string();
    assert_eq!(fleet.verdicts(&["--max-bytes", &exact]).0, 0);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels", "--max-bytes", "1000"]);
    assert_eq!((run.exit, &*run.out, run.err.lines().count()), (2, "", 4), "{}", run.err);
    assert!(run.err.lines().all(|line| line.contains("1000")), "{}", run.err);
    // One limit counts all members together, including skipped ones.
    let many: Vec<_> = (0..80).map(|_| ("zeros.txt", vec![0; 1000])).collect();
    fleet.write("many.tar.gz", gzip(&tar(&many)));
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "many.tar.gz", "--max-bytes", "1000"]);
    assert!(run.exit == 2 && run.err.contains("the limit for an archive"), "{}", run.err);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "many.tar.gz", "--max-bytes", "9000"]);
    assert_eq!((run.exit, &*run.err), (0, ""));
}

#[test]
fn an_endless_member_name_is_refused() {
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
fn large_bad_files_are_refused_without_reading_them() {
    let fleet = Fleet::new();
    let sized = |name: &str, bytes: &[u8], len: u64| {
        fleet.write(name, bytes);
        fs::OpenOptions::new().write(true).open(fleet.path(name)).unwrap().set_len(len).unwrap();
    };
    let object = fs::read(fleet.path("exec.bpf.o")).unwrap();
    // A file without a section `.BTF`, like a vmlinux with debug information but no BTF.
    let mut plain = object.clone();
    plain[18..20].copy_from_slice(&62u16.to_le_bytes());
    let places: Vec<_> =
        plain.windows(5).enumerate().filter(|(_, w)| *w == b".BTF\0").map(|(at, _)| at).collect();
    places.into_iter().for_each(|at| plain[at] = b'_');
    sized("kernels/a-plain", &plain, 3 << 30);
    // A file that consists of an ELF header.
    sized("kernels/b-header", &object[..16], 900 << 20);
    let mut wrong_length = kernel(0);
    wrong_length[20..24].copy_from_slice(&(3u32 << 30).to_le_bytes());
    sized("kernels/c-wrong-length", &wrong_length, 900 << 20);
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
fn modules_in_a_directory_are_skipped() {
    let fleet = Fleet::with_kernels(2);
    fs::copy(prebuilt("kernel/module.bpf.o"), fleet.path("kernels/object.o")).unwrap();
    let mut split = kernel(0);
    let word = |at: usize| u32::from_le_bytes(split[at..at + 4].try_into().unwrap());
    let strings = usize::try_from(word(4) + word(16)).unwrap();
    split[strings] = b'x';
    fleet.write("kernels/module", split);
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    assert!(run.err.contains("note: kernels: 1 BTFs of modules skipped (kernels/module, …)"), "{}", run.err);
    let skipped = "note: kernels: 1 BPF objects skipped, which are no kernels (kernels/object.o, …)";
    assert!(run.err.contains(skipped), "{}", run.err);
    assert_eq!(run.rows().iter().filter(|row| row.contains("kernels/")).count(), 2, "{}", run.out);
    // A named object still counts as a kernel.
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels/object.o"]);
    assert_eq!((run.rows().len(), &*run.err), (1, ""), "{}", run.out);
}

#[test]
fn kernels_of_the_other_byte_order_in_a_directory_are_skipped() {
    let fleet = Fleet::with_kernels(1);
    let mut builder = core_relo::btf::Builder::new(core_relo::Endian::Big);
    builder.int("int", 4, 0);
    fleet.write("kernels/s390x", builder.finish());
    let objects = ["exec.bpf.o", "exec.bpf.o"];
    let note =
        "core-relo: note: kernels/s390x: skipped: the kernel is big-endian, the object little-endian\n";
    let run = fleet.run(["check", objects[0], objects[1], "--btf", "kernels"]);
    let alone = fleet.run(["check", "exec.bpf.o", "--btf", "kernels/00"]);
    assert_eq!((run.exit, run.err.matches(note).count()), (alone.exit, 1), "{}", run.err);
    assert!(!run.out.contains("s390x") && run.out.contains("kernels/"), "{}", run.out);
    let explained = fleet.run(["explain", "exec.bpf.o", "--btf", "kernels"]);
    assert!(explained.exit != 2 && explained.err.contains("kernels/s390x: skipped"), "{}", explained.err);
    // A named kernel is an error.
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels/s390x"]);
    assert!(run.exit == 2 && run.err.contains("the kernel is big-endian, the object"), "{}", run.err);
    // So is a directory in which no kernel fits.
    fs::create_dir(fleet.path("big")).unwrap();
    fs::copy(fleet.path("kernels/s390x"), fleet.path("big/s390x")).unwrap();
    for command in ["check", "explain"] {
        let run = fleet.run([command, "exec.bpf.o", "--btf", "big"]);
        let error = "core-relo: --btf: no kernel fits the objects: all are skipped; compile the object";
        assert!(run.exit == 2 && run.err.contains(error), "{command}: {}{}", run.out, run.err);
    }
}

#[test]
fn a_module_directory_may_contain_other_files() {
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
fn compressed_modules_in_a_directory_are_skipped_unread() {
    let fleet = Fleet::with_kernels(1);
    fleet.write("kernels/veth.ko.xz", "not looked at");
    fleet.write("kernels/loop.ko.zst", "nor this");
    let run = fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]);
    let checked = run.rows().iter().filter(|row| row.contains("kernels/")).count();
    assert_eq!((run.err.lines().count(), checked), (1, 1), "{}", run.err);
    assert!(
        run.err.contains("note: kernels: 2 BTFs of modules skipped (kernels/loop.ko.zst, …)"),
        "{}",
        run.err
    );
}
