//! The architectures that BPF programs are compiled for.

use core_relo_object::target::ArchitectureNames;

/// An architecture, as headers see it.
struct Architecture {
    /// Its name in `__TARGET_ARCH_…`, by which headers choose registers.
    header: &'static str,
    targets: &'static [Target],
}

/// A target of cargo.
struct Target {
    /// Its name in cargo's `CARGO_CFG_TARGET_ARCH`.
    cargo: &'static str,
    word_bytes: u32,
    /// The names of its machines, as `uname -m` prints them.
    machines: &'static [&'static str],
}

const fn target32(cargo: &'static str, machines: &'static [&'static str]) -> Target {
    Target { cargo, word_bytes: 4, machines }
}

const fn target64(cargo: &'static str, machines: &'static [&'static str]) -> Target {
    Target { cargo, word_bytes: 8, machines }
}

/// The architectures whose registers the headers know.
const ARCHITECTURES: [Architecture; 9] = [
    Architecture { header: "x86", targets: &[target64("x86_64", &["x86_64"]), target32("x86", &["i686"])] },
    Architecture { header: "arm64", targets: &[target64("aarch64", &["aarch64", "aarch64_be"])] },
    Architecture { header: "arm", targets: &[target32("arm", &["armv7l", "armv7b", "armv6l", "armv5tel"])] },
    Architecture {
        header: "powerpc",
        targets: &[target64("powerpc64", &["ppc64le", "ppc64"]), target32("powerpc", &["ppc"])],
    },
    Architecture {
        header: "riscv",
        targets: &[target64("riscv64", &["riscv64"]), target32("riscv32", &["riscv32"])],
    },
    Architecture { header: "s390", targets: &[target64("s390x", &["s390x"])] },
    Architecture {
        header: "mips",
        targets: &[
            target64("mips64", &["mips64"]),
            target64("mips64r6", &[]),
            target32("mips", &["mips"]),
            target32("mips32r6", &[]),
        ],
    },
    Architecture {
        header: "loongarch",
        targets: &[target64("loongarch64", &["loongarch64"]), target32("loongarch32", &["loongarch32"])],
    },
    Architecture {
        header: "sparc",
        targets: &[target64("sparc64", &["sparc64"]), target32("sparc", &["sparc"])],
    },
];

fn targets() -> impl Iterator<Item = &'static Target> {
    ARCHITECTURES.iter().flat_map(|architecture| architecture.targets)
}

/// Returns the name in headers of an architecture that cargo names. `None` if the headers do not know its
/// registers.
pub(crate) fn of_cargo(name: &str) -> Option<&'static str> {
    let mut architectures = ARCHITECTURES.iter();
    let found =
        architectures.find(|architecture| architecture.targets.iter().any(|target| target.cargo == name));
    found.map(|architecture| architecture.header)
}

/// Returns the name in headers of an architecture that a kernel names.
pub(crate) fn of_kernel(machine: &str) -> Option<&'static str> {
    target_of_kernel(machine).and_then(|target| of_cargo(target.cargo))
}

fn target_of_kernel(machine: &str) -> Option<&'static Target> {
    let machine = ArchitectureNames::find(machine)?.machine();
    targets().find(|target| target.machines.contains(&machine))
}

/// Returns the name in cargo of an architecture that a kernel names. `None` if the headers do not know its
/// registers.
pub(crate) fn cargo_of_kernel(machine: &str) -> Option<&'static str> {
    target_of_kernel(machine).map(|target| target.cargo)
}

/// Returns the names of all machines.
pub(crate) fn machines() -> impl Iterator<Item = &'static str> {
    let machines = targets().flat_map(|target| target.machines);
    machines.filter_map(|machine| ArchitectureNames::find(machine)).flat_map(ArchitectureNames::names)
}

/// Returns the size of a word in bytes, of a kernel that names its architecture. `None` if the headers do not
/// know its registers.
#[cfg(any(feature = "btf-archive", test))]
pub(crate) fn word_bytes_of_kernel(machine: &str) -> Option<u32> {
    target_of_kernel(machine).map(|target| target.word_bytes)
}

/// Returns whether a kernel of the target's registers, with words of this size, runs programs for the target.
pub(crate) fn fits_word_size(target: &str, bytes: u32) -> bool {
    // A 32-bit kernel runs programs of its own target alone, a 64-bit kernel perhaps others.
    targets().filter(|machine| machine.word_bytes == bytes).any(|machine| is_native(target, machine.cargo))
}

/// The directories of headers such as `asm/types.h`, by the architecture's name in cargo and whether it is
/// big-endian, where distributions keep them apart: for programs of this machine, and for cross compilers.
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

/// Returns whether the kernel of a machine runs programs for a target, both as cargo names them: 64-bit
/// kernels run 32-bit programs of these architectures.
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
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

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

    /// A machine of 32 bits was taken for the target of 64 bits with the same registers.
    #[test]
    fn machines_are_those_of_a_target_with_their_word_size() {
        for machine in machines() {
            let cargo = cargo_of_kernel(machine).unwrap();
            assert!(fits_word_size(cargo, word_bytes_of_kernel(machine).unwrap()), "{machine}");
            assert_eq!(of_cargo(cargo), of_kernel(machine), "{machine}");
        }
        for (machine, cargo) in [
            ("i686", "x86"),
            ("amd64", "x86_64"),
            ("ppc", "powerpc"),
            ("ppc64le", "powerpc64"),
            ("riscv32", "riscv32"),
            ("mips", "mips"),
            ("sparc", "sparc"),
            ("armv6l", "arm"),
            ("armv8l", "aarch64"),
        ] {
            assert_eq!(cargo_of_kernel(machine), Some(cargo));
        }
        assert_eq!(cargo_of_kernel("pdp11"), None);
        let known = ArchitectureNames::all().flat_map(ArchitectureNames::names);
        let unknown: Vec<_> = known.filter(|name| cargo_of_kernel(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// `gen vmlinux` gives the builder the name that the registers of a kernel tell.
    #[test]
    fn each_architecture_of_a_kernels_types_is_a_machine() {
        use core_relo::{Endian, btf};
        let registers = [
            "r15",
            "orig_ax",
            "orig_x0",
            "orig_gpr2",
            "badaddr",
            "csr_era",
            "cp0_epc",
            "uregs",
            "tstate",
            "u_regs",
            "nip",
        ];
        for (register, bytes) in registers.iter().flat_map(|register| [(register, 4), (register, 8)]) {
            for endian in [Endian::Little, Endian::Big] {
                let mut types = btf::Builder::new(endian);
                let long = types.int("long", bytes, btf::Builder::SIGNED);
                types.structure("pt_regs", bytes, &[(register, long, 0)]);
                let types = btf::Btf::parse(types.finish()).unwrap();
                let found = core_relo_object::target::find_architecture(&types).unwrap();
                let word_bytes = word_bytes_of_kernel(found);
                assert!(word_bytes.is_some(), "{register} {bytes} {endian:?}: {found}");
            }
        }
    }

    #[test]
    fn no_name_stands_for_two_targets() {
        let names: Vec<_> = machines().collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
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
