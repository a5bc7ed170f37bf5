//! The architectures of guests: Debian's names, the kernels to boot, and the tools that build static programs
//! for them.

use core_relo_vm::Arch;

/// An architecture whose kernels `cargo xtask vm` boots.
#[derive(Debug)]
pub struct Platform {
    pub arch: Arch,
    /// The name in `--arch`: Debian's name of the architecture.
    pub debian: &'static str,
    /// The suffix of the names of Debian's kernels.
    pub kernel_suffix: &'static str,
    /// `cloud`, or `generic`.
    pub flavour: &'static str,
    /// The Debian releases with its kernels: the fewest that have every series.
    pub suites: &'static [&'static str],
    /// The kernel series to run the tests on, oldest first.
    pub series: &'static [&'static str],
    /// The Rust target of the tests.
    pub triple: &'static str,
    /// The linker of the tests, and Debian's packages with the linker and the C library. `None` for the
    /// host's own linker, and for targets that Rust links without a C compiler.
    pub cross: Option<Cross>,
    /// Debian's packages with QEMU and the firmware that the machine needs.
    pub emulator: &'static [&'static str],
    /// The directory of committed objects in the byte order of the architecture.
    pub objects: &'static str,
    /// The default time limit for a kernel, in seconds.
    pub seconds: u32,
}

/// A cross compiler as linker.
#[derive(Debug)]
pub struct Cross {
    pub linker: &'static str,
    pub packages: [&'static str; 2],
    /// Further flags of the compiler.
    pub flags: &'static str,
}

/// The directory of the committed little-endian objects.
pub const LITTLE: &str = "el";
/// The directory of the committed big-endian objects.
const BIG: &str = "eb";

/// The architectures, the host's own first.
pub const PLATFORMS: [Platform; 5] = [
    Platform {
        arch: Arch::X86_64,
        debian: "amd64",
        kernel_suffix: "amd64",
        flavour: "cloud",
        suites: &["bullseye", "bookworm", "trixie", "sid"],
        series: &["5.10", "6.1", "6.12", "7"],
        triple: "x86_64-unknown-linux-gnu",
        cross: None,
        emulator: &["qemu-system-x86"],
        objects: LITTLE,
        seconds: 300,
    },
    Platform {
        arch: Arch::Aarch64,
        debian: "arm64",
        kernel_suffix: "arm64",
        flavour: "generic",
        suites: &["bullseye", "bookworm", "trixie", "sid"],
        series: &["5.10", "6.1", "6.12", "7"],
        triple: "aarch64-unknown-linux-musl",
        cross: None,
        emulator: &["qemu-system-arm"],
        objects: LITTLE,
        seconds: 1800,
    },
    Platform {
        arch: Arch::S390x,
        debian: "s390x",
        kernel_suffix: "s390x",
        flavour: "generic",
        suites: &["bookworm", "trixie", "sid"],
        series: &["6.1", "6.12", "7"],
        triple: "s390x-unknown-linux-gnu",
        cross: Some(Cross {
            linker: "s390x-linux-gnu-gcc",
            packages: ["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
            flags: "",
        }),
        emulator: &["qemu-system-misc"],
        objects: BIG,
        seconds: 1800,
    },
    Platform {
        arch: Arch::Riscv64,
        debian: "riscv64",
        kernel_suffix: "riscv64",
        flavour: "generic",
        suites: &["trixie", "sid"],
        series: &["6.12", "7"],
        triple: "riscv64gc-unknown-linux-gnu",
        cross: Some(Cross {
            linker: "riscv64-linux-gnu-gcc",
            packages: ["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"],
            // Functions of glibc jump at most 1 MiB to others, so its code must lie together.
            flags: "-C link-arg=-Wl,--sort-section=name",
        }),
        emulator: &["qemu-system-misc"],
        objects: LITTLE,
        seconds: 1800,
    },
    Platform {
        arch: Arch::Ppc64le,
        debian: "ppc64el",
        kernel_suffix: "powerpc64le",
        flavour: "generic",
        suites: &["bookworm", "trixie", "sid"],
        series: &["6.1", "6.12", "7"],
        triple: "powerpc64le-unknown-linux-gnu",
        cross: Some(Cross {
            linker: "powerpc64le-linux-gnu-gcc",
            packages: ["gcc-powerpc64le-linux-gnu", "libc6-dev-ppc64el-cross"],
            flags: "",
        }),
        emulator: &["qemu-system-ppc"],
        objects: LITTLE,
        seconds: 1800,
    },
];

impl Platform {
    /// Returns the platform of this name: Debian's name, the kernel's, or Rust's.
    pub fn named(name: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| {
            let rust = platform.triple.split('-').next();
            name == platform.debian || name == platform.arch.to_string() || Some(name) == rust
        })
    }

    /// Returns the platform of an architecture.
    pub fn of_arch(arch: Arch) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.arch == arch)
    }

    /// Returns the names of all platforms, separated by commas.
    pub fn names() -> String {
        PLATFORMS.each_ref().map(|platform| platform.debian).join(", ")
    }

    /// Returns the oldest and the newest series.
    pub fn oldest_and_newest(&self) -> Vec<&'static str> {
        let mut ends: Vec<_> =
            [self.series.first(), self.series.last()].into_iter().flatten().copied().collect();
        ends.dedup();
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_names_of_debian_the_kernel_and_rust() {
        for name in ["ppc64el", "ppc64le", "powerpc64le"] {
            assert_eq!(Platform::named(name).map(|platform| platform.arch), Some(Arch::Ppc64le), "{name}");
        }
        for platform in &PLATFORMS {
            assert_eq!(Platform::named(platform.debian).map(|found| found.arch), Some(platform.arch));
            assert_eq!(Platform::of_arch(platform.arch).map(|found| found.debian), Some(platform.debian));
        }
        assert!(Platform::named("sparc64").is_none());
    }

    #[test]
    fn big_endian_guests_get_big_endian_objects() {
        for platform in &PLATFORMS {
            assert_eq!(platform.objects == "eb", platform.triple.starts_with("s390x"), "{}", platform.debian);
        }
    }
}
