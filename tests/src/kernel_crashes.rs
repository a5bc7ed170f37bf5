//! Objects that crash a kernel when they are loaded. The tests and their tools do not load them on such a
//! kernel.
//!
//! An experiment would crash the machine. Combinations without a known result count as crashes.

use std::path::Path;

/// The first two numbers of a kernel version.
pub type Version = (u32, u32);

/// An object that crashes some kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The file name of the object up to the first dot.
    pub object: &'static str,
    /// The program that crashes the kernel. `None` if the program is unknown, so that no program is loaded.
    pub program: Option<&'static str>,
    /// The first version known to crash.
    pub from: Version,
    /// The first later version known not to crash. `None` if no such version is known.
    pub fixed: Option<Version>,
    /// A description of the crash.
    pub reason: &'static str,
}

/// All known crashes.
const CRASHES: &[Crash] = &[Crash {
    object: "verifier_subprog_precision",
    program: None,
    from: (6, 18),
    fixed: None,
    reason: "the kernel oopses while it verifies this kernel selftest",
}];

/// Returns the crash that forbids loading an object, or one of its programs, on the running kernel.
///
/// The directory and the extension of `path` do not matter. Without `program`, the whole object is checked.
pub fn on_running_kernel(path: &Path, program: Option<&str>) -> Option<&'static Crash> {
    find(CRASHES, path, program, running())
}

/// Returns the crash that forbids loading an object on the kernel of a release, such as `7.2.13+deb14-s390x`.
///
/// A release that cannot be parsed counts as one on which all listed objects crash.
pub fn on_release(path: &Path, release: &str) -> Option<&'static Crash> {
    find(CRASHES, path, None, parse_version(release).unwrap_or((u32::MAX, 0)))
}

/// Returns true if no program of an object crashes the running kernel. Otherwise reports a skipped test.
pub fn may_be_loaded(path: &Path) -> bool {
    let crash = on_running_kernel(path, None);
    if let Some(crash) = crash {
        core_relo_test_support::skip(&path.display().to_string(), crash.reason);
    }
    crash.is_none()
}

fn find<'c>(crashes: &'c [Crash], path: &Path, program: Option<&str>, kernel: Version) -> Option<&'c Crash> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default();
    crashes.iter().find(|crash| {
        let is_program = match (crash.program, program) {
            (Some(crash), Some(program)) => crash == program,
            _ => true,
        };
        crash.object == name
            && is_program
            && kernel >= crash.from
            && crash.fixed.is_none_or(|fixed| kernel < fixed)
    })
}

/// Returns the version of the running kernel. A version that cannot be read counts as one on which all listed
/// objects crash.
fn running() -> Version {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    parse_version(&release).unwrap_or((u32::MAX, 0))
}

fn parse_version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[Crash] = &[
        Crash { object: "whole", program: None, from: (6, 18), fixed: None, reason: "oops" },
        Crash { object: "part", program: Some("bad"), from: (6, 1), fixed: Some((6, 6)), reason: "hang" },
    ];

    fn crashes(path: &str, program: Option<&str>, kernel: Version) -> bool {
        find(LIST, Path::new(path), program, kernel).is_some()
    }

    #[test]
    fn an_object_is_identified_by_its_file_name_without_directory_and_extension() {
        for path in ["whole.bpf.o", "/a/b/whole.o", "whole", "x/whole.bpf.linked3.o"] {
            assert!(crashes(path, None, (6, 18)), "{path}");
            assert!(crashes(path, Some("any"), (6, 18)), "{path}");
        }
        for path in ["wholes.bpf.o", "a_whole.o", "whole/other.o", ""] {
            assert!(!crashes(path, None, (6, 18)), "{path}");
        }
    }

    #[test]
    fn only_the_crashing_program_is_excluded_if_it_is_known() {
        assert!(crashes("part.o", Some("bad"), (6, 1)));
        assert!(!crashes("part.o", Some("good"), (6, 1)));
        // A load of the whole object includes the program.
        assert!(crashes("part.o", None, (6, 1)));
    }

    #[test]
    fn kernels_outside_the_version_range_are_not_affected() {
        let at = |kernel| crashes("part.o", None, kernel);
        assert_eq!(
            [(5, 19), (6, 0), (6, 1), (6, 5), (6, 6), (7, 0)].map(at),
            [false, false, true, true, false, false]
        );
        assert!(!crashes("whole.o", None, (6, 17)) && crashes("whole.o", None, (7, 3)));
    }

    #[test]
    fn the_version_is_parsed_from_the_release_string() {
        assert_eq!(parse_version("6.18.44-fc\n"), Some((6, 18)));
        assert_eq!(parse_version("7.3~rc7-cloud"), Some((7, 3)));
        assert_eq!(parse_version(""), None);
        assert!(running() >= (2, 6));
    }

    #[test]
    fn a_release_decides_as_the_running_kernel_does() {
        let crashes = |release| on_release(Path::new("verifier_subprog_precision.bpf.o"), release).is_some();
        assert!(crashes("7.2.13+deb14-s390x") && crashes("unknown") && !crashes("6.12.43-cloud-amd64"));
    }

    #[test]
    fn the_selftest_that_oopses_the_kernel_is_listed() {
        let path = Path::new("/anywhere/verifier_subprog_precision.bpf.o");
        for program in [None, Some("global_subprog_result_precise")] {
            assert!(find(CRASHES, path, program, (6, 18)).is_some());
        }
    }
}
