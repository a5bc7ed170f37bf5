//! Objects loaded by libbpf and by core-relo have the same programs, maps and types in the running kernel.
//! libbpf refuses the objects `own_*`, which core-relo loads.

#[cfg(not(all(feature = "libbpf", target_os = "linux")))]
#[test]
fn loaded_objects_equal_those_of_libbpf() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(all(feature = "libbpf", target_os = "linux"))]
mod with_libbpf {
    use core_relo::btf::Btf;
    use core_relo_loader::{
        Loader,
        inventory::{self, MapInfo, ObjectKind, ProgramInfo, ProgramLines},
        load::{Loaded, LoadedMap},
        load_plan::LoadPlan,
        maps::MapFd,
        object::{MapType, Object},
        target::running_kernel_btf,
    };
    use core_relo_test_support::skip;
    use core_relo_tests::{
        artifacts, kernel_crashes,
        libbpf::{self, LoadedByLibbpf},
    };
    use std::{
        collections::BTreeMap,
        fs,
        os::fd::{AsFd as _, AsRawFd as _, BorrowedFd},
        path::Path,
    };

    #[derive(Default)]
    struct Counts {
        objects: usize,
        programs: usize,
        maps: usize,
        /// Objects that neither loads, by the last line of libbpf's log.
        refused: BTreeMap<String, usize>,
        /// Objects that only core-relo loads, on purpose.
        own: usize,
        disagreements: Vec<String>,
    }

    #[test]
    fn loaded_objects_equal_those_of_libbpf() {
        let mut counts = Counts::default();
        let _types = running_kernel_btf();
        for path in artifacts::objects().into_iter().filter(|path| kernel_crashes::may_be_loaded(path)) {
            compare_object(&mut counts, &path);
        }
        let Counts { objects, programs, maps, refused, own, disagreements } = counts;
        println!(
            "{objects} objects that libbpf loads: {programs} programs and {maps} maps compared, {} disagreements",
            disagreements.len()
        );
        println!("{own} objects that only core-relo loads, as expected");
        for (reason, times) in refused {
            println!("loaded by neither, {times} times: {reason}");
        }
        disagreements.iter().take(20).for_each(|text| println!("{text}"));
        if objects == 0 {
            skip!(Root, "libbpf loads nothing here (it needs root)");
        }
        assert!(disagreements.is_empty());
    }

