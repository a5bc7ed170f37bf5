//! Reports of skipped tests: on standard output, and in the file from which `cargo xtask test` counts them.

use crate::Requirement;
use std::{env, fs::OpenOptions, io::Write as _, thread};

/// Reports that the running test, or a part of it, does not run on this machine, with the reason as a format
/// string.
///
/// The first argument may be the [`Requirement`] that the machine does not meet:
/// `skip!(Clang, "no clang: {error}")`. The test then fails where that requirement is named in
/// `CORE_RELO_REQUIRE`.
#[macro_export]
macro_rules! skip {
    ($requirement:ident, $($reason:tt)+) => {
        $crate::skip_without($crate::Requirement::$requirement, &$crate::this_test(), &format!($($reason)+))
    };
    ($($reason:tt)+) => {
        $crate::skip(&$crate::this_test(), &format!($($reason)+))
    };
}

/// Reports that `test` does not run on this machine, with the reason.
pub fn skip(test: &str, reason: &str) {
    println!("SKIP {test}: {reason}");
    let Some(path) = env::var_os("CORE_RELO_SKIPS") else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _ = writeln!(file, "SKIP {test}: {reason}");
    }
}

/// Reports that `test` does not run on this machine, which does not meet a requirement.
///
/// # Panics
///
/// Fails the test if `CORE_RELO_REQUIRE` names the requirement.
pub fn skip_without(requirement: Requirement, test: &str, reason: &str) {
    assert!(
        !requirement.is_required(),
        "{test} is skipped: {reason}: but CORE_RELO_REQUIRE names `{requirement}`"
    );
    skip(test, reason);
}

/// Returns the name of the running test, which is the name of its thread.
pub fn this_test() -> String {
    thread::current().name().unwrap_or("a thread of a test").to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_is_named_by_its_thread() {
        assert!(crate::this_test().ends_with("tests::a_test_is_named_by_its_thread"));
    }
}
