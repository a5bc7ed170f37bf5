//! Types as libbpf reads them: the same words, names, sizes and pointer size, of kernels, modules and split BTF moved onto
//! another base.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_reads_the_same_types() {
    core_relo_tests::skip::skip("btf", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{TypeId, btf::Btf};
    use core_relo_tests::{artifacts, judge, skip::skip};
    use std::{fs, path::PathBuf, rc::Rc, sync::Arc};

    fn kernels() -> Vec<PathBuf> {
        artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()).collect()
    }

    #[test]
    fn libbpf_reads_the_same_types() {
        let (mut types, mut files) = (0, 0);
        for kernel in kernels() {
            let bytes = fs::read(&kernel).unwrap();
            let ours = Arc::new(Btf::parse(bytes.clone()).unwrap());
            let theirs = Rc::new(judge::Btf::parse(&bytes, None).unwrap());
            assert_eq!(ours.pointer_size().index(), theirs.pointer_size(), "{}", kernel.display());
            types += compare(&ours, &theirs, &kernel.display().to_string());
            files += 1;
            for module in artifacts::module_btfs(&kernel) {
                let bytes = fs::read(&module).unwrap();
                let ours = Btf::parse_split(bytes.clone(), Arc::clone(&ours)).unwrap();
                let theirs = judge::Btf::parse(&bytes, Some(Rc::clone(&theirs))).unwrap();
                types += compare(&ours, &theirs, &module.display().to_string());
                files += 1;
            }
        }
        println!("compared {types} types of {files} BTFs with libbpf");
        if files == 0 {
            skip("btf", "neither the running kernel nor target/kernels has BTF");
        }
    }

    /// Compares the own types of two readings of one BTF.
    fn compare(ours: &Btf<'_>, theirs: &judge::Btf, place: &str) -> usize {
        assert_eq!(ours.end_id().0, theirs.type_count(), "{place}");
        for ty in ours.types() {
            let id = ty.id().0;
            let [name, _, third] = theirs.words(id).unwrap();
            assert_eq!(
                theirs.string(name).unwrap(),
                String::from_utf8_lossy(ty.name().as_bytes()),
                "{place} [{id}]"
            );
            assert_eq!((ty.name_offset().0, ty.size_or_type()), (name, third), "{place} [{id}]");
            let size = ours.size_of(ty.id()).map_or(-1, |size| i64::from(size.0));
            assert_eq!(size, theirs.resolve_size(id).max(-1), "{place} [{id}] size");
        }
        ours.types().count()
    }

    #[test]
    fn libbpf_moves_split_btf_onto_another_base_alike() {
        let mut moved = 0;
        for kernel in artifacts::kernel_btfs() {
            let base_bytes = fs::read(&kernel).unwrap();
            let modules = artifacts::module_btfs(&kernel);
            if modules.is_empty() {
                continue;
            }
            let ours = Arc::new(Btf::parse(base_bytes.clone()).unwrap());
            let theirs = Rc::new(judge::Btf::parse(&base_bytes, None).unwrap());
            for module in modules.iter().take(6) {
                let place = module.display().to_string();
                let split = judge::Btf::parse(&fs::read(module).unwrap(), Some(Rc::clone(&theirs))).unwrap();
                let Some((distilled, upon)) = split.distill() else { continue };
                let our = Btf::relocate_split(upon.clone(), distilled.clone(), Arc::clone(&ours));
                let small = Rc::new(judge::Btf::parse(&distilled, None).unwrap());
                let mut their = judge::Btf::parse(&upon, Some(small)).unwrap();
                let done = their.relocate(Rc::clone(&theirs));
                let our = match our {
                    Ok(our) => our,
                    Err(error) => {
                        assert!(!done, "{place}: {error}");
                        continue;
                    }
                };
                assert!(done, "{place}: libbpf refuses");
                same(&our, &their, &place);
                moved += 1;
            }
        }
        println!("compared {moved} split BTFs moved onto a base with libbpf");
        if moved == 0 {
            skip("btf, distilled", "no modules' BTF here (cargo xtask kernels fetches some)");
        }
    }

    /// Two BTFs of the same types whose strings may lie elsewhere.
    fn same(ours: &Btf<'_>, theirs: &judge::Btf, place: &str) {
        assert_eq!(ours.end_id().0, theirs.type_count(), "{place}");
        for ty in ours.types() {
            let TypeId(id) = ty.id();
            let [name, _, third] = theirs.words(id).unwrap();
            assert_eq!(
                theirs.string(name).unwrap(),
                String::from_utf8_lossy(ty.name().as_bytes()),
                "{place} [{id}]"
            );
            assert_eq!(ty.size_or_type(), third, "{place} [{id}] {ty:?}");
            assert_eq!(
                ours.size_of(ty.id()).map_or(-1, |s| i64::from(s.0)),
                theirs.resolve_size(id).max(-1),
                "{place} [{id}]"
            );
        }
    }
}
