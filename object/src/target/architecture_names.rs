//! The names of architectures: that of the kernel, and those of distributions and compilers.

/// The names of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchitectureNames {
    machine: &'static str,
    debian: Option<&'static str>,
    others: &'static [&'static str],
    word_bytes: u32,
}

const fn names(
    machine: &'static str,
    word_bytes: u32,
    debian: &'static str,
    others: &'static [&'static str],
) -> ArchitectureNames {
    ArchitectureNames { machine, debian: Some(debian), others, word_bytes }
}

/// Names of an architecture that Debian has no kernels for.
const fn without_debian(
    machine: &'static str,
    word_bytes: u32,
    others: &'static [&'static str],
) -> ArchitectureNames {
    ArchitectureNames { machine, debian: None, others, word_bytes }
}

/// The architectures. Those with a kernel of Debian come first.
const ARCHITECTURES: [ArchitectureNames; 20] = [
    names("x86_64", 8, "amd64", &[]),
    // A process of 32 bits sees `armv8l`.
    names("aarch64", 8, "arm64", &["armv8l"]),
    names("s390x", 8, "s390x", &[]),
    names("ppc64le", 8, "ppc64el", &[]),
    names("riscv64", 8, "riscv64", &[]),
    names("loongarch64", 8, "loong64", &[]),
    names("i686", 4, "i386", &["i586", "i486", "x86"]),
    names("armv7l", 4, "armhf", &["armv7", "armv7hl", "armv7h", "arm"]),
    without_debian("aarch64_be", 8, &[]),
    without_debian("armv6l", 4, &[]),
    without_debian("armv5tel", 4, &["armel"]),
    without_debian("armv7b", 4, &[]),
    without_debian("loongarch32", 4, &[]),
    without_debian("mips", 4, &["mipsel"]),
    without_debian("mips64", 8, &["mips64el"]),
    without_debian("ppc", 4, &["powerpc"]),
    without_debian("ppc64", 8, &[]),
    without_debian("riscv32", 4, &[]),
    without_debian("sparc", 4, &[]),
    without_debian("sparc64", 8, &[]),
];

impl ArchitectureNames {
    /// Finds an architecture by any of its names.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|known| known.names().any(|other| other == name))
    }

    /// Returns all architectures.
    pub fn all() -> impl Iterator<Item = Self> {
        ARCHITECTURES.into_iter()
    }

    /// Returns all names of the architecture, that of the kernel first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let debian = self.debian.filter(|debian| *debian != self.machine);
        core::iter::once(self.machine).chain(debian).chain(self.others.iter().copied())
    }

    /// Returns the name that `uname -m` prints.
    pub const fn machine(self) -> &'static str {
        self.machine
    }

    /// Returns Debian's name. `None` if Debian has no kernels for the architecture.
    pub const fn debian(self) -> Option<&'static str> {
        self.debian
    }

    /// Returns the size of a word in bytes.
    pub const fn word_bytes(self) -> u32 {
        self.word_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_one_architecture() {
        for name in ArchitectureNames::all().flat_map(ArchitectureNames::names) {
            let owners = ArchitectureNames::all().filter(|known| known.names().any(|other| other == name));
            assert_eq!(owners.count(), 1, "{name}");
        }
    }

    /// Two tables disagreed: armhf was `arm` in one and `armv7l` in the other.
    #[test]
    fn names_of_distributions_lead_to_the_name_of_the_kernel() {
        for (name, machine) in [
            ("amd64", "x86_64"),
            ("armhf", "armv7l"),
            ("armv7", "armv7l"),
            ("armv8l", "aarch64"),
            ("i386", "i686"),
        ] {
            assert_eq!(ArchitectureNames::find(name).map(ArchitectureNames::machine), Some(machine));
        }
        assert_eq!(ArchitectureNames::find("pdp11"), None);
    }
}
