//! The format of `long double`, which BTF does not tell.

use core_relo::{
    Endian,
    btf::{Btf, LongDouble},
};
use core_relo_loader::target::{FileFormat, find_architecture};

/// The `e_machine` of x86.
const X86_MACHINES: [u16; 2] = [3, 62];
/// The names of x86 architectures, as `uname -m` prints them.
const X86_NAMES: [&str; 2] = ["x86_64", "i686"];

/// The format on this machine, which the maps of the running kernel have. The BPF target of clang has a
/// `long double` of 8 bytes.
pub(crate) const NATIVE: LongDouble = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
    LongDouble::X86
} else {
    LongDouble::Unknown
};

/// Returns the format in a file with BTF: that of an ELF file's machine, or of the kernel whose registers the
/// BTF has.
pub(crate) fn of_file(btf: &Btf<'_>, format: FileFormat) -> LongDouble {
    let is_x86 = match format {
        FileFormat::Elf { machine, .. } if X86_MACHINES.contains(&machine) => true,
        _ => find_architecture(btf).is_some_and(|name| X86_NAMES.contains(&name)),
    };
    if is_x86 && btf.endian() == Endian::Little { LongDouble::X86 } else { LongDouble::Unknown }
}
