//! Packages of rpm, format 4 ("Package format V4" in RPM's reference manual), with SHA-256 as the only
//! digest.

mod header;

use header::{Value, header, number};

use super::files::{DIRECTORY_PERMISSIONS, Files, PackedFile};
use super::platform::Platform;
use super::release::Release;
use super::sha256::sha256_hex;
use super::tar::gzip;
use super::{DESCRIPTION, LICENCE, REVISION, SUMMARY};
use crate::system::Outcome;

/// The tags whose header the signature and the package have.
const SIGNATURE_REGION: u32 = 62;
const PACKAGE_REGION: u32 = 63;

/// Types of files, beside their permissions.
const DIRECTORY: u32 = 0o040_000;
const REGULAR_FILE: u32 = 0o100_000;

/// Flags of files: documentation, licence.
const DOCUMENTATION: u32 = 1 << 1;
const LICENCE_FILE: u32 = 1 << 7;

/// Comparisons of versions: equal; less or equal, for a feature of rpm.
const EQUAL: u32 = 1 << 3;
const RPM_FEATURE: u32 = 1 << 24 | 1 << 1 | EQUAL;

/// The number of SHA-256 among digests.
const SHA256: u32 = 8;

/// The features of rpm that a package of this format needs, and their versions.
const RPM_FEATURES: [(&str, &str); 3] = [
    ("rpmlib(CompressedFileNames)", "3.0.4-1"),
    ("rpmlib(FileDigests)", "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
];

/// A file or directory of the package.
struct Item<'f> {
    path: String,
    /// None for a directory.
    file: Option<&'f PackedFile>,
}

impl Item<'_> {
    fn mode(&self) -> u32 {
        match self.file {
            Some(file) => REGULAR_FILE | file.permissions(),
            None => DIRECTORY | DIRECTORY_PERMISSIONS,
        }
    }

    fn data(&self) -> &[u8] {
        self.file.map_or(&[], |file| &file.data)
    }

    fn digest(&self) -> String {
        self.file.map_or_else(String::new, |file| sha256_hex(&file.data))
    }

    /// Returns the directory with its `/`, and the name.
    fn split(&self) -> (String, String) {
        let (directory, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        (format!("/{directory}/"), name.to_owned())
    }

    fn flags(&self) -> u32 {
        match (&self.file, &*self.path) {
            (None, _) => 0,
            (_, path) if path.starts_with("usr/share/licenses/") => LICENCE_FILE,
            (_, path) if path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/") => {
                DOCUMENTATION
            }
            _ => 0,
        }
    }
}

/// Returns a package with files. Directories named after the package belong to it.
pub fn package(release: &Release, platform: &Platform, files: &Files) -> Outcome<Vec<u8>> {
    let directories = files.directories().into_iter().filter(|path| path.ends_with("/core-relo"));
    let mut items: Vec<_> = directories.map(|path| Item { path: path.to_owned(), file: None }).collect();
    items.extend(files.iter().map(|(path, file)| Item { path: path.to_owned(), file: Some(file) }));
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let archive = cpio(&items, release.time)?;
    let payload = gzip(&archive)?;
    let package = header(PACKAGE_REGION, &package_tags(release, platform, &items, &payload)?)?;
    let signature = header(
        SIGNATURE_REGION,
        &[
            (273, Value::Text(sha256_hex(&package))),
            (1000, Value::U32(vec![number(package.len() + payload.len())?])),
            (1007, Value::U32(vec![number(archive.len())?])),
        ],
    )?;
    let mut bytes = lead(release, platform);
    bytes.extend(signature);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok([bytes, package, payload].concat())
}

/// Returns the lead, of which only the magic number counts today.
fn lead(release: &Release, platform: &Platform) -> Vec<u8> {
    let name = format!("core-relo-{}-{REVISION}", release.version);
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
    lead.extend(platform.rpm_number.to_be_bytes());
    lead.extend(name.bytes().take(65));
    lead.resize(76, 0);
    // Linux; a signature that is a header.
    lead.extend([0, 1, 0, 5]);
    lead.resize(96, 0);
    lead
}

