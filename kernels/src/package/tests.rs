//! Packages of all formats, whole and damaged.

use super::{
    samples::{File, apk, ar_member, cpio, cpio_header, deb, gzip, rpm, rpm_header, stripped_cpio, tar},
    *,
};
use std::io::Write as _;

/// The files of a package, or the error.
type Contents = Result<(PackageMetadata, Vec<(String, Vec<u8>)>), InputError>;

fn read(package: &[u8]) -> Contents {
    read_within(package, Limits::default())
}

fn read_within(bytes: &[u8], limits: Limits) -> Contents {
    let len = u64::try_from(bytes.len()).unwrap();
    let package = Package::open(Path::new("p"), bytes, len, limits)?;
    let metadata = package.metadata.clone();
    let (mut files, mut error) = (Vec::new(), Ok(()));
    package.visit_files(&mut |file| {
        let path = file.path.display().to_string();
        match file.read_whole(u64::MAX) {
            Ok(content) => files.push((path, content.to_vec())),
            Err(e) => error = Err(e),
        }
        if error.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    error?;
    Ok((metadata, files))
}

fn defect(package: &[u8]) -> Defect {
    read(package).unwrap_err().defect
}

const FILES: [File<'_>; 2] = [("./boot/vmlinuz-6.1.0", b"image"), ("./boot/config-6.1.0", b"CONFIG_BPF=y\n")];

fn assert_has_files(contents: Contents, files: &[File<'_>], context: &str) {
    let (_, found) = contents.unwrap_or_else(|e| panic!("{context}: {e}"));
    let expected: Vec<_> = files
        .iter()
        .map(|(path, content)| (path.trim_start_matches("./").to_owned(), content.to_vec()))
        .collect();
    assert_eq!(found, expected, "{context}");
}

type Pack = fn(&[u8]) -> Vec<u8>;

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn lzma(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::LzmaOptions::with_preset(1);
    let mut packed = lzma_rust2::LzmaWriter::new_use_header(Vec::new(), &options, None).unwrap();
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

const COMPRESSIONS: [(&str, Pack); 6] =
    [("", <[u8]>::to_vec), (".gz", gzip), (".xz", xz), (".lzma", lzma), (".zst", zstd), (".bz2", bzip2)];

#[test]
fn deb_files_are_read_in_each_compression() {
    for (ending, pack) in COMPRESSIONS {
        let package = deb(&format!("data.tar{ending}"), &pack(&tar(&FILES)));
        assert_has_files(read(&package), &FILES, ending);
    }
    let (metadata, _) = read(&deb("data.tar", &tar(&FILES))).unwrap();
    assert_eq!(
        [&*metadata.name, &metadata.version, &metadata.architecture],
        ["linux-image-6.1.0", "6.1.1-1", "amd64"]
    );
    assert_eq!(metadata.depends, ["kmod", "linux-base"]);
}

#[test]
fn rpm_files_are_read_in_each_compression() {
    for (ending, pack) in COMPRESSIONS {
        assert_has_files(read(&rpm([1, 2], [0; 2], &pack(&cpio(&FILES)))), &FILES, ending);
    }
    let (metadata, _) = read(&rpm([1, 2], [0; 2], &cpio(&FILES))).unwrap();
    assert_eq!(
        [&*metadata.name, &metadata.version, &metadata.architecture],
        ["kernel-core", "2:6.1.1-1.el9", "x86_64"]
    );
    assert_eq!(metadata.depends, ["kernel-modules-core", "rpmlib(FileDigests)"]);
}

/// The full form has the lengths in the archive, the stripped form in the header of the package.
#[test]
fn rpm_hard_links_have_their_content_under_the_last_name() {
    let content: File<'_> = ("boot/b", b"image");
    let stripped = rpm([7, 7], [5, 5], &stripped_cpio(&[(0, b""), (1, content.1)]));
    assert_has_files(read(&stripped), &[content], "stripped");
    let full = [cpio_header("./boot/a", 0, 2), cpio(&[content])].concat();
    assert_has_files(read(&rpm([7, 7], [5, 5], &full)), &[content], "full");
}

#[test]
fn rpm_files_of_the_stripped_form_have_the_paths_of_the_header() {
    let package = rpm([1, 2], [3, 5], &stripped_cpio(&[(0, b"abc"), (1, b"image")]));
    assert_has_files(read(&package), &[("boot/a", b"abc"), ("boot/b", b"image")], "stripped");
    let unknown = rpm([1, 2], [3, 5], &stripped_cpio(&[(2, b"")]));
    assert_eq!(defect(&unknown), PackageDefect::UnknownFile { offset: 0, index: 2, count: 2 }.into());
}

#[test]
fn apk_and_pacman_packages_are_tar_archives_with_metadata() {
    let package = apk(&FILES);
    assert_has_files(read(&package), &FILES, "apk");
    assert_eq!(read(&package).unwrap().0.name, "linux-lts");
    let pkginfo = b"pkgname = linux\npkgver = 6.17.1.arch1-1\narch = x86_64\n";
    let members =
        [&[(".BUILDINFO", &b""[..]), (".MTREE", b"list"), (".PKGINFO", pkginfo)], &FILES[..]].concat();
    for (ending, pack) in [(".zst", zstd as Pack), (".xz", xz)] {
        let package = pack(&tar(&members));
        assert_eq!(PackageKind::detect(&package), Some(PackageKind::Pacman), "{ending}");
        assert_has_files(read(&package), &FILES, ending);
        assert_eq!(read(&package).unwrap().0.version, "6.17.1.arch1-1");
    }
}

#[test]
fn other_files_are_no_packages() {
    for other in [&b"text"[..], b"!<arch>\nlib.o/", &tar(&FILES), &gzip(&tar(&FILES)), &gzip(b"short")] {
        assert_eq!(PackageKind::detect(other), None);
        assert_eq!(defect(other), PackageDefect::UnknownFormat.into());
    }
    assert_eq!(defect(b""), Defect::Empty);
}

/// Every prefix of a package is an error, or lacks only bytes after the last file.
#[test]
fn truncated_packages_are_errors() {
    let files: [File<'_>; 1] = [("boot/vmlinuz", &[7; 600])];
    for (name, package, end) in [
        ("deb", deb("data.tar", &tar(&files)), 1024),
        ("deb.xz", deb("data.tar.xz", &xz(&tar(&files))), 40),
        ("rpm", rpm([1, 2], [0; 2], &cpio(&files)), 0),
        ("rpm.gz", rpm([1, 2], [0; 2], &gzip(&cpio(&files))), 9),
        ("apk", apk(&files), 20),
    ] {
        assert_has_files(read(&package), &files, name);
        for len in 0..package.len() - end {
            if let Ok((_, found)) = read(&package[..len]) {
                panic!("{name}: {len} of {} bytes: {} files, no error", package.len(), found.len());
            }
        }
    }
}

#[test]
fn paths_that_leave_the_package_are_refused() {
    let files: [File<'_>; 1] = [("../../etc/passwd", b"x")];
    for package in [deb("data.tar", &tar(&files)), rpm([1, 2], [0; 2], &cpio(&files)), apk(&files)] {
        let error = read(&package).unwrap_err();
        assert!(matches!(error.defect, Defect::Package(PackageDefect::UnsafePath { .. })), "{error}");
        assert!(error.to_string().contains("`../../etc/passwd` leads out of the package"), "{error}");
    }
}

#[test]
fn declared_sizes_take_no_memory() {
    let huge = |text: &str| [b"!<arch>\n", text.as_bytes()].concat();
    let header =
        |name: &str| format!("{name:16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 0, 9_999_999_999u64);
    let control = ar_member("debian-binary", b"2.0\n");
    let text = format!("{}{}", String::from_utf8(control).unwrap(), header("control.tar.gz"));
    let error = defect(&huge(&text));
    assert!(
        matches!(error, Defect::Package(PackageDefect::TooLarge { found: 9_999_999_999, .. })),
        "{error}"
    );
    let mut rpm_with_huge_header = b"\xed\xab\xee\xdb".to_vec();
    rpm_with_huge_header.resize(96, 0);
    for sizes in [[0xffff_ffff_u32, 0], [0, 0xffff_ffff]] {
        let intro = [&b"\x8e\xad\xe8\x01\0\0\0\0"[..], &sizes.map(u32::to_be_bytes).concat()].concat();
        let error = defect(&[rpm_with_huge_header.clone(), intro].concat());
        assert!(matches!(error, Defect::Package(PackageDefect::TooLarge { offset: 96.., .. })), "{error}");
    }
    let cpio_with_huge_file = rpm([1, 2], [0; 2], &cpio_header("boot/a", 0xffff_fff0, 1));
    assert!(matches!(defect(&cpio_with_huge_file), Defect::TooLong { bytes: 0xffff_fff0, .. }));
}

#[test]
fn bombs_exceed_the_budget() {
    let zeros = vec![0; 2 << 20];
    let files: [File<'_>; 1] = [("boot/vmlinuz", &zeros)];
    for package in [deb("data.tar.gz", &gzip(&tar(&files))), rpm([1, 2], [0; 2], &gzip(&cpio(&files)))] {
        // A package may unpack to 64 times the limit for a file.
        let error = read_within(&package, Limits::new(Some(16 << 10))).unwrap_err();
        assert!(matches!(error.defect, Defect::TooLong { .. }), "{error}");
        let opened = Package::open(Path::new("p"), &*package, 0, Limits::new(Some(16 << 10))).unwrap();
        let error = opened.visit_files(&mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains("unpacks to more than 1048576 bytes"), "{error}");
    }
}

#[test]
fn damaged_headers_name_their_place() {
    let mut package = deb("data.tar", &tar(&FILES));
    package[8 + 58] = b'!';
    let expected = PackageDefect::Magic { offset: 8, expected: "the header of an ar member" };
    assert_eq!(defect(&package), expected.into());
    let missing = |part| Defect::from(PackageDefect::Missing { kind: PackageKind::Deb, part });
    let only_version = [b"!<arch>\n".to_vec(), ar_member("debian-binary", b"2.0\n")].concat();
    assert_eq!(defect(&only_version), missing("member data.tar"));
    let data = ar_member("data.tar", &tar(&FILES));
    assert_eq!(defect(&[only_version, data].concat()), missing("member control.tar before data.tar"));
    let version_3 = [b"!<arch>\n".to_vec(), ar_member("debian-binary", b"3.0\n")].concat();
    assert!(matches!(defect(&version_3), Defect::Package(PackageDefect::Field { .. })));
    let unknown = rpm([1, 2], [0; 2], b"in another format");
    assert_eq!(defect(&unknown), PackageDefect::UnknownPayload.into());
}

/// A header whose tags refer to values beyond its data has no such values.
#[test]
fn rpm_tags_beyond_the_data_have_no_values() {
    let mut header =
        rpm_header(&[(1117, samples::Values::Texts(&["a"])), (1028, samples::Values::Words(&[1]))]);
    let header_len = u64::try_from(header.len()).unwrap();
    for offset in [u32::MAX, 5] {
        header[16 + 8..16 + 12].copy_from_slice(&offset.to_be_bytes());
        header[16 + 12..16 + 16].copy_from_slice(&u32::MAX.to_be_bytes());
        header[32 + 8..32 + 12].copy_from_slice(&offset.to_be_bytes());
        let read = rpm_header::RpmHeader::read(Path::new("p"), &mut &*header, 0).unwrap();
        assert_eq!(read.len, header_len);
        assert!(read.strings(1117).count() <= 3);
        assert_eq!(read.numbers(1028).count(), 0);
    }
}
