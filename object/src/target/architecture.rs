//! The architecture of a kernel, from its types.

use core_relo::{
    Endian,
    btf::{Btf, field_path},
};

/// The fields of the saved registers that each architecture has and no other, with the name of `uname -m`. More specific ones come
/// first.
const REGISTERS: [(&str, &str); 8] = [
    ("pt_regs.r15", "x86_64"),
    ("pt_regs.orig_ax", "i686"),
    ("pt_regs.orig_x0", "aarch64"),
    ("pt_regs.orig_gpr2", "s390x"),
    ("pt_regs.badaddr", "riscv64"),
    ("pt_regs.csr_era", "loongarch64"),
    ("pt_regs.cp0_epc", "mips64"),
    ("pt_regs.uregs", "armv7l"),
];

/// Returns the architecture of a kernel, as `uname -m` prints it, from the layout of its saved registers. Returns `None` for an
/// unknown layout, and for reduced BTF without `struct pt_regs`.
pub fn find_architecture(btf: &Btf<'_>) -> Option<&'static str> {
    let has = |path: &str| field_path(btf, path).is_ok();
    let known = REGISTERS.into_iter().find(|(path, _)| has(path)).map(|(_, architecture)| architecture);
    known.or_else(|| {
        has("pt_regs.nip").then_some(if btf.endian() == Endian::Little { "ppc64le" } else { "ppc64" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::btf::Builder;

    fn kernel_with_register(name: &str, endian: Endian) -> Option<&'static str> {
        let mut types = Builder::new(endian);
        let long = types.int("unsigned long", 8, 0);
        types.structure("pt_regs", 8, &[(name, long, 0)]);
        let bytes = types.finish();
        find_architecture(&Btf::parse(&bytes[..]).unwrap())
    }

    #[test]
    fn the_saved_registers_tell_the_architecture() {
        for (name, endian, expected) in [
            ("r15", Endian::Little, Some("x86_64")),
            ("orig_gpr2", Endian::Big, Some("s390x")),
            ("nip", Endian::Little, Some("ppc64le")),
            ("nip", Endian::Big, Some("ppc64")),
            ("unheard_of", Endian::Little, None),
        ] {
            assert_eq!(kernel_with_register(name, endian), expected, "{name}");
        }
    }
}
