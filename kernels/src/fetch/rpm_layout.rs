//! The layout of a distribution's rpm-md repositories, and the packages of its kernels.

/// The layout of a distribution's repositories. A suite of the distribution is the path of a repository, with
/// `$basearch` for the architecture, or that of a file with its address (`mirror.list`).
#[derive(Debug, PartialEq, Eq)]
pub struct RpmLayout {
    /// The packages with images.
    pub(super) images: &'static [ImagePackage],
    /// The packages with modules, by the ending after the name of the image without `-core`.
    pub(super) modules: &'static [&'static str],
    /// The packages with further modules, likewise.
    pub(super) extra_modules: &'static [&'static str],
    /// The release of a kernel whose package does not provide it.
    pub(super) release_rule: ReleaseRule,
    /// The repositories whose kernels are additional ones.
    pub(super) additional_suites: &'static [&'static str],
    /// The mirrors for some releases or architectures.
    pub(super) other_mirrors: &'static [OtherMirror],
    /// The paths of repositories with debug information: the first rule that applies replaces a part of the
    /// path.
    pub(super) debug_rules: &'static [DebugRule],
    /// The keys of the distribution, below directories with keys.
    pub(super) keys: &'static [&'static str],
    /// Whether every index has a signature. Others are verified if they have one.
    pub(super) requires_signature: bool,
}

/// A package with an image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImagePackage {
    pub(super) name: &'static str,
    pub(super) flavour: &'static str,
    /// Whether the kernel is a further one beside that of the release.
    pub(super) is_additional: bool,
}

/// The rule for the release of a kernel (`uname -r`), from the version of its package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseRule {
    /// `5.14.0-427.el9.x86_64`.
    WithArchitecture,
    /// `6.6.64.2-7.azl3`.
    Plain,
    /// `6.4.0-150600.23.65-default` of `6.4.0-150600.23.65.1`: the release loses the counter of builds.
    Suse,
}

/// A mirror for some releases or architectures.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtherMirror {
    /// The releases; all if empty.
    pub(super) releases: &'static [&'static str],
    /// The architectures; all if empty.
    pub(super) architectures: &'static [&'static str],
    pub(super) address: &'static str,
}

/// The version of a package.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackageVersion<'p> {
    pub(super) version: &'p str,
    pub(super) release: &'p str,
    pub(super) architecture: &'p str,
}

/// A rule for the path of a repository with debug information.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DebugRule {
    pub(super) part: &'static str,
    pub(super) replacement: &'static str,
}

/// The names of openSUSE's directories for ports to other architectures.
const PORTS: [(&str, &str); 4] =
    [("aarch64", "aarch64"), ("ppc64le", "ppc"), ("s390x", "zsystems"), ("riscv64", "riscv")];

/// Returns a path with the architecture in it: `$basearch`, and `$ports/`, the directory of ports, which
/// x86-64 does not have. The architecture is named as by `uname -m`.
pub(super) fn expand(path: &str, machine: &str) -> String {
    let ports = PORTS.iter().find(|(name, _)| *name == machine);
    let ports = ports.map_or_else(String::new, |(_, directory)| format!("ports/{directory}/"));
    path.replace("$ports/", &ports).replace("$basearch", machine)
}

impl RpmLayout {
    /// Returns the mirror for a release and an architecture, if it is not that of the distribution.
    pub(super) fn other_mirror(&self, release: &str, architecture: &str) -> Option<&'static str> {
        let is_for = |list: &[&str], name: &str| list.is_empty() || list.contains(&name);
        let mut mirrors = self.other_mirrors.iter();
        let mirror = mirrors
            .find(|mirror| is_for(mirror.releases, release) && is_for(mirror.architectures, architecture));
        mirror.map(|mirror| mirror.address)
    }

    /// Returns the path of the repository with debug information for a repository.
    pub(super) fn debug_path(&self, suite: &str) -> Option<String> {
        let rule = self.debug_rules.iter().find(|rule| suite.contains(rule.part))?;
        Some(suite.replacen(rule.part, rule.replacement, 1))
    }

    /// Returns the release of the kernel in a package that does not provide it.
    pub(super) fn kernel_release(&self, image: &ImagePackage, package: PackageVersion<'_>) -> String {
        let PackageVersion { version, release, architecture } = package;
        match self.release_rule {
            ReleaseRule::WithArchitecture => format!("{version}-{release}.{architecture}"),
            ReleaseRule::Plain => format!("{version}-{release}"),
            ReleaseRule::Suse => {
                let flavour = image.name.strip_prefix("kernel-").unwrap_or(image.name);
                format!("{version}-{}-{flavour}", without_build_counter(release))
            }
        }
    }
}

/// Returns a release of SUSE without the counter of builds: `150600.23.65` of `150600.23.65.1`, and
/// `2.g1234567` of `2.1.g1234567`.
fn without_build_counter(release: &str) -> String {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match release.rsplit_once('.') {
        Some((rest, last)) if is_number(last) => rest.to_owned(),
        Some((rest, last)) => match rest.rsplit_once('.') {
            Some((rest, counter)) if is_number(counter) => format!("{rest}.{last}"),
            _ => release.to_owned(),
        },
        None => release.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_architecture() {
        assert_eq!(expand("9/BaseOS/$basearch/os", "x86_64"), "9/BaseOS/x86_64/os");
        assert_eq!(expand("$ports/tumbleweed/repo/oss", "x86_64"), "tumbleweed/repo/oss");
        assert_eq!(expand("$ports/tumbleweed/repo/oss", "s390x"), "ports/zsystems/tumbleweed/repo/oss");
    }

    /// The rule of `rpm/kernel-spec-macros` (`source_rel`).
    #[test]
    fn releases_of_suse_have_no_counter_of_builds() {
        for (release, expected) in
            [("150600.23.65.1", "150600.23.65"), ("1.1", "1"), ("2.1.g1234567", "2.g1234567"), ("1", "1")]
        {
            assert_eq!(without_build_counter(release), expected);
        }
    }
}
