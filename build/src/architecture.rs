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

/// Returns the name in cargo of an architecture that a kernel names. `None` if the headers do not know its registers.
pub(crate) fn cargo_of_kernel(machine: &str) -> Option<&'static str> {
    let names = ARCHITECTURES.iter().find(|names| names.machine.contains(&machine))?;
    names.cargo.first().copied()
}

/// The architectures with words of 32 bits, as cargo names them.
const CARGO_32_BIT: [&str; 8] =
    ["x86", "arm", "powerpc", "riscv32", "mips", "mips32r6", "loongarch32", "sparc"];

/// The architectures with words of 32 bits, as kernels name them.
#[cfg(feature = "btf-archive")]
const KERNEL_32_BIT: [&str; 6] = ["i686", "armv7l", "ppc", "riscv32", "mips", "sparc"];

/// Returns the size of a word in bytes, of a kernel that names its architecture.
#[cfg(feature = "btf-archive")]
pub(crate) fn word_bytes_of_kernel(machine: &str) -> u32 {
    if KERNEL_32_BIT.contains(&machine) { 4 } else { 8 }
}

/// Returns whether a kernel of the target's registers, with words of this size, runs programs for the target.
pub(crate) fn fits_word_size(target: &str, bytes: u32) -> bool {
    let is_32_bit = |name: &str| CARGO_32_BIT.contains(&name);
    let runs_on_64_bit = || {
        let mut names = ARCHITECTURES.iter().flat_map(|names| names.cargo);
        names.any(|machine| !is_32_bit(machine) && is_native(target, machine))
    };
    match bytes {
        4 => is_32_bit(target),
        8 => runs_on_64_bit(),
        _ => false,
    }
}

/// The directories of headers such as `asm/types.h`, by the architecture's name in cargo and whether it is big-endian, where
/// distributions keep them apart: for programs of this machine, and for cross compilers.
pub(crate) fn header_directories(name: &str, is_big_endian: bool) -> [String; 2] {
    let triple = match (name, is_big_endian) {
        ("powerpc64", false) => "powerpc64le-linux-gnu".to_owned(),
        ("x86", _) => "i386-linux-gnu".to_owned(),
        ("arm", _) => "arm-linux-gnueabihf".to_owned(),
        ("mips64", false) => "mips64el-linux-gnuabi64".to_owned(),
        ("mips64", true) => "mips64-linux-gnuabi64".to_owned(),
        ("mips64r6", false) => "mipsisa64r6el-linux-gnuabi64".to_owned(),
        ("mips64r6", true) => "mipsisa64r6-linux-gnuabi64".to_owned(),
        ("mips", false) => "mipsel-linux-gnu".to_owned(),
        ("mips32r6", false) => "mipsisa32r6el-linux-gnu".to_owned(),
        ("mips32r6", true) => "mipsisa32r6-linux-gnu".to_owned(),
        _ => format!("{name}-linux-gnu"),
    };
    [format!("/usr/include/{triple}"), format!("/usr/{triple}/include")]
}

/// Returns whether the kernel of a machine runs programs for a target, both as cargo names them: 64-bit kernels run 32-bit programs of these
/// architectures.
pub(crate) fn is_native(target: &str, machine: &str) -> bool {
    let is_compatible = matches!(
        (target, machine),
        ("x86", "x86_64")
            | ("powerpc", "powerpc64")
            | ("mips", "mips64")
            | ("mips32r6", "mips64r6")
            | ("sparc", "sparc64")
    );
    target == machine || is_compatible
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of a 64-bit kernel are wrong for agents of 32-bit kernels.
    #[test]
    fn the_kernel_of_another_word_size_is_foreign_unless_it_runs_the_program() {
        for (target, machine) in [("x86", "x86_64"), ("mips", "mips64"), ("riscv64", "riscv64")] {
            assert!(is_native(target, machine), "{target} on {machine}");
        }
        for (target, machine) in
            [("riscv32", "riscv64"), ("riscv64", "riscv32"), ("x86_64", "x86"), ("arm", "aarch64")]
        {
            assert!(!is_native(target, machine), "{target} on {machine}");
        }
    }

    #[test]
    fn word_sizes_are_those_of_kernels_that_run_the_program() {
        for (target, sizes) in [
            ("x86_64", &[8][..]),
            ("aarch64", &[8]),
            ("riscv64", &[8]),
            ("riscv32", &[4]),
            ("arm", &[4]),
            ("x86", &[4, 8]),
            ("mips", &[4, 8]),
            ("loongarch32", &[4]),
        ] {
            let found: Vec<u32> = [4, 8].into_iter().filter(|bytes| fits_word_size(target, *bytes)).collect();
            assert_eq!(found, sizes, "{target}");
        }
    }

    /// The directories of Debian's packages linux-libc-dev and linux-libc-dev-ARCH-cross.
    #[test]
    fn header_directories_have_the_names_of_debian() {
        for (name, is_big_endian, triple) in [
            ("x86_64", false, "x86_64-linux-gnu"),
            ("x86", false, "i386-linux-gnu"),
            ("powerpc64", false, "powerpc64le-linux-gnu"),
            ("powerpc64", true, "powerpc64-linux-gnu"),
            ("mips64", true, "mips64-linux-gnuabi64"),
            ("mips64", false, "mips64el-linux-gnuabi64"),
            ("mips", false, "mipsel-linux-gnu"),
            ("mips", true, "mips-linux-gnu"),
        ] {
            let [own, cross] = header_directories(name, is_big_endian);
            assert_eq!((own, cross), (format!("/usr/include/{triple}"), format!("/usr/{triple}/include")));
        }
    }
}
