//! The mirrors in the machine's apt configuration: `sources.list` and `sources.list.d` (sources.list(5)).

use crate::{
    fetch::{
        address::Address,
        deb822::paragraphs,
        distribution::{Archive, Distribution},
    },
    limits::MAX_SOURCES_BYTES,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A repository in a file of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    address: Address,
    suites: Vec<String>,
    components: Vec<String>,
    /// The keyring that the entry names (`Signed-By`).
    keyring: Option<PathBuf>,
}

/// The mirror of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AptMirror {
    pub(crate) address: Address,
    /// The keyring that the configuration names.
    pub(crate) keyring: Option<PathBuf>,
}

/// Finds the mirror of an archive of a distribution in a directory such as `/etc/apt`.
///
/// A repository of somebody else may have the names of the distribution's suites. An entry that names the
/// distribution's keyring is preferred, then one whose address ends with the name of the archive.
pub(crate) fn find_mirror(dir: &Path, distribution: &Distribution, archive: Archive) -> Option<AptMirror> {
    let suites: Vec<_> = distribution
        .releases
        .iter()
        .flat_map(|release| release.suites)
        .filter(|suite| suite.archive == archive)
        .map(|suite| suite.name)
        .collect();
    let is_of_archive = |source: &Source| {
        source.suites.iter().any(|suite| suites.contains(&suite.trim_end_matches('/')))
            && source.components.iter().any(|component| distribution.components.contains(&component.as_str()))
    };
    let archive_name = archive.mirror_key(distribution.name);
    let rank = |source: &Source| {
        let has_keyring = source.keyring.as_deref() == Some(Path::new(distribution.keyring));
        (!has_keyring, source.address.last_part() != archive_name)
    };
    let found = read_sources(dir).into_iter().filter(is_of_archive).min_by_key(rank)?;
    Some(AptMirror { address: found.address, keyring: found.keyring })
}

/// Reads the files of sources. Files that cannot be read have no sources.
fn read_sources(dir: &Path) -> Vec<Source> {
    let entries = fs::read_dir(dir.join("sources.list.d")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let mut sources = Vec::new();
    for file in [dir.join("sources.list")].iter().chain(&files) {
        let is_small = file.metadata().is_ok_and(|file| file.is_file() && file.len() <= MAX_SOURCES_BYTES);
        let Some(text) = is_small.then(|| fs::read_to_string(file).ok()).flatten() else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(text.lines().flat_map(parse_line)),
            Some("sources") => sources.extend(parse_deb822(&text)),
            _ => {}
        }
    }
    sources
}

/// Parses a line of the one-line format: `deb [signed-by=KEYRING] ADDRESS SUITE COMPONENT...`.
fn parse_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let keyring = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    Some(Source {
        address: words.next()?.parse().ok()?,
        suites: words.next().map(str::to_owned).into_iter().collect(),
        components: words.map(str::to_owned).collect(),
        keyring: keyring.and_then(keyring_path),
    })
}

/// Parses the sources of the deb822 format.
fn parse_deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for paragraph in paragraphs(text) {
        let is_enabled = !paragraph.field("Enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
        if !is_enabled || !paragraph.words("Types").any(|kind| kind == "deb") {
            continue;
        }
        let addresses = paragraph.words("URIs").filter_map(|address| address.parse().ok());
        sources.extend(addresses.map(|address| Source {
            address,
            suites: paragraph.words("Suites").map(str::to_owned).collect(),
            components: paragraph.words("Components").map(str::to_owned).collect(),
            keyring: paragraph.field("Signed-By").and_then(keyring_path),
        }));
    }
    sources
}

/// Returns the keyring of `Signed-By`, which may be a key itself, or a fingerprint.
fn keyring_path(value: &str) -> Option<PathBuf> {
    let path = value.split([',', ' ']).next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(list: &str, sources: &str, archive: Archive) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sources.list.d")).unwrap();
        fs::write(dir.path().join("sources.list"), list).unwrap();
        fs::write(dir.path().join("sources.list.d/system.sources"), sources).unwrap();
        let distribution = Distribution::from_name("debian").unwrap();
        find_mirror(dir.path(), distribution, archive).map(|mirror| mirror.address.to_string())
    }

    #[test]
    fn mirrors_are_found_in_both_formats() {
        let list = "# deb http://old.example/debian bookworm main\ndeb [arch=amd64] http://a.example/debian/ trixie main\n\
                    deb http://a.example/debian-security trixie-security main\n";
        assert_eq!(mirror(list, "", Archive::Main).as_deref(), Some("http://a.example/debian"));
        assert_eq!(mirror(list, "", Archive::Security).as_deref(), Some("http://a.example/debian-security"));
        let sources = "Types: deb\nURIs: https://b.example/pub/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\
                       Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\nTypes: deb\nEnabled: no\n\
                       URIs: https://c.example/debian-security\nSuites: bookworm-security\nComponents: main\n";
        assert_eq!(mirror("", sources, Archive::Main).as_deref(), Some("https://b.example/pub/debian"));
        assert_eq!(mirror("", sources, Archive::Security), None);
    }

    /// Other projects have repositories with the names of the distribution's suites.
    #[test]
    fn repositories_of_others_come_last() {
        let list = "deb [signed-by=/usr/share/keyrings/x.gpg] https://x.example/wine/debian bookworm main\n\
                    deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://a.example/mirror bookworm main\n\
                    deb https://y.example/linux/debian bookworm stable\n";
        assert_eq!(mirror(list, "", Archive::Main).as_deref(), Some("http://a.example/mirror"));
        let unnamed = "deb http://x.example/apt bookworm main\ndeb http://a.example/debian bookworm main\n";
        assert_eq!(mirror(unnamed, "", Archive::Main).as_deref(), Some("http://a.example/debian"));
        assert_eq!(mirror("deb http://a.example/ubuntu noble main\n", "", Archive::Main), None);
        assert_eq!(mirror("deb mirror://a.example/list bookworm main\n", "", Archive::Main), None);
    }
}
