//! Types as libbpf reads them: the same words, names, sizes and pointer size, of kernels, modules and split BTF moved onto
//! another base.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_reads_the_same_types() {
    core_relo_tests::skip::skip("btf", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        Name,
        btf::{Btf, Kind, Type},
    };
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
            assert_eq!(
                Some(ty.name_offset().0),
                theirs.words(ty.id().0).map(|words| words[0]),
                "{place} {ty:?}"
            );
            if let Err(what) = same(ty, theirs) {
                panic!("{place} {ty:?}: {what}");
            }
        }
        ours.types().count()
    }

    /// Compares all there is in a type, but where its strings lie.
    fn same(ty: Type<'_>, theirs: &judge::Btf) -> Result<(), String> {
        let equal = |what: &str, one: i64, other: i64| {
            if one == other { Ok(()) } else { Err(format!("{what} is {one} here, {other} in libbpf")) }
        };
        let named = |offset: u32, name: Name<'_>| {
            let other = theirs.string(offset).ok_or("no such string")?;
            let one = String::from_utf8_lossy(name.as_bytes());
            if one == other { Ok(()) } else { Err(format!("`{one}` here, `{other}` in libbpf")) }
        };
        let id = ty.id().0;
        let [name, info, third] = theirs.words(id).ok_or("no such type")?;
        named(name, ty.name())?;
        let our_info = u32::from(ty.kflag()) << 31 | u32::from(ty.kind().raw()) << 24 | ty.vlen();
        equal("info", our_info.into(), info.into())?;
        equal("size or type", ty.size_or_type().into(), third.into())?;
        let size = ty.btf().size_of(ty.id()).map_or(-1, |size| i64::from(size.0));
        equal("size", size, theirs.resolve_size(id).max(-1))?;
        let tail = theirs.tail(id).ok_or("no tail")?;
        // Names as they are found, everything else as words.
        let mut names = Vec::new();
        let words: Vec<u32> = match ty.kind() {
            Kind::Struct | Kind::Union => ty
                .members()
                .flat_map(|m| {
                    names.push(m.name);
                    [0, m.ty.0, m.bitfield_bits << 24 | m.bit_offset.0]
                })
                .collect(),
            Kind::Enum => ty
                .enumerators()
                .flat_map(|v| {
                    names.push(v.name);
                    [0, v.value as u32]
                })
                .collect(),
            Kind::Enum64 => ty
                .enumerators()
                .flat_map(|v| {
                    names.push(v.name);
                    [0, v.value as u32, (v.value >> 32) as u32]
                })
                .collect(),
            Kind::FuncProto => ty
                .params()
                .flat_map(|p| {
                    names.push(p.name);
                    [0, p.ty.0]
                })
                .collect(),
            Kind::Datasec => ty.secinfos().flat_map(|s| [s.ty.0, s.offset, s.size]).collect(),
            Kind::Array => ty.array().map_or(vec![], |a| vec![a.element.0, a.index.0, a.nelems]),
            Kind::Int => {
                ty.int().map_or(vec![], |i| vec![u32::from_be_bytes([i.encoding, i.offset, 0, i.bits])])
            }
            Kind::Var => ty.linkage().into_iter().collect(),
            Kind::DeclTag => ty.component_index().map(|index| index as u32).into_iter().collect(),
            _ => Vec::new(),
        };
        let each = words.len().checked_div(names.len()).unwrap_or(usize::MAX);
        equal("words in all", words.len() as i64, tail.len() as i64)?;
        let mut names = names.into_iter();
        for (at, (one, other)) in words.into_iter().zip(tail).enumerate() {
            match names.as_slice().first().filter(|_| at.is_multiple_of(each)) {
                Some(name) => {
                    named(other, *name)?;
                    names.next();
                }
                None => equal(&format!("word {at}"), one.into(), other.into())?,
            }
        }
        Ok(())
    }

    /// Distilled by libbpf, then moved by both: onto the base it is from, and onto another kernel's.
    #[test]
    fn libbpf_moves_split_btf_onto_another_base_alike() {
        let (mut moved, mut refused) = (0, 0);
        let kernels = artifacts::kernel_btfs();
        for (at, kernel) in kernels.iter().enumerate() {
            let modules = artifacts::module_btfs(kernel);
            if modules.is_empty() {
                continue;
            }
            let own = Rc::new(judge::Btf::parse(&fs::read(kernel).unwrap(), None).unwrap());
            let distilled: Vec<_> = modules
                .iter()
                .filter_map(|module| {
                    let split = judge::Btf::parse(&fs::read(module).unwrap(), Some(Rc::clone(&own)))?;
                    Some((module, split.distill()?))
                })
                .collect();
            for base in [kernel, &kernels[(at + 1) % kernels.len()]] {
                let bytes = fs::read(base).unwrap();
                let ours = Arc::new(Btf::parse(bytes.clone()).unwrap());
                let theirs = Rc::new(judge::Btf::parse(&bytes, None).unwrap());
                for (module, (small, split)) in &distilled {
                    let place = format!("{} onto {}", module.display(), base.display());
                    match moves(&place, split, small, &ours, &theirs) {
                        true => moved += 1,
                        false => refused += 1,
                    }
                }
            }
        }
        println!("compared split BTFs moved onto a base with libbpf: {moved} moved, {refused} refused");
        if moved == 0 {
            skip("btf, distilled", "no modules' BTF here (cargo xtask kernels fetches some)");
        }
    }

    /// Whether both move it; panics unless both do the same.
    fn moves(
        place: &str,
        split: &[u8],
        small: &[u8],
        base: &Arc<Btf<'static>>,
        theirs: &Rc<judge::Btf>,
    ) -> bool {
        let our = Btf::relocate_split(split.to_vec(), small.to_vec(), Arc::clone(base));
        let small = Rc::new(judge::Btf::parse(small, None).unwrap());
        let mut their = judge::Btf::parse(split, Some(small)).unwrap();
        let (done, log) = judge::logged(|| their.relocate(Rc::clone(theirs)));
        let our = match (our, done) {
            (Ok(our), true) => our,
            (Err(_), false) => return false,
            (our, _) => panic!("{place}: {:?} here, in libbpf {done}: {log}", our.map(drop)),
        };
        assert_eq!(our.end_id().0, their.type_count(), "{place}");
        for ty in our.types() {
            if let Err(what) = same(ty, &their) {
                panic!("{place} {ty:?}: {what}");
            }
        }
        true
    }
}
