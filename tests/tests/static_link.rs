//! Static linking and BTF deduplication give the same bytes as in libbpf.

#[cfg(not(feature = "libbpf"))]
#[test]
fn linked_objects_equal_those_of_libbpf() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        Endian, TypeId,
        btf::{Btf, Builder, Importer, Kind, dedup},
    };
    use core_relo_loader::{
        object::Object,
        static_link::{Linker, StaticLinkError},
    };

    use core_relo_tests::{artifacts, libbpf};
    use std::{
        collections::BTreeMap,
        fs,
        path::{Path, PathBuf},
    };

    const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// Returns a BTF with the types of all objects of one byte order, and the number of objects.
    fn merge_objects(order: Endian) -> (Vec<u8>, usize) {
        let mut all = Builder::new(order);
        let mut objects = 0;
        for path in artifacts::objects() {
            let bytes = fs::read(&path).unwrap();
            let Ok(object) = Object::parse(&bytes) else { continue };
            let Some(btf) = object.btf().filter(|_| object.endian() == order) else { continue };
            append(&mut all, btf);
            objects += 1;
        }
        (all.finish(), objects)
    }

    /// Appends the types of a BTF with adjusted ids.
    fn append(all: &mut Builder, btf: &Btf<'_>) {
        let first = all.next_id().0 - 1;
        let moved = |id: TypeId| if id.0 == 0 { id } else { TypeId(id.0 + first) };
        let mut import = Importer::new(btf);
        for ty in btf.types() {
            import.copy_type(all, ty, moved).unwrap();
        }
    }

    /// Deduplicates a BTF with both implementations and compares the bytes.
    fn compare_dedup(name: &str, bytes: &[u8]) {
        let parsed = Btf::parse(bytes).unwrap();
        let begin = std::time::Instant::now();
        let here = dedup(&parsed).unwrap().finish();
        let elapsed = begin.elapsed();
        let mut theirs = libbpf::Btf::parse(bytes, None).unwrap();
        assert!(theirs.dedup(), "{name}: libbpf cannot deduplicate it");
        let there = theirs.raw_data();
        let count = |bytes: &[u8]| Btf::parse(bytes.to_vec()).unwrap().end_id();
        let (all, left) = (parsed.end_id(), count(&here));
        assert_eq!(left, count(&there), "{name}: number of types");
        assert!(here == there, "{name}: the same number of types, but not the same bytes");
        println!("{name}: of {all} types {left} are left, as in libbpf ({elapsed:?})");
    }

    #[test]
    fn merged_objects_deduplicate_as_in_libbpf() {
        for order in [Endian::Little, Endian::Big] {
            let (bytes, objects) = merge_objects(order);
            assert!(objects > 1);
            compare_dedup(&format!("{objects} objects, {order:?}"), &bytes);
        }
    }

    #[test]
    fn merged_kernels_deduplicate_as_in_libbpf() {
        let kernels: Vec<_> =
            artifacts::kernel_btfs().into_iter().chain(artifacts::running_kernel()).collect();
        let Some(last) = kernels.last() else {
            core_relo_test_support::skip("kernels together", "no kernel's BTF here");
            return;
        };
        for (one, two) in kernels.iter().zip(kernels.iter().skip(1)).take(2).chain([(last, last)]) {
            let parse = |path| Btf::parse(fs::read(path).unwrap()).unwrap();
            let (first, second) = (parse(one), parse(two));
            if first.endian() != second.endian() {
                continue;
            }
            let mut both = Builder::new(first.endian());
            append(&mut both, &first);
            append(&mut both, &second);
            compare_dedup(&format!("{} and {}", one.display(), two.display()), &both.finish());
        }
    }

    fn link(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, StaticLinkError> {
        files.iter().try_fold(Linker::new(), |linker, (name, bytes)| linker.add(name, bytes))?.finish()
    }

    #[derive(Default)]
    struct Counts {
        linked: usize,
        /// Objects that differ only in offsets and sizes of DATASEC variables, which libbpf takes from the
        /// declarations.
        relaid: usize,
        refused: usize,
        wrong: Vec<String>,
    }

    impl Counts {
        /// Links with both linkers. Both must refuse the files or write the same bytes.
        fn compare_link(&mut self, files: &[(String, Vec<u8>)]) {
            let place = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
            let slices: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            let (there, log) = libbpf::with_log(|| libbpf::link(&slices));
            match (link(files), there) {
                (Err(_), Err(_)) => self.refused += 1,
                (Ok(here), Ok(there)) if here == there => self.linked += 1,
                (Ok(here), Ok(there)) if here == with_symbol_layout(&there) => self.relaid += 1,
                (Ok(here), Ok(there)) => self.wrong.push(format!("{place}: {}", difference(&here, &there))),
                (Err(error), Ok(_)) => self.wrong.push(format!("{place}: refused here alone: {error}")),
                (Ok(_), Err(_)) => {
                    self.wrong.push(format!("{place}: refused by libbpf alone: {}", log.trim()))
                }
            }
        }

        fn assert_equal(self, subject: &str) {
            let Self { linked, relaid, refused, wrong } = self;
            println!(
                "{subject}: {linked} linked to libbpf's bytes, {relaid} except for offsets in DATASECs, {refused} refused by both, {} differ",
                wrong.len()
            );
            wrong.iter().take(20).for_each(|text| println!("{text}"));
            assert!(wrong.is_empty() && linked > 0);
        }
    }

    /// Returns a linked object whose DATASECs have the offsets and sizes of its symbols.
    fn with_symbol_layout(linked: &[u8]) -> Vec<u8> {
        let mut copy = linked.to_vec();
        let Ok(object) = Object::parse(linked) else { return copy };
        let Some(btf) = object.btf() else { return copy };
        let section = object.sections().iter().find(|s| s.name == b".BTF").unwrap();
        let mut at = section.offset as usize + 24;
        for ty in btf.types() {
            for (number, info) in ty.secinfos().enumerate() {
                let var = btf.ty(info.ty).filter(|var| var.linkage() == Some(1));
                let Some(var) = var else { continue };
                let symbol = object.symbols().find(|s| s.name == var.name().as_bytes()).unwrap();
                let place = at + 12 + number * 12 + 4;
                for (at, value) in [(place, symbol.value), (place + 4, symbol.size)] {
                    copy[at..at + 4].copy_from_slice(&object.endian().u32_bytes(value as u32));
                }
            }
            at += 12 + trailing_word_count(ty) * 4;
        }
        copy
    }

    fn trailing_word_count(ty: core_relo::btf::Type<'_>) -> usize {
        match ty.kind() {
            Kind::Int | Kind::Var | Kind::DeclTag => 1,
            Kind::Array => 3,
            Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => ty.vlen() as usize * 3,
            Kind::Enum | Kind::FuncProto => ty.vlen() as usize * 2,
            _ => 0,
        }
    }

    /// Describes the first difference: section, offset, size and byte.
    fn difference(here: &[u8], there: &[u8]) -> String {
        let sections = |bytes: &[u8]| -> Vec<(String, u64, u64, Vec<u8>)> {
            let object = Object::parse(bytes);
            let describe = |o: &Object<'_>| {
                let section = |s: &core_relo_loader::object::Section<'_>| {
                    (String::from_utf8_lossy(s.name).into_owned(), s.offset, s.size, s.data.to_vec())
                };
                o.sections().iter().map(section).collect()
            };
            object.as_ref().map(describe).unwrap_or_default()
        };
        let (ours, theirs) = (sections(here), sections(there));
        for (a, b) in ours.iter().zip(&theirs) {
            if a != b {
                let at = a.3.iter().zip(&b.3).position(|(a, b)| a != b);
                return format!(
                    "section {} (+{:#x}, {}), in libbpf {} (+{:#x}, {}), from byte {at:?}",
                    a.0, a.1, a.2, b.0, b.1, b.2
                );
            }
        }
        let at = here.iter().zip(there).position(|(a, b)| a != b);
        format!(
            "{} sections, in libbpf {}; {} bytes, {}; from byte {at:?}",
            ours.len(),
            theirs.len(),
            here.len(),
            there.len()
        )
    }

    fn read(paths: &[PathBuf]) -> Vec<(String, Vec<u8>)> {
        paths.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
    }

    #[test]
    fn objects_link_alone_and_in_pairs_as_in_libbpf() {
        let in_link = |path: &PathBuf| path.parent().is_some_and(|dir| dir.ends_with("link"));
        let paths: Vec<_> = artifacts::objects().into_iter().filter(|path| !in_link(path)).collect();
        let objects = read(&paths);
        let mut counts = Counts::default();
        for (at, object) in objects.iter().enumerate() {
            counts.compare_link(std::slice::from_ref(object));
            for other in objects.iter().skip(at + 1).take(3) {
                counts.compare_link(&[object.clone(), other.clone()]);
                counts.compare_link(&[other.clone(), object.clone()]);
            }
        }
        counts.assert_equal("objects of bpf-progs alone and in pairs");
    }

    /// Groups the files of one program, for example `link/calls_a.bpf.o` and `link/calls_b.bpf.o`, by
    /// directory and by the name before the last `_`.
    fn groups() -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for path in artifacts::objects() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let in_link = path.parent().is_some_and(|dir| dir.ends_with("link"));
            if let Some((group, _)) = name.rsplit_once('_').filter(|_| in_link) {
                groups.entry(path.with_file_name(group)).or_default().push(path);
            }
        }
        groups
    }

    fn group_name(path: &Path) -> String {
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the files in both orders.
    fn orders(paths: &[PathBuf]) -> [Vec<(String, Vec<u8>)>; 2] {
        let files = read(paths);
        let mut reversed = files.clone();
        reversed.reverse();
        [files, reversed]
    }

    #[test]
    fn programs_of_several_files_link_as_in_libbpf() {
        let mut counts = Counts::default();
        for (group, paths) in groups().iter().filter(|(group, _)| !group_name(group).starts_with("own_")) {
            for files in orders(paths) {
                let before = (counts.refused, counts.wrong.len());
                counts.compare_link(&files);
                let refused = (counts.refused, counts.wrong.len()) == (before.0 + 1, before.1);
                let expected = group_name(group).starts_with("bad_");
                if refused != expected && before.1 == counts.wrong.len() {
                    let result = link(&files).map(|bytes| bytes.len());
                    counts.wrong.push(format!("{}: {result:?}", group.display()));
                }
            }
        }
        counts.assert_equal("programs of several files");
    }

    /// The cases of docs/libbpf-differences.md: libbpf refuses the files or writes a damaged object.
    #[test]
    fn files_that_libbpf_links_wrongly_give_a_sound_object() {
        let mut found = 0;
        for (group, paths) in groups().iter().filter(|(group, _)| group_name(group).starts_with("own_")) {
            for files in orders(paths) {
                let here = link(&files).unwrap_or_else(|error| panic!("{}: {error}", group.display()));
                let slices: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
                let (there, _) = libbpf::with_log(|| libbpf::link(&slices));
                assert_ne!(there.as_ref(), Ok(&here), "{}: no difference left", group.display());
                let object = Object::parse(&here).unwrap();
                let btf = object.btf().unwrap();
                for info in btf.types().flat_map(core_relo::btf::Type::secinfos) {
                    let size = btf.ty(info.ty).and_then(|var| btf.size_of(var.target()?).ok());
                    assert!(size.is_none_or(|size| size.0 == info.size), "{}: {info:?}", group.display());
                }
                found += 1;
            }
        }
        assert!(found > 0);
    }

    /// libbpf compares the first array with itself, so core-relo compares the element types of arrays in
    /// addition.
    #[test]
    fn libbpf_merges_structs_whose_arrays_differ() {
        let mut b = Builder::new(NATIVE);
        let (int, float) = (b.int("int", 4, Builder::SIGNED), b.float("float", 4));
        let (ints, floats) = (b.array(int, int, 4), b.array(float, int, 4));
        b.structure("pair", 32, &[("a", ints, 0), ("b", ints, 128)]);
        let again = b.array(int, int, 4);
        b.structure("pair", 32, &[("a", again, 0), ("b", floats, 128)]);
        let bytes = b.finish();
        let here = dedup(&Btf::parse(&bytes[..]).unwrap()).unwrap();
        let mut theirs = libbpf::Btf::parse(&bytes, None).unwrap();
        assert!(theirs.dedup());
        let here = Btf::parse(here.finish()).unwrap();
        let pairs = |btf: &Btf<'_>| btf.types().filter(|ty| ty.kind() == Kind::Struct).count();
        assert_eq!((pairs(&here), pairs(&Btf::parse(theirs.raw_data()).unwrap())), (2, 1));
    }

    #[test]
    fn libbpf_opens_linked_objects() {
        let (mut opened, mut refused) = (0, 0);
        for (group, paths) in groups().iter().filter(|(group, _)| !group_name(group).starts_with("bad_")) {
            for files in orders(paths) {
                let linked = link(&files).unwrap();
                let object = Object::parse(&linked).unwrap();
                let programs = object.programs().iter().filter(|program| !program.is_subprogram).count();
                if object.endian() != NATIVE {
                    continue;
                }
                let (result, log) = libbpf::with_log(|| libbpf::open(&linked));
                match result {
                    Ok(there) => {
                        assert_eq!(there.programs().len(), programs, "{}: programs", group.display());
                        opened += 1;
                    }
                    // An undefined map stays an extern, and libbpf does not know externs of `.maps`.
                    Err(_) if group_name(group) == "own_extern" => {
                        assert!(log.contains("unrecognized extern section '.maps'"), "{log}");
                        refused += 1;
                    }
                    Err(error) => panic!("{}: errno {error}: {log}", group.display()),
                }
            }
        }
        println!("libbpf opens {opened} linked objects, and refuses {refused} with undefined maps");
        assert!(opened > 0);
    }
}
