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
}

/// The guest's serial ports, as files in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SerialPorts {
    /// The value of `console=` on the kernel's command line.
    pub(crate) console: &'static str,
    /// The standard output of commands.
    pub(crate) output: &'static str,
    /// The guest's state, apart from the output of commands.
    pub(crate) notes: &'static str,
    /// The standard error of commands.
    pub(crate) errors: &'static str,
}

impl Arch {
    /// Returns the architecture that this crate was built for, if guests can have it.
    pub const fn host() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// Returns the name of the QEMU program.
    pub const fn qemu(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// Returns the name of Debian's package with the QEMU program.
    pub const fn qemu_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Aarch64 => "qemu-system-arm",
        }
    }

    /// Returns the Rust target of static executables for the guest.
    pub const fn rust_target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// Returns the value of `e_machine` of executables.
    pub(crate) const fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }

    /// Returns the serial ports. On arm64, the console is the UART of the machine, and the other ports are on the PCI bus.
    pub(crate) const fn serial_ports(self) -> SerialPorts {
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
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "arm64",
        })
    }
}
