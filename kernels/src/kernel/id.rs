//! Identities of kernels. Several kernels may print the same name, but no two have the same identity.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    str::FromStr,
};

/// The identity of a kernel. Paths are compared by their bytes: `Path` treats some different bytes as equal.
///
/// Its text is printable ASCII and unique: `file:PATH`, `member:INDEX:ARCHIVE`, `running:RELEASE`,
/// `fetched:NAME@ARCHITECTURE`, `embedded:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelId {
    /// A file, an archive as a whole, or a directory that cannot be read.
    File(OsString),
    /// A member of an archive, by its index among all members: several members may have the same name.
    Member {
        /// The archive.
        archive: OsString,
        /// The index.
        index: u64,
    },
    /// The running kernel, by its release.
    Running(String),
    /// A fetched kernel, by its name and architecture: `ubuntu:24.04/6.8.0-71-generic@aarch64`. The kernels
    /// of several architectures may have the same name.
    Fetched(String),
    /// A kernel that is part of this program.
    Embedded(String),
}

impl KernelId {
    /// Returns the identity from the keys `target` and `target_id` of a JSON line.
    pub fn from_keys(target: &str, target_id: Option<&str>) -> Result<Self, InvalidKernelId> {
        target_id.map_or_else(|| Ok(Self::File(OsString::from(target))), str::parse)
    }

    /// Returns the value of the key `target_id`, or `None` if `target` is the exact path of a file.
    pub fn key(&self, target: &str) -> Option<String> {
        match self {
            Self::File(path) if path == target => None,
            _ => Some(self.to_string()),
        }
    }

    /// Returns the archive, for a member.
    pub fn archive(&self) -> Option<&OsStr> {
        match self {
            Self::Member { archive, .. } => Some(archive),
            _ => None,
        }
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", PercentEncoded(path.as_bytes())),
            Self::Member { archive, index } => {
                write!(f, "member:{index}:{}", PercentEncoded(archive.as_bytes()))
            }
            Self::Running(release) => write!(f, "running:{}", PercentEncoded(release.as_bytes())),
            Self::Fetched(name) => write!(f, "fetched:{}", PercentEncoded(name.as_bytes())),
            Self::Embedded(name) => write!(f, "embedded:{}", PercentEncoded(name.as_bytes())),
        }
    }
}

/// The error for a text that is not the identity of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no identity of a kernel")]
pub struct InvalidKernelId;

core_relo::debug_as_message!(InvalidKernelId);

impl FromStr for KernelId {
    type Err = InvalidKernelId;

    fn from_str(text: &str) -> Result<Self, InvalidKernelId> {
        let (kind, rest) = text.split_once(':').ok_or(InvalidKernelId)?;
        let path = |text| decode(text).map(OsString::from_vec);
        let name = |text| decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
        let id = match kind {
            "file" => path(rest).map(Self::File),
            "member" => rest.split_once(':').and_then(|(index, archive)| {
                Some(Self::Member { archive: path(archive)?, index: index.parse().ok()? })
            }),
            "running" => name(rest).map(Self::Running),
            "fetched" => name(rest).map(Self::Fetched),
            "embedded" => name(rest).map(Self::Embedded),
            _ => None,
        };
        // This program writes each identity in only one way.
        id.filter(|id| id.to_string() == text).ok_or(InvalidKernelId)
    }
}

/// Bytes as printable ASCII: other bytes, and the percent sign, become `%` and two hexadecimal digits.
struct PercentEncoded<'b>(&'b [u8]);

impl fmt::Display for PercentEncoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            byte if byte.is_ascii_graphic() && *byte != b'%' => write!(f, "{}", char::from(*byte)),
            byte => write!(f, "%{byte:02X}"),
        })
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|d| u8::try_from(d).ok());
                digit()?.checked_mul(16)?.checked_add(digit()?)?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::error::escape_path;
    use std::{collections::HashSet, path::Path};

    #[test]
    fn identities_have_unique_texts() {
        let path = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let paths: Vec<_> = [
            &b"v\xe4.btf"[..],
            b"v\xf6.btf",
            "v\u{fffd}.btf".as_bytes(),
            b"a\nb",
            b"a\\nb",
            b"a/b",
            b"a//b",
            b"a/./b",
            b"a%0Ab",
            b"a.tar",
            b"3:a.tar",
            b"file:a",
            b"",
            "linux 6.18 (running)".as_bytes(),
        ]
        .map(path)
        .into();
        let mut ids: Vec<_> = paths.iter().cloned().map(KernelId::File).collect();
        for index in [0, 1, u64::MAX] {
            ids.extend(paths.iter().cloned().map(|archive| KernelId::Member { archive, index }));
        }
        ids.extend(["6.18", "6.18 (running)"].map(|release| KernelId::Running(release.to_owned())));
        ids.push(KernelId::Fetched("debian:12/6.1.0-50-amd64@x86_64".to_owned()));
        ids.push(KernelId::Embedded("linux-6.1".to_owned()));
        let mut seen = HashSet::new();
        for id in &ids {
            let text = id.to_string();
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            assert_eq!(text.parse().as_ref(), Ok(id));
            // The printed name does not matter.
            for target in ["same", "a\\nb", "v\u{fffd}.btf", "linux 6.18 (running)"] {
                let key = id.key(target);
                assert_eq!(KernelId::from_keys(target, key.as_deref()).as_ref(), Ok(id));
            }
            assert!(seen.insert(text));
        }
        assert_eq!(KernelId::File(path(b"k/6.1.btf")).key("k/6.1.btf"), None, "the path is the identity");
        let newline = path(b"a\nb");
        assert_eq!(
            KernelId::File(newline.clone()).key(&escape_path(Path::new(&newline))).unwrap(),
            "file:a%0Ab"
        );
    }

    #[test]
    fn invalid_identities_are_refused() {
        for text in [
            "",
            "file",
            "k",
            "file:%",
            "file:%4",
            "file:%zz",
            "file:%41",
            "file:%0a",
            "file:\u{e4}",
            "file:a b",
            "member:a",
            "member:+1:a",
            "member:01:a",
            "member:-1:a",
            "member:18446744073709551616:a",
            "running:%FF",
            "else:a",
        ] {
            assert_eq!(text.parse::<KernelId>(), Err(InvalidKernelId), "{text}");
        }
    }
}
