//! The architecture of a kernel, from its types.

use core_relo::{
    ByteSize, Endian,
    btf::{Btf, field_path},
};

/// A machine by its saved registers.
struct Machine {
    /// A field of the registers that other architectures do not have.
    register: &'static str,
    /// The size of a pointer in bytes.
    word_bytes: u32,
    /// The byte order, if the name tells it.
    endian: Option<Endian>,
    /// The name that `uname -m` prints.
    name: &'static str,
}

const fn machine(register: &'static str, word_bytes: u32, name: &'static str) -> Machine {
    Machine { register, word_bytes, endian: None, name }
}

const fn little(register: &'static str, word_bytes: u32, name: &'static str) -> Machine {
    Machine { register, word_bytes, endian: Some(Endian::Little), name }
}

const fn big(register: &'static str, word_bytes: u32, name: &'static str) -> Machine {
    Machine { register, word_bytes, endian: Some(Endian::Big), name }
}

/// The machines. Of two registers that one kernel has, the first one decides.
const MACHINES: [Machine; 19] = [
    machine("pt_regs.r15", 8, "x86_64"),
    // Types that name only this one of the registers, which both machines have.
    machine("pt_regs.orig_ax", 8, "x86_64"),
    machine("pt_regs.orig_ax", 4, "i686"),
    little("pt_regs.orig_x0", 8, "aarch64"),
    big("pt_regs.orig_x0", 8, "aarch64_be"),
    machine("pt_regs.orig_gpr2", 8, "s390x"),
    machine("pt_regs.badaddr", 8, "riscv64"),
    machine("pt_regs.badaddr", 4, "riscv32"),
    machine("pt_regs.csr_era", 8, "loongarch64"),
    machine("pt_regs.csr_era", 4, "loongarch32"),
    machine("pt_regs.cp0_epc", 8, "mips64"),
    machine("pt_regs.cp0_epc", 4, "mips"),
    little("pt_regs.uregs", 4, "armv7l"),
    big("pt_regs.uregs", 4, "armv7b"),
    machine("pt_regs.tstate", 8, "sparc64"),
    machine("pt_regs.u_regs", 4, "sparc"),
    little("pt_regs.nip", 8, "ppc64le"),
    big("pt_regs.nip", 8, "ppc64"),
    machine("pt_regs.nip", 4, "ppc"),
];

/// Returns the architecture of a kernel, as `uname -m` prints it, from the layout of its saved registers and
/// the size of its pointers. Returns `None` for an unknown layout, and for reduced BTF without
/// `struct pt_regs`.
pub fn find_architecture(btf: &Btf<'_>) -> Option<&'static str> {
    find_architecture_with(btf, btf.pointer_size())
}

/// Returns the architecture as [`find_architecture`], of types whose own pointers are not those of the
/// kernel: BPF objects have pointers of 8 bytes.
pub fn find_architecture_with(btf: &Btf<'_>, pointer_size: ByteSize) -> Option<&'static str> {
    let found = MACHINES.iter().find(|machine| field_path(btf, machine.register).is_ok())?;
    let of_register = || MACHINES.iter().filter(|machine| machine.register == found.register);
    let has_order = |machine: &&Machine| machine.endian.is_none_or(|endian| endian == btf.endian());
    let fitting = of_register().filter(|machine| machine.word_bytes == pointer_size.0).find(has_order);
    // Some registers are those of one size of pointers.
    fitting.or_else(|| of_register().find(has_order)).map(|machine| machine.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::ArchitectureNames;
    use core_relo::btf::Builder;

    fn kernel_with_register(name: &str, endian: Endian, word_bytes: u32) -> Option<&'static str> {
        let mut types = Builder::new(endian);
        let long = types.int("unsigned long", word_bytes, 0);
        types.structure("pt_regs", word_bytes, &[(name, long, 0)]);
        let bytes = types.finish();
        find_architecture(&Btf::parse(&bytes[..]).unwrap())
    }

    #[test]
    fn the_saved_registers_and_the_size_of_words_tell_the_architecture() {
        for machine in &MACHINES {
            let (_, register) = machine.register.split_once('.').unwrap();
            let endian = machine.endian.unwrap_or(Endian::Little);
            let found = kernel_with_register(register, endian, machine.word_bytes);
            assert_eq!(found, Some(machine.name));
            let names = ArchitectureNames::find(machine.name).unwrap();
            assert_eq!((names.machine(), names.word_bytes()), (machine.name, machine.word_bytes));
        }
        for (name, endian, word_bytes, expected) in [
            ("orig_gpr2", Endian::Big, 8, Some("s390x")),
            ("nip", Endian::Big, 8, Some("ppc64")),
            ("nip", Endian::Big, 4, Some("ppc")),
            ("cp0_epc", Endian::Big, 4, Some("mips")),
            // A reduced BTF, whose pointers are taken for those of 64 bits.
            ("uregs", Endian::Little, 8, Some("armv7l")),
            ("unheard_of", Endian::Little, 8, None),
        ] {
            assert_eq!(kernel_with_register(name, endian, word_bytes), expected, "{name} {word_bytes}");
        }
    }

    /// The pointers of an object are those of the BPF machine.
    #[test]
    fn an_object_is_compared_by_the_words_of_the_kernel() {
        let mut types = Builder::new(Endian::Little);
        let long = types.int("unsigned long", 8, 0);
        types.structure("pt_regs", 8, &[("badaddr", long, 0)]);
        let btf = Btf::parse(types.finish()).unwrap();
        assert_eq!(find_architecture_with(&btf, ByteSize(4)), Some("riscv32"));
        assert_eq!(find_architecture(&btf), Some("riscv64"));
    }
}
