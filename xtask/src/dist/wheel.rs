//! Python wheels, with the command as a script and its module as data (PEP 427, core metadata 2.4).

use super::documents::Document;
use super::files::{Files, PackedFile};
use super::platform::Platform;
use super::release::Release;
use super::sha256::sha256;
use super::zip::zip;
use super::{DESCRIPTION, LICENCE, Parts, SUMMARY, module_path};
use crate::system::Outcome;

/// Returns the name of the file and its bytes.
pub fn wheel(release: &Release, platform: &Platform, parts: &Parts<'_>) -> Outcome<(String, Vec<u8>)> {
    let version = &release.version;
    let name = format!("core_relo-{version}-py3-none-{}.whl", platform.wheel.join("."));
    let information = format!("core_relo-{version}.dist-info");
    let mut files = Files::default();
    let placed = format!("core_relo-{version}.data");
    files.add_executable(format!("{placed}/scripts/core-relo"), parts.command);
    // The directory `data` is unpacked beside that of the scripts.
    files.add(module_path(&format!("{placed}/data/")), parts.module);
    let tags: String = platform.wheel.iter().map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    let generator = "Generator: core-relo-xtask\nRoot-Is-Purelib: false\n";
    files.add(format!("{information}/WHEEL"), format!("Wheel-Version: 1.0\n{generator}{tags}"));
    let licence_files: String =
        parts.licences.iter().map(|licence| format!("License-File: {}\n", licence.name)).collect();
    files.add(
        format!("{information}/METADATA"),
        format!(
            "Metadata-Version: 2.4\nName: core-relo\nVersion: {version}\nSummary: {SUMMARY}\n\
             License-Expression: {LICENCE}\n{licence_files}Keywords: bpf,ebpf,co-re,btf\n\
             Classifier: Operating System :: POSIX :: Linux\n\
             Description-Content-Type: text/plain\n\n{DESCRIPTION}\n"
        ),
    );
    for Document { name, text } in &parts.licences {
        files.add(format!("{information}/licenses/{name}"), text.clone());
    }
    let record = format!("{information}/RECORD");
    let line = |(path, file): (&str, &PackedFile)| {
        format!("{path},sha256={},{}\n", base64(&sha256(&file.data)), file.data.len())
    };
    let lines: String = files.iter().map(line).collect();
    files.add(&*record, format!("{lines}{record},,\n"));
    Ok((name, zip(&files, release.time)?))
}

/// Returns bytes as text: base64 with the alphabet of URLs, without padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_usize, |bits, at| bits << 8 | chunk.get(at).map_or(0, |byte| usize::from(*byte)));
        let digits = (0..=chunk.len()).map(|at| char::from(DIGITS[bits >> (18 - 6 * at) & 63]));
        text.extend(digits);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_has_no_padding() {
        for (bytes, text) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xfe]), "_-_-");
    }
}
