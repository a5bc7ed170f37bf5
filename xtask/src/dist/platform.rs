//! The names of architectures in packages.

/// The names of an architecture.
#[derive(Debug)]
pub struct Platform {
    pub architecture: &'static str,
    pub debian: &'static str,
    pub rpm: &'static str,
    /// The number in the lead of an rpm package.
    pub rpm_number: u16,
    /// The platform tags of a wheel. The file needs no libraries, so the oldest versions of both C libraries
    /// for which there are wheels.
    pub wheel: &'static [&'static str],
    /// QEMU's user-mode emulator.
    pub emulator: &'static str,
}

const PLATFORMS: [Platform; 5] = [
    Platform {
        architecture: "x86_64",
        debian: "amd64",
        rpm: "x86_64",
        rpm_number: 1,
        wheel: &["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
        emulator: "qemu-x86_64",
    },
    Platform {
        architecture: "aarch64",
        debian: "arm64",
        rpm: "aarch64",
        rpm_number: 19,
        wheel: &["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        emulator: "qemu-aarch64",
    },
    Platform {
        architecture: "riscv64",
        debian: "riscv64",
        rpm: "riscv64",
        rpm_number: 22,
        wheel: &["manylinux_2_31_riscv64", "musllinux_1_2_riscv64"],
        emulator: "qemu-riscv64",
    },
    Platform {
        architecture: "s390x",
        debian: "s390x",
        rpm: "s390x",
        rpm_number: 15,
        wheel: &["manylinux_2_17_s390x", "manylinux2014_s390x", "musllinux_1_1_s390x"],
        emulator: "qemu-s390x",
    },
    Platform {
        architecture: "ppc64le",
        debian: "ppc64el",
        rpm: "ppc64le",
        rpm_number: 16,
        wheel: &["manylinux_2_17_ppc64le", "manylinux2014_ppc64le", "musllinux_1_1_ppc64le"],
        emulator: "qemu-ppc64le",
    },
];

impl Platform {
    /// Finds the names of an architecture of `cargo xtask static`.
    pub fn find(architecture: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.architecture == architecture)
    }

    /// Returns whether programs of this architecture run here without an emulator.
    pub fn is_host(&self) -> bool {
        let host = match std::env::consts::ARCH {
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            other => other,
        };
        host == self.architecture
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_binary::TARGETS;

    #[test]
    fn every_architecture_has_names() {
        for target in TARGETS {
            assert!(Platform::find(target.architecture).is_some(), "{}", target.architecture);
        }
    }
}
