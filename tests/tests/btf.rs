//! Comparison of parsed BTF with libbpf: words, names, sizes and pointer size of kernels, modules and
//! relocated split BTF.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_parses_the_same_types() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        Name,
        btf::{Btf, Kind, Type},
    };
    use core_relo_test_support::skip;
    use core_relo_tests::{artifacts, libbpf};
    use std::{fs, path::PathBuf, rc::Rc, sync::Arc};

    fn kernels() -> Vec<PathBuf> {
        artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()).collect()
    }

    #[test]
    fn libbpf_parses_the_same_types() {
        let (mut types, mut files) = (0, 0);
        for kernel in kernels() {
            let bytes = fs::read(&kernel).unwrap();
            let ours = Arc::new(Btf::parse(bytes.clone()).unwrap());
            let theirs = Rc::new(libbpf::Btf::parse(&bytes, None).unwrap());
            assert_eq!(ours.pointer_size().index(), theirs.pointer_size(), "{}", kernel.display());
            types += compare(&ours, &theirs, &kernel.display().to_string());
            files += 1;
            for module in artifacts::module_btfs(&kernel) {
                let bytes = fs::read(&module).unwrap();
                let ours = Btf::parse_split(bytes.clone(), Arc::clone(&ours)).unwrap();
                let theirs = libbpf::Btf::parse(&bytes, Some(Rc::clone(&theirs))).unwrap();
                types += compare(&ours, &theirs, &module.display().to_string());
                files += 1;
            }
        }
        println!("compared {types} types of {files} BTFs with libbpf");
        if files == 0 {
            skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
        }
    }

    /// Compares the types of one BTF as parsed by core-relo and by libbpf. Returns the number of types.
    fn compare(ours: &Btf<'_>, theirs: &libbpf::Btf, place: &str) -> usize {
        assert_eq!(ours.end_id().0, theirs.type_count(), "{place}");
        for ty in ours.types() {
            assert_eq!(
                Some(ty.name_offset().0),
                theirs.words(ty.id().0).map(|words| words[0]),
                "{place} {ty:?}"
            );
            if let Err(difference) = compare_type(ty, theirs) {
                panic!("{place} {ty:?}: {difference}");
            }
        }
        ours.types().count()
    }

    /// Compares a type except for its string offsets.
    fn compare_type(ty: Type<'_>, theirs: &libbpf::Btf) -> Result<(), String> {
        let equal = |field: &str, ours: i64, theirs: i64| {
            if ours == theirs { Ok(()) } else { Err(format!("{field} is {ours} here, {theirs} in libbpf")) }
        };
        let same_name = |offset: u32, name: Name<'_>| {
            let theirs = theirs.string(offset).ok_or("no such string")?;
            let ours = String::from_utf8_lossy(name.as_bytes());
            if ours == theirs { Ok(()) } else { Err(format!("`{ours}` here, `{theirs}` in libbpf")) }
        };
        let id = ty.id().0;
        let [name, info, third] = theirs.words(id).ok_or("no such type")?;
        same_name(name, ty.name())?;
        let our_info = u32::from(ty.kflag()) << 31 | u32::from(ty.kind().raw()) << 24 | ty.vlen();
        equal("info", our_info.into(), info.into())?;
        equal("size or type", ty.size_or_type().into(), third.into())?;
        let size = ty.btf().size_of(ty.id()).map_or(-1, |size| i64::from(size.0));
        equal("size", size, theirs.resolve_size(id).max(-1))?;
        let trailing = theirs.trailing_words(id).ok_or("no trailing words")?;
        // Names are compared as strings, all other words as numbers.
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
        equal("words in all", words.len() as i64, trailing.len() as i64)?;
        let mut names = names.into_iter();
        for (at, (ours, theirs)) in words.into_iter().zip(trailing).enumerate() {
            match names.as_slice().first().filter(|_| at.is_multiple_of(each)) {
                Some(name) => {
                    same_name(theirs, *name)?;
                    names.next();
                }
                None => equal(&format!("word {at}"), ours.into(), theirs.into())?,
            }
        }
        Ok(())
    }

    /// libbpf distills the bases. Both implementations relocate the split BTF to its own kernel and to
    /// another one.
    #[test]
    fn split_btf_relocates_to_another_base_as_in_libbpf() {
        let (mut relocated, mut refused) = (0, 0);
        let kernels = artifacts::kernel_btfs();
        for (at, kernel) in kernels.iter().enumerate() {
            let modules = artifacts::module_btfs(kernel);
            if modules.is_empty() {
                continue;
            }
            let own = Rc::new(libbpf::Btf::parse(&fs::read(kernel).unwrap(), None).unwrap());
            let distilled: Vec<_> = modules
                .iter()
                .filter_map(|module| {
                    let split = libbpf::Btf::parse(&fs::read(module).unwrap(), Some(Rc::clone(&own)))?;
                    Some((module, split.distill()?))
                })
                .collect();
            for base in [kernel, &kernels[(at + 1) % kernels.len()]] {
                let bytes = fs::read(base).unwrap();
                let ours = Arc::new(Btf::parse(bytes.clone()).unwrap());
                let theirs = Rc::new(libbpf::Btf::parse(&bytes, None).unwrap());
                for (module, (distilled_base, split)) in &distilled {
                    let place = format!("{} onto {}", module.display(), base.display());
                    match relocates(&place, split, distilled_base, &ours, &theirs) {
                        true => relocated += 1,
                        false => refused += 1,
                    }
                }
            }
        }
        println!(
            "compared the relocation of split BTFs with libbpf: {relocated} relocated, {refused} refused"
        );
        if relocated == 0 {
            skip!(Kernels, "no modules' BTF here (cargo xtask kernels fetches some)");
        }
    }

    /// Relocates a split BTF with both implementations. Returns true if both succeed, and panics if the
    /// results differ.
    fn relocates(
        place: &str,
        split: &[u8],
        distilled_base: &[u8],
        base: &Arc<Btf<'static>>,
        theirs: &Rc<libbpf::Btf>,
    ) -> bool {
        let our = Btf::relocate_split(split.to_vec(), distilled_base.to_vec(), Arc::clone(base));
        let distilled_base = Rc::new(libbpf::Btf::parse(distilled_base, None).unwrap());
        let mut their = libbpf::Btf::parse(split, Some(distilled_base)).unwrap();
        let (succeeded, log) = libbpf::with_log(|| their.relocate(Rc::clone(theirs)));
        let our = match (our, succeeded) {
            (Ok(our), true) => our,
            (Err(_), false) => return false,
            (our, _) => panic!("{place}: {:?} here, in libbpf {succeeded}: {log}", our.map(drop)),
        };
        assert_eq!(our.end_id().0, their.type_count(), "{place}");
        for ty in our.types() {
            if let Err(difference) = compare_type(ty, &their) {
                panic!("{place} {ty:?}: {difference}");
            }
        }
        true
    }
}
