//! A USDT probe in this executable, as `sys/sdt.h` defines probes.

/// Defines a function with a USDT probe: a nop, and an ELF note with the addresses of the nop and the
/// argument. The argument is in a register, whose name in the assembler is given.
macro_rules! define_usdt_probe {
    ($nop:literal, $register:tt, $argument:literal) => {
        /// The probe `core_relo:live`.
        #[inline(never)]
        pub fn usdt_probe(argument: u64) {
            // SAFETY: a nop has no effect, and the other directives write to a note section.
            unsafe {
                core::arch::asm!(
                    concat!("990: ", $nop),
                    ".pushsection .note.stapsdt, \"\", \"note\"",
                    ".balign 4",
                    ".4byte 992f-991f, 994f-993f, 3",
                    "991: .asciz \"stapsdt\"",
                    "992: .balign 4",
                    "993: .8byte 990b",
                    ".8byte _.stapsdt.base",
                    ".8byte 0",
                    ".asciz \"core_relo\"",
                    ".asciz \"live\"",
                    concat!(".asciz \"8@", $argument, "\""),
                    "994: .balign 4",
                    ".popsection",
                    ".ifndef _.stapsdt.base",
                    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat",
                    ".weak _.stapsdt.base",
                    ".hidden _.stapsdt.base",
                    "_.stapsdt.base: .space 1",
                    ".size _.stapsdt.base, 1",
                    ".popsection",
                    ".endif",
                    in($register) argument,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
define_usdt_probe!("nop", "rdi", "%rdi");
#[cfg(target_arch = "aarch64")]
define_usdt_probe!("nop", "x0", "x0");
#[cfg(target_arch = "s390x")]
define_usdt_probe!("nopr", "r2", "%r2");
#[cfg(target_arch = "riscv64")]
define_usdt_probe!("nop", "a0", "a0");
#[cfg(target_arch = "powerpc64")]
define_usdt_probe!("nop", "r3", "%r3");
