//! Tests of archives: the choice of a kernel, and damaged or hostile archives.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of small fixtures")]

use super::{
    ArchiveEntry, ArchiveError, BtfArchive, BtfOrigin, EntryEvidence, EntryMismatch, KernelIdentity,
    OsRelease, find_in_archive, index_text,
};
use alloc::collections::BTreeSet;
use core_relo::{
    Endian,
    btf::{Btf, Builder, Kind},
};
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;

/// Returns a BTF with one struct.
fn btf(name: &str) -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    b.structure(name, 4, &[]);
    b.finish()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a member: header, content, padding.
fn member_of_kind(name: &str, content: &[u8], kind: u8) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[156] = kind;
    header[257..262].copy_from_slice(b"ustar");
    header[148..156].fill(b' ');
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut member = [&header[..], content].concat();
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

fn member(name: &str, content: &[u8]) -> Vec<u8> {
    member_of_kind(name, content, b'0')
}

fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = members.concat();
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn kernel(id: &str, version: &str, release: &str) -> KernelIdentity {
    let distribution = OsRelease { id: id.into(), version: version.into() };
    KernelIdentity { distribution, ..KernelIdentity::new(release, "x86_64") }
}

/// Returns an archive of kernels, each with a struct of its number.
fn archive(kernels: &[KernelIdentity]) -> Vec<u8> {
    let entries: Vec<_> =
        kernels.iter().map(|kernel| ArchiveEntry::new(kernel.clone(), kernel.file_name())).collect();
    let mut members = vec![member("index.tsv", index_text(&entries).as_bytes())];
    members.extend(entries.iter().zip(0..).map(|(entry, n)| member(&entry.content, &btf(&format!("s{n}")))));
    gzip(&tar(&members))
}

#[test]
fn the_entry_with_the_strongest_evidence_is_chosen() {
    let with_version = KernelIdentity { version: "#1 SMP".into(), ..kernel("debian", "13", "6.1.0") };
    let with_id = KernelIdentity { build_id: "abcd".into(), ..kernel("rhel", "9", "5.14.0") };
    let kernels = [
        kernel("ubuntu", "20.04", "6.1.0"),
        kernel("debian", "12", "6.1.0"),
        with_version.clone(),
        with_id.clone(),
        kernel("ubuntu", "20.04", "5.4.0"),
        KernelIdentity { architecture: "arm64".into(), ..kernel("ubuntu", "20.04", "5.5.0") },
    ];
    let bytes = archive(&kernels);
    let archive = BtfArchive::parse(&bytes).unwrap();
    let choose = |kernel: &KernelIdentity| {
        archive.choose(kernel).map(|found| (found.entry.file.clone(), found.evidence))
    };
    let found = |kernel: &KernelIdentity, evidence| Ok((kernel.file_name(), evidence));
    assert_eq!(choose(&kernels[0]), found(&kernels[0], EntryEvidence::DistributionVersion));
    assert_eq!(
        choose(&kernel("debian", "12", "6.1.0")),
        found(&kernels[1], EntryEvidence::DistributionVersion)
    );
    assert_eq!(choose(&with_version), found(&with_version, EntryEvidence::Version));
    let other = KernelIdentity { version: "#2 SMP".into(), ..kernel("debian", "13", "6.1.0") };
    assert_eq!(choose(&other), found(&kernels[1], EntryEvidence::Distribution));
    let by_id = KernelIdentity { build_id: "abcd".into(), ..kernel("", "", "other release") };
    assert_eq!(choose(&by_id), found(&with_id, EntryEvidence::BuildId));
    let other_id = KernelIdentity { build_id: "ffff".into(), ..kernel("rhel", "9", "5.14.0") };
    assert!(matches!(choose(&other_id), Err(ArchiveError::NoMatch { count: 6, .. })));
    assert_eq!(choose(&kernel("alpine", "3", "5.4.0")), found(&kernels[4], EntryEvidence::Release));
    let error = choose(&kernel("alpine", "3", "6.1.0")).unwrap_err();
    assert!(
        matches!(&error, ArchiveError::Ambiguous { first, .. } if first.as_str() == "ubuntu/20.04/x86_64/6.1.0.btf")
    );
    let arm = KernelIdentity::new("5.5.0", "aarch64");
    assert_eq!(choose(&arm).unwrap().0, "ubuntu/20.04/aarch64/5.5.0.btf");
    let mismatches: Vec<_> =
        archive.candidates(&kernel("", "", "5.5.0")).filter_map(|found| found.verdict.err()).collect();
    assert_eq!(mismatches[..5], [EntryMismatch::Release; 5]);
    assert_eq!(mismatches[5], EntryMismatch::Architecture);
}

