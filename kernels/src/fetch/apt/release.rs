//! `Release`, the index of a suite: the sizes and hashes of its lists of packages.
//!
//! Format: Debian Wiki, `DebianRepository/Format`, "Release files".

use crate::fetch::{
    date::parse_date,
    deb822::{Paragraph, paragraphs},
    sha256::is_sha256,
};
use std::time::SystemTime;

/// The index of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// The time at which the index was made.
    pub(crate) date: Option<SystemTime>,
    /// The time until which the index may be used.
    pub(crate) valid_until: Option<SystemTime>,
    /// Whether the mirror has the lists under their hashes.
    pub(crate) has_by_hash: bool,
    /// The architectures.
    pub(crate) architectures: Vec<String>,
    /// The names of the suite: `Suite` and `Codename`.
    pub(crate) names: Vec<String>,
    lists: Vec<IndexedList>,
}

/// A list of packages in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexedList {
    /// The path below the suite's directory.
    pub(crate) path: String,
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The SHA-256, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// The compressed forms of a list, the preferred first.
const FORMS: [&str; 3] = [".xz", ".gz", ""];

impl Release {
    /// Parses an index. Returns `None` if it has no SHA-256 sums, or a `Valid-Until` that is no date: it
    /// would be valid forever.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let paragraph = paragraphs(text).next()?;
        let lists: Vec<_> = paragraph.lines("SHA256").filter_map(parse_list).collect();
        let names = ["Suite", "Codename"].iter().filter_map(|name| paragraph.field(name));
        let valid_until = match paragraph.field("Valid-Until") {
            Some(date) => Some(parse_date(date)?),
            None => None,
        };
        (!lists.is_empty()).then(|| Self {
            date: paragraph.field("Date").and_then(parse_date),
            valid_until,
            has_by_hash: paragraph.field("Acquire-By-Hash") == Some("yes"),
            architectures: words(paragraph, "Architectures"),
            names: names.map(str::to_owned).collect(),
            lists,
        })
    }

    /// Returns the list of packages of a component and an architecture, in the preferred form.
    pub(crate) fn packages(&self, component: &str, architecture: &str) -> Option<&IndexedList> {
        let path = format!("{component}/binary-{architecture}/Packages");
        FORMS.iter().find_map(|form| {
            let is_wanted = |list: &&IndexedList| list.path.strip_prefix(&path) == Some(*form);
            self.lists.iter().find(is_wanted)
        })
    }
}

impl IndexedList {
    /// Returns the path of the list by its hash.
    pub(crate) fn path_by_hash(&self) -> String {
        let dir = self.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        format!("{dir}/by-hash/SHA256/{}", self.sha256)
    }
}

fn words(paragraph: Paragraph<'_>, name: &str) -> Vec<String> {
    paragraph.words(name).map(str::to_owned).collect()
}

/// Parses a line with a hash, a size and a path.
fn parse_list(line: &str) -> Option<IndexedList> {
    let mut words = line.split_whitespace();
    let (sha256, bytes, path) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    is_sha256(sha256).then(|| IndexedList {
        path: path.to_owned(),
        bytes,
        sha256: sha256.to_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Suite: oldstable-security\nCodename: bookworm-security\nValid-Until: Thu, 03 Dec 2026 21:03:35 UTC\n\
        Acquire-By-Hash: yes\nArchitectures: amd64 arm64\nMD5Sum:\n 0ed6d4c8891eb86358b94bb35d9e4da4  10 main/binary-amd64/Packages\nSHA256:\n \
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855        0 main/binary-amd64/Packages\n \
        f61f27bd17de546264aa58f40f3aafaac7021e0ef69c17f6b1b4cd7664a037ec       20 main/binary-amd64/Packages.gz\n";

    #[test]
    fn the_index_has_the_hashes_of_lists() {
        let release = Release::parse(TEXT).unwrap();
        let list = release.packages("main", "amd64").unwrap();
        assert_eq!((list.path.as_str(), list.bytes), ("main/binary-amd64/Packages.gz", 20));
        assert_eq!(
            list.path_by_hash(),
            "main/binary-amd64/by-hash/SHA256/f61f27bd17de546264aa58f40f3aafaac7021e0ef69c17f6b1b4cd7664a037ec"
        );
        assert!(release.packages("main", "arm64").is_none());
        assert!(release.has_by_hash);
        let valid_until = release.valid_until.unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(valid_until.as_secs(), 1_796_331_815);
        assert_eq!(Release::parse("Suite: x\nMD5Sum:\n a 1 b\n"), None);
        assert_eq!(Release::parse(&TEXT.replace("2026", "the year after")), None, "valid forever");
    }
}
