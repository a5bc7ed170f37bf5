//! Headers of whole kernels, compiled by clang with all their assertions.
//!
//! The variable CORE_RELO_HEADER_BTF adds files with the BTF of other kernels, separated by colons.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::format_collect,
    clippy::get_unwrap,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use core_relo::btf::{Btf, CHeader, Kind};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The types whose members, bitfields included, are compared with those that clang reads from the header.
const COMPARED: [&str; 6] = ["task_struct", "sk_buff", "sock", "iphdr", "tcphdr", "mm_struct"];

#[test]
fn clang_lays_types_out_as_the_kernel_does() {
    if Command::new("clang").arg("--version").output().is_err() {
        println!("SKIP: no clang");
        return;
    }
    let others = env::var_os("CORE_RELO_HEADER_BTF").unwrap_or_default();
    let mut kernels: Vec<PathBuf> = env::split_paths(&others).filter(|p| !p.as_os_str().is_empty()).collect();
    let running = Path::new("/sys/kernel/btf/vmlinux");
    if running.exists() {
        kernels.push(running.to_path_buf());
    }
    if kernels.is_empty() {
        println!("SKIP: no kernel with BTF");
    }
    for kernel in kernels {
        check(&kernel);
    }
}

fn check(path: &Path) {
    let btf = Btf::parse(fs::read(path).unwrap()).unwrap();
    let header = CHeader::new(&btf).assertions(true);
    let opaque: Vec<_> = header.opaque_types().collect();
    let text = header.to_string();
    let dir = env::temp_dir().join(format!("core-relo-header-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("vmlinux.h"), &text).unwrap();
    let compared: Vec<_> =
        COMPARED.iter().filter(|name| btf.find(name.as_bytes(), Kind::Struct).is_some()).collect();
    let variables: String = compared.iter().map(|name| format!("struct {name} use_{name};\n")).collect();
    fs::write(dir.join("use.c"), format!("#include \"vmlinux.h\"\n{variables}")).unwrap();
    let is_little = btf.endian() == core_relo::Endian::Little;
    let is_32_bit = btf.pointer_size().0 == 4;
    let bpf = if is_little { "bpfel" } else { "bpfeb" };
    // Only targets with pointers of four bytes have the layout of a 32-bit kernel. Their alignments differ.
    let others: &[&str] = match (is_32_bit, is_little) {
        (false, _) => &[],
        (true, true) => &["armv7-linux-gnueabihf", "i686-linux-gnu", "mipsel-linux-gnu"],
        (true, false) => &["mips-linux-gnu"],
    };
    for target in others.iter().copied().chain([bpf]) {
        let clang = Command::new("clang")
            .args(["-target", target, "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-c", "use.c"])
            // Host targets have built-in functions with the names of kfuncs and types of the kernel.
            .args(["-ffreestanding", "-o", "use.o"])
            .current_dir(&dir)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&clang.stderr);
        assert!(
            clang.status.success(),
            "{} for {target}: {}",
            path.display(),
            errors.lines().take(40).collect::<Vec<_>>().join("\n")
        );
    }
    let compared = if is_32_bit { Vec::new() } else { compared };
    let object = fs::read(dir.join("use.o")).unwrap();
    let own = Btf::parse(btf_section(&object, is_little).to_vec()).unwrap();
    let mut members = 0;
    for name in compared {
        members += compare(&btf, &own, name, path);
    }
    fs::remove_dir_all(&dir).unwrap();
    println!(
        "{}: {} bytes, {} assertions, {members} members compared, {} opaque types",
        path.display(),
        text.len(),
        text.matches("_Static_assert").count(),
        opaque.len(),
    );
}

/// Compares the members of a struct: names, offsets, sizes and widths of bitfields. Returns their number.
fn compare(kernel: &Btf<'_>, own: &Btf<'_>, name: &str, path: &Path) -> usize {
    let extents = |btf: &Btf<'_>| -> Vec<(String, u32, u64, bool)> {
        let ty = btf.find(name.as_bytes(), Kind::Struct).unwrap();
        let of = |m| {
            let extent = btf.member_extent(&m).unwrap();
            (m.name.to_string(), extent.bit_offset.0, extent.bits, extent.is_bitfield)
        };
        ty.members().map(of).collect()
    };
    let expected = extents(kernel);
    assert_eq!(extents(own), expected, "{}: struct {name}", path.display());
    expected.len()
}

/// Returns the section `.BTF` of an ELF file: the longest BTF in it that is no `.BTF.ext`.
fn btf_section(elf: &[u8], is_little: bool) -> &[u8] {
    let word = |at: usize, len: usize| -> usize {
        let bytes = elf.get(at..at + len).unwrap();
        let fold = |n: usize, byte: &u8| (n << 8) | usize::from(*byte);
        if is_little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
    };
    let (table, size, count, names) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2), word(0x3e, 2));
    let strings = word(table + names * size + 0x18, 8);
    let is_btf = |index: &usize| {
        let name = strings + word(table + index * size, 4);
        elf.get(name..).unwrap().starts_with(b".BTF\0")
    };
    let section = table + (0..count).find(is_btf).unwrap() * size;
    let start = word(section + 0x18, 8);
    &elf[start..start + word(section + 0x20, 8)]
}
