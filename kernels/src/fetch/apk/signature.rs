//! Signatures of indexes by RSA keys, verified by `openssl`, as apk's own library does.

use super::index::IndexSignature;
use crate::fetch::{
    address::Address,
    available::is_file_name,
    error::{FetchError, MirrorDefect},
    store::write_file,
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The algorithms of signatures: the beginning of the name of the signature's file, and the option of
/// `openssl dgst` (apk-v2(5)).
const ALGORITHMS: [(&str, &str); 3] =
    [(".SIGN.RSA.", "-sha1"), (".SIGN.RSA256.", "-sha256"), (".SIGN.RSA512.", "-sha512")];

/// Returns whether the machine can verify signatures: it has keys, and `openssl`.
pub(crate) fn can_verify(keys: &Path) -> bool {
    let is_key = |entry: std::fs::DirEntry| entry.path().is_file();
    let has_keys =
        std::fs::read_dir(keys).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(is_key)));
    let paths = std::env::var_os("PATH");
    has_keys
        && paths.is_some_and(|paths| std::env::split_paths(&paths).any(|dir| dir.join("openssl").is_file()))
}

/// Verifies the signature of an index with the key that it names. Returns the key. `tmp` is a directory for
/// the files of `openssl`.
pub(crate) fn verify(
    keys: &Path,
    index: &[u8],
    signature: &IndexSignature,
    tmp: &Path,
    address: &Address,
) -> Result<PathBuf, FetchError> {
    let bad = |message: String| FetchError::mirror(address, MirrorDefect::Signature { message });
    let IndexSignature { name, signature, signed_from } = signature;
    let known = ALGORITHMS.iter().find_map(|(start, option)| Some((name.strip_prefix(start)?, option)));
    let (key, option) = known.ok_or_else(|| bad(format!("the algorithm of {name} is unknown")))?;
    let path = keys.join(key);
    if !is_file_name(key) || !path.is_file() {
        return Err(bad(format!("{} does not have the key {key}", keys.display())));
    }
    let (content_file, signature_file) = (tmp.join("index"), tmp.join("signature"));
    write_file(&content_file, index.get(*signed_from..).unwrap_or(&[]))?;
    write_file(&signature_file, signature)?;
    let mut command = Command::new("openssl");
    command.args(["dgst", option, "-verify"]).arg(&path).arg("-signature").arg(&signature_file);
    let output = command.arg(&content_file).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|error| FetchError::Unverified {
        address: address.clone(),
        reason: format!("openssl: {error}"),
    })?;
    match output.status.success() {
        true => Ok(path),
        false => {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            Err(bad(text.lines().next().unwrap_or("no good signature").to_owned()))
        }
    }
}
