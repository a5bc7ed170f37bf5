//! Static linking and BTF deduplication beside libbpf's: the same bytes.

#[cfg(not(feature = "libbpf"))]
#[test]
fn linked_objects_are_libbpfs_byte_for_byte() {
    core_relo_tests::skip::skip("static_link", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        Endian, TypeId,
        btf::{Btf, Builder, Import, Kind, dedup},
    };
    use core_relo_loader::object::Object;
    use core_relo_loader::static_link::{LinkError, Linker};
    use core_relo_tests::{artifacts, judge};
    use std::{
        collections::BTreeMap,
        fs,
        path::{Path, PathBuf},
    };

    const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// The BTFs of all objects of one byte order, one after the other in one BTF.
    fn together(order: Endian) -> (Vec<u8>, usize) {
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

    fn append(all: &mut Builder, btf: &Btf<'_>) {
        let first = all.next_id().0 - 1;
        let moved = |id: TypeId| if id.0 == 0 { id } else { TypeId(id.0 + first) };
        let mut import = Import::new(btf);
        for ty in btf.types() {
            import.ty(all, ty, moved).unwrap();
        }
    }

    fn compare(name: &str, bytes: &[u8]) {
        let parsed = Btf::parse(bytes).unwrap();
        let begin = std::time::Instant::now();
        let here = dedup(&parsed).unwrap().finish();
        let took = begin.elapsed();
        let mut judged = judge::Btf::parse(bytes, None).unwrap();
        assert!(judged.dedup(), "{name}: libbpf cannot deduplicate it");
        let there = judged.raw_data();
        let count = |bytes: &[u8]| Btf::parse(bytes.to_vec()).unwrap().end_id();
        let (all, left) = (parsed.end_id(), count(&here));
        assert_eq!(left, count(&there), "{name}: number of types");
        assert!(here == there, "{name}: the same number of types, but not the same bytes");
        println!("{name}: of {all} types {left} are left, as in libbpf ({took:?})");
    }

    #[test]
    fn objects_together_deduplicate_to_libbpfs_bytes() {
        for order in [Endian::Little, Endian::Big] {
            let (bytes, objects) = together(order);
            assert!(objects > 1);
            compare(&format!("{objects} objects, {order:?}"), &bytes);
        }
    }

    #[test]
    fn kernels_together_deduplicate_to_libbpfs_bytes() {
        let kernels: Vec<_> =
            artifacts::kernel_btfs().into_iter().chain(artifacts::running_kernel()).collect();
        let Some(last) = kernels.last() else {
            core_relo_tests::skip::skip("kernels together", "no kernel's BTF here");
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
            compare(&format!("{} and {}", one.display(), two.display()), &both.finish());
        }
    }

    fn link(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, LinkError> {
        files.iter().try_fold(Linker::new(), |linker, (name, bytes)| linker.add(name, bytes))?.finish()
    }

    #[derive(Default)]
    struct Counts {
        linked: usize,
        /// The same but for places and sizes of variables, which libbpf leaves as the declarations have them.
        placed: usize,
        refused: usize,
        wrong: Vec<String>,
    }

    impl Counts {
        /// Links with both and compares: both refuse, or both come to the same bytes.
        fn judge(&mut self, files: &[(String, Vec<u8>)]) {
            let place = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
            let slices: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            let (there, log) = judge::logged(|| judge::link(&slices));
            match (link(files), there) {
                (Err(_), Err(_)) => self.refused += 1,
                (Ok(here), Ok(there)) if here == there => self.linked += 1,
                (Ok(here), Ok(there)) if here == placed(&there) => self.placed += 1,
                (Ok(here), Ok(there)) => self.wrong.push(format!("{place}: {}", difference(&here, &there))),
                (Err(error), Ok(_)) => self.wrong.push(format!("{place}: refused here alone: {error}")),
                (Ok(_), Err(_)) => {
                    self.wrong.push(format!("{place}: refused by libbpf alone: {}", log.trim()))
                }
            }
        }

        fn assert(self, what: &str) {
            let Self { linked, placed, refused, wrong } = self;
            println!(
                "{what}: {linked} linked to libbpf's bytes, {placed} but for places in DATASECs, {refused} refused by both, {} differ",
                wrong.len()
            );
            wrong.iter().take(20).for_each(|text| println!("{text}"));
            assert!(wrong.is_empty() && linked > 0);
        }
    }

    /// A linked object with the variables of its DATASECs where its symbols are, and of their sizes.
    fn placed(linked: &[u8]) -> Vec<u8> {
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
            at += 12 + words_after(ty) * 4;
        }
        copy
    }

    fn words_after(ty: core_relo::btf::Type<'_>) -> usize {
        match ty.kind() {
            Kind::Int | Kind::Var | Kind::DeclTag => 1,
            Kind::Array => 3,
            Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => ty.vlen() as usize * 3,
            Kind::Enum | Kind::FuncProto => ty.vlen() as usize * 2,
            _ => 0,
        }
    }

    /// Which section differs, and where.
    fn difference(here: &[u8], there: &[u8]) -> String {
        let sections = |bytes: &[u8]| -> Vec<(String, u64, u64, Vec<u8>)> {
            let object = Object::parse(bytes);
            let of = |o: &Object<'_>| {
                let section = |s: &core_relo_loader::object::Section<'_>| {
                    (String::from_utf8_lossy(s.name).into_owned(), s.offset, s.size, s.data.to_vec())
                };
                o.sections().iter().map(section).collect()
            };
            object.as_ref().map(of).unwrap_or_default()
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
    fn each_object_alone_and_with_the_next_links_to_libbpfs_bytes() {
        let in_link = |path: &PathBuf| path.parent().is_some_and(|folder| folder.ends_with("link"));
        let paths: Vec<_> = artifacts::objects().into_iter().filter(|path| !in_link(path)).collect();
        let objects = read(&paths);
        let mut counts = Counts::default();
        for (at, object) in objects.iter().enumerate() {
            counts.judge(std::slice::from_ref(object));
            for other in objects.iter().skip(at + 1).take(3) {
                counts.judge(&[object.clone(), other.clone()]);
                counts.judge(&[other.clone(), object.clone()]);
            }
        }
        counts.assert("objects of bpf-progs alone and in pairs");
    }

    /// Files of one program: `link/calls_a.bpf.o`, `link/calls_b.bpf.o`, … by folder and by what is before the last `_`.
    fn groups() -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for path in artifacts::objects() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let in_link = path.parent().is_some_and(|folder| folder.ends_with("link"));
            if let Some((group, _)) = name.rsplit_once('_').filter(|_| in_link) {
                groups.entry(path.with_file_name(group)).or_default().push(path);
            }
        }
        groups
    }

    fn group_name(path: &Path) -> String {
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Both orders of the files.
    fn orders(paths: &[PathBuf]) -> [Vec<(String, Vec<u8>)>; 2] {
        let files = read(paths);
        let mut turned = files.clone();
        turned.reverse();
        [files, turned]
    }

    #[test]
    fn programs_of_several_files_link_to_libbpfs_bytes() {
        let mut counts = Counts::default();
        for (group, paths) in groups().iter().filter(|(group, _)| !group_name(group).starts_with("own_")) {
            for files in orders(paths) {
                let before = (counts.refused, counts.wrong.len());
                counts.judge(&files);
                let refused = (counts.refused, counts.wrong.len()) == (before.0 + 1, before.1);
                let expected = group_name(group).starts_with("bad_");
                if refused != expected && before.1 == counts.wrong.len() {
                    let result = link(&files).map(|bytes| bytes.len());
                    counts.wrong.push(format!("{}: {result:?}", group.display()));
                }
            }
        }
        counts.assert("programs of several files");
    }

    /// What is in docs/libbpf-differences.md: linked here, and sound, where libbpf refuses or writes nonsense.
    #[test]
    fn where_libbpf_fails_the_result_is_sound() {
        let mut found = 0;
        for (group, paths) in groups().iter().filter(|(group, _)| group_name(group).starts_with("own_")) {
            for files in orders(paths) {
                let here = link(&files).unwrap_or_else(|error| panic!("{}: {error}", group.display()));
                let slices: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
                let (there, _) = judge::logged(|| judge::link(&slices));
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

    /// Why `identical` compares elements of arrays: libbpf compares the first array with itself.
    #[test]
    fn libbpf_makes_one_of_structs_whose_arrays_differ() {
        let mut b = Builder::new(NATIVE);
        let (int, float) = (b.int("int", 4, Builder::SIGNED), b.float("float", 4));
        let (ints, floats) = (b.array(int, int, 4), b.array(float, int, 4));
        b.structure("pair", 32, &[("a", ints, 0), ("b", ints, 128)]);
        let again = b.array(int, int, 4);
        b.structure("pair", 32, &[("a", again, 0), ("b", floats, 128)]);
        let bytes = b.finish();
        let here = dedup(&Btf::parse(&bytes[..]).unwrap()).unwrap();
        let mut judged = judge::Btf::parse(&bytes, None).unwrap();
        assert!(judged.dedup());
        let here = Btf::parse(here.finish()).unwrap();
        let pairs = |btf: &Btf<'_>| btf.types().filter(|ty| ty.kind() == Kind::Struct).count();
        assert_eq!((pairs(&here), pairs(&Btf::parse(judged.raw_data()).unwrap())), (2, 1));
    }

    #[test]
    fn libbpf_opens_what_is_linked_here() {
        let (mut opened, mut refused) = (0, 0);
        for (group, paths) in groups().iter().filter(|(group, _)| !group_name(group).starts_with("bad_")) {
            for files in orders(paths) {
                let linked = link(&files).unwrap();
                let object = Object::parse(&linked).unwrap();
                let programs = object.programs().iter().filter(|program| !program.is_subprogram).count();
                if object.endian() != NATIVE {
                    continue;
                }
                let (result, log) = judge::logged(|| judge::open(&linked));
                match result {
                    Ok(there) => {
                        assert_eq!(there.programs().len(), programs, "{}: programs", group.display());
                        opened += 1;
                    }
                    // What nobody defines stays an extern, which libbpf does not know for what it is.
                    Err(_) if group_name(group) == "own_extern" => {
                        assert!(log.contains("unrecognized extern section '.maps'"), "{log}");
                        refused += 1;
                    }
                    Err(error) => panic!("{}: errno {error}: {log}", group.display()),
                }
            }
        }
        println!("libbpf opens {opened} linked objects, and refuses {refused} that want what nobody defines");
        assert!(opened > 0);
    }
}