fn package_tags(
    release: &Release,
    platform: &Platform,
    items: &[Item<'_>],
    payload: &[u8],
) -> Outcome<Vec<(u32, Value)>> {
    let version = &release.version;
    let own_version = format!("{version}-{REVISION}");
    let time = u32::try_from(release.time).map_err(|error| format!("rpm: time: {error}"))?;
    let u32s = |value: fn(&Item<'_>) -> u32| Value::U32(items.iter().map(value).collect());
    let texts = |text: &str| Value::Texts(items.iter().map(|_| text.to_owned()).collect());
    let split: Vec<_> = items.iter().map(Item::split).collect();
    let mut directories: Vec<_> = split.iter().map(|(directory, _)| directory.clone()).collect();
    directories.sort();
    directories.dedup();
    let place = |directory: &String| match directories.binary_search(directory) {
        Ok(place) => number(place),
        Err(_) => Err(format!("rpm: the directory {directory} of a file is not in the list").into()),
    };
    let places = split.iter().map(|(directory, _)| place(directory)).collect::<Outcome<Vec<_>>>()?;
    let sizes = items.iter().map(|item| number(item.data().len())).collect::<Outcome<Vec<_>>>()?;
    let total = sizes.iter().sum();
    let inodes = (1..=items.len()).map(number).collect::<Outcome<Vec<_>>>()?;
    let modes = items.iter().map(|item| u16::try_from(item.mode()));
    let modes = modes.collect::<Result<Vec<_>, _>>().map_err(|error| format!("rpm: mode: {error}"))?;
    let (features, feature_versions): (Vec<_>, Vec<_>) =
        RPM_FEATURES.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).unzip();
    Ok(vec![
        (100, Value::Texts(vec!["C".to_owned()])),
        (1000, Value::text("core-relo")),
        (1001, Value::text(version)),
        (1002, Value::text(REVISION)),
        (1004, Value::Translated(SUMMARY.to_owned())),
        (1005, Value::Translated(DESCRIPTION.to_owned())),
        (1006, Value::U32(vec![time])),
        (1007, Value::text("localhost")),
        (1009, Value::U32(vec![total])),
        (1014, Value::text(LICENCE)),
        (1016, Value::Translated("Unspecified".to_owned())),
        (1021, Value::text("linux")),
        (1022, Value::text(platform.rpm)),
        (1028, Value::U32(sizes)),
        (1030, Value::U16(modes)),
        (1033, Value::U16(items.iter().map(|_| 0).collect())),
        (1034, Value::U32(items.iter().map(|_| time).collect())),
        (1035, Value::Texts(items.iter().map(Item::digest).collect())),
        (1036, texts("")),
        (1037, Value::U32(items.iter().map(Item::flags).collect())),
        (1039, texts("root")),
        (1040, texts("root")),
        (1044, Value::Text(format!("core-relo-{own_version}.src.rpm"))),
        (1045, u32s(|_| u32::MAX)),
        (1047, Value::Texts(vec!["core-relo".to_owned()])),
        (1048, Value::U32(vec![RPM_FEATURE; features.len()])),
        (1049, Value::Texts(features)),
        (1050, Value::Texts(feature_versions)),
        (1095, u32s(|_| 1)),
        (1096, Value::U32(inodes)),
        (1097, texts("")),
        (1112, Value::U32(vec![EQUAL])),
        (1113, Value::Texts(vec![own_version])),
        (1116, Value::U32(places)),
        (1117, Value::Texts(split.into_iter().map(|(_, name)| name).collect())),
        (1118, Value::Texts(directories)),
        (1124, Value::text("cpio")),
        (1125, Value::text("gzip")),
        (1126, Value::text("9")),
        (5011, Value::U32(vec![SHA256])),
        (5062, Value::text("utf-8")),
        (5092, Value::Texts(vec![sha256_hex(payload)])),
        (5093, Value::U32(vec![SHA256])),
    ])
}

/// Returns an archive of the format `newc` (cpio(5)).
fn cpio(items: &[Item<'_>], time: u64) -> Outcome<Vec<u8>> {
    let mut archive = Vec::new();
    let mut add = |number: usize, mode: u32, path: &str, data: &[u8]| {
        // Inode, mode, user, group, links, time, size, devices, length of the path, checksum.
        let fields = format!(
            "070701{number:08x}{mode:08x}{:08x}{:08x}{:08x}{time:08x}{:08x}{:032x}{:08x}{:08x}{path}\0",
            0,
            0,
            1,
            data.len(),
            0,
            path.len() + 1,
            0
        );
        for bytes in [fields.as_bytes(), data] {
            archive.extend(bytes);
            archive.resize(archive.len().next_multiple_of(4), 0);
        }
    };
    for (number, item) in (1..).zip(items) {
        add(number, item.mode(), &format!("./{}", item.path), item.data());
    }
    add(0, 0, "TRAILER!!!", &[]);
    Ok(archive)
}
