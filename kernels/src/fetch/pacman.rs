//! pacman repositories (Arch Linux): the database of a repository, and the kernels in it.
//!
//! A database is a compressed tar archive with a file `desc` for each package. In it, a line `%NAME%` is
//! followed by values (repod's documentation, `Sync Database`). A database has one version of a package.
//!
//! Arch's kernels are `linux`, `linux-lts` and so on. The version `6.9.1.zen1-1` of `linux-zen` has the
//! release `6.9.1-zen1-1-zen`: the tag of the sources, the number of the package, the rest of the package's
//! name (the packages' `PKGBUILD`: `pkgver`, `localversion.10-pkgrel`, `localversion.20-pkgname`).

use super::{
    available::{is_file_name, is_relative},
    distribution::GENERIC,
    sha256::is_sha256,
};
use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    limits::MAX_PACKAGES_BYTES,
    tar_members,
};
use std::{
    io::{self, Cursor, Read as _},
    ops::ControlFlow,
    path::Path,
};

/// The names of packages with kernels. Others begin so, too: `linux-headers`, `linux-firmware`.
const PACKAGES: [&str; 6] = ["linux", "linux-lts", "linux-zen", "linux-hardened", "linux-rt", "linux-rt-lts"];

/// The largest description of a package, in bytes.
const DESC_BYTES: u64 = 1 << 20;

/// A kernel in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedKernel {
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) file_name: String,
    pub(crate) bytes: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

impl ListedKernel {
    /// Returns the flavour: `zen`, or `generic`.
    pub(crate) fn flavour(&self) -> &str {
        self.package.strip_prefix("linux-").unwrap_or(GENERIC)
    }

    /// Returns the release, as `uname -r` prints it.
    pub(crate) fn release(&self) -> String {
        let (version, revision) = self.version.rsplit_once('-').unwrap_or((&self.version, "1"));
        let is_tag = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
        let mut parts = version.split('.').peekable();
        let mut release = String::new();
        let mut number_count = 0usize;
        while let Some(part) = parts.next_if(|part| !is_tag(part)) {
            release.push_str(if number_count == 0 { "" } else { "." });
            release.push_str(part);
            number_count += 1;
        }
        // The first version of a series has no third number, and the kernel prints one.
        if number_count == 2 {
            release.push_str(".0");
        }
        for part in parts {
            release.push_str(if is_tag(part) { "-" } else { "." });
            release.push_str(part);
        }
        let ending = self.package.strip_prefix("linux").unwrap_or("");
        format!("{release}-{revision}{ending}")
    }
}

/// Finds the kernels in a database.
pub(crate) fn find_kernels(database: &[u8]) -> io::Result<Vec<ListedKernel>> {
    let budget = Budget::for_list(MAX_PACKAGES_BYTES, database);
    let format = Compression::detect(database).ok_or(io::ErrorKind::InvalidData)?;
    let stream = Streams::concatenated(format, Cursor::new(database), budget.clone());
    let (mut kernels, mut result) = (Vec::new(), Ok(()));
    tar_members::visit(Path::new("database"), Box::new(stream), &budget, &mut |member| {
        if !member.path.ends_with("desc") {
            return ControlFlow::Continue(());
        }
        let mut text = Vec::new();
        result = member.take_holes(&budget).map_err(io::Error::from);
        if result.is_ok() {
            result = member.content.take(DESC_BYTES).read_to_end(&mut text).map(drop);
        }
        kernels.extend(parse_desc(&String::from_utf8_lossy(&text)));
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .map_err(|error| io::Error::other(error.to_string()))?;
    result.map(|()| kernels)
}

/// Parses the description of a package. Returns `None` if it is no kernel, or damaged.
fn parse_desc(text: &str) -> Option<ListedKernel> {
    let field = |name: &str| {
        let mut lines = text.lines();
        lines.find(|line| line.strip_prefix('%').and_then(|line| line.strip_suffix('%')) == Some(name))?;
        lines.next().map(str::trim)
    };
    let package = field("NAME").filter(|name| PACKAGES.contains(name))?;
    let version = field("VERSION").filter(|version| is_file_name(version))?;
    let file_name = field("FILENAME").filter(|name| is_file_name(name) && is_relative(name))?;
    Some(ListedKernel {
        package: package.to_owned(),
        version: version.to_owned(),
        file_name: file_name.to_owned(),
        bytes: field("CSIZE")?.parse().ok()?,
        sha256: field("SHA256SUM").filter(|hash| is_sha256(hash))?.to_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_those_of_uname() {
        let hash = "a".repeat(64);
        for (package, version, release, flavour) in [
            ("linux", "6.9.1.arch1-1", "6.9.1-arch1-1", "generic"),
            ("linux", "6.9.arch1-1", "6.9.0-arch1-1", "generic"),
            ("linux-lts", "6.6.31-2", "6.6.31-2-lts", "lts"),
            ("linux-zen", "6.9.1.zen1-1", "6.9.1-zen1-1-zen", "zen"),
            ("linux-hardened", "6.8.9.hardened1-1", "6.8.9-hardened1-1-hardened", "hardened"),
        ] {
            let text = format!(
                "%FILENAME%\n{package}-{version}-x86_64.pkg.tar.zst\n\n%NAME%\n{package}\n\n%VERSION%\n{version}\n\n\
                 %CSIZE%\n1000\n\n%SHA256SUM%\n{hash}\n"
            );
            let kernel = parse_desc(&text).unwrap();
            assert_eq!((kernel.release().as_str(), kernel.flavour()), (release, flavour));
            assert_eq!(parse_desc(&text.replace(&hash, "abc")), None);
            assert_eq!(parse_desc(&text.replace("%NAME%\nlinux", "%NAME%\nlinux-docs")), None);
            assert_eq!(parse_desc(&text.replace("%FILENAME%\n", "%FILENAME%\n../")), None);
        }
    }
}
