//! Inputs of growing size: BTF with multiplied types, objects with many records, many modules.

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, Importer, Kind},
    insn::Insn,
};
use core_relo_tests::synthetic::{self, SyntheticRecord};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Writes one BTF for each of `counts`, with that many copies of the types of `kernel`. `counts` is in
/// ascending order. Each copy has different names.
pub fn multiplied_kernels(kernel: &[u8], counts: &[usize], dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let original = Btf::parse(kernel).map_err(|e| e.to_string())?;
    let mut builder = Builder::new(original.endian());
    for copy in 0..counts.last().copied().unwrap_or_default() {
        let bytes = renamed(kernel, original.endian(), copy)?;
        let btf = Btf::parse(&bytes[..]).map_err(|e| e.to_string())?;
        let shift = builder.next_id().0 - 1;
        let new_id = |id: TypeId| if id == TypeId::VOID { id } else { TypeId(id.0 + shift) };
        let mut import = Importer::new(&btf);
        for ty in btf.types() {
            import.copy_type(&mut builder, ty, new_id).map_err(|e| e.to_string())?;
        }
        if counts.contains(&(copy + 1)) {
            files.push(write(dir, &format!("kernels-{}.btf", copy + 1), &builder.finish())?);
        }
    }
    Ok(files)
}

/// Returns the BTF with the first letter of each name changed, differently for each copy.
fn renamed(kernel: &[u8], endian: Endian, copy: usize) -> Result<Vec<u8>, String> {
    let mut bytes = kernel.to_vec();
    let word = |at| endian.u32(kernel, at).map(|word| word as usize).ok_or("no header");
    let start = word(4)? + word(16)?;
    let strings = bytes.get_mut(start..start + word(20)?).ok_or("no strings")?;
    let flip = u8::try_from(copy & 0x3f).unwrap_or_default();
    let mut is_first = false;
    for byte in strings {
        if is_first && (0x40..0x80).contains(byte) {
            *byte ^= flip;
        }
        is_first = *byte == 0;
    }
    Ok(bytes)
}

/// Writes an object with `count` records: field offsets of up to a thousand structs of the kernel, in turn.
pub fn object_with_records(kernel: &[u8], count: usize, dir: &Path) -> Result<PathBuf, String> {
    let kernel = Btf::parse(kernel).map_err(|e| e.to_string())?;
    let mut local = Builder::new(kernel.endian());
    let int = local.int("int", 4, Builder::SIGNED);
    let pointer = local.pointer(TypeId::VOID);
    let mut roots = Vec::new();
    for ty in kernel.types().filter(|ty| ty.kind() == Kind::Struct && !ty.name().is_empty()) {
        let mut members = Vec::new();
        for member in ty.members().filter(|m| !m.name.is_empty() && m.bitfield_bits == 0) {
            let has_kind = |kind| kernel.strip(member.ty).is_ok_and(|ty| ty.kind() == kind);
            let ty = if has_kind(Kind::Int) { Some(int) } else { has_kind(Kind::Ptr).then_some(pointer) };
            members.extend(ty.map(|ty| (member.name.to_string(), ty)));
            if members.len() == 4 {
                break;
            }
        }
        if members.len() == 4 {
            let at_offset = |((name, ty), at): (&'_ (String, TypeId), u32)| (name.clone(), *ty, at * 64);
            let placed: Vec<_> = members.iter().zip(0..).map(at_offset).collect();
            let placed: Vec<_> = placed.iter().map(|(name, ty, at)| (&**name, *ty, *at)).collect();
            roots.push(local.structure(&ty.name().to_string(), 32, &placed));
        }
        if roots.len() == 1000 {
            break;
        }
    }
    let record = |n: usize| SyntheticRecord {
        root: roots[n % roots.len()],
        access: format!("0:{}", n / roots.len() % 4),
        kind: 0,
        size: 8,
        insns: vec![Insn { code: 0xb7, imm: (n / roots.len() % 4 * 8) as i32, ..Insn::default() }],
    };
    let records: Vec<_> = (0..count).map(record).collect();
    write(
        dir,
        &format!("records-{count}.bpf.o"),
        &synthetic::object(&local.finish(), kernel.endian(), &records),
    )
}

/// Writes an object with one record of a type that no kernel has, so that all modules are searched.
pub fn missing_type(endian: Endian, dir: &Path) -> Result<PathBuf, String> {
    let mut local = Builder::new(endian);
    let int = local.int("int", 4, Builder::SIGNED);
    let root = local.structure("a_struct_that_no_kernel_has", 4, &[("member", int, 0)]);
    let insns = vec![Insn { code: 0xb7, imm: 1, ..Insn::default() }];
    let record = SyntheticRecord { root, access: "0:0".to_owned(), kind: 2, size: 4, insns };
    write(dir, "nowhere.bpf.o", &synthetic::object(&local.finish(), endian, &[record]))
}

/// Creates a directory with the BTF of the kernel and of `count` modules, each with three hundred structs.
pub fn dir_with_modules(kernel: &[u8], count: usize, dir: &Path) -> Result<PathBuf, String> {
    let dir = dir.join(format!("modules-{count}"));
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    write(&dir, "vmlinux", kernel)?;
    let base = Arc::new(Btf::parse(kernel).map_err(|e| e.to_string())?);
    for module in 0..count {
        let mut builder = Builder::split(&base);
        for ty in 0..300 {
            let name = format!("module_{module}_struct_{ty}");
            let own = builder.structure(&name, 16, &[("first", TypeId(1), 0), ("second", TypeId(1), 64)]);
            builder.pointer(own);
        }
        write(&dir, &format!("module_{module:03}"), &builder.finish())?;
    }
    Ok(dir)
}

/// Writes a list of `count` kernel paths, which repeats the given files.
pub fn kernel_list(kernels: &[PathBuf], count: usize, dir: &Path) -> Result<PathBuf, String> {
    let lines: Vec<_> = kernels.iter().cycle().take(count).map(|path| path.display().to_string()).collect();
    write(dir, &format!("kernels-{count}.txt"), (lines.join("\n") + "\n").as_bytes())
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let path = dir.join(name);
    fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
