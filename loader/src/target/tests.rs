//! Target BTF from bytes, files and a temporary directory that stands for the root.

use super::*;
use alloc::sync::Arc;
use core_relo::{
    ByteSize, Endian, TypeId,
    btf::{Btf, BtfError, Builder, Kind},
};
use core_relo_object::test_support::{elf_file as elf_of, sample_types as types};
use core_relo_test_support::skip;
use object::{Architecture, Endianness, SectionKind};
use std::{fs, path::PathBuf};

#[test]
fn the_elf_class_overrides_the_size_of_long() {
    let file = elf_of(
        Architecture::Arm,
        Endianness::Little,
        &[(".BTF", SectionKind::Other, &types(Endian::Little))],
    );
    let found = BtfFile::from_bytes("vmlinux", file).unwrap();
    assert_eq!(found.parse_unvalidated(None).unwrap().pointer_size(), ByteSize(4));
    let raw = BtfFile::from_bytes("vmlinux", types(Endian::Big)).unwrap();
    assert_eq!(raw.parse_unvalidated(None).unwrap().pointer_size(), ByteSize(8));
}

#[test]
fn a_module_is_split_from_the_kernel_or_from_its_own_base() {
    let base = Arc::new(Btf::parse(types(Endian::Little)).unwrap());
    let mut split = Builder::split(&base);
    let pair = base.find(b"pair", Kind::Struct).unwrap().id();
    split.structure("holder", 16, &[("pair", pair, 0)]);
    let split = split.finish();

    let raw = BtfFile::from_bytes("module", split).unwrap();
    let parsed = raw.parse_unvalidated(Some(&base)).unwrap();
    assert_eq!(parsed.size_of(parsed.find(b"holder", Kind::Struct).unwrap().id()), Ok(ByteSize(16)));
    assert!(matches!(raw.parse_unvalidated(None), Err(TargetError::Btf { .. })));

    let mut distilled = Builder::new(Endian::Little);
    distilled.structure("pair", 16, &[]);
    let distilled = distilled.finish();
    let mut split = Builder::split(&Btf::parse(&distilled).unwrap());
    split.structure("holder", 16, &[("pair", TypeId(1), 0)]);
    let split = split.finish();
    let sections: [(&str, SectionKind, &[u8]); 2] =
        [(".BTF", SectionKind::Other, &split), (".BTF.base", SectionKind::Other, &distilled)];
    let file = elf_of(Architecture::X86_64, Endianness::Little, &sections);
    let module = BtfFile::from_bytes("module.ko", file).unwrap();
    let alone = module.parse_unvalidated(None).unwrap();
    assert_eq!(alone.base().unwrap().as_bytes(), distilled);
    assert_eq!(alone.size_of(alone.find(b"holder", Kind::Struct).unwrap().id()), Ok(ByteSize(16)));
}

/// A temporary directory that is removed with this value.
struct Root(PathBuf);

