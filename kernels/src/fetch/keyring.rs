//! Keyrings: the keys with which a distribution signs its indexes.

use super::{error::FetchError, store::write_file};
use crate::limits::MAX_KEYRING_BYTES;
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// The begin of a key as text (RFC 9580, 6.2), the form of the keys of rpm distributions.
const BEGIN: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const END: &str = "-----END PGP PUBLIC KEY BLOCK-----";

/// Returns one keyring of binary keys, which `gpgv` needs: a file itself, or a file in a directory with the
/// keys of several files, or of files with keys as text.
pub(super) fn binary_keyring(files: &[PathBuf], directory: &Path) -> Result<PathBuf, FetchError> {
    let mut keys = Vec::new();
    let mut is_text = false;
    for file in files {
        let content = read(file)?;
        match std::str::from_utf8(&content).ok().filter(|text| text.contains(BEGIN)) {
            Some(text) => {
                is_text = true;
                keys.extend(decode_keys(text));
            }
            None => keys.extend(content),
        }
    }
    match files {
        [file] if !is_text => Ok(file.clone()),
        _ => {
            let keyring = directory.join("keyring.gpg");
            write_file(&keyring, &keys)?;
            Ok(keyring)
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, FetchError> {
    let mut content = Vec::new();
    let opened = File::open(file).and_then(|opened| opened.take(MAX_KEYRING_BYTES).read_to_end(&mut content));
    opened.map_err(|error| FetchError::store(file, &error))?;
    Ok(content)
}

/// Returns the keys in a text, without those that are damaged.
fn decode_keys(text: &str) -> Vec<u8> {
    let mut keys = Vec::new();
    for block in text.split(BEGIN).skip(1) {
        let Some((block, _)) = block.split_once(END) else { continue };
        // Headers such as `Version` end with an empty line. The line with `=` at its start is a checksum.
        let mut lines = block.lines().skip(1).map(str::trim);
        let is_header = |line: &str| line.contains(": ");
        let first = lines.by_ref().find(|line| !line.is_empty() && !is_header(line));
        let data = first.into_iter().chain(lines).take_while(|line| !line.starts_with('='));
        if let Some(key) = decode_base64(&data.collect::<String>()) {
            keys.extend(key);
        }
    }
    keys
}

/// Decodes Base64 (RFC 4648, 4).
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| {
        let value = match byte {
            b'A'..=b'Z' => byte.checked_sub(b'A')?,
            b'a'..=b'z' => byte.checked_sub(b'a')?.checked_add(26)?,
            b'0'..=b'9' => byte.checked_sub(b'0')?.checked_add(52)?,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some(u32::from(value))
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().try_fold(0u32, |bits, byte| Some(bits << 6 | value(*byte)?))?;
        let missing = 4usize.checked_sub(group.len())?;
        let bits = bits << missing.checked_mul(6)?;
        let [_, decoded @ ..] = bits.to_be_bytes();
        bytes.extend(decoded.get(..3usize.checked_sub(missing)?)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn keys_as_text_become_binary() {
        // RFC 4648, 10.
        for (text, expected) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("Zm9vYmFy", b"foobar")]
        {
            assert_eq!(decode_base64(text).as_deref(), Some(expected));
        }
        assert_eq!(decode_base64("Zm9v!"), None);
        let block = |data: &str| format!("{BEGIN}\nVersion: x\nComment: y\n\n{data}\n=abcd\n{END}\n");
        let text = format!(
            "a key\n{}{}{}",
            block("Zm9v\nYmFy"),
            block("!"),
            block("Zg==").replace("Version: x\nComment: y\n", "")
        );
        assert_eq!(decode_keys(&text), b"foobarf");
    }

    #[test]
    fn keyrings_of_several_files_are_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("binary"), b"\x99key").unwrap();
        fs::write(path("text"), format!("{BEGIN}\n\nZm9v\n{END}\n")).unwrap();
        assert_eq!(binary_keyring(&[path("binary")], dir.path()), Ok(path("binary")));
        let both = binary_keyring(&[path("binary"), path("text")], dir.path()).unwrap();
        assert_eq!(fs::read(both).unwrap(), b"\x99keyfoo");
        assert!(binary_keyring(&[path("none")], dir.path()).is_err());
    }
}
