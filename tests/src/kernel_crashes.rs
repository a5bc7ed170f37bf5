//! Objects that crash a kernel when they are loaded. No test and no tool of the tests loads them there.
//!
//! The crash is the kernel's, so the objects cannot be tried again to find out more: what is not known is taken to crash.

use std::path::Path;

/// A version of a kernel: its first two numbers.
pub type Version = (u32, u32);

/// An object that crashes some kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The object's name: the file's up to the first dot.
    pub object: &'static str,
    /// The program that crashes the kernel; none: it is not known which, so none of them is loaded.
    pub program: Option<&'static str>,
    /// The first version known to crash.
    pub from: Version,
    /// The first later version known not to crash; none: no such version is known.
    pub fixed: Option<Version>,
    /// What happens.
    pub reason: &'static str,
}

/// All of them.
const CRASHES: &[Crash] = &[Crash {
    object: "verifier_subprog_precision",
    program: None,
    from: (6, 18),
    fixed: None,
    reason: "the kernel oopses while it verifies this kernel selftest",
}];

/// Returns why an object, or one of its programs, must not be loaded on the running kernel.
///
/// `path` is the object's file, whatever its folder and ending; without `program` all programs are meant.
pub fn on_running_kernel(path: &Path, program: Option<&str>) -> Option<&'static Crash> {
    find(CRASHES, path, program, running())
}

/// Whether an object is free of programs that crash the running kernel. If not, it says so.
pub fn may_be_loaded(path: &Path) -> bool {
    let crash = on_running_kernel(path, None);
    if let Some(crash) = crash {
        crate::skip::skip(&path.display().to_string(), crash.reason);
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

/// The running kernel's version. One that cannot be read counts as one on which everything crashes that ever did.
fn running() -> Version {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    version(&release).unwrap_or((u32::MAX, 0))
}

fn version(release: &str) -> Option<Version> {
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
    fn an_object_is_known_by_its_name_wherever_it_lies_and_whatever_its_ending() {
        for path in ["whole.bpf.o", "/a/b/whole.o", "whole", "x/whole.bpf.linked3.o"] {
            assert!(crashes(path, None, (6, 18)), "{path}");
            assert!(crashes(path, Some("any"), (6, 18)), "{path}");
        }
        for path in ["wholes.bpf.o", "a_whole.o", "whole/other.o", ""] {
            assert!(!crashes(path, None, (6, 18)), "{path}");
        }
    }

    #[test]
    fn only_the_program_that_crashes_is_left_out_where_it_is_known() {
        assert!(crashes("part.o", Some("bad"), (6, 1)));
        assert!(!crashes("part.o", Some("good"), (6, 1)));
        // A load of the whole object has it, too.
        assert!(crashes("part.o", None, (6, 1)));
    }

    #[test]
    fn kernels_before_and_after_are_not_concerned() {
        let at = |kernel| crashes("part.o", None, kernel);
        assert_eq!(
            [(5, 19), (6, 0), (6, 1), (6, 5), (6, 6), (7, 0)].map(at),
            [false, false, true, true, false, false]
        );
        assert!(!crashes("whole.o", None, (6, 17)) && crashes("whole.o", None, (7, 3)));
    }

    #[test]
    fn versions_of_releases() {
        assert_eq!(version("6.18.44-fc\n"), Some((6, 18)));
        assert_eq!(version("7.3~rc7-cloud"), Some((7, 3)));
        assert_eq!(version(""), None);
        assert!(running() >= (2, 6));
    }

    #[test]
    fn the_kernel_selftest_that_oopses_is_on_the_list() {
        let path = Path::new("/anywhere/verifier_subprog_precision.bpf.o");
        for program in [None, Some("global_subprog_result_precise")] {
            assert!(find(CRASHES, path, program, (6, 18)).is_some());
        }
    }
}