#[test]
fn equally_good_entries_with_the_same_btf_are_no_ambiguity() {
    let kernels = [kernel("debian", "12", "6.1.0"), kernel("ubuntu", "20.04", "6.1.0")];
    let entries = kernels.map(|kernel| ArchiveEntry::new(kernel, "debian/12/x86_64/6.1.0.btf"));
    let members =
        [member("index.tsv", index_text(&entries).as_bytes()), member(&entries[0].content, &btf("s"))];
    let bytes = gzip(&tar(&members));
    let found = find_in_archive(&bytes, &KernelIdentity::new("6.1.0", "x86_64"), &BTreeSet::new()).unwrap();
    let origin = BtfOrigin::Archive { file: entries[0].file.clone(), evidence: EntryEvidence::Release };
    assert_eq!(found.origin, origin);
    assert!(found.btf.find_in_vmlinux(b"s", Kind::Struct).unwrap().is_some());
}

/// Returns an archive of a kernel with the struct `base` and modules, each with a struct of its name.
fn archive_with_modules(modules: &[&str], members: &[&str]) -> Vec<u8> {
    let kernel = kernel("debian", "12", "6.1.0");
    let file = kernel.file_name();
    let entry =
        ArchiveEntry::new(kernel, file.clone()).with_modules(modules.iter().map(|name| (*name).to_owned()));
    let vmlinux = btf("base");
    let parsed = Btf::parse(vmlinux.clone()).unwrap();
    let index = index_text(core::slice::from_ref(&entry));
    let mut all = vec![member("index.tsv", index.as_bytes()), member(&file, &vmlinux)];
    all.extend(members.iter().map(|name| {
        let mut b = Builder::split(&parsed);
        b.structure(name, 4, &[]);
        member(&entry.module_member(name), &b.finish())
    }));
    gzip(&tar(&all))
}

#[test]
fn loaded_modules_are_found_beside_their_kernel() {
    let bytes = archive_with_modules(&["nf_conntrack", "xfs"], &["nf_conntrack", "xfs"]);
    let loaded = BTreeSet::from(["veth".to_owned(), "xfs".to_owned()]);
    let kernel = KernelIdentity::new("6.1.0", "x86_64");
    let found = find_in_archive(&bytes, &kernel, &loaded).unwrap();
    let names: Vec<_> = found.btf.modules().unwrap().iter().map(|module| module.name.clone()).collect();
    assert_eq!(names, ["xfs"]);
    let in_module = found.btf.find(b"xfs", Kind::Struct).unwrap().unwrap();
    assert_eq!(in_module.module.map(|module| &*module.name), Some("xfs"));
    assert!(found.btf.find(b"base", Kind::Struct).unwrap().unwrap().module.is_none());
    assert!(found.btf.find(b"nf_conntrack", Kind::Struct).unwrap().is_none(), "it is not loaded");
}

