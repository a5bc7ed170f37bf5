//! Small files that expand to large ones. The limit applies to the expanded size in every format.

use super::{
    files::{gzip, tar},
    *,
};
use common::run_guarded;
use core_relo_test_support::skip;

/// A low limit, which keeps the tests fast.
const MAX: &str = "1048576";

impl Fleet {
    /// Checks a file with the limit and a timeout.
    fn guarded(&self, btf: &str) -> Run {
        run_guarded(self.0.path(), ["check", "exec.bpf.o", "--btf", btf, "--max-bytes", MAX])
    }
}

/// Returns a sparse tar member of `len` bytes with empty pieces at the given offsets.
fn sparse(name: &str, len: u64, pieces: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(0);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_real_size(len);
    let mut offsets = pieces.into_iter().chain([len]).peekable();
    for (piece, offset) in gnu.sparse.iter_mut().zip(offsets.by_ref()) {
        piece.set_offset(offset);
        piece.set_length(0);
    }
    gnu.set_is_extended(offsets.peek().is_some());
    header.set_cksum();
    let mut member = header.as_bytes().to_vec();
    while offsets.peek().is_some() {
        let mut more = tar::GnuExtSparseHeader::new();
        for (piece, offset) in more.sparse.iter_mut().zip(offsets.by_ref()) {
            piece.set_offset(offset);
            piece.set_length(0);
        }
        more.set_is_extended(offsets.peek().is_some());
        member.extend_from_slice(more.as_bytes());
    }
    member
}

#[test]
fn skipped_sparse_members_cost_nothing() {
    let fleet = Fleet::new();
    let good = tar(&[("good.btf", kernel(1))]);
    let members = [sparse("huge", 1 << 60, []), sparse("README.md", 1 << 60, []), good].concat();
    fleet.write("a.tar", &members);
    fleet.write("a.tar.gz", gzip(&members));
    for name in ["a.tar", "a.tar.gz"] {
        let run = fleet.guarded(name);
        assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{}", run.err);
        assert!(
            run.err.contains("//huge: has 1152921504606846976 bytes, at most 1048576 are read"),
            "{}",
            run.err
        );
        assert!(run.out.starts_with("loads ") && run.out.contains("//good.btf"), "{}", run.out);
    }
}

#[test]
fn sparse_members_that_are_read_count_toward_the_limit() {
    let fleet = Fleet::new();
    // More members than the limit of an archive allows.
    let members: Vec<_> = (0..80).flat_map(|n| sparse(&format!("{n}"), 1 << 20, [])).collect();
    fleet.write("a.tar", [members, vec![0; 1024]].concat());
    let run = fleet.guarded("a.tar");
    let count = |what: &str| run.err.lines().filter(|line| line.contains(what)).count();
    // Ten lines, and the count of the others.
    assert_eq!((run.exit, count("no BTF in it; ")), (2, 10), "{}", run.err);
    assert!(run.err.contains("core-relo: … and 53 more: no BTF in it, see --format json\n"), "{}", run.err);
    assert!(count("more than 67108864 bytes, the limit for an archive") > 0, "{}", run.err);
}

#[test]
fn a_sparse_member_with_many_pieces_is_refused() {
    let fleet = Fleet::new();
    let good = tar(&[("good.btf", kernel(1))]);
    fleet.write("a.tar", [sparse("few", 1000, 1..100), sparse("many", 9999, 1..2000), good].concat());
    let run = fleet.guarded("a.tar");
    let errors: Vec<_> = run.err.lines().collect();
    assert_eq!((run.exit, errors.len()), (2, 2), "{}", run.err);
    assert!(errors[0].contains("//few: no BTF in it"), "{}", run.err);
    assert!(errors[1].contains("//many: unpacks to more than 1048576 bytes"), "{}", run.err);
    assert!(run.out.starts_with("loads ") && run.out.contains("//good.btf"), "{}", run.out);
}

#[test]
fn nested_streams_share_one_limit() {
    let fleet = Fleet::new();
    let mut image = vec![1; 1 << 16];
    for layer in 0..4u8 {
        let packed = gzip(&image);
        image = b"image".to_vec();
        (0..32u8).for_each(|n| image.extend([&*packed, &[layer, n, 0xff]].concat()));
    }
    fleet.write("image", &image);
    fleet.write("images.tar.gz", gzip(&tar(&[("image", image), ("good.btf", kernel(1))])));
    let run = fleet.guarded("image");
    assert_eq!((run.exit, run.err.lines().count()), (2, 1), "{}", run.err);
    assert!(run.err.contains("image: unpacks to more than 1048576 bytes"), "{}", run.err);
    let run = fleet.guarded("images.tar.gz");
    assert!(run.err.contains("//image: unpacks to more than 1048576 bytes"), "{}", run.err);
    assert!(run.out.starts_with("loads ") && run.out.contains("//good.btf"), "{}", run.out);
}

#[test]
fn pax_headers_count_several_times_toward_the_limit() {
    let fleet = Fleet::new();
    let record = b"9 path=x\n".repeat(50_000);
    let mut header = tar::Header::new_ustar();
    header.set_path("records").unwrap();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_size(u64::try_from(record.len()).unwrap());
    header.set_cksum();
    let padding = vec![0; record.len().next_multiple_of(512) - record.len()];
    let member =
        [header.as_bytes().as_slice(), &record, &padding, &tar(&[("a.txt", vec![])])[..512]].concat();
    fleet.write("a.tar.gz", gzip(&[member.repeat(20), vec![0; 1024]].concat()));
    let run = fleet.guarded("a.tar.gz");
    assert!(run.exit == 2 && run.err.contains("the limit for an archive"), "{}", run.err);
}

