//! Headers of whole kernels, compiled by clang with all their assertions: clang's BTF has the members of the
//! kernel's.
//!
//! The kernels are the running one and those of `cargo xtask kernels`. The variable CORE_RELO_HEADER_BTF adds
//! files with the BTF of other kernels, separated by colons.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::format_collect,
    clippy::get_unwrap,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use core_relo_btf::{Btf, CHeader, Kind, Member, Type, TypeId};
use core_relo_test_support::{clang, skip};
use std::{
    collections::{HashMap, HashSet},
    env, fs,
    path::{Path, PathBuf},
};

#[test]
fn clang_lays_types_out_as_the_kernel_does() {
    if clang().is_none() {
        skip!(Clang, "no clang");
        return;
    }
    let others = env::var_os("CORE_RELO_HEADER_BTF");
    let others = others.iter().flat_map(env::split_paths);
    let mut kernels: Vec<PathBuf> = others.filter(|path| !path.as_os_str().is_empty()).collect();
    let downloaded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/kernels/btf");
    let downloaded = env::var_os("CORE_RELO_KERNELS").map_or(downloaded, PathBuf::from);
    for entry in fs::read_dir(downloaded).into_iter().flatten() {
        kernels.push(entry.unwrap().path());
    }
    kernels.retain(|path| path.is_file());
    kernels.sort();
    let running = Path::new("/sys/kernel/btf/vmlinux");
    if running.exists() {
        kernels.push(running.to_path_buf());
    }
    if kernels.is_empty() {
        skip!(Kernels, "no kernel with BTF");
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
    let compared = comparable(&btf, &text);
    let variables: String = compared
        .iter()
        .enumerate()
        .map(|(index, ty)| {
            let keyword = if ty.kind().is_composite() { ty.kind().keyword() } else { "" };
            format!("{keyword} {} use_{index};\n", ty.name())
        })
        .collect();
    fs::write(dir.join("use.c"), format!("#include \"vmlinux.h\"\n{variables}")).unwrap();
    let is_little = btf.endian() == core_relo_btf::Endian::Little;
    let is_32_bit = btf.pointer_size().0 == 4;
    let bpf = if is_little { "bpfel" } else { "bpfeb" };
    // Only targets with pointers of four bytes have the layout of a 32-bit kernel. Their alignments differ.
    let others: &[&str] = match (is_32_bit, is_little) {
        (false, _) => &[],
        (true, true) => &["armv7-linux-gnueabihf", "i686-linux-gnu", "mipsel-linux-gnu"],
        (true, false) => &["mips-linux-gnu"],
    };
    for target in others.iter().copied().chain([bpf]) {
        let clang = clang()
            .unwrap()
            .command()
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
    let mut member_count = 0;
    let by_name: HashMap<_, _> = own.types().map(|ty| ((ty.kind(), ty.name()), ty)).collect();
    for ty in &compared {
        let expected = members(&btf, ty.id());
        let found = by_name.get(&(ty.kind(), ty.name())).map(|own_ty| members(&own, own_ty.id()));
        assert_eq!(found.as_ref(), Some(&expected), "{}: {} {}", path.display(), ty.kind(), ty.name());
        member_count += expected.len();
    }
    fs::remove_dir_all(&dir).unwrap();
    println!(
        "{}: {} bytes, {} assertions, {member_count} members of {} types compared, {} opaque types",
        path.display(),
        text.len(),
        text.matches("_Static_assert").count(),
        compared.len(),
        opaque.len(),
    );
}

/// Returns the composites that the header declares with their names, and typedefs of composites without a
/// name: those with a member without a name or a bitfield. The offsets of all other members have assertions,
/// and clang takes half a minute for the BTF of all types.
fn comparable<'b>(btf: &'b Btf<'b>, header: &str) -> Vec<Type<'b>> {
    let renamed: HashSet<TypeId> = header
        .lines()
        .filter_map(|line| line.strip_prefix("/* ")?.split_once(" is [")?.1.split_once(']')?.0.parse().ok())
        .map(TypeId)
        .collect();
    let is_comparable = |ty: &Type<'_>| {
        let is_composite = match ty.kind() {
            Kind::Typedef => {
                btf.strip(ty.id()).is_ok_and(|ty| ty.kind().is_composite() && ty.name().is_empty())
            }
            kind => kind.is_composite(),
        };
        let has_more_than_offsets = |ty: Type<'_>| {
            let is_subtle = |m: Member<'_>| m.name.is_empty() || m.bitfield_bits != 0;
            ty.members().any(is_subtle)
        };
        is_composite
            && btf.strip(ty.id()).is_ok_and(has_more_than_offsets)
            && !ty.name().is_empty()
            && !renamed.contains(&ty.id())
    };
    btf.types().filter(is_comparable).collect()
}

/// A member: how many members without a name contain it, and what CO-RE knows of it.
#[derive(Debug, PartialEq, Eq)]
struct MemberPlace {
    depth: usize,
    name: String,
    kind: Kind,
    bit_offset: u32,
    bits: u64,
    is_bitfield: bool,
}

/// Returns the members of a composite. Those of a member without a name follow the member. Padding is no
/// member.
fn members(btf: &Btf<'_>, id: TypeId) -> Vec<MemberPlace> {
    let mut found = Vec::new();
    add_members(btf, btf.strip(id).unwrap(), (0, 0), &mut found);
    found
}

fn add_members(btf: &Btf<'_>, ty: Type<'_>, (depth, base): (usize, u32), found: &mut Vec<MemberPlace>) {
    for member in ty.members() {
        let extent = btf.member_extent(&member).unwrap();
        let member_type = btf.strip(member.ty).unwrap();
        let name = member.name.to_string();
        // clang 14 has no ENUM64.
        let kind = if member_type.kind().is_enum() { Kind::Enum } else { member_type.kind() };
        let bit_offset = base + extent.bit_offset.0;
        if !name.starts_with("__core_relo_padding") && !name.starts_with("__core_relo_size") {
            found.push(MemberPlace {
                depth,
                name,
                kind,
                bit_offset,
                bits: extent.bits,
                is_bitfield: extent.is_bitfield,
            });
        }
        if member.name.is_empty() && member_type.kind().is_composite() {
            add_members(btf, member_type, (depth + 1, bit_offset), found);
        }
    }
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