#[test]
fn missing_and_damaged_modules_are_errors() {
    let missing = BtfArchive::parse(&archive_with_modules(&["xfs", "veth"], &["xfs"])).unwrap_err();
    let name = "debian/12/x86_64/6.1.0/veth.btf";
    assert_eq!(missing, ArchiveError::MissingMember { name: String::from(name).into() });
    for modules in [&["../x"][..], &["a/b"], &["a b", "a"], &["a", "a"], &[".."]] {
        let bytes = archive_with_modules(modules, &[]);
        let parsed = BtfArchive::parse(&bytes);
        assert!(matches!(parsed, Err(ArchiveError::Index { line: 2, .. })), "{modules:?}");
    }
    let kernel = kernel("debian", "12", "6.1.0");
    let file = kernel.file_name();
    let entry = ArchiveEntry::new(kernel.clone(), file.clone()).with_modules(["xfs".to_owned()]);
    let members = [
        member("index.tsv", index_text(core::slice::from_ref(&entry)).as_bytes()),
        member(&file, &btf("s")),
        member("debian/12/x86_64/6.1.0/xfs.btf", b"no BTF"),
    ];
    let bytes = gzip(&tar(&members));
    assert!(find_in_archive(&bytes, &kernel, &BTreeSet::new()).is_ok(), "the module is not loaded");
    let error = find_in_archive(&bytes, &kernel, &BTreeSet::from(["xfs".to_owned()])).unwrap_err();
    assert!(matches!(&error, ArchiveError::Btf { name, .. } if name.as_str().ends_with("6.1.0/xfs.btf")));
}

#[test]
fn an_archive_that_is_cut_short_or_changed_is_an_error() {
    let bytes = archive(&[kernel("debian", "12", "6.1.0"), kernel("ubuntu", "20.04", "5.4.0")]);
    assert!(BtfArchive::parse(&bytes).is_ok());
    for len in 0..bytes.len() {
        let cut = BtfArchive::parse(&bytes[..len]);
        assert!(
            matches!(cut, Err(ArchiveError::Gzip { .. } | ArchiveError::Truncated { .. })),
            "{len}: {cut:?}"
        );
    }
    let mut wrong_sum = bytes.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    assert!(matches!(BtfArchive::parse(&wrong_sum), Err(ArchiveError::Gzip { .. })));
    for at in 10..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        // Another encoding of the same content is no damage.
        if let Ok(archive) = BtfArchive::parse(&changed) {
            let first = archive.entries().first().unwrap();
            assert_eq!(archive.read(first).unwrap(), btf("s0"), "byte {at}");
        }
    }
    let whole = tar(&[member("index.tsv", index_text(&[]).as_bytes())]);
    for len in 1..whole.len() - 512 {
        assert!(BtfArchive::parse(&gzip(&whole[..len])).is_err(), "{len}");
    }
}

#[test]
fn hostile_members_are_errors() {
    let entry = ArchiveEntry::new(kernel("debian", "12", "6.1.0"), "debian/12/x86_64/6.1.0.btf");
    let index = member("index.tsv", index_text(core::slice::from_ref(&entry)).as_bytes());
    let parse =
        |members: &[Vec<u8>]| BtfArchive::parse(&gzip(&tar(members))).map(|archive| archive.entries().len());
    let content = member(&entry.content, &btf("s"));
    assert_eq!(parse(&[index.clone(), content.clone()]), Ok(1));
    assert_eq!(parse(&[]), Err(ArchiveError::NoIndex));
    assert_eq!(parse(&[content.clone(), index.clone()]), Err(ArchiveError::NoIndex));
    let name = entry.content.clone().into();
    assert_eq!(parse(core::slice::from_ref(&index)), Err(ArchiveError::MissingMember { name }));
    let name = String::from(&*entry.content).into();
    let twice = [index.clone(), content.clone(), content.clone()];
    assert_eq!(parse(&twice), Err(ArchiveError::DuplicateMember { name }));
    for name in ["../outside.btf", "/etc/passwd", "a/../../b", "a//b", "./a", ""] {
        let name_error = ArchiveError::MemberName { name: String::from(name).into() };
        assert_eq!(parse(&[index.clone(), content.clone(), member(name, b"x")]), Err(name_error));
    }
    for kind in [b'x', b'g', b'L', b'S'] {
        let extended = member_of_kind("long", b"x", kind);
        assert!(matches!(parse(&[index.clone(), extended]), Err(ArchiveError::Header { .. })));
    }
    // A link to another member is another name of the member for tools that unpack the archive.
    assert_eq!(parse(&[index.clone(), content.clone(), member_of_kind("link", b"", b'1')]), Ok(1));
    let mut wrong_header = content;
    wrong_header[0] ^= 1;
    let problem = "wrong checksum";
    assert!(
        matches!(parse(&[index, wrong_header]), Err(ArchiveError::Header { problem: p, .. }) if p == problem)
    );
}

