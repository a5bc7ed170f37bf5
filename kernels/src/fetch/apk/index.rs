//! `APKINDEX.tar.gz`: its signature, and the kernels that it lists.
//!
//! An index is a gzip stream with a signature, and one with the file `APKINDEX`, in which a record has a line
//! for each field: `P:` name, `V:` version, `S:` size of the package, `C:` hash of its metadata (Alpine Wiki,
//! `Apk spec`).
//!
//! Alpine's kernels are the packages `linux-FLAVOUR`. The version `6.6.100-r0` has the release
//! `6.6.100-0-FLAVOUR`, and the image is `boot/vmlinuz-FLAVOUR` (aports, `main/linux-lts/APKBUILD`:
//! `localversion-alpine`, `_package`). A repository has the newest version of each only.

use super::{
    base64,
    gzip_member::{GzipMember, begins_with_signature},
    head::MetadataHash,
};
use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    fetch::available::is_file_name,
    limits::MAX_PACKAGES_BYTES,
    tar_members,
};
use std::{
    io::{self, Cursor, Read as _},
    ops::ControlFlow,
    path::Path,
};

/// The flavours of Alpine's kernels. Other packages have such names, too: `linux-headers`, `linux-pam`.
const FLAVOURS: [&str; 6] = ["lts", "virt", "stable", "rpi", "edge", "asahi"];

/// The largest signature, unpacked, in bytes.
const SIGNATURE_BYTES: u64 = 1 << 20;

/// The signature of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexSignature {
    /// The name of its file: `.SIGN.RSA.KEY` or `.SIGN.RSA256.KEY`.
    pub(crate) name: String,
    pub(crate) signature: Vec<u8>,
    /// The offset of the first byte that is signed.
    pub(crate) signed_from: usize,
}

/// A kernel in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedKernel {
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) flavour: String,
    pub(crate) bytes: u64,
    pub(crate) metadata_hash: MetadataHash,
}

impl ListedKernel {
    /// Returns the release, as `uname -r` prints it.
    pub(crate) fn release(&self) -> String {
        match self.version.rsplit_once("-r") {
            Some((version, revision)) => format!("{version}-{revision}-{}", self.flavour),
            None => format!("{}-{}", self.version, self.flavour),
        }
    }

    /// Returns the name of the file with the package.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}.apk", self.package, self.version)
    }
}

/// Returns the signature of an index. Returns `None` for an index without one.
pub(crate) fn signature(index: &[u8]) -> io::Result<Option<IndexSignature>> {
    // An index without a signature is larger than a signature.
    if !begins_with_signature(index)? {
        return Ok(None);
    }
    let member = GzipMember::first(index, SIGNATURE_BYTES)?;
    let mut archive = tar::Archive::new(member.content.as_slice());
    let Some(entry) = archive.entries()?.next() else { return Ok(None) };
    let mut entry = entry?;
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    let mut signature = Vec::new();
    (&mut entry).take(SIGNATURE_BYTES).read_to_end(&mut signature)?;
    Ok(Some(IndexSignature { name, signature, signed_from: member.len }))
}

/// Returns the text of an index. The stream with the signature is not read: nothing protects it, and it could
/// have a file `APKINDEX`, too.
pub(crate) fn text(index: &[u8]) -> io::Result<String> {
    let signed_from = signature(index)?.map_or(0, |signature| signature.signed_from);
    let index = index.get(signed_from..).unwrap_or(&[]);
    let format = Compression::detect(index).ok_or(io::ErrorKind::InvalidData)?;
    let budget = Budget::for_list(MAX_PACKAGES_BYTES, index);
    let stream = Streams::concatenated(format, Cursor::new(index), budget.clone());
    let (mut text, mut found) = (Vec::new(), Err(io::Error::other("has no file APKINDEX")));
    tar_members::visit(Path::new("APKINDEX.tar.gz"), Box::new(stream), &budget, &mut |member| {
        if member.path != Path::new("APKINDEX") {
            return ControlFlow::Continue(());
        }
        found = member.take_holes(&budget).map_err(io::Error::from);
        if found.is_ok() {
            found = member.content.read_to_end(&mut text).map(drop);
        }
        ControlFlow::Break(())
    })
    .map_err(|error| io::Error::other(error.to_string()))?;
    found.map(|()| String::from_utf8_lossy(&text).into_owned())
}

/// Finds the kernels in the text of an index. Records with damaged fields are left out.
pub(crate) fn find_kernels(text: &str) -> Vec<ListedKernel> {
    text.split("\n\n").filter_map(parse_record).collect()
}

fn parse_record(record: &str) -> Option<ListedKernel> {
    // The names of fields differ in their case only: `P` is the name, `p` what the package provides.
    let field = |name: &str| {
        record.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let package = field("P")?;
    let flavour = package.strip_prefix("linux-").filter(|flavour| FLAVOURS.contains(flavour))?;
    let version = field("V").filter(|version| is_file_name(version))?;
    let hash = field("C")?;
    let (algorithm, digits) = hash.split_at_checked(2)?;
    let digest = base64::decode(digits)?;
    let metadata_hash = match (algorithm, digest.len()) {
        ("Q1", 20) => MetadataHash::Sha1(digest),
        ("Q2", 32) => MetadataHash::Sha256(digest),
        _ => return None,
    };
    Some(ListedKernel {
        package: package.to_owned(),
        version: version.to_owned(),
        flavour: flavour.to_owned(),
        bytes: field("S")?.parse().ok()?,
        metadata_hash,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_packages_of_known_flavours() {
        let hash = "Q1sVcOhnpVE0ycL5DJNQrwMPrp9kY=";
        let record = |name: &str, version: &str, hash: &str| {
            format!("C:{hash}\nP:{name}\nV:{version}\nA:x86_64\nS:100\nI:200\nT:a kernel\np:other=1\n")
        };
        let text = [
            record("linux-lts", "6.6.100-r0", hash),
            record("linux-lts-dev", "6.6.100-r0", hash),
            record("linux-pam", "1.6.0-r0", hash),
            record("linux-virt", "6.6.100-r0", hash),
            record("linux-rpi", "6.6.100-r0", "Q1abc"),
            record("linux-edge", "../6", hash),
        ];
        let kernels = find_kernels(&text.join("\n"));
        let releases: Vec<_> = kernels.iter().map(ListedKernel::release).collect();
        assert_eq!(releases, ["6.6.100-0-lts", "6.6.100-0-virt"]);
        assert_eq!(kernels[0].file_name(), "linux-lts-6.6.100-r0.apk");
    }
}
