//! The architectures of guests.

use std::fmt;

/// The architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arch {
    /// x86-64: QEMU's machine `pc`.
    X86_64,
    /// arm64: QEMU's machine `virt`.
    Aarch64,
    /// s390x, big-endian: QEMU's machine `s390-ccw-virtio`.
    S390x,
    /// riscv64: QEMU's machine `virt`.
    Riscv64,
    /// ppc64le: QEMU's machine `pseries`.
    Ppc64le,
}

/// The guest's serial ports, as files in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SerialPorts {
    /// The value of `console=` on the kernel's command line.
    pub console: &'static str,
    /// The standard output of commands.
    pub output: &'static str,
    /// The guest's state, apart from the output of commands.
    pub notes: &'static str,
    /// The standard error of commands.
    pub errors: &'static str,
}

impl Arch {
    /// All architectures.
    pub(crate) const ALL: [Self; 5] =
        [Self::X86_64, Self::Aarch64, Self::S390x, Self::Riscv64, Self::Ppc64le];

    /// Returns the architecture that this crate was built for, if guests can have it.
    pub const fn host() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else if cfg!(target_arch = "s390x") {
            Some(Self::S390x)
        } else if cfg!(target_arch = "riscv64") {
            Some(Self::Riscv64)
        } else if cfg!(all(target_arch = "powerpc64", target_endian = "little")) {
            Some(Self::Ppc64le)
        } else {
            None
        }
    }

    /// Returns the name of the QEMU program.
    pub const fn qemu(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
            Self::S390x => "qemu-system-s390x",
            Self::Riscv64 => "qemu-system-riscv64",
            Self::Ppc64le => "qemu-system-ppc64",
        }
    }

    /// Returns the name of Debian's package with the QEMU program.
    pub const fn qemu_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Aarch64 => "qemu-system-arm",
            Self::S390x => "qemu-system-misc",
            Self::Riscv64 => "qemu-system-misc",
            Self::Ppc64le => "qemu-system-ppc",
        }
    }

    /// Returns the Rust target of static executables for the guest.
    pub const fn rust_target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
            Self::S390x => "s390x-unknown-linux-gnu",
            Self::Riscv64 => "riscv64gc-unknown-linux-gnu",
            Self::Ppc64le => "powerpc64le-unknown-linux-gnu",
        }
    }

    /// Returns the value of `e_machine` of executables.
    pub(crate) const fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
            Self::S390x => 22,
            Self::Riscv64 => 243,
            Self::Ppc64le => 21,
        }
    }

    /// Returns the serial ports. On arm64, the console is the UART of the machine, and the other ports are on
    /// the PCI bus.
    pub const fn serial_ports(self) -> SerialPorts {
        match self {
            Self::X86_64 => SerialPorts {
                console: "ttyS0,115200",
                output: "/dev/ttyS1",
                notes: "/dev/ttyS2",
                errors: "/dev/ttyS3",
            },
            Self::Aarch64 => SerialPorts {
                console: "ttyAMA0",
                output: "/dev/ttyS0",
                notes: "/dev/ttyS1",
                errors: "/dev/ttyS2",
            },
            Self::S390x => SerialPorts {
                console: "ttysclp0",
                output: "/dev/hvc0",
                notes: "/dev/hvc1",
                errors: "/dev/hvc2",
            },
            Self::Riscv64 => SerialPorts {
                console: "ttyS0",
                output: "/dev/ttyS1",
                notes: "/dev/ttyS2",
                errors: "/dev/ttyS3",
            },
            Self::Ppc64le => {
                SerialPorts { console: "hvc0", output: "/dev/hvc1", notes: "/dev/hvc2", errors: "/dev/hvc3" }
            }
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "arm64",
            Self::S390x => "s390x",
            Self::Riscv64 => "riscv64",
            Self::Ppc64le => "ppc64le",
        })
    }
}
