//! BTF that core-relo writes, compared with libbpf's: deduplication, distillation, sorting and conversion.

#[cfg(not(feature = "libbpf"))]
#[test]
fn written_btf_is_libbpfs() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        Endian, TypeId,
        btf::{Btf, Builder, Kind, LayoutChange, convert, dedup, distil_base, sort},
    };
    use core_relo_test_support::skip;
    use core_relo_tests::{artifacts, libbpf};
    use object::{Object as _, ObjectSection as _};
    use std::{fs, path::PathBuf, rc::Rc, sync::Arc};

    /// Returns the `.BTF` of every prebuilt object.
    fn object_btfs() -> Vec<(PathBuf, Vec<u8>)> {
        let section = |path: PathBuf| {
            let bytes = fs::read(&path).unwrap();
            let file = object::File::parse(&*bytes).ok()?;
            let btf = file.section_by_name(".BTF")?.data().ok()?.to_vec();
            Some((path, btf))
        };
        artifacts::objects().into_iter().filter_map(section).collect()
    }

    /// Returns all types in bpftool's notation.
    fn text(btf: &Btf<'_>) -> Vec<String> {
        btf.types().map(|ty| ty.raw().to_string()).collect()
    }

    /// Asserts that both implementations leave the same types, in the same order. Returns their text, and the
    /// number of types before.
    fn deduped(place: &str, input: &[u8]) -> (Vec<String>, usize) {
        let before = Btf::parse(input).unwrap();
        let ours = text(&Btf::parse(dedup(&before).unwrap().finish()).unwrap());
        let mut theirs = libbpf::Btf::parse(input, None).unwrap();
        assert!(theirs.dedup(), "{place}");
        let theirs = text(&Btf::parse(theirs.raw_data()).unwrap());
        assert_eq!(ours.len(), theirs.len(), "{place}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(*ours, theirs, "{place}");
        }
        (ours, before.types().count())
    }

    #[test]
    fn deduplicated_objects_have_libbpfs_types() {
        let mut merged = [Endian::Little, Endian::Big].map(Builder::new);
        for (path, bytes) in object_btfs() {
            let Ok(btf) = Btf::parse(bytes.clone()) else { continue };
            for builder in &mut merged {
                builder.append(&btf).unwrap();
            }
            if libbpf::Btf::parse(&bytes, None).is_some() {
                deduped(&path.display().to_string(), &bytes);
            }
        }
        for builder in merged {
            let (after, before) = deduped("all objects", &builder.finish());
            println!("all objects: {before} types, {} after deduplication", after.len());
            assert!(after.len() < before / 2);
        }
    }

    /// The types of half of the objects, split from those of the others, or from a kernel. libbpf
    /// deduplicates both together: in split BTF it does not find the typedefs of the base.
    ///
    /// The base has no forward declarations: types beside them would complete them, but split BTF cannot
    /// change its base.
    #[test]
    fn split_btf_lacks_the_types_that_libbpf_finds_twice() {
        let parsed: Vec<_> =
            object_btfs().into_iter().filter_map(|(_, bytes)| Btf::parse(bytes).ok()).collect();
        let mut bases = Vec::new();
        for endian in [Endian::Little, Endian::Big] {
            let mut builder = Builder::new(endian);
            let is_complete = |btf: &&Btf<'_>| btf.types().all(|ty| ty.kind() != Kind::Fwd);
            for btf in parsed.iter().step_by(2).filter(is_complete) {
                builder.append(btf).unwrap();
            }
            bases.push(dedup(&Btf::parse(builder.finish()).unwrap()).unwrap().finish());
        }
        bases.extend(artifacts::running_kernel().into_iter().map(|path| fs::read(path).unwrap()));
        for base in bases {
            let base = Arc::new(Btf::parse(base).unwrap());
            let mut own = Builder::split_with_strings(&base);
            let mut together = Builder::copy_of(&base).unwrap();
            for btf in parsed.iter().skip(1).step_by(2) {
                own.append(btf).unwrap();
                together.append(btf).unwrap();
            }
            let own = Btf::parse_split(own.finish(), Arc::clone(&base)).unwrap();
            let split = Btf::parse_split(dedup(&own).unwrap().finish(), Arc::clone(&base)).unwrap();
            let (together, _) = deduped("together", &together.finish());
            let (all, first_own) = (text(&base).into_iter().chain(text(&split)), base.types().count());
            for (number, (ours, libbpfs)) in all.clone().zip(&together).enumerate() {
                assert_eq!(&ours, libbpfs, "type {}", number + 1);
            }
            assert_eq!(all.count(), together.len());
            let (before, after) = (own.types().count(), split.types().count());
            println!("base of {first_own} types: {before} types, {after} after deduplication");
            assert!(after < before);
        }
    }

    #[test]
    fn distilled_bases_are_libbpfs() {
        let mut modules = 0;
        for kernel in artifacts::kernel_btfs() {
            let base = fs::read(&kernel).unwrap();
            let our_base = Arc::new(Btf::parse(base.clone()).unwrap());
            let their_base = Rc::new(libbpf::Btf::parse(&base, None).unwrap());
            for module in artifacts::module_btfs(&kernel) {
                let bytes = fs::read(&module).unwrap();
                let ours = distil_base(&Btf::parse_split(bytes.clone(), Arc::clone(&our_base)).unwrap());
                let theirs = libbpf::Btf::parse(&bytes, Some(Rc::clone(&their_base))).unwrap();
                let place = module.display();
                let (Ok(ours), Some((base, split))) = (ours, theirs.distill()) else { panic!("{place}") };
                let parse = |base: &[u8], split: &[u8]| {
                    let base = Arc::new(Btf::parse(base.to_vec()).unwrap());
                    let split = Btf::parse_split(split.to_vec(), Arc::clone(&base)).unwrap();
                    [text(&base), text(&split)]
                };
                assert_eq!(parse(&ours.base, &ours.split), parse(&base, &split), "{place}");
                let relocated = Btf::relocate_split(ours.split, ours.base, Arc::clone(&our_base));
                assert!(relocated.is_ok(), "{place}: {relocated:?}");
                modules += 1;
            }
        }
        println!("distilled the bases of {modules} modules");
        if modules == 0 {
            skip!(Kernels, "no modules in target/kernels");
        }
    }

    /// libbpf reads sorted and converted BTF, and finds every type of the original.
    #[test]
    fn libbpf_reads_sorted_and_converted_btf() {
        for (path, bytes) in object_btfs() {
            let (Ok(btf), Some(theirs)) = (Btf::parse(bytes.clone()), libbpf::Btf::parse(&bytes, None))
            else {
                continue;
            };
            let place = path.display();
            let sorted = sort(&btf).unwrap();
            let ids: Vec<u32> = (0..btf.end_id().0).map(|id| sorted.id(TypeId(id)).unwrap().0).collect();
            let sorted = libbpf::Btf::parse(&sorted.into_bytes(), None).unwrap();
            assert_eq!(sorted.type_count(), theirs.type_count(), "{place}");
            for (old, new) in ids.iter().enumerate().skip(1) {
                let [name, info, third] = theirs.words(old as u32).unwrap();
                let [new_name, new_info, new_third] = sorted.words(*new).unwrap();
                assert_eq!((name, info), (new_name, new_info), "{place} [{old}]");
                let refers = btf.ty(TypeId(old as u32)).unwrap().target().is_some();
                let expected = if refers { ids[third as usize] } else { third };
                assert_eq!(expected, new_third, "{place} [{old}]");
            }
            let other = if btf.endian() == Endian::Little { Endian::Big } else { Endian::Little };
            let converted = convert(&btf, other, LayoutChange::Keep).unwrap();
            let converted = libbpf::Btf::parse(&converted, None).unwrap();
            for id in 1..btf.end_id().0 {
                assert_eq!(converted.words(id), theirs.words(id), "{place} [{id}]");
                assert_eq!(converted.trailing_words(id), theirs.trailing_words(id), "{place} [{id}]");
            }
        }
    }
}
