//! Paths in lists, relative to a repository, resolved below the mirror's address.

use crate::fetch::{available::is_relative, rpm_md_defect::RpmMdDefect};

/// Returns the path below the mirror of a file that a list names.
///
/// Packages of Amazon Linux are outside of their repository:
/// `../../../../../blobstore/HASH/kernel-6.1.x86_64.rpm`. A path that leaves the mirror, or is absolute, is
/// an error.
pub(in crate::fetch) fn resolve(repository: &str, path: &str) -> Result<String, RpmMdDefect> {
    let mut parts: Vec<&str> = repository.split('/').collect();
    let unsafe_path = || RpmMdDefect::UnsafePath { path: path.to_owned() };
    if path.starts_with('/') || path.contains(':') {
        return Err(unsafe_path());
    }
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop().ok_or_else(unsafe_path)?;
            }
            part => parts.push(part),
        }
    }
    let resolved = parts.join("/");
    if is_relative(&resolved) { Ok(resolved) } else { Err(unsafe_path()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_on_the_mirror() {
        let resolve = |repository, path| resolve(repository, path).ok();
        let path = |text: &str| Some(text.to_owned());
        assert_eq!(
            resolve("9/BaseOS/x86_64/os", "Packages/k/kernel-core-5.14.0-1.el9.x86_64.rpm"),
            path("9/BaseOS/x86_64/os/Packages/k/kernel-core-5.14.0-1.el9.x86_64.rpm")
        );
        let blob = "../../../../../blobstore/abc/kernel.rpm";
        assert_eq!(resolve("2/core/2.0/x86_64/GUID", blob), path("blobstore/abc/kernel.rpm"));
        assert_eq!(resolve("core/2.0/x86_64/GUID", blob), None);
        for hostile in ["/etc/passwd", "../../x", "http://x/y", "a//b", "a?b", "a%2e", "a\\b", "", "a/"] {
            assert_eq!(resolve("os", hostile), None, "{hostile}");
        }
    }
}