impl Root {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("core-relo-loader-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn the_kernels_btf_comes_from_sysfs_or_the_first_image_with_btf() {
    let root = Root::new("kernel");
    let none = kernel::kernel_below(&root.0, "6.1").unwrap_err();
    assert_eq!(none, TargetError::NoKernelBtf { release: "6.1".to_owned().into() });
    root.put("boot/vmlinux-6.1", b"stripped");
    root.put("usr/lib/debug/lib/modules/6.1/vmlinux", &types(Endian::Little));
    let found = kernel::kernel_below(&root.0, "6.1").unwrap();
    assert_eq!(found.path, root.0.join("usr/lib/debug/lib/modules/6.1/vmlinux"));
    root.put("sys/kernel/btf/vmlinux", &types(Endian::Big));
    assert_eq!(
        kernel::kernel_below(&root.0, "6.1").unwrap().parse_unvalidated(None).unwrap().endian(),
        Endian::Big
    );
}

#[test]
fn modules_are_listed_by_name_and_read_on_demand() {
    let root = Root::new("modules");
    assert_eq!(kernel::modules_below(&root.0), Ok(Vec::new()));
    for name in ["vmlinux", "xfs", "btrfs"] {
        root.put(&format!("sys/kernel/btf/{name}"), b"?");
    }
    let modules = kernel::modules_below(&root.0).unwrap();
    assert_eq!(modules.iter().map(|m| &*m.name).collect::<Vec<_>>(), ["btrfs", "xfs"]);
    let error = modules[0].open().unwrap_err();
    assert_eq!(
        error,
        TargetError::Extract { path: modules[0].path.clone(), cause: ExtractError::NeitherBtfNorElf }
    );
    let missing = BtfFile::open(root.0.join("nowhere")).unwrap_err();
    let kind = std::io::ErrorKind::NotFound;
    assert_eq!(missing, TargetError::Io { path: root.0.join("nowhere"), kind, errno: Some(libc::ENOENT) });
    assert!(
        matches!(BtfFile::open(&root.0), Err(TargetError::NotAFile { .. })),
        "a directory cannot be read"
    );
}

#[test]
fn only_parse_checks_the_types_of_members() {
    let mut b = Builder::new(Endian::Little);
    b.structure("s", 4, &[("m", TypeId(99), 0)]);
    let file = BtfFile::from_bytes("x", b.finish()).unwrap();
    assert!(file.parse_unvalidated(None).is_ok());
    let refused = file.parse(None).unwrap_err();
    let is_type_ref =
        matches!(&refused, TargetError::Btf { cause: BtfError::TypeRef { target: TypeId(99), .. }, .. });
    assert!(is_type_ref, "{refused}");
}

#[test]
fn mapped_and_read_files_give_the_same_btf() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = Root::new("mapped");
    let raw = types(Endian::Little);
    let elf = elf_of(Architecture::X86_64, Endianness::Little, &[(".BTF", SectionKind::Other, &raw)]);
    let long = [&*raw, &[0xff; 100]].concat();
    for (name, bytes, btf) in [("raw", &raw, &raw), ("elf", &elf, &raw), ("long", &long, &long)] {
        root.put(name, bytes);
        let path = root.0.join(name);
        for mode in [0o600, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let [opened, read] = [BtfFile::open(&path).unwrap(), BtfFile::read(&path).unwrap()];
            assert_eq!((&*opened.btf, opened.format), (&**btf, read.format), "{name} {mode:o}");
            assert_eq!(&*read.btf, &**btf, "{name} {mode:o}");
            assert!(opened.parse_unvalidated(None).is_ok() && opened.parse(None).is_ok());
        }
    }
    root.put("empty", b"");
    let empty = root.0.join("empty");
    assert_eq!(BtfFile::open(&empty).unwrap_err(), BtfFile::read(&empty).unwrap_err());
}

#[test]
fn every_prefix_and_every_changed_byte_is_an_error_or_a_target() {
    let raw = types(Endian::Big);
    let file = elf_of(Architecture::Mips, Endianness::Big, &[(".BTF", SectionKind::Other, &raw)]);
    for whole in [raw, file] {
        let try_it = |bytes: &[u8]| {
            find_btf_in_image(bytes);
            extract(bytes).is_ok()
                && BtfFile::from_bytes("x", bytes.to_vec()).unwrap().parse_unvalidated(None).is_ok()
        };
        assert!(try_it(&whole));
        for len in 0..whole.len() {
            assert!(!try_it(&whole[..len]), "a prefix of {len} bytes is no target");
        }
        let mut bytes = whole.clone();
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                bytes[at] ^= flip;
                try_it(&bytes);
                bytes[at] ^= flip;
            }
        }
    }
}

#[test]
fn the_running_kernel_is_a_target() {
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(e) => return skip!("{e}"),
    };
    let btf = kernel.parse_unvalidated(None).unwrap();
    assert!(btf.find(b"task_struct", Kind::Struct).is_some());
    assert_eq!(btf.pointer_size().0, usize::BITS / 8);
    let base = Arc::new(btf);
    let modules = modules().unwrap();
    for module in &modules {
        module.open().unwrap().parse_unvalidated(Some(&base)).unwrap();
    }
    println!("{} modules", modules.len());
}
