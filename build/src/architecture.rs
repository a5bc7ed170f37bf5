//! The architectures that BPF programs are compiled for.

/// A row of names of an architecture.
struct Names {
    /// In `__TARGET_ARCH_…`, by which headers choose registers.
    header: &'static str,
    /// In cargo's `CARGO_CFG_TARGET_ARCH`.
    cargo: &'static [&'static str],
    /// As `uname -m` prints it, and as Debian names it.
    machine: &'static [&'static str],
}

/// The architectures whose registers the headers know.
const ARCHITECTURES: [Names; 9] = [
    Names { header: "x86", cargo: &["x86_64", "x86"], machine: &["x86_64", "amd64", "i686"] },
    Names { header: "arm64", cargo: &["aarch64"], machine: &["aarch64", "arm64"] },
    Names { header: "arm", cargo: &["arm"], machine: &["armv7l"] },
    Names { header: "powerpc", cargo: &["powerpc64", "powerpc"], machine: &["ppc64le", "ppc64", "ppc"] },
    Names { header: "riscv", cargo: &["riscv64", "riscv32"], machine: &["riscv64", "riscv32"] },
    Names { header: "s390", cargo: &["s390x"], machine: &["s390x"] },
    Names {
        header: "mips",
        cargo: &["mips64", "mips64r6", "mips", "mips32r6"],
        machine: &["mips64", "mips"],
    },
    Names { header: "loongarch", cargo: &["loongarch64", "loongarch32"], machine: &["loongarch64"] },
    Names { header: "sparc", cargo: &["sparc64", "sparc"], machine: &["sparc64", "sparc"] },
];

/// Returns the name in headers of an architecture that cargo names. `None` if the headers do not know its registers.
pub(crate) fn of_cargo(name: &str) -> Option<&'static str> {
    ARCHITECTURES.iter().find(|names| names.cargo.contains(&name)).map(|names| names.header)
}

/// Returns the name in headers of an architecture that a kernel names.
pub(crate) fn of_kernel(machine: &str) -> Option<&'static str> {
    ARCHITECTURES.iter().find(|names| names.machine.contains(&machine)).map(|names| names.header)
}

/// The directories of headers such as `asm/types.h`, by the architecture's name in cargo and whether it is big-endian, where
/// distributions keep them apart: for programs of this machine, and for cross compilers.
pub(crate) fn header_directories(name: &str, is_big_endian: bool) -> [String; 2] {
    let triple = match (name, is_big_endian) {
        ("powerpc64", false) => "powerpc64le-linux-gnu".to_owned(),
        ("x86", _) => "i386-linux-gnu".to_owned(),
        ("arm", _) => "arm-linux-gnueabihf".to_owned(),
        _ => format!("{name}-linux-gnu"),
    };
    [format!("/usr/include/{triple}"), format!("/usr/{triple}/include")]
}
