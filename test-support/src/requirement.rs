//! The parts of a machine that tests need, by the names in `CORE_RELO_REQUIRE`.

use std::{env, fmt, str::FromStr};

/// The environment variable with the names of the [requirements](Requirement) that the machine meets,
/// separated by commas. A test that is skipped without one of them fails.
pub const REQUIRE: &str = "CORE_RELO_REQUIRE";

/// A part of a machine that tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The right to load programs and maps.
    Root,
    /// BTF of the running kernel.
    Btf,
    /// BTF of other kernels (`cargo xtask kernels`).
    Kernels,
    /// A clang that compiles for BPF.
    Clang,
    /// libbpf, built from source.
    Libbpf,
    /// QEMU for this machine, and kernels to boot (`cargo xtask vm`).
    Qemu,
    /// OpenSSL's command.
    Openssl,
    /// valgrind, which counts instructions.
    Valgrind,
    /// `dpkg-deb`, which makes packages.
    Dpkg,
    /// `rpmbuild`, which makes packages.
    Rpmbuild,
    /// Chromium and chromedriver.
    Browser,
}

impl Requirement {
    /// All requirements.
    pub const ALL: [Self; 11] = [
        Self::Root,
        Self::Btf,
        Self::Kernels,
        Self::Clang,
        Self::Libbpf,
        Self::Qemu,
        Self::Openssl,
        Self::Valgrind,
        Self::Dpkg,
        Self::Rpmbuild,
        Self::Browser,
    ];

    /// Returns the name in `CORE_RELO_REQUIRE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Btf => "btf",
            Self::Kernels => "kernels",
            Self::Clang => "clang",
            Self::Libbpf => "libbpf",
            Self::Qemu => "qemu",
            Self::Openssl => "openssl",
            Self::Valgrind => "valgrind",
            Self::Dpkg => "dpkg",
            Self::Rpmbuild => "rpmbuild",
            Self::Browser => "browser",
        }
    }

    /// Returns whether `CORE_RELO_REQUIRE` names the requirement.
    ///
    /// # Panics
    ///
    /// The variable names something else.
    pub fn is_required(self) -> bool {
        let names = env::var(REQUIRE).unwrap_or_default();
        parse(&names).unwrap_or_else(|unknown| panic!("{REQUIRE}: {unknown}")).contains(&self)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|requirement| requirement.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no requirement `{name}`, expected some of {names}")
        })
    }
}

/// Returns the requirements of a list of names, separated by commas.
fn parse(names: &str) -> Result<Vec<Requirement>, String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::{Requirement, parse};

    /// A name that nobody knows would require nothing.
    #[test]
    fn names_are_those_of_requirements() {
        assert_eq!(parse("root, clang,"), Ok(vec![Requirement::Root, Requirement::Clang]));
        assert_eq!(parse(""), Ok(Vec::new()));
        assert!(
            parse("root,clnag").unwrap_err().starts_with("no requirement `clnag`, expected some of root, ")
        );
    }
}
