//! Identical kernels: a cached report equals that of a new check.

use super::*;
use files::{gzip, tar};

#[test]
fn identical_kernels_get_the_same_report_under_their_own_names() {
    let fleet = Fleet::with_kernels(20);
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
        let counts = |line: &serde_json::Value| [&line["kept"], &line["patched"]].map(ToString::to_string);
        let different: std::collections::BTreeSet<_> = first.iter().map(counts).collect();
        assert!(different.len() > 2, "the kernels are too similar for this test: {different:?}");
    }
}

/// Creates a fleet of `n` names for eleven files. `link` creates a name for a file.
fn fleet_of_names(n: usize, link: impl Fn(&Path, &Path)) -> Fleet {
    let fleet = Fleet::new();
    for (i, name) in KERNELS.iter().enumerate() {
        fs::copy(demo().join(name), fleet.path(&format!("{i}"))).unwrap();
    }
    // Bad files and other forms: truncated, no kernel, empty, big-endian, compressed, an ELF object, a module
    // without its kernel.
    fleet.write("4", &kernel(0)[..5000]);
    fleet.write("5", "no kernel");
    fleet.write("6", "");
    fleet.write("7", core_relo::btf::Builder::new(core_relo::Endian::Big).finish());
    fleet.write("8", gzip(&kernel(1)));
    fs::copy(prebuilt("fields/basic.bpf.o"), fleet.path("9")).unwrap();
    let base = core_relo::btf::Btf::parse(kernel(0)).unwrap();
    let mut module = core_relo::btf::Builder::split(&base);
    module.structure("of_the_module", 4, &[]);
    fleet.write("10", module.finish());
    for i in 0..n {
        link(&fleet.path(&(i % 11).to_string()), &fleet.path(&format!("kernels/{i:03}")));
    }
    fleet
}

#[test]
fn links_to_a_file_get_the_same_report_as_copies() {
    let symbolic = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to).unwrap();
    let fleets = [
        fleet_of_names(66, |from, to| assert!(fs::copy(from, to).is_ok())),
        fleet_of_names(66, |from, to| fs::hard_link(from, to).unwrap()),
        fleet_of_names(66, symbolic),
    ];
    // The cache ignores files that changed within the last seconds.
    std::thread::sleep(std::time::Duration::from_millis(3100));
    for more in [&["--jobs", "1"][..], &["--jobs", "3"], &["--jobs", "1", "--max-bytes", "20000"]] {
        let [copies, hard, soft] = [0, 1, 2].map(|i| fleets[i].check(more));
        assert_eq!((hard.exit, &hard.out, &hard.err), (copies.exit, &copies.out, &copies.err), "{more:?}");
        assert_eq!((soft.exit, &soft.out, &soft.err), (copies.exit, &copies.out, &copies.err), "{more:?}");
        // Apart from the name of the kernel, the lines repeat with every eleventh name.
        let lines = copies.out.lines();
        let lines_of = |i: usize| {
            let name = format!("kernels/{i:03}");
            let lines = lines.clone().map(str::to_owned).filter(|line| line.contains(&name));
            lines.map(|line| line.replace(&name, "")).collect::<Vec<_>>()
        };
        for i in 11..66 {
            assert_eq!(lines_of(i), lines_of(i - 11), "{i} {more:?}");
            let is_skipped = matches!(i % 11, 7 | 9 | 10);
            assert_eq!(lines_of(i).is_empty(), is_skipped, "{i}: big-endian, the object, the module");
        }
    }
    let text = |fleet: &Fleet| fleet.run(["check", "exec.bpf.o", "--btf", "kernels"]).whole();
    assert_eq!(text(&fleets[2]), text(&fleets[0]));
    let log = |fleet: &Fleet| fleet.check(&["-vv", "--jobs", "1"]).err.matches("not read again").count();
    // Six of the eleven files are cached: read in the first of six rounds only.
    assert_eq!([log(&fleets[1]), log(&fleets[2])], [5 * 6, 5 * 6]);
    assert_eq!(log(&fleets[0]), 0);
}

/// Returns an ELF file with these sections.
fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut content, mut names) = (vec![0; 64], b"\0.shstrtab\0".to_vec());
    let mut table = vec![0; 64];
    let mut add = |content: &mut Vec<u8>, name: usize, kind: u32, bytes: &[u8]| {
        let numbers = [0, 0, content.len(), bytes.len(), 0, 1, 0].map(|n| u64::try_from(n).unwrap());
        table.extend([u32::try_from(name).unwrap(), kind].map(u32::to_le_bytes).concat());
        table.extend(numbers[..4].iter().flat_map(|n| n.to_le_bytes()));
        table.extend([0; 8]);
        table.extend(numbers[5..].iter().flat_map(|n| n.to_le_bytes()));
        content.extend(bytes);
    };
    for (name, bytes) in sections {
        let at = names.len();
        names.extend([name.as_bytes(), b"\0"].concat());
        add(&mut content, at, 1, bytes);
    }
    add(&mut content, 1, 3, &names.clone());
    let (at, count) = (content.len(), u16::try_from(table.len() / 64).unwrap());
    content[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0");
    content[20] = 1;
    content[40..48].copy_from_slice(&u64::try_from(at).unwrap().to_le_bytes());
    for (at, n) in [(52, 64), (58, 64), (60, count), (62, count - 1)] {
        content[at..at + 2].copy_from_slice(&u16::to_le_bytes(n));
    }
    [content, table].concat()
}

#[test]
fn the_report_of_an_archived_module_is_not_reused_for_a_file() {
    let mut base = core_relo::btf::Builder::new(core_relo::Endian::Little);
    base.structure("of_the_kernel", 4, &[]);
    let base = base.finish();
    let mut module = core_relo::btf::Builder::split(&core_relo::btf::Btf::parse(base.clone()).unwrap());
    module.structure("of_the_module", 4, &[]);
    let packed = gzip(&elf(&[(".BTF", &module.finish()), (".BTF.base", &base)]));
    let fleet = Fleet::new();
    fleet.write("kernels/a.tar", tar(&["1", "2", "3"].map(|name| (name, packed.clone()))));
    fleet.write("kernels/b.gz", &packed);
    let (exit, verdicts) = fleet.verdicts(&["--jobs", "1"]);
    let expected = [
        ("kernels/a.tar//1", "refused"),
        ("kernels/a.tar//2", "refused"),
        ("kernels/a.tar//3", "refused"),
        // A split BTF needs its kernel.
        ("kernels/b.gz", "bad_input"),
    ];
    assert_eq!(
        (exit, verdicts),
        (2, expected.map(|(target, verdict)| (target.into(), verdict.into())).into())
    );
}
