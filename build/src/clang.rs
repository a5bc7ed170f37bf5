//! Finds a clang that compiles for BPF.

use crate::{error::BuildError, runner::Runner};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

/// The environment variable with the path of clang.
pub(crate) const CLANG: &str = "CLANG";

/// The oldest version of clang whose output this project tests.
const MINIMUM: u32 = 14;

/// The newest version that is looked for by name (`clang-40`).
const NEWEST: u32 = 40;

/// A clang that compiles for BPF.
#[derive(Clone, Debug)]
pub(crate) struct Clang {
    path: PathBuf,
    version: u32,
}

/// The result of a look at a program.
enum Probe {
    Fits(Clang),
    /// There is no such program.
    Missing,
    /// The program does not fit, for this reason.
    Refused(String),
}

impl Clang {
    /// Finds clang: the given path, else `CLANG`, else `clang` and `clang-NN` in `PATH`, newest first.
    pub(crate) fn find(given: Option<&Path>, runner: Runner<'_>) -> Result<Self, BuildError> {
        let mut refused = Vec::new();
        let variable = || env::var_os(CLANG).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = given.map(Path::to_path_buf).or_else(variable) {
            match Self::probe(&path, runner)? {
                Probe::Fits(clang) => return Ok(clang),
                Probe::Missing => refused.push((path, "no such program in PATH".to_owned())),
                Probe::Refused(why) => refused.push((path, why)),
            }
            return Err(BuildError::NoClang { minimum: MINIMUM, refused });
        }
        let versioned = (MINIMUM..=NEWEST).rev().map(|version| PathBuf::from(format!("clang-{version}")));
        for path in core::iter::once(PathBuf::from("clang")).chain(versioned) {
            match Self::probe(&path, runner)? {
                Probe::Fits(clang) => return Ok(clang),
                // A name that is not in `PATH` is not worth a line.
                Probe::Missing => {}
                Probe::Refused(why) => refused.push((path, why)),
            }
        }
        Err(BuildError::NoClang { minimum: MINIMUM, refused })
    }

    /// Judges the program at a path.
    fn probe(path: &Path, runner: Runner<'_>) -> Result<Probe, BuildError> {
        let is_given = path.components().count() > 1;
        let output = match runner.output(Command::new(path).arg("--version"), b"") {
            Ok(output) => output.ok_or(BuildError::Cancelled)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_given => {
                return Ok(Probe::Missing);
            }
            Err(error) => return Ok(Probe::Refused(format!("cannot be started: {error}"))),
        };
        let Some(version) = parse_version(&String::from_utf8_lossy(&output.stdout)) else {
            return Ok(Probe::Refused("its --version names no version of clang".into()));
        };
        if version < MINIMUM {
            return Ok(Probe::Refused(format!("clang {version} is too old")));
        }
        let clang = Self { path: path.to_path_buf(), version };
        let compiles = clang.compiles_for_bpf(runner)?;
        Ok(if compiles { Probe::Fits(clang) } else { Probe::Refused("it has no target `bpf`".into()) })
    }

    fn compiles_for_bpf(&self, runner: Runner<'_>) -> Result<bool, BuildError> {
        let mut command = self.command();
        command.args(["-target", "bpf", "-x", "c", "-S", "-o", "-", "-"]);
        match runner.output(&mut command, b"int works;\n") {
            Ok(output) => Ok(output.ok_or(BuildError::Cancelled)?.status.success()),
            Err(_) => Ok(false),
        }
    }

    /// Returns a command of this clang.
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the program that strips objects, beside this clang and by its version.
    pub(crate) fn strip_programs(&self) -> Vec<PathBuf> {
        let names = [format!("llvm-strip-{}", self.version), "llvm-strip".to_owned()].map(OsString::from);
        let beside = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let beside = beside.into_iter().flat_map(|parent| names.iter().map(|name| parent.join(name)));
        beside.chain(names.iter().map(PathBuf::from)).collect()
    }
}

/// Parses the major version in the output of `clang --version`, such as `Debian clang version 19.1.7 (3)`.
fn parse_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::{OLDEST_CLANG, clang, skip};

    #[test]
    fn versions_of_distributions_are_read() {
        assert_eq!(parse_version("Debian clang version 14.0.6\nTarget: x86_64"), Some(14));
        assert_eq!(parse_version("Ubuntu clang version 19.1.1 (1ubuntu1)"), Some(19));
        assert_eq!(parse_version("clang version 21.0.0git (https://…)"), Some(21));
        assert_eq!(parse_version("gcc (Debian 12.2.0-14) 12.2.0"), None);
    }

    /// The crate for tests finds clang by itself: it depends on no other crate.
    #[test]
    fn tests_use_the_clang_that_build_scripts_find() {
        assert_eq!(MINIMUM, OLDEST_CLANG);
        match Clang::find(None, Runner::default()) {
            Ok(found) => assert_eq!(clang().map(core_relo_test_support::Clang::version), Some(found.version)),
            Err(error) => skip!(Clang, "{error}"),
        }
    }

    #[test]
    fn a_program_that_is_no_clang_is_named_in_the_error() {
        let error = Clang::find(Some(Path::new("/bin/true")), Runner::default()).unwrap_err().to_string();
        assert!(error.contains("/bin/true: its --version names no version of clang"), "{error}");
        let error =
            Clang::find(Some(Path::new("/nonexistent/clang")), Runner::default()).unwrap_err().to_string();
        let unknown =
            Clang::find(Some(Path::new("clang-nonexistent")), Runner::default()).unwrap_err().to_string();
        assert!(unknown.contains("clang-nonexistent: no such program in PATH"), "{unknown}");
        assert!(
            error.contains("/nonexistent/clang: cannot be started") && error.contains("apt install clang"),
            "{error}"
        );
    }
}
