//! Files of addresses: `mirror.list` of Amazon Linux has the address of the present state of a repository.

use crate::fetch::{address::Address, available::is_relative, rpm_md_defect::RpmMdDefect};

/// The name of a file of addresses.
pub(in crate::fetch) const MIRROR_LIST: &str = "mirror.list";

/// Returns the path below the mirror of the repository that the first line names.
///
/// The address may have another host, such as that of a region, or that of which the mirror is a copy. All
/// files are read from the mirror.
pub(in crate::fetch) fn repository_path(
    list: &str,
    mirror: &Address,
    architecture: &str,
) -> Result<String, RpmMdDefect> {
    let line = list.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let address = line.ok_or(RpmMdDefect::NoAddress)?.replace("$basearch", architecture);
    let path = match address.strip_prefix(mirror.as_str()) {
        Some(path) => path,
        None => {
            let (_scheme, rest) = address.split_once("://").ok_or(RpmMdDefect::NoAddress)?;
            rest.split_once('/').map_or("", |(_host, path)| path)
        }
    };
    let path = path.trim_matches('/');
    match is_relative(path) {
        true => Ok(path.to_owned()),
        false => Err(RpmMdDefect::UnsafePath { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_on_the_mirror() {
        let path = |list: &str, mirror: &str| repository_path(list, &mirror.parse().unwrap(), "x86_64");
        let cdn = "https://cdn.amazonlinux.com";
        let expected = Ok("al2023/core/guids/abc/x86_64".to_owned());
        assert_eq!(path("https://cdn.amazonlinux.com/al2023/core/guids/abc/x86_64/\n", cdn), expected);
        let list = "\nhttps://region.example/al2023/core/guids/abc/$basearch\nhttps://other.example/x\n";
        assert_eq!(path(list, cdn), expected);
        assert_eq!(path(list, "file:///srv/amazon"), expected);
        assert_eq!(path("file:///srv/amazon/al2023/core/guids/abc/x86_64", "file:///srv/amazon"), expected);
        assert_eq!(path("\n", cdn), Err(RpmMdDefect::NoAddress));
        assert_eq!(path("<html>", cdn), Err(RpmMdDefect::NoAddress));
        let error = path("https://cdn.amazonlinux.com/../x", cdn);
        assert_eq!(error, Err(RpmMdDefect::UnsafePath { path: "../x".to_owned() }));
    }
}