#[test]
fn damaged_indexes_are_errors() {
    let parse = |index: &[u8]| BtfArchive::parse(&gzip(&tar(&[member("index.tsv", index)]))).map(|_| ());
    let good = index_text(&[ArchiveEntry::new(kernel("a", "1", "6.1"), "x")]);
    let row = good.lines().nth(1).unwrap();
    let line_of = |error: ArchiveError| if let ArchiveError::Index { line, .. } = error { line } else { 0 };
    assert_eq!(parse(b"").map_err(line_of), Err(1));
    assert_eq!(parse(b"file\tsize\n").map_err(line_of), Err(1));
    assert_eq!(parse(b"\xff\xfe").map_err(line_of), Err(1));
    assert_eq!(parse(format!("{good}{row}\n").as_bytes()).map_err(line_of), Err(3), "the same file twice");
    assert_eq!(parse(format!("{good}{}\n", row.replace('x', "\x1b[0m")).as_bytes()).map_err(line_of), Err(3));
    assert_eq!(parse(format!("{good}short\tline\n").as_bytes()).map_err(line_of), Err(3));
}

#[test]
fn bombs_end_at_the_limits() {
    // The size in the header exceeds the content of any archive.
    let mut index = member("index.tsv", b"");
    index[124..135].copy_from_slice(b"77777777777");
    index[148..156].fill(b' ');
    let sum: u64 = index.iter().map(|byte| u64::from(*byte)).sum();
    index[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(matches!(BtfArchive::parse(&gzip(&index)), Err(ArchiveError::MemberTooLarge { .. })));
    // A gigabyte of zeros after the end mark, a megabyte compressed.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&member("index.tsv", index_text(&[]).as_bytes())).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..1025 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(matches!(BtfArchive::parse(&bomb), Err(ArchiveError::TooLarge { .. })));
}

#[test]
fn names_of_files_are_parsed_and_written() {
    for (path, name) in [
        (
            "btfhub/ubuntu/20.04/x86_64/5.4.0-42-generic.btf.tar.xz",
            "ubuntu/20.04/x86_64/5.4.0-42-generic.btf",
        ),
        ("debian/12/arm64/6.1.0-18-arm64.btf", "debian/12/aarch64/6.1.0-18-arm64.btf"),
        ("x86_64/6.1.0.btf", "x86_64/6.1.0.btf"),
        // The archive's entry had the release `6.1.0.btf.xz`, which no kernel has.
        ("x86_64/6.1.0.btf.xz", "x86_64/6.1.0.btf"),
        ("x86_64/vmlinux-6.1.0.zst", "x86_64/6.1.0.btf"),
        ("/boot/vmlinuz-6.1.0-18-amd64", "6.1.0-18-amd64.btf"),
    ] {
        assert_eq!(KernelIdentity::from_file_name(path).file_name(), name);
    }
    assert_eq!(KernelIdentity::new("6.1.0", "armv8l").file_name(), "aarch64/6.1.0.btf");
    assert_eq!(kernel("ubuntu", "20.04", "5.4.0").to_string(), "ubuntu/20.04/x86_64/5.4.0");
}