    fn compare_object(counts: &mut Counts, path: &Path) {
        let bytes = fs::read(path).unwrap();
        let Ok(parsed) = Object::parse(&bytes) else { return };
        if parsed.endian() != core_relo::Endian::native() {
            return;
        }
        // With pins, the second load would reuse the maps of the first.
        let (theirs, log) = libbpf::with_log(|| libbpf::load(&bytes));
        let mut loader = Loader::new(&parsed).name("tested");
        for map in loader.plan().iter().flat_map(LoadPlan::maps).filter(|m| m.pin().is_some()) {
            loader.map_mut(map.name()).pin = Some(None);
        }
        let ours = loader.load();
        let name = path.display();
        let is_own = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("own_"));
        let in_live = path.parent().is_some_and(|dir| dir.ends_with("live"));
        let (theirs, ours) = match (theirs, ours) {
            (Ok(_), _) if is_own && in_live => {
                counts.disagreements.push(format!("{name}: libbpf does not refuse the object any more"));
                return;
            }
            (Err(_), Ok(_)) if is_own && in_live => {
                counts.own += 1;
                return;
            }
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (Err(errno), Err(_)) => {
                let last = log.lines().last().unwrap_or_default().trim_start_matches("libbpf: ");
                *counts.refused.entry(format!("errno {} {last}", -errno)).or_default() += 1;
                return;
            }
            (Ok(_), Err(error)) => {
                counts.disagreements.push(format!("{name}: loaded by libbpf, refused by core-relo: {error}"));
                return;
            }
            (Err(errno), Ok(_)) => {
                let last = log.lines().last().unwrap_or_default();
                counts
                    .disagreements
                    .push(format!("{name}: loaded by core-relo, refused by libbpf: {errno} {last}"));
                return;
            }
        };
        counts.objects += 1;
        if let Err(difference) = compare(counts, &theirs, &ours) {
            counts.disagreements.push(format!("{name}: {difference}"));
        }
    }

    fn compare(counts: &mut Counts, theirs: &LoadedByLibbpf, ours: &Loaded) -> Result<(), String> {
        let (their_maps, our_maps) = (theirs.maps(), ours.maps().iter().filter_map(LoadedMap::fd));
        let our_maps: Vec<_> = our_maps.collect();
        expect_same("number of maps", &their_maps.len(), &our_maps.len())?;
        for (theirs, ours) in their_maps.into_iter().zip(our_maps) {
            expect_same("map", &map_facts(theirs)?, &map_facts(ours)?)?;
            expect_same("content of a map", &data(theirs)?, &data(ours)?)?;
            expect_same("frozen flag of a map", &frozen_line(theirs)?, &frozen_line(ours)?)?;
            counts.maps += 1;
        }
        let (their_programs, our_programs) = (theirs.programs(), ours.programs());
        expect_same("number of programs", &their_programs.len(), &our_programs.len())?;
        for (theirs, ours) in their_programs.into_iter().zip(our_programs) {
            let name = ours.name();
            let ours = ours.as_fd();
            expect_same(&format!("program {name}"), &program_facts(theirs)?, &program_facts(ours)?)?;
            let lines = |program| ProgramLines::query(&program).map_err(|e| e.to_string());
            expect_same(
                &format!("function records of program {name}"),
                &lines(theirs)?.functions,
                &lines(ours)?.functions,
            )?;
            let offsets = |program| {
                Ok::<_, String>(lines(program)?.lines.iter().map(|[at, ..]| *at).collect::<Vec<_>>())
            };
            expect_same(&format!("lines of program {name}"), &offsets(theirs)?, &offsets(ours)?)?;
            let (theirs, ours) = (btf_of(theirs)?, btf_of(ours)?);
            if theirs != ours {
                expect_same(&format!("types of program {name}"), &types(theirs)?, &types(ours)?)?;
                return Err(format!("types of program {name}: equal types in different bytes"));
            }
            counts.programs += 1;
        }
        Ok(())
    }

    fn expect_same<T: PartialEq + std::fmt::Debug>(
        subject: &str,
        theirs: &T,
        ours: &T,
    ) -> Result<(), String> {
        if theirs == ours { Ok(()) } else { Err(format!("{subject}: {theirs:?} by libbpf, {ours:?} here")) }
    }

    /// Returns the fields of a map's info that must be equal.
    fn map_facts(fd: BorrowedFd<'_>) -> Result<(String, [u64; 12]), String> {
        let info: MapInfo = MapInfo::query(&fd).map_err(|e| e.to_string())?;
        let numbers = [
            info.map_type.into(),
            info.key_size.into(),
            info.value_size.into(),
            info.max_entries.into(),
            info.map_flags.into(),
            info.map_extra,
            info.ifindex.into(),
            info.btf_vmlinux_value_type_id.into(),
            info.btf_key_type_id.into(),
            info.btf_value_type_id.into(),
            u64::from(info.btf_id != 0),
            info.btf_vmlinux_id.into(),
        ];
        Ok((info.name(), numbers))
    }

    /// Returns the content of a data map, empty for other maps.
    fn data(fd: BorrowedFd<'_>) -> Result<Vec<u8>, String> {
        let info = MapInfo::query(&fd).map_err(|e| e.to_string())?;
        if (info.map_type, info.max_entries) != (MapType::Array.number(), 1) {
            return Ok(Vec::new());
        }
        let map = MapFd::new(fd.try_clone_to_owned().unwrap()).map_err(|e| e.to_string())?;
        let mut bytes = vec![0; map.shape().value_size()];
        map.shape().lookup(&[0; 4], &mut bytes, 0).map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    /// Returns the line of fdinfo that says whether a map is frozen.
    fn frozen_line(fd: BorrowedFd<'_>) -> Result<String, String> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd()));
        let text = text.map_err(|e| e.to_string())?;
        let line = text.lines().find(|line| line.starts_with("frozen:"));
        line.map(str::to_owned).ok_or_else(|| format!("no line `frozen:` in {text}"))
    }

    /// Returns the fields of a program's info that must be equal.
    fn program_facts(fd: BorrowedFd<'_>) -> Result<(String, [u64; 11]), String> {
        let info: ProgramInfo = ProgramInfo::query(&fd).map_err(|e| e.to_string())?;
        let numbers = [
            info.prog_type.into(),
            info.xlated_prog_len.into(),
            info.nr_map_ids.into(),
            info.is_gpl_compatible().into(),
            info.ifindex.into(),
            info.nr_func_info.into(),
            info.nr_line_info.into(),
            u64::from(info.btf_id != 0),
            info.attach_btf_obj_id.into(),
            info.attach_btf_id.into(),
            info.verified_insns.into(),
        ];
        Ok((info.name(), numbers))
    }

    fn btf_of(fd: BorrowedFd<'_>) -> Result<Vec<u8>, String> {
        let id = ProgramInfo::query(&fd).map_err(|e| e.to_string())?.btf_id;
        if id == 0 {
            return Ok(Vec::new());
        }
        let btf = ObjectKind::Btf.open(id).map_err(|e| e.to_string())?;
        inventory::btf_bytes(&btf).map_err(|e| e.to_string())
    }

    /// Returns the types of a BTF as text.
    fn types(bytes: Vec<u8>) -> Result<Vec<String>, String> {
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let btf = Btf::parse(bytes).map_err(|e| e.to_string())?;
        Ok(btf.types().map(|ty| ty.raw().to_string()).collect())
    }
}
