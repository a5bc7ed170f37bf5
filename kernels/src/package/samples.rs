//! Packages for tests, written byte by byte.

use std::io::Write as _;

/// A file of a package: its path and its content.
pub(super) type File<'f> = (&'f str, &'f [u8]);

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Returns a tar archive. Paths are written as they are, even if they are unsafe.
pub(super) fn tar(files: &[File<'_>]) -> Vec<u8> {
    let mut archive = tar_without_end(files);
    archive.extend([0; 1024]);
    archive
}

/// Returns a tar archive without the zeros at the end, as apk's signature and metadata have it.
fn tar_without_end(files: &[File<'_>]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(u64::try_from(content.len()).unwrap());
        header.set_mode(0o644);
        header.set_cksum();
        archive.extend(header.as_bytes());
        archive.extend(*content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive
}

/// Returns a member of an ar archive.
pub(super) fn ar_member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut member =
        format!("{name:16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len()).into_bytes();
    member.extend(content);
    member.resize(member.len().next_multiple_of(2), b'\n');
    member
}

pub(super) const CONTROL: &str =
    "Package: linux-image-6.1.0\nVersion: 6.1.1-1\nArchitecture: amd64\nDepends: kmod, linux-base (>= 4.3)\n";

/// Returns a `.deb` with this member `data.tar`.
pub(super) fn deb(data_name: &str, data: &[u8]) -> Vec<u8> {
    let control = gzip(&tar(&[("./control", CONTROL.as_bytes())]));
    let members = [("debian-binary", &b"2.0\n"[..]), ("control.tar.gz", &control), (data_name, data)];
    let members = members.map(|(name, content)| ar_member(name, content));
    [b"!<arch>\n".to_vec(), members.concat()].concat()
}

/// Returns a package of apk: three gzip streams.
pub(super) fn apk(files: &[File<'_>]) -> Vec<u8> {
    let pkginfo = b"pkgname = linux-lts\npkgver = 6.12.1-r0\narch = x86_64\ndepend = kmod\n";
    let parts = [
        tar_without_end(&[(".SIGN.RSA.alpine.rsa.pub", b"signature")]),
        tar_without_end(&[(".PKGINFO", pkginfo)]),
        tar(files),
    ];
    parts.map(|part| gzip(&part)).concat()
}

/// Returns the full cpio header of a file.
pub(super) fn cpio_header(path: &str, len: usize, link_count: u32) -> Vec<u8> {
    let name_bytes = path.len() + 1;
    let fields = [1, 0o10_0644, 0, 0, link_count, 0, u32::try_from(len).unwrap(), 0, 0, 0, 0];
    let mut header = b"070701".to_vec();
    fields.iter().for_each(|field| header.extend(format!("{field:08x}").bytes()));
    header.extend(format!("{name_bytes:08x}{:08x}{path}\0", 0).bytes());
    header.resize(header.len().next_multiple_of(4), 0);
    header
}

/// Returns a cpio archive in the new ASCII format.
pub(super) fn cpio(files: &[File<'_>]) -> Vec<u8> {
    let entries = files.iter().map(|(path, content)| {
        let mut entry = cpio_header(path, content.len(), 1);
        entry.extend(*content);
        entry.resize(entry.len().next_multiple_of(4), 0);
        entry
    });
    let entries = entries.collect::<Vec<_>>().concat();
    [entries, cpio_header("TRAILER!!!", 0, 1)].concat()
}

/// Returns a cpio archive in rpm's stripped form. Each content has the index of its file.
pub(super) fn stripped_cpio(contents: &[(u32, &[u8])]) -> Vec<u8> {
    let entries = contents.iter().map(|(index, content)| {
        let mut entry = format!("07070X{index:08x}\0\0").into_bytes();
        entry.extend(*content);
        entry.resize(entry.len().next_multiple_of(4), 0);
        entry
    });
    let entries = entries.collect::<Vec<_>>().concat();
    [entries, cpio_header("TRAILER!!!", 0, 1)].concat()
}

/// The values of a tag in an rpm header.
pub(super) enum Values<'v> {
    Text(&'v str),
    Texts(&'v [&'v str]),
    Shorts(&'v [u16]),
    Words(&'v [u32]),
}

/// Returns an rpm header.
pub(super) fn rpm_header(tags: &[(u32, Values<'_>)]) -> Vec<u8> {
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for (tag, values) in tags {
        let (kind, alignment, count) = match values {
            Values::Text(_) => (6, 1, 1),
            Values::Texts(texts) => (8, 1, texts.len()),
            Values::Shorts(numbers) => (3, 2, numbers.len()),
            Values::Words(numbers) => (4, 4, numbers.len()),
        };
        data.resize(data.len().next_multiple_of(alignment), 0);
        for word in [*tag, kind, u32::try_from(data.len()).unwrap(), u32::try_from(count).unwrap()] {
            index.extend(word.to_be_bytes());
        }
        match values {
            Values::Text(text) => data.extend([text.as_bytes(), b"\0"].concat()),
            Values::Texts(texts) => {
                texts.iter().for_each(|text| data.extend([text.as_bytes(), b"\0"].concat()))
            }
            Values::Shorts(numbers) => numbers.iter().for_each(|n| data.extend(n.to_be_bytes())),
            Values::Words(numbers) => numbers.iter().for_each(|n| data.extend(n.to_be_bytes())),
        }
    }
    let sizes = [tags.len(), data.len()].map(|len| u32::try_from(len).unwrap().to_be_bytes());
    [&b"\x8e\xad\xe8\x01\0\0\0\0"[..], &sizes.concat(), &index, &data].concat()
}

/// Returns an rpm with two files in its header, `/boot/a` and `/boot/b`, which are hard links of each other
/// if `inodes` are equal.
pub(super) fn rpm(inodes: [u32; 2], sizes: [u32; 2], payload: &[u8]) -> Vec<u8> {
    let signature = rpm_header(&[(1000, Values::Text("odd"))]);
    let header = rpm_header(&[
        (1000, Values::Text("kernel-core")),
        (1001, Values::Text("6.1.1")),
        (1002, Values::Text("1.el9")),
        (1003, Values::Words(&[2])),
        (1022, Values::Text("x86_64")),
        (1049, Values::Texts(&["kernel-modules-core", "rpmlib(FileDigests)"])),
        (1028, Values::Words(&sizes)),
        (1030, Values::Shorts(&[0o10_0644; 2])),
        (1095, Values::Words(&[1; 2])),
        (1096, Values::Words(&inodes)),
        (1116, Values::Words(&[0; 2])),
        (1117, Values::Texts(&["a", "b"])),
        (1118, Values::Texts(&["/boot/"])),
    ]);
    let mut package = b"\xed\xab\xee\xdb".to_vec();
    package.resize(96, 0);
    package.extend(signature);
    package.resize(package.len().next_multiple_of(8), 0);
    package.extend(header);
    package.extend(payload);
    package
}