#[test]
fn devices_and_pipes_in_directories_are_skipped() {
    let fleet = Fleet::new();
    fleet.write("kernels/a.btf", kernel(1));
    common::pipe(&fleet.path("kernels/b.btf"));
    std::os::unix::fs::symlink("/proc/kmsg", fleet.path("kernels/c.btf")).unwrap();
    let run = fleet.guarded("kernels");
    assert_eq!(run.exit, 0, "{}", run.err);
    assert!(
        run.err.contains("kernels: 2 devices, pipes, sockets or files without a length skipped"),
        "{}",
        run.err
    );
    let run = fleet.guarded("kernels/b.btf");
    assert!(run.exit == 2 && run.err.contains("is a device, pipe or socket"), "{}", run.err);
    let run = fleet.guarded("kernels/c.btf");
    assert!(run.exit == 2 && run.err.contains("has no length"), "{}", run.err);
    // The same applies to every argument that is a path.
    for args in [
        ["plan", "exec.bpf.o", "--btf", "kernels/a.btf", "--module", "kernels/b.btf"],
        ["plan", "exec.bpf.o", "--btf", "kernels/a.btf", "--module", "kernels/c.btf"],
        ["load", "exec.bpf.o", "--btf", "kernels/a.btf", "--dry-run", "--kconfig=kernels/b.btf"],
        ["load", "exec.bpf.o", "--btf", "kernels/a.btf", "--dry-run", "--kconfig=kernels/c.btf"],
        ["load", "kernels/b.btf", "--btf", "kernels/a.btf", "--dry-run", "--verbose"],
    ] {
        let run = run_guarded(fleet.0.path(), args);
        // Of the files without a length, configurations and symbols are read, but without waiting.
        // An ordinary user may not open the kernel's log.
        let refusals =
            ["is a device, pipe or socket", "has no length", "temporarily unavailable", "Permission denied"];
        let is_refused = refusals.iter().any(|refusal| run.err.contains(refusal));
        assert!(run.exit == 2 && is_refused, "{args:?}: {run:?}");
    }
}

#[test]
fn holes_after_compressed_streams_are_not_read_to_the_end() {
    let fleet = Fleet::new();
    let member = &tar(&[("good.btf", kernel(1))])[..1024 + kernel(1).len().next_multiple_of(512) - 512];
    // An endless zstd frame of empty blocks, a gzip stream followed by zeros, and an image of frames that
    // span the whole file.
    let frame = b"\x28\xb5\x2f\xfd\x00\x58";
    let spanning_frame = [&frame[..], &(((40u32 << 20) << 3) & 0xff_ffff).to_le_bytes()[..3]].concat();
    fleet.write("a.tar.zst", frame);
    fleet.write("b.tar.gz", gzip(member));
    fleet.write("image", [b"IMG!".to_vec(), spanning_frame.repeat(1500)].concat());
    for (name, len) in [("a.tar.zst", 64u64 << 30), ("b.tar.gz", 8 << 40), ("image", 200 << 20)] {
        let file = fs::File::options().write(true).open(fleet.path(name)).unwrap();
        if let Err(e) = file.set_len(len) {
            skip!("no file of {len} bytes here: {e}");
            continue;
        }
        let run = fleet.guarded(name);
        assert_eq!(run.exit, 2, "{name}: {}", run.err);
        assert!(run.err.contains(name), "{}", run.err);
    }
}

#[test]
fn holes_of_all_objects_count_together() {
    let fleet = Fleet::with_kernels(1);
    let object = fs::read(fleet.path("exec.bpf.o")).unwrap();
    for name in ["objects/1.o", "objects/2.o"] {
        fleet.write(name, &object);
        fs::OpenOptions::new().write(true).open(fleet.path(name)).unwrap().set_len(200 << 20).unwrap();
    }
    for command in [&["check", "--jobs", "1"][..], &["plan"]] {
        let run = fleet.run([command, &["objects", "--btf", "kernels"]].concat());
        assert_eq!(run.exit, 2, "{}", run.err);
        assert!(run.err.contains("objects/2.o: is too sparse: "), "{}", run.err);
    }
    let run = fleet.run(["gen", "object", "out.o", "objects/1.o", "objects/2.o"]);
    assert!(run.exit == 2 && run.err.contains("objects/2.o: is too sparse: "), "{}", run.err);
}

#[test]
fn too_little_memory_for_unpacked_bytes_is_an_error() {
    let fleet = Fleet::new();
    let mut packed = gzip(&vec![0; 200 << 20]);
    let mut state = 1u64;
    packed.extend((0..4 << 20).map(|_: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    }));
    fleet.write("zeros.gz", packed);
    let program = env!("CARGO_BIN_EXE_core-relo");
    let script = format!("ulimit -v 200000; exec {program} check --jobs 1 exec.bpf.o --btf zeros.gz");
    let output =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(fleet.path(".")).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && err.contains("gzip stream: "), "{:?} {err}", output.status);
}
