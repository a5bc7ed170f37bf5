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
        btf::{Btf, Builder, Import, dedup},
    };
    use core_relo_loader::object::Object;
    use core_relo_tests::{artifacts, judge};
    use std::fs;

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
}
