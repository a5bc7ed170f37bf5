//! `.BTF_ids` of modules from kernel packages, which the kernel's build has resolved.

use core_relo::{Endian, btf::Btf};
use core_relo_object::btf_ids::{BtfIds, IdSetKind};
use core_relo_test_support::{clang, skip};
use core_relo_tests::artifacts;
use object::{Object as _, ObjectSection as _};
use std::{fs, path::Path, sync::Arc};

/// Every id of every module is that of the type that its symbol names. After the ids are removed, they are
/// resolved to the same ids.
#[test]
fn ids_of_modules_are_those_of_the_kernels_build() {
    let (mut files, mut ids) = (0, 0);
    for kernel in artifacts::kernel_btfs() {
        let modules = artifacts::kernels().join("ko").join(kernel.file_stem().unwrap());
        let base = || Arc::new(Btf::parse(fs::read(&kernel).unwrap()).unwrap());
        let paths = artifacts::files(&modules, ".ko");
        let base = (!paths.is_empty()).then(base);
        for (path, base) in paths.iter().zip(base.iter().cycle()) {
            if let Some(count) = check_module(path, base) {
                files += 1;
                ids += count;
            }
        }
    }
    println!("checked {ids} ids of {files} modules");
    if files == 0 {
        skip!("no modules with .BTF_ids in target/kernels/btf/ko");
    }
}

/// Returns the number of ids, or `None` for a module without `.BTF_ids`.
fn check_module(path: &Path, base: &Arc<Btf<'static>>) -> Option<usize> {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name(".BTF_ids")?;
    let (start, len) = section.file_range().unwrap();
    let btf = file.section_by_name(".BTF").unwrap().data().unwrap().to_vec();
    let btf = Btf::parse_split(btf, Arc::clone(base)).unwrap();
    let ids = BtfIds::parse(&bytes).unwrap();
    let place = path.display();
    assert!(ids.check(&btf).iter().all(Vec::is_empty), "{place}: {:?}", ids.check(&btf));

    let mut blank = bytes.clone();
    let mut clear = |at: usize| blank[start as usize + at..][..4].fill(0);
    for set in ids.sets() {
        set.slots.iter().for_each(|slot| clear(slot.offset));
        if set.kind != IdSetKind::List {
            clear(set.offset);
        }
    }
    assert!(len > 0 && blank != bytes, "{place}");
    let resolved = BtfIds::parse(&blank).unwrap().resolve(&btf).unwrap();
    assert!(resolved.missing.is_empty(), "{place}: {:?}", resolved.missing);
    let after = BtfIds::parse(&resolved.file).unwrap();
    for (before, after) in ids.sets().iter().zip(after.sets()) {
        let ids = |slots: &[core_relo_object::btf_ids::IdSlot]| {
            slots.iter().map(|slot| slot.id).collect::<Vec<_>>()
        };
        assert_eq!((before.name, before.count), (after.name, after.count), "{place}");
        assert_eq!(ids(&before.slots), ids(&after.slots), "{place}");
    }
    Some(ids.sets().iter().map(|set| set.names.len()).sum())
}

/// The macros of the kernel's header, as clang compiles them.
#[test]
fn the_macros_of_the_kernels_header_are_understood() {
    const SOURCE: &str = r#"
#define STR(x) #x
#define ID(prefix, name, n, after) \
    asm(".pushsection .BTF_ids,\"a\"\n.local __BTF_ID__" #prefix "__" #name "__" #n "\n" \
        ".type __BTF_ID__" #prefix "__" #name "__" #n ", STT_OBJECT\n.size __BTF_ID__" #prefix "__" #name "__" #n ", 4\n" \
        "__BTF_ID__" #prefix "__" #name "__" #n ":\n.zero 4\n" after ".popsection\n");
#define LABEL(name, after) asm(".pushsection .BTF_ids,\"a\"\n.local " name "\n" name ":\n" after ".popsection\n");
#define END(name) asm(".pushsection .BTF_ids,\"a\"\n.size " name ", .-" name "\n.popsection\n");
LABEL("task_ids", "")
ID(struct, task_struct, 101, "")
LABEL("set8", "")
LABEL("__BTF_ID__set8__set8", ".zero 4\n.long 1\n")
ID(func, schedule, 102, ".long 6\n")
END("__BTF_ID__set8__set8")
LABEL("set", "")
LABEL("__BTF_ID__set__set", ".zero 4\n")
ID(typedef, pid_t, 103, "")
ID(union, sigval, 104, "")
END("__BTF_ID__set__set")
"#;
    let dir = std::env::temp_dir().join(format!("core-relo-btf-ids-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (source, object) = (dir.join("ids.c"), dir.join("ids.o"));
    fs::write(&source, SOURCE).unwrap();
    let compiled =
        clang().map(|clang| clang.command().arg("-c").arg(&source).arg("-o").arg(&object).status().unwrap());
    let bytes = compiled.is_some_and(|status| status.success()).then(|| fs::read(&object).unwrap());
    fs::remove_dir_all(&dir).unwrap();
    let Some(bytes) = bytes else { return skip("btf_ids", "clang does not compile for this host") };
    let ids = BtfIds::parse(&bytes).unwrap();
    let sets: Vec<_> =
        ids.sets().iter().map(|set| (set.name, set.kind, set.names.len(), set.slots.len())).collect();
    let expected: [(&[u8], _, _, _); 3] = [
        (b"task_ids", IdSetKind::List, 1, 1),
        (b"set8", IdSetKind::FlagSet, 1, 1),
        (b"set", IdSetKind::Set, 2, 2),
    ];
    assert_eq!(sets, expected);
    assert_eq!(ids.sets()[1].slots[0].flags, Some(6));
    assert_eq!(ids.endian(), Endian::native());
}
