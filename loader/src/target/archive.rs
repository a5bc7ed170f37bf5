//! Archives of the BTF of many kernels, for running kernels without BTF.
//!
//! An archive is a `tar.gz` file that `core-relo btf min` writes, see [`BtfArchive`].
//!
//! [`kernel_or_archive`] reads the running kernel's own BTF, or else the BTF that the archive has for the
//! running kernel.

pub use core_relo_object::archive::*;

use crate::{
    sys,
    target::{find_build_id, kernel, open::io_error, open_file, read_all, release, running_kernel_btf},
};
use alloc::collections::BTreeSet;
use core_relo::Endian;
use core_relo_object::target::TargetError;
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Returns the running kernel's own BTF, or else the BTF that an archive has for the running kernel.
///
/// The order is:
///
/// 1. `/sys/kernel/btf/vmlinux`, or else an image of the kernel with BTF, as [`kernel`]
/// 2. the archive's entry with the kernel's build id
/// 3. the entry with the kernel's release, architecture and version string
/// 4. the entry with the kernel's release and architecture, of the same distribution and version, of the same
///    distribution, of any distribution
///
/// Of the modules in the archive, those that are loaded now (`/proc/modules`) belong to the result, as with a
/// kernel's own BTF.
///
/// The archive is not read if the kernel has BTF. A log message of level `info` names the BTF.
pub fn kernel_or_archive(archive: &[u8]) -> Result<FoundBtf, ArchiveError> {
    match kernel() {
        Ok(file) => {
            log::info!("types of the running kernel: {}", file.path.display());
            Ok(FoundBtf::of_kernel(running_kernel_btf()))
        }
        Err(TargetError::NoKernelBtf { .. }) => {
            let found = find_in_archive(archive, &running_identity()?, &loaded_modules()?)?;
            log::info!("types of the running kernel: {}", found.origin);
            Ok(found)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the names of the modules that are loaded. A kernel that cannot load modules has none.
fn loaded_modules() -> Result<BTreeSet<String>, TargetError> {
    let path = Path::new("/proc/modules");
    match fs::read_to_string(path) {
        Ok(text) => Ok(parse_modules(&text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(e) => Err(io_error(path, &e)),
    }
}

/// Parses the names in `/proc/modules`. A line begins with the name.
fn parse_modules(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Returns the identity of the running kernel: release, version string and architecture from the kernel, the
/// distribution from `/etc/os-release`, the build id from `/sys/kernel/notes`.
///
/// What cannot be read is unknown, apart from the release.
pub fn running_identity() -> Result<KernelIdentity, TargetError> {
    let mut identity = KernelIdentity::new(release()?, "");
    // The file exists since Linux 6.1. `uname` names the architecture of the process for processes with the
    // personality `linux32`.
    if let Some(architecture) = read_line("/proc/sys/kernel/arch").or_else(|| sys::machine().ok()) {
        identity.architecture = architecture;
    }
    if let Some(version) = read_line("/proc/sys/kernel/version") {
        identity.version = version;
    }
    let os_release = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| read_regular(path));
    if let Some(os_release) = os_release {
        identity.distribution = parse_os_release(&os_release);
    }
    let notes = read_kernel_file("/sys/kernel/notes");
    if let Some(build_id) = notes.and_then(|notes| build_id(&notes, Endian::native())) {
        identity.build_id = build_id;
    }
    Ok(identity)
}

/// The bytes of a small file that are read.
const SMALL_FILE: u64 = 1 << 16;

/// Reads a small regular file. An unreadable file is as good as none.
fn read_regular(path: &str) -> Option<Vec<u8>> {
    let (file, _) = open_file(Path::new(path)).ok()?;
    Some(read_all(file, 0, SMALL_FILE).ok()??.to_vec())
}

/// Reads a file of proc or sysfs, which may have no length.
fn read_kernel_file(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SMALL_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read_line(path: &str) -> Option<String> {
    let text = String::from_utf8(read_kernel_file(path)?).ok()?;
    Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Parses `ID` and `VERSION_ID` of `/etc/os-release`. A missing value is empty.
fn parse_os_release(bytes: &[u8]) -> OsRelease {
    let text = String::from_utf8_lossy(bytes);
    let value = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or("").trim().trim_matches(['"', '\'']).to_owned()
    };
    OsRelease::new(value("ID"), value("VERSION_ID"))
}

/// Returns the build id in ELF notes, in hexadecimal digits.
pub fn build_id(notes: &[u8], endian: Endian) -> Option<String> {
    let id = find_build_id(notes, endian)?;
    Some(id.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(hex_digit).collect())
}

/// Returns the character of a hexadecimal digit.
fn hex_digit(digit: u8) -> Option<char> {
    char::from_digit(digit.into(), 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_reads_the_archive_only_if_the_kernel_has_no_types() {
        let bytes = core_relo_object::test_support::TestObject::new().bytes();
        let object = crate::object::Object::parse(&bytes).unwrap();
        let origin = crate::Loader::new(&object).set_btf_archive(b"no archive");
        if kernel().is_ok() {
            assert_eq!(origin.unwrap(), BtfOrigin::Kernel);
        } else {
            assert!(matches!(origin, Err(ArchiveError::Gzip { .. })));
        }
        let evidence = EntryEvidence::Release;
        let origin = BtfOrigin::Archive { file: "x86_64/6.1.0.btf".into(), evidence };
        assert_eq!(origin.to_string(), "x86_64/6.1.0.btf of the archive, by release");
    }

    #[test]
    fn the_names_of_loaded_modules_are_read() {
        let loaded = parse_modules("xfs 1937408 1 - Live 0x0000000000000000\nveth 40960 0 - Live 0x0\n");
        assert_eq!(loaded, BTreeSet::from(["veth".to_owned(), "xfs".to_owned()]));
    }

    #[test]
    fn the_distribution_and_the_build_id_are_read() {
        let text = b"NAME=\"Ubuntu\"\nID=ubuntu\nVERSION_ID=\"20.04\"\nID_LIKE=debian\n";
        assert_eq!(parse_os_release(text), OsRelease::new("ubuntu", "20.04"));
        assert_eq!(parse_os_release(b"\xff"), OsRelease::default());
        for endian in [Endian::Little, Endian::Big] {
            let word = |n: u32| endian.u32_bytes(n);
            let note = [&word(4)[..], &word(3), &word(3), b"GNU\0", b"\xab\x01\x02\0"].concat();
            assert_eq!(build_id(&note, endian).unwrap(), "ab0102");
        }
        let running = running_identity().unwrap();
        assert!(
            !running.release.is_empty() && !running.architecture.is_empty() && !running.version.is_empty()
        );
    }
}
